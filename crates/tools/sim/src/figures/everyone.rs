//! Everyone speaks to everyone for the first time (paper 4, 5.2.2, figures 5 and 6), with up to
//! 4,096 processes: the cost for one of them, by datagrams and by connection.
//!
//! The real engine and the real channels run over simulated devices, but only one process is
//! followed: in step `s` it sends an empty message to the process `s` behind it and receives one
//! from the process `s` before it, and the others speak to it alone. By symmetry each of them does
//! the same. A partner may be busy with others just then; that is left out, so the times are the
//! least. A queue pair's cost is an estimate (see [`Costs::PAPER_1`]), since the paper has only the
//! sum, as a picture.

use super::costed::Costed;
use super::table::Table;
use crate::over_rc;
use crate::over_ud;
use crate::verbs::{Costs, DeviceFaults, Subnet};
use crate::{Memory, Rank, Shape};
use std::collections::BTreeSet;
use verbena_channel::Channel;
use verbena_channel::mark::Mark;
use verbena_channel::wrapper::Wrapper;
use verbena_engine::{Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::Policy;

/// Numbers of processes.
pub const RANKS: [Rank; 7] = [2, 16, 64, 256, 1024, 2048, 4096];
/// Time that passes when nothing is to come: a process may wait to say something again.
const DULL_NS: u64 = 300_000;
/// The run counts as hanging after this many such times in a row.
const DULL_MAX: u32 = 1000;

/// The means by which processes speak to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Datagrams, made reliable in software.
    Datagrams,
    /// Connections with one receive queue for all.
    SharedQueue,
    /// Connections with a receive queue each.
    OwnQueues,
}

impl By {
    const ALL: [By; 3] = [By::Datagrams, By::SharedQueue, By::OwnQueues];

    fn name(self) -> &'static str {
        match self {
            By::Datagrams => "ud",
            By::SharedQueue => "rc with SRQ",
            By::OwnQueues => "rc without SRQ",
        }
    }

    /// The channels of all processes, with the settings that users have; the paper's connections
    /// have no rings (5.2.1).
    fn channels(self, subnet: &Subnet, ranks: Rank) -> Vec<Box<dyn Channel>> {
        if self == By::Datagrams {
            let settings = verbena_infiniband::ud::Settings::current();
            let uds = over_ud::channels(subnet, over_ud::LIMITS, |_| settings.clone(), ranks);
            return uds.into_iter().map(|ud| Box::new(ud) as Box<dyn Channel>).collect();
        }
        let shared_receives = self == By::SharedQueue;
        let settings = Settings { policy: Policy::None, shared_receives, ..Settings::current(ranks) };
        let rcs = over_rc::channels(subnet, |_| settings.clone(), ranks);
        rcs.into_iter().map(|rc| Box::new(rc) as Box<dyn Channel>).collect()
    }
}

/// The cost for the process that is followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// Time from the first message to the last, in nanoseconds of virtual time.
    pub time_ns: u64,
    /// Bytes of registered memory at most.
    pub registered_bytes: u64,
    /// Queue pairs for connections.
    pub pairs: usize,
}

/// Makes both tables.
///
/// # Errors
/// What hung.
pub fn tables() -> Result<Vec<Table>, String> {
    let names = || By::ALL.map(By::name);
    let columns = || std::iter::once("processes").chain(names());
    let mut times = Table::new(
        "Everyone speaks to everyone, ms for each process (paper 4, figure 5; queue pairs by an estimate)",
        columns(),
    );
    let mut memory = Table::new(
        "Registered memory of each process after that, MiB (paper 4, 2.2 and figure 6: 8.8 for ud with 1,024)",
        columns(),
    );
    for ranks in RANKS {
        let took = By::ALL.map(|by| connect(by, ranks, Costs::PAPER_1));
        let took = took.into_iter().collect::<Result<Vec<Took>, String>>()?;
        times.add(ranks.to_string(), took.iter().map(|took| took.time_ns as f64 / 1e6).collect());
        let mib = |took: &Took| took.registered_bytes as f64 / f64::from(1 << 20);
        memory.add(ranks.to_string(), took.iter().map(mib).collect());
    }
    Ok(vec![times, memory])
}

/// Lets one process speak to all others for the first time.
///
/// # Errors
/// What hung.
pub fn connect(by: By, ranks: Rank, costs: Costs) -> Result<Took, String> {
    let subnet = Subnet::new(1, ranks, costs, DeviceFaults::NONE);
    let channels = by.channels(&subnet, ranks);
    speak(subnet, channels, ranks, 1)
}

/// Messages each way before every peer's ring is there and has been used.
const RING_MESSAGES: usize = 20;

