//! Processes of other jobs, which come and go while the engine runs.
//!
//! The processes that the engine began with are at **home**. Each group of others that this
//! process has met has a home of its own: numbers of peers, and channels that reach these and
//! nobody else. So the choice of a route needs no more than what each channel says of its reach.
//! What two processes call a channel (by its hashed name) means the one of the peer's home.
//!
//! Channels keep their places in the engine's list, since requests under way name them. The place
//! of one that has gone is filled by one that reaches nobody, until another takes it.

use crate::homes::{OWN, VACANT};
use crate::request::Request;
use crate::state::EngineState;
use crate::work::PeerEvent;
use crate::{ChannelCounters, Engine};
use std::os::fd::RawFd;
use verbena_channel::packet::Header;
use verbena_channel::{Channel, Payload, Peer, Reach, SendError, Sink};
use verbena_fault::Fault;
use verbena_wires::Wire;

/// The place of a channel that has gone.
struct Vacant;

impl Channel for Vacant {
    fn name(&self) -> &'static str {
        "none"
    }

    fn reach(&mut self, _peer: Peer) -> Option<Reach> {
        None
    }

    fn send(&mut self, peer: Peer, _header: &Header, _payload: Payload<'_>) -> Result<(), SendError> {
        Err(SendError::Broken(gone(peer)))
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> usize {
        0
    }
}

impl Engine {
    /// Takes in processes of another job, under these numbers, which no others have, and the
    /// channels that reach them and nobody else. `home` names them until they are
    /// [dismissed](Engine::dismiss); it is neither 0 nor `u32::MAX`.
    pub fn admit(&mut self, home: u32, peers: &[Peer], wires: Vec<Wire>) {
        debug_assert!(home != OWN && home != VACANT);
        for peer in peers {
            // The program may have tried a number that nobody had.
            self.state.forget_peer(*peer);
            self.state.homes.peers.insert(*peer, home);
            self.state.size = self.state.size.max(peer + 1);
        }
        self.state.peers.grow(self.state.size);
        for wire in wires {
            let place = self.place_for(wire.name());
            self.state.homes.set_channel(place, home);
            if place == self.channels.len() {
                self.state.tally.push(ChannelCounters { name: wire.name(), ..Default::default() });
                self.channels.push(wire);
            } else {
                self.channels[place] = wire;
            }
        }
        self.reschedule();
    }

    /// A place for a channel of this name: that of an earlier one, so that counts go on, or a new
    /// one at the end.
    fn place_for(&self, name: &str) -> usize {
        let fits = |place: &usize| {
            self.state.homes.of_channel(*place) == VACANT && self.state.tally[*place].name == name
        };
        (0..self.channels.len()).find(fits).unwrap_or(self.channels.len())
    }

    /// Parts from the processes of a home, unless something is still under way with them; returns
    /// whether it did. To be called again after progress if not.
    pub fn dismiss(&mut self, home: u32) -> bool {
        let peers: Vec<Peer> =
            self.state.homes.peers.iter().filter(|(_, of)| **of == home).map(|(peer, _)| *peer).collect();
        let channels: Vec<usize> =
            (0..self.channels.len()).filter(|at| self.state.homes.of_channel(*at) == home).collect();
        let waits = |peer: &Peer| {
            self.state.peers.look(*peer).is_some_and(|state| state.broken.is_none() && state.has_to_send())
                || self.state.one_sided.is_busy_with(*peer)
        };
        let is_open = |request: &Request| peers.contains(&request.peer) && !request.is_over();
        if peers.iter().any(waits) || self.state.requests.iter().any(|(_, request)| is_open(request)) {
            return false;
        }
        // Each is asked, also after one that is not ready.
        let mut busy = 0;
        for at in &channels {
            let wire = &mut self.channels[*at];
            busy += usize::from(!wire.is_quiet() || !wire.farewell());
        }
        if busy > 0 {
            return false;
        }
        self.end_exposures();
        for peer in peers {
            self.state.forget_peer(peer);
        }
        for at in channels {
            self.channels[at] = Wire::Memory(Box::new(Vacant));
            self.state.homes.set_channel(at, VACANT);
        }
        self.reschedule();
        true
    }

    /// The descriptors of all channels that become readable when something comes.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.channels.iter().flat_map(|channel| channel.descriptors()).collect()
    }

    /// Returns whether an operation is under way in one of these contexts.
    pub fn is_used(&self, context: impl Fn(u64) -> bool) -> bool {
        self.state.requests.iter().any(|(_, request)| !request.is_over() && context(request.context))
    }

    /// Returns whether the peer was given up.
    pub fn has_lost(&self, peer: Peer) -> bool {
        self.state.is_broken(peer)
    }

    fn reschedule(&mut self) {
        self.schedule.replace_channels(self.channels.iter().map(|c| (c.poll_cost(), c.shows())));
        self.note_glanced();
    }
}

impl EngineState {
    /// Forgets a peer with which nothing is under way: its number may be given to another process.
    fn forget_peer(&mut self, peer: Peer) {
        self.work.outboxes.retain(|listed| *listed != peer);
        self.work.gaps.retain(|gap| gap.peer != peer);
        self.work.peer_events.retain(|event| match event {
            PeerEvent::Lost(of, _) | PeerEvent::Leave(of, ..) | PeerEvent::Room(of) => *of != peer,
            PeerEvent::Review | PeerEvent::Revoked(_) => true,
        });
        if let Some(state) = self.peers.remove(peer) {
            state.count_in(&mut self.tally);
        }
        self.homes.peers.remove(&peer);
        self.dead.retain(|dead| *dead != peer);
        self.suspects.retain(|suspect| *suspect != peer);
    }
}

#[cold]
fn gone(peer: Peer) -> Fault {
    Fault::new(
        "a process of another job was disconnected",
        format!("process {peer}, as this process numbers those of other jobs"),
        "all communicators with it were freed or disconnected before this operation had ended",
        "complete all operations before MPI_Comm_disconnect",
    )
}
