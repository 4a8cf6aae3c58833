//! The five functions, over the connections with all peers.

use super::connection::{Connection, Ends, Stage};
use super::layout::Layout;
use super::line::Line;
use super::rdma_channel::{Beginning, RdmaChannel};
use super::settings::Settings;
use crate::cache::watch::Watch;
use crate::cache::{Bounds, Cache};
use crate::device::Address;
use crate::rc::adapter::{Adapter, Limits};
use crate::rc::keepalive::Pace;
use std::collections::BTreeMap;
use verbena_channel::{Payload, Peer, Registrations, look};
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_memory::vacant::{Vacant, vacant};

/// The pipes of one process, over an adapter. Dropping the adapter must end its registrations and
/// queue pairs.
pub struct Pipes<A: Adapter> {
    // First, so that it is dropped before the memory that it may write to.
    pub(super) adapter: A,
    pub(super) me: Peer,
    pub(super) settings: Settings,
    pub(super) limits: Limits,
    pub(super) layout: Layout,
    /// Registrations of the program's memory.
    pub(super) cache: Cache,
    /// The reason why registrations are not kept, if they should be.
    pub(super) unkept: Option<String>,
    pub(super) cards: Vec<Option<Address>>,
    pub(super) connections: Vacant<Connection>,
    /// Peers whose pipes are laid: the others cannot have put anything.
    pub(super) joined: Vec<Peer>,
    /// Peers that have not answered yet.
    pub(super) asking: Vec<Peer>,
    /// Peers that are given up, and why.
    pub(super) lost: BTreeMap<Peer, Fault>,
    /// Peers that broke, to be reported.
    pub(super) broken: Vec<(Peer, Fault)>,
    /// The last news of the port.
    pub(super) port_trouble: Option<Fault>,
    /// The timers: what is due, and when to look.
    pub(super) pace: Pace,
    /// The number of rounds, to do now and then what need not be done each time.
    pub(super) rounds: u32,
    /// True once the process is about to leave and must know what has arrived.
    pub(super) leaving: bool,
}

impl<A: Adapter> RdmaChannel for Pipes<A> {
    type Beginning = Beginning<A, Address, Settings>;

    fn initialize(beginning: Self::Beginning) -> Pipes<A> {
        let Beginning { me, adapter, cards, settings } = beginning;
        let (limits, mut settings) = (adapter.limits(), settings.sound());
        settings.cache_bytes_max = settings.cache_bytes_max.min(limits.register_bytes_max / 2);
        let bounds = Bounds { bytes_max: settings.cache_bytes_max, entries_max: settings.cache_entries_max };
        Pipes {
            adapter,
            me,
            limits,
            layout: Layout::of(&settings),
            settings,
            cache: Cache::new(bounds, None),
            unkept: None,
            connections: vacant(cards.len()),
            cards,
            joined: Vec::new(),
            asking: Vec::new(),
            lost: BTreeMap::new(),
            broken: Vec::new(),
            port_trouble: None,
            pace: Pace::new(),
            rounds: 0,
            leaving: false,
        }
    }

    fn manage(&mut self) -> usize {
        self.tend()
    }

    fn put(&mut self, peer: Peer, from: &[Payload<'_>]) -> Result<usize, Fault> {
        match self.look(peer).map(|connection| &connection.stage) {
            Some(Stage::Up) => {}
            Some(Stage::Asking(_)) => return Ok(0),
            Some(Stage::Broken(fault)) => return Err(Fault::clone(fault)),
            None if let Some(fault) = self.lost.get(&peer) => return Err(fault.clone()),
            None => return self.begin(peer).map(|()| 0),
        }
        self.on_line(peer, |ends, line| ends.put(line, from))
    }

    fn get(&mut self, peer: Peer, into: Region) -> Result<usize, Fault> {
        self.on_line(peer, |ends, line| ends.get(line, into))
    }

    fn finalize(&mut self) -> bool {
        self.leaving = true;
        for peer in self.joined.clone() {
            let Some(connection) = self.look(peer).filter(|connection| connection.is_up()) else { continue };
            if connection.queue.is_unheard() {
                self.ask_for_life(peer);
            }
        }
        let mut up = self.connections.iter().flatten().filter(|connection| connection.is_up());
        let is_quiet = up.all(|connection| connection.is_quiet());
        if !is_quiet {
            // On a device that is gone nothing ends by itself.
            self.look_for_trouble();
        }
        is_quiet
    }
}

impl<A: Adapter> Pipes<A> {
    /// Returns the number of processes.
    pub(super) fn peers(&self) -> usize {
        self.cards.len()
    }