/// Counts the registered memory that rings for all peers add to a process, in bytes: 5 buffers of 2
/// KiB at both ends of each (paper 1, 6.4: 20 MB with 1,024 processes). The receive buffers of the
/// other path, which are there without rings too, are not counted.
///
/// # Errors
/// What hung.
pub fn rings_of_five(ranks: Rank) -> Result<u64, String> {
    let registered = |policy| -> Result<u64, String> {
        let subnet = Subnet::new(1, ranks, Costs::PAPER_1, DeviceFaults::NONE);
        let settings = Settings {
            slots: 5,
            slot_bytes: 2048,
            chunk_bytes: 1024,
            buffer_bytes: 1536,
            sender_rings_max: ranks as usize,
            policy,
            ..Settings::current(ranks)
        };
        let rcs = over_rc::channels(&subnet, |_| settings.clone(), ranks);
        let channels = rcs.into_iter().map(|rc| Box::new(rc) as Box<dyn Channel>).collect();
        Ok(speak(subnet, channels, ranks, RING_MESSAGES)?.registered_bytes)
    };
    Ok(registered(Policy::All)? - registered(Policy::None)?)
}

/// Lets the first process send every other one so many messages, and get as many.
fn speak(
    subnet: Subnet,
    channels: Vec<Box<dyn Channel>>,
    ranks: Rank,
    messages: usize,
) -> Result<Took, String> {
    let mut channels = channels.into_iter();
    let mut process = |rank| {
        let inner = channels.next().expect("one for each rank");
        let wire = Wrapper { inner, tap: Costed { rank, subnet: subnet.clone(), copies: true } };
        let settings = verbena_engine::Settings::default();
        Process { engine: Engine::new(rank, ranks, vec![Box::new(wire)], settings), pending: Vec::new() }
    };
    let processes = (0..ranks).map(&mut process).collect();
    let start_ns = subnet.time_ns(0);
    let mut run =
        Run { subnet, processes, awake: BTreeSet::new(), memory: Memory::new(1, Shape::Contiguous) };
    for _ in 0..messages {
        (1..ranks).try_for_each(|step| run.step(step, ranks - step))?;
    }
    let Run { subnet, .. } = &run;
    let (time_ns, registered) = (subnet.time_ns(0) - start_ns, subnet.registered_bytes(0).1);
    Ok(Took { time_ns, registered_bytes: registered, pairs: subnet.pairs(0) })
}

struct Process {
    engine: Engine,
    pending: Vec<RequestId>,
}

struct Run {
    // The engines go before the memory that they hold buffers of.
    processes: Vec<Process>,
    subnet: Subnet,
    /// The ranks for which something may have come.
    awake: BTreeSet<Rank>,
    memory: Memory,
}

impl Run {
    /// The first process sends to one and receives from another.
    fn step(&mut self, to: Rank, from: Rank) -> Result<(), String> {
        self.receive(0, from);
        self.receive(to, 0);
        self.send(0, to);
        self.send(from, 0);
        let mut dull = 0;
        while [0, to, from].iter().any(|&rank| !self.processes[rank as usize].pending.is_empty()) {
            dull = if self.advance() { 0 } else { dull + 1 };
            if dull > DULL_MAX {
                return Err(format!("nothing moves between process 0 and {to} or {from}"));
            }
        }
        Ok(())
    }

    fn send(&mut self, me: Rank, peer: Rank) {
        let (buffer, mode) = (self.memory.buffer().part(0, 0), Mode::Standard);
        let send =
            SendRequest { peer, context: 0, source: me as i32, tag: 0, buffer, mark: Mark::NONE, mode };
        let posted = self.processes[me as usize].engine.send(send);
        self.note(me, posted);
    }

    fn receive(&mut self, me: Rank, peer: Rank) {
        let buffer = self.memory.buffer().part(0, 0);
        let receive = ReceiveRequest::new(0, peer as i32, 0, buffer);
        let posted = self.processes[me as usize].engine.receive(receive);
        self.note(me, posted);
    }

    fn note(&mut self, me: Rank, posted: Posted) {
        if let Posted::Pending(request) = posted {
            self.processes[me as usize].pending.push(request);
        }
        self.awake.insert(me);
    }

    /// Lets a process run, or the devices, whichever is first; `false` if there was none.
    fn advance(&mut self) -> bool {
        let devices_ns = self.subnet.next_ns().unwrap_or(u64::MAX);
        let first = self.awake.iter().map(|&rank| (self.subnet.time_ns(rank), rank)).min();
        match first {
            Some((at_ns, rank)) if at_ns <= devices_ns => {
                self.subnet.run_until(at_ns);
                let moved = self.processes[rank as usize].progress();
                if !moved && !self.subnet.has_unseen(rank) {
                    self.awake.remove(&rank);
                }
            }
            _ if devices_ns < u64::MAX => self.subnet.run_until(devices_ns),
            _ => {
                self.subnet.run_until(self.subnet.now_ns() + DULL_NS);
                self.awake.extend(0..self.processes.len() as Rank);
                return false;
            }
        }
        self.awake.extend(self.subnet.take_woken().into_iter().map(|(rank, _)| rank));
        true
    }
}

impl Process {
    /// Returns whether anything happened.
    fn progress(&mut self) -> bool {
        let Process { engine, pending } = self;
        let moved = engine.progress();
        let before = pending.len();
        pending.retain(|request| engine.take(*request).is_none());
        moved || pending.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_for_all_take_five_buffers_of_both_ends_and_two_words_each() {
        let ranks = 64;
        assert_eq!(rings_of_five(ranks), Ok(u64::from(2 * (ranks - 1)) * (5 * 2048 + 16)));
    }
}
