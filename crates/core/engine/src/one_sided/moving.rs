//! Moves the parts of one-sided operations through the channels.

use super::{BESIDE, Motion, OneSidedId, Operation, Part, Refused, Shown, Waiting};
use crate::Engine;
use crate::control::name_hash;
use crate::peer::PeerState;
use crate::slab::Id;
use crate::state::EngineState;
use crate::work::PeerEvent;
use verbena_channel::{Access, Connection, Peer, Transfer};
use verbena_memory::Region;
use verbena_wires::Wire;

impl EngineState {
    /// Takes the end of a part that the channel had.
    pub(crate) fn one_sided_ended(&mut self, token: u64, in_place: bool) {
        let id = Id::of(token & !BESIDE);
        let Some(operation) = self.one_sided.operations.get(id) else { return };
        let peer = operation.peer;
        self.part_ended(id, in_place);
        let Some(line) = self.one_sided.lines.get_mut(&peer) else { return };
        line.under_way -= 1;
        if !line.waiting.is_empty() && !std::mem::replace(&mut line.is_listed, true) {
            self.work.peer_events.push_back(PeerEvent::Room(peer));
        }
        self.one_sided.tidy(peer);
    }

    fn part_ended(&mut self, id: Id, in_place: bool) {
        let Some(operation) = self.one_sided.operations.get_mut(id) else { return };
        operation.left -= 1;
        operation.has_failed |= !in_place;
        if operation.left > 0 {
            return;
        }
        let counters = &mut self.tally[operation.channel];
        match operation.motion {
            _ if operation.has_failed => self.counts.fallbacks += 1,
            Motion::Get => counters.get_bytes += operation.bytes,
            Motion::Put => counters.put_bytes += operation.bytes,
        }
    }
}

impl Engine {
    /// Shows memory to a peer, which may read and write it until [`Engine::hide`]. `None` if no
    /// channel can do that now; a connection that lacks is made then if there may be one, so that a
    /// later try succeeds.
    pub fn show(&mut self, peer: Peer, region: Region) -> Option<Shown> {
        let mut ways: Vec<(u32, usize)> = (0..self.channels.len())
            .filter_map(|channel| Some((self.far_ns(channel, peer)?, channel)))
            .collect();
        ways.sort_unstable();
        for &(_, channel) in &ways {
            if let Some(key) = self.expose(channel, peer, region, Access::READ_WRITE) {
                return Some(Shown { channel: name_hash(self.channels[channel].name()), key });
            }
        }
        self.met(peer);
        None
    }

    /// Returns whether the peer can use now what it was shown before. `None` if it never can again,
    /// since the channel has lost it.
    pub fn still_shows(&mut self, peer: Peer, shown: &Shown) -> Option<bool> {
        let channel = self.state.channel_named(peer, shown.channel)?;
        let is_lost = |state: &PeerState| state.broken.is_some() || state.has_lost(channel);
        if self.state.peers.look(peer).is_some_and(is_lost) {
            return None;
        }
        let connections = self.channels[channel].connections();
        let is_up = connections.is_none_or(|all| all.connection(peer) == Connection::Up);
        if !is_up {
            self.met(peer);
        }
        Some(is_up)
    }

    /// Ends what [`Engine::show`] began: the peer has no operation under way there, and begins no
    /// other.
    pub fn hide(&mut self, peer: Peer, shown: &Shown) {
        if let Some(channel) = self.state.channel_named(peer, shown.channel) {
            self.conceal(channel, peer, &shown.key);
        }
    }

    /// Returns whether a channel could lead to memory of this peer.
    pub fn may_reach_memory(&mut self, peer: Peer) -> bool {
        (0..self.channels.len()).any(|channel| self.far_ns(channel, peer).is_some())
    }

