//! The channel `ofi`: libfabric, for every network that is not verbs; plain TCP over Ethernet
//! first, so that nodes without RDMA work out of the box.
//!
//! It has one endpoint for reliable datagrams (`FI_EP_RDM`) on one interface. Packets are messages
//! from a bounded pool of buffers into a few large posted ones. A peer tells what it has taken on
//! its own packets, or by a message of its own when nothing else goes that way. So a process that
//! leaves knows that all has arrived, and packets that a lost peer may not have taken can be handed
//! back. Long messages are read or written where they lie, if the provider can.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`card`] | what processes tell each other at the start, in two rounds |
//! | [`interfaces`] | network interfaces, and which all should use |
//! | [`choose`] | the choice of a provider |
//! | [`open`] | opening, only if somebody needs it |
//! | [`absent`] | the channel where it is not open |
//! | [`net`] | libfabric's objects, and registering memory |
//! | [`frame`] | the bytes before each message |
//! | [`name`] | the names of operations under way |
//! | [`sends`], [`receives`] | buffers |
//! | [`links`] | the state of each peer |
//! | [`send`], [`poll`] | sending; the work of a poll |
//! | [`memory`] | long messages |
//! | [`failure`] | the faults when something breaks |
//! | [`settings`] | its settings |

mod absent;
pub mod card;
pub mod choose;
mod failure;
pub mod frame;
pub mod interfaces;
mod links;
mod memory;
mod name;
mod net;
mod open;
mod poll;
mod receives;
mod send;
mod sends;
mod settings;

pub use open::{Connected, OfiOpening, meets_again, open};
pub use settings::Settings;

use card::Contact;
use links::Links;
use memory::Memory;
use net::Net;
use receives::Receives;
use sends::Sends;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};
use verbena_channel::packet::Header;
use verbena_channel::{
    Channel, Counts, Failover, Payload, Peer, Place, PollCost, Reach, RemoteMemory, Report, SendError, Sink,
};
use verbena_fabric::Completion;
use verbena_fault::Fault;
use verbena_waiting::{NAP, SLEEP_MAX};

/// The estimated latency, above those of `rc` and `ud`: this channel is for where nothing better
/// reaches the peer.
const LATENCY_NS: u32 = 20_000;

/// The channel, connected.
pub struct OfiChannel {
    // First, since dropping it ends all use of the memory that follows.
    net: Net,
    sends: Sends,
    receives: Receives,
    memory: Memory,
    links: Links,
    me: Peer,
    /// The token that messages to this process must bear.
    token: u64,
    /// The number of messages that did not bear it.
    strangers: u64,
    /// This end in words.
    place: String,
    settings: Settings,
    inject_bytes_max: usize,
    /// True if messages of one sender keep their order.
    is_ordered: bool,
    batch: Vec<Completion>,
    /// The peers that must be told what was taken.
    owed: Vec<Peer>,
    /// The peers that were lost and not reported yet.
    broken: Vec<(Peer, Fault)>,
    polls: u32,
    /// The time of the last look at the clock.
    now: Instant,
    tended: Instant,
    findings: Vec<String>,
    /// The time of a look at the empty completion queue, as measured when it was opened.
    look_ns: Option<u32>,
}

// SAFETY: everything of libfabric in it is used by one thread at a time, under the engine's lock
// (`FI_THREAD_DOMAIN`), and the places in its lists of completions are read only by that thread.
unsafe impl Send for OfiChannel {}