    /// Returns whether the peer has a device.
    pub(super) fn knows(&self, peer: Peer) -> bool {
        peer != self.me && self.address(peer).is_some()
    }

    /// Returns the address of the peer's datagrams; `None` if it has no device, or the job no such
    /// process.
    pub(super) fn address(&self, peer: Peer) -> Option<&Address> {
        self.cards.get(peer as usize)?.as_ref()
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn look(&self, peer: Peer) -> Option<&Connection> {
        self.connections.get(peer as usize)?.as_deref()
    }

    pub(super) fn connection(&mut self, peer: Peer) -> Option<&mut Connection> {
        self.connections.get_mut(peer as usize)?.as_deref_mut()
    }

    /// Returns the peer at this place of those whose pipes are laid.
    pub(super) fn joined_at(&self, at: usize) -> Option<Peer> {
        self.joined.get(at).copied()
    }

    /// Works on the pipes of a peer; nothing is moved where there are none. A failure breaks the
    /// connection.
    pub(super) fn on_line(
        &mut self,
        peer: Peer,
        act: impl FnOnce(&mut Ends, &mut Line<'_, A>) -> Result<usize, Fault>,
    ) -> Result<usize, Fault> {
        let Some(connection) = self.connections.get_mut(peer as usize).and_then(|slot| slot.as_deref_mut())
        else {
            return Ok(0);
        };
        let Some(ends) = &mut connection.pipes else { return Ok(0) };
        let mut line = Line {
            adapter: &mut self.adapter,
            cache: &mut self.cache,
            pair: connection.pair,
            queue: &mut connection.queue,
            outbox: &mut connection.outbox,
            inbox: &connection.inbox,
            peer,
            settings: &self.settings,
            limits: &self.limits,
            leaving: self.leaving,
        };
        let outcome = act(ends, &mut line);
        if let Err(fault) = &outcome {
            self.break_connection(peer, fault.clone());
        }
        outcome
    }

    pub(super) fn keep_registrations(&mut self, watch: Box<dyn Watch>) {
        self.cache = Cache::new(self.cache.bounds(), Some(watch));
    }

    /// Registers the program's memory for each operation, for this reason.
    pub(super) fn keep_no_registrations(&mut self, reason: String) {
        self.unkept = Some(reason);
    }

    /// Returns what a look that finds nothing takes, if the adapter measured it.
    pub(super) fn look_ns(&self) -> Option<u32> {
        self.adapter.look_ns()
    }

    pub(super) fn registrations(&self) -> Registrations {
        self.cache.counts()
    }

    pub(super) fn bytes_held(&self) -> usize {
        self.connections.iter().flatten().map(|connection| connection.bytes()).sum()
    }

    /// Returns what a user wants to know.
    pub(super) fn findings(&self) -> Vec<String> {
        let Settings { design, chunk_bytes, zero_copy_bytes_min, .. } = self.settings;
        let kept = match &self.unkept {
            _ if self.cache.keeps() => "kept until memory is given back".into(),
            Some(reason) => format!("made for each operation ({reason})"),
            None => "made for each operation".into(),
        };
        vec![
            format!("pipe: {}", self.adapter.place()),
            format!("pipe: {}", look::finding(self.look_ns())),
            format!(
                "pipe: design {design:?} of paper 2, {} chunks of {chunk_bytes} bytes, memory read from \
                 {zero_copy_bytes_min} bytes on; registrations are {kept}",
                self.settings.chunks()
            ),
        ]
    }
}