    /// Begins to move these parts between this process's memory and what the peer has shown, which
    /// holds them all. The memory here is the engine's until the operation has ended.
    ///
    /// # Errors
    /// There is no room or no way: see [`Refused`].
    pub fn start_one_sided(
        &mut self,
        peer: Peer,
        shown: &Shown,
        motion: Motion,
        parts: &[Part],
    ) -> Result<OneSidedId, Refused> {
        let channel = self.state.channel_named(peer, shown.channel).ok_or(Refused::NoWay)?;
        self.far_ns(channel, peer).ok_or(Refused::NoWay)?;
        if !self.state.one_sided.has_room(peer, parts.len()) {
            return Err(Refused::Full);
        }
        let bytes = parts.iter().map(|part| part.region.len() as u64).sum();
        let (left, key) = (parts.len(), shown.key);
        let operation = Operation { peer, channel, key, motion, left, bytes, has_failed: false };
        let id = OneSidedId(self.state.one_sided.add(operation, parts));
        self.move_one_sided(peer);
        let operations = &mut self.state.one_sided.operations;
        if operations.get(id.0).is_some_and(|operation| operation.left == 0 && operation.has_failed) {
            operations.remove(id.0);
            return Err(Refused::NoWay);
        }
        Ok(id)
    }

    /// Takes the end of an operation, once: whether all bytes are in place. After a failure some
    /// may be, and no others will come. `None` if it has not ended.
    pub fn take_one_sided(&mut self, id: OneSidedId) -> Option<bool> {
        let operations = &mut self.state.one_sided.operations;
        operations.get(id.0).filter(|operation| operation.left == 0)?;
        operations.remove(id.0).map(|operation| !operation.has_failed)
    }

    /// Gives the channel as many parts on the peer's memory as it may have.
    pub(crate) fn move_one_sided(&mut self, peer: Peer) {
        if let Some(line) = self.state.one_sided.lines.get_mut(&peer) {
            line.is_listed = false;
        }
        while let Some(Waiting { operation, part }) = self.state.one_sided.next(peer) {
            match self.begin_part(peer, operation, part) {
                Some(Transfer::Pending) => {
                    self.state.one_sided.lines.entry(peer).or_default().under_way += 1;
                }
                ended => self.state.part_ended(operation, ended.is_some()),
            }
        }
        self.state.one_sided.tidy(peer);
    }

    /// Begins a part; `None` if that fails, or another part of its operation has failed.
    fn begin_part(&mut self, peer: Peer, id: Id, part: Part) -> Option<Transfer> {
        let operation = self.state.one_sided.operations.get(id).filter(|operation| !operation.has_failed)?;
        let (channel, key, motion) = (operation.channel, operation.key, operation.motion);
        self.far_ns(channel, peer)?;
        let memory = self.channels[channel].remote_memory()?;
        let token = id.number() | BESIDE;
        match motion {
            Motion::Get => memory.get(peer, &key, part.offset, part.region, token).ok(),
            Motion::Put => memory.put(peer, &key, part.offset, part.region, token).ok(),
        }
    }

    /// The latency of a channel that leads to memory of the peer, in nanoseconds; `None` if this
    /// one does not, or has lost the peer, or is giving its connection back, or the peer is one of
    /// another job, with whom connections are not chosen.
    fn far_ns(&mut self, channel: usize, peer: Peer) -> Option<u32> {
        if self.state.homes.is_foreign(peer) {
            return None;
        }
        let state = self.state.peers.look(peer);
        let is_shut =
            state.is_some_and(|it| it.broken.is_some() || it.has_lost(channel) || it.is_leaving(channel));
        if is_shut || self.channels[channel].remote_memory().is_none() || !self.ends_for_good(channel, peer) {
            return None;
        }
        let reach = self.channels[channel].reach(peer)?;
        (reach.in_background && reach.get.is_some() && reach.put.is_some()).then_some(reach.latency_ns)
    }

    /// Returns whether what fails over the channel writes nothing later that others would notice:
    /// the channel closes its connection, or no other one takes its place, so that the peer is lost
    /// with it.
    fn ends_for_good(&mut self, channel: usize, peer: Peer) -> bool {
        if self.channels[channel].connections().is_some() {
            return true;
        }
        let takes = |wire: &mut Wire| wire.reach(peer).is_some_and(|reach| reach.packet_bytes_max > 0);
        let mut all = self.channels.iter_mut().enumerate();
        !all.any(|(other, wire)| other != channel && takes(wire))
    }
}