impl OfiChannel {
    /// Connects a process with this end, `mine`, given the contacts of all.
    ///
    /// # Errors
    /// Receive buffers cannot be posted.
    fn new(
        place: &Place,
        mut net: Net,
        mine: &Contact,
        mut contacts: Vec<Option<Contact>>,
        settings: Settings,
        mut findings: Vec<String>,
    ) -> Result<OfiChannel, Fault> {
        let foreign = contacts.iter().flatten().filter(|contact| contact.provider != mine.provider).count();
        if foreign > 0 {
            findings.push(format!("{foreign} processes use another provider and are not reached"));
        }
        for contact in &mut contacts {
            *contact = contact.take().filter(|contact| contact.provider == mine.provider);
        }
        // Loopback reaches the process itself.
        contacts[place.me as usize] = None;
        let receives = Receives::new(&mut net, &settings)?;
        let now = Instant::now();
        findings.push(format!(
            "messages of up to {} bytes, {}{}",
            settings.message_bytes,
            if net.moves_memory() { "long ones by remote memory access" } else { "no remote memory access" },
            if net.queue.descriptor().is_some() { ", sleeping on a descriptor" } else { "" }
        ));
        findings.extend(net.moves_memory().then(|| net.guard()));
        Ok(OfiChannel {
            inject_bytes_max: net.offer().inject_bytes_max(),
            is_ordered: net.offer().is_ordered(),
            sends: Sends::new(settings.message_bytes, settings.send_buffers_max),
            receives,
            memory: Memory::default(),
            links: Links::new(contacts),
            me: place.me,
            token: mine.token,
            strangers: 0,
            place: mine.place.clone(),
            settings,
            batch: Vec::new(),
            owed: Vec::new(),
            broken: Vec::new(),
            polls: 0,
            now,
            tended: now,
            findings,
            look_ns: None,
            net,
        })
    }

    /// Tells the channel what a look at its empty completion queue takes, in nanoseconds.
    fn priced(self, look_ns: Option<u32>) -> OfiChannel {
        OfiChannel { look_ns, ..self }
    }
}

impl Channel for OfiChannel {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.links.contact(peer)?;
        if self.links.look(peer).is_some_and(|link| link.broken.is_some()) {
            return None;
        }
        let packet_bytes_max = self.settings.packet_bytes_max();
        let cost = self.net.moves_memory().then_some(self.settings.cost);
        Some(Reach {
            packet_bytes_max,
            eager_bytes_max: packet_bytes_max,
            whole_bytes_max: 0,
            ordered: self.is_ordered,
            get: cost,
            put: cost,
            in_background: true,
            memory_bytes_min: self.settings.memory_bytes_min,
            latency_ns: LATENCY_NS,
        })
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        self.send_packet(peer, header, &payload)
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        self.poll_all(sink)
    }

    fn poll_cost(&self) -> Option<PollCost> {
        Some(PollCost { latency_ns: LATENCY_NS, empty_ns: self.look_ns? })
    }

    /// Returns whether every peer that is not lost has told that it took everything, and nothing
    /// that it is owed is left: then all has arrived.
    fn is_quiet(&mut self) -> bool {
        for at in 0..self.links.met() {
            let peer = self.links.met_at(at);
            let Some(link) = self.links.get(peer).filter(|link| link.broken.is_none()) else { continue };
            if link.heard != link.told {
                self.owe(peer);
            }
            self.ask_at_end(peer);
        }
        self.pay();
        let told = self.links.iter().all(|link| link.broken.is_some() || link.untold.is_empty());
        told && self.owed.is_empty() && !self.sends.any_flying() && self.memory.is_idle()
    }

    /// Stays awake for answers owed to others, and for what is there already. One who sleeps polls
    /// rarely: the clock is looked at before each sleep.
    fn arm(&mut self) -> Duration {
        self.look_at_clock();
        let may_sleep = self.owed.is_empty() && self.broken.is_empty() && self.net.queue.may_sleep();
        if may_sleep { SLEEP_MAX } else { NAP }
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.net.queue.descriptor().into_iter().collect()
    }

    fn counts(&self) -> Counts {
        Counts { strange_messages: self.strangers, ..Counts::default() }
    }

    fn report(&self) -> Report {
        Report { findings: self.findings.clone(), absence: None }
    }

    fn failover(&mut self) -> Option<&mut dyn Failover> {
        Some(self)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        if self.net.moves_memory() { Some(self) } else { None }
    }
}

impl Failover for OfiChannel {
    /// A packet stays in its buffer until the peer tells that it took it.
    fn keep_sent(&mut self, _peer: Peer) -> bool {
        true
    }

    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        self.links.get(peer).map_or_else(Vec::new, |link| std::mem::take(&mut link.undelivered))
    }

    fn abandon(&mut self, peer: Peer, fault: &Fault) {
        self.break_link(peer, fault.clone());
    }

    fn gone(&mut self, peer: Peer, fault: &Fault) {
        if let Some(link) = self.links.get(peer) {
            link.is_gone = true;
        }
        self.break_link(peer, fault.clone());
    }
}

#[cfg(test)]
mod tests;
