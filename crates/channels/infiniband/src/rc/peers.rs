//! The state of each peer: a pointer and its card for those that never spoke, the rest for the
//! others.

use super::adapter::Limits;
use super::credit::Credits;
use super::elided_header::Last;
use super::frame::Frame;
use super::moves::Moves;
use super::order::Sequence;
use super::pinned::Pinned;
use super::pulse::Pulse;
use super::ring::incoming::Incoming;
use super::ring::outgoing::Outgoing;
use super::settings::Settings;
use super::uncredited::Uncredited;
use crate::device::queue::SendQueue;
use crate::device::{Address, Endpoint, QueuePair};
use crate::hello::Asking;
use verbena_channel::Peer;
use verbena_channel::packet::Header;
use verbena_fault::Fault;
use verbena_memory::vacant::{Vacant, vacant};

/// The progress of a connection.
#[derive(Debug)]
pub(super) enum Stage {
    /// The other side has not said yet that it is ready.
    Asking(Asking),
    /// Both sides are ready.
    Up,
    /// The connection broke, or was never made.
    Broken(Box<Fault>),
}

/// A connection, or a future one.
#[derive(Debug)]
pub(super) struct Connection<D> {
    /// The queue pair on this side; none any more once it is broken.
    pub pair: Option<QueuePair>,
    /// The stage that it has reached.
    pub stage: Stage,
    /// Our end, as the peer needs it.
    pub mine: Endpoint,
    /// The peer's end, once it is known.
    pub theirs: Option<Endpoint>,
    /// The queue pair's send queue.
    pub queue: SendQueue,
    /// The order of packets.
    pub sequence: Sequence,
    /// The last headers sent and received.
    pub last_out: Last,
    pub last_in: Last,
    /// Credits of the send/receive path.
    pub receives: Credits,
    /// The packets that the peer may send before it hears of credits.
    pub posted: u16,
    /// The ring that this process writes into.
    pub ring_out: Option<Box<Outgoing<D>>>,
    /// The ring that the peer writes into.
    pub ring_in: Option<Box<Incoming<D>>>,
    /// Memory of rings that are used no more, until all work before the mark is done.
    pub retired: Vec<(u32, Pinned)>,
    /// Long messages, moved by RDMA.
    pub moves: Moves,
    /// Packets from the peer since the last review of the polling set.
    pub heard: u32,
    /// True if the peer does not want a ring of ours, or there is no memory for one.
    pub ringless: bool,
    /// The peer's last signs of life.
    pub pulse: Pulse,
    /// The news for the peer.
    pub news: News,
    /// True if no other channel reaches the peer.
    pub needed: bool,
    /// True if the peer stands in the list of those with something to do.
    pub listed: bool,
    /// The packets of the send/receive path that the peer may not have taken, if somebody wants
    /// them back.
    pub uncredited: Option<Box<Uncredited>>,
    /// The packets to hand back once the connection is broken, and whether they were noted.
    pub undelivered: Vec<(Header, Vec<u8>)>,
    pub noted: bool,
    /// True if the peer was told the last credits, since this process is about to leave.
    pub bidden: bool,
}

/// The news for a peer about rings, each at most once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// The peer's offer is declined.
    pub decline: bool,
    /// We write no more to the peer's ring, which it has drained.
    pub closed: bool,
    /// Something of what the stages of the rings say.
    pub rings: bool,
    /// The peer rests, and there is a packet in its ring.
    pub bell: bool,
}

impl<D> Connection<D> {
    /// Makes a connection with this queue pair and end of ours, before the first packet.
    pub(super) fn new(
        pair: Option<QueuePair>,
        mine: Endpoint,
        stage: Stage,
        posted: u16,
        limits: &Limits,
        settings: &Settings,
    ) -> Connection<D> {
        Connection {
            pair,
            stage,
            mine,
            theirs: None,
            queue: SendQueue::new(limits.work_max, settings.signal_every),
            sequence: Sequence::new(),
            last_out: Last::default(),
            last_in: Last::default(),
            receives: Credits::default(),
            posted,
            ring_out: None,
            ring_in: None,
            retired: Vec::new(),
            moves: Moves::default(),
            heard: 0,
            ringless: false,
            pulse: Pulse::default(),
            news: News::default(),
            needed: false,
            listed: false,
            uncredited: None,
            undelivered: Vec::new(),
            noted: false,
            bidden: false,
        }
    }

    /// Takes the packet whose turn it was, with the credits that it carries. Returns `false` if
    /// these are more than were taken from this process: then slots or buffers that are in use
    /// would be filled again, so the packet is not to be believed.
    #[inline]
    #[must_use]
    pub(super) fn hear(&mut self, frame: &Frame) -> bool {
        if frame.ring_credits > 0
            && let Some(ring) = &mut self.ring_out
            && !ring.credit(frame.ring_credits)
        {
            return false;
        }
        if !self.receives.earn(frame.receive_credits) {
            return false;
        }
        self.sequence.expected = self.sequence.expected.wrapping_add(1);
        self.heard = self.heard.wrapping_add(1);
        true
    }

    /// Returns the bytes of its state and its rings.
    fn bytes(&self) -> usize {
        let rings = self.ring_out.as_ref().map_or(0, |ring| ring.bytes())
            + self.ring_in.as_ref().map_or(0, |ring| ring.bytes());
        let retired: usize = self.retired.iter().map(|(_, memory)| memory.region().len()).sum();
        size_of::<Connection<D>>() + rings + retired
    }

    /// Returns whether everything that was sent over it has arrived.
    pub(super) fn is_quiet(&self) -> bool {
        self.queue.is_idle()
            && self.moves.is_idle()
            && self.ring_out.as_ref().is_none_or(|ring| ring.is_posted())
    }

    /// Returns whether the peer must be told of the last credits before this process leaves.
    /// Otherwise it would look for another way to hand over what was taken long ago.
    pub(super) fn must_bid_farewell(&self) -> bool {
        let owed = self.receives.owed > 0 || self.ring_in.as_ref().is_some_and(|ring| ring.owed > 0);
        self.uncredited.is_some() && !self.bidden && owed
    }

    /// Notes what a broken connection has to hand back, before its memory goes. Once: what was
    /// noted is asked for once.
    pub(super) fn note_undelivered(&mut self) {
        if !matches!(self.stage, Stage::Broken(_)) || std::mem::replace(&mut self.noted, true) {
            return;
        }
        let Some(packets) = &mut self.uncredited else { return };
        self.undelivered.extend(packets.take(self.receives.out().into()));
        self.undelivered.extend(self.ring_out.iter_mut().flat_map(|ring| ring.uncredited()));
    }

    /// Returns whether packets can be sent.
    #[inline]
    pub(super) fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up)
    }
}

/// The state of all peers.
pub(super) struct Peers<D> {
    cards: Vec<Option<Address>>,
    connections: Vacant<Connection<D>>,
    /// True while nobody has spoken.
    all_silent: bool,
}

impl<D> Peers<D> {
    /// Makes the peers with these cards, none of which has spoken.
    pub(super) fn new(cards: Vec<Option<Address>>) -> Peers<D> {
        Peers { connections: vacant(cards.len()), cards, all_silent: true }
    }

    /// Returns the bytes of state for a peer that never spoke.
    pub(super) const fn silent_bytes() -> usize {
        size_of::<Option<Address>>() + size_of::<Option<Box<Connection<D>>>>()
    }

    /// Returns whether nobody has spoken.
    #[inline]
    pub(super) fn all_silent(&self) -> bool {
        self.all_silent
    }

    /// Returns the bytes of state for all peers.
    pub(super) fn bytes(&self) -> usize {
        self.cards.len() * Peers::<D>::silent_bytes()
            + self.iter().map(|(_, connection)| connection.bytes()).sum::<usize>()
    }

    /// Returns the address of the peer's datagrams; `None` if it has no device, or the job no such
    /// process.
    pub(super) fn address(&self, peer: Peer) -> Option<&Address> {
        self.cards.get(peer as usize)?.as_ref()
    }

    /// Returns the connection with the peer, if there is one, ready or not.
    #[inline]
    pub(super) fn get(&mut self, peer: Peer) -> Option<&mut Connection<D>> {
        self.connections.get_mut(peer as usize)?.as_deref_mut()
    }

    /// Returns the connection as [`Peers::get`] does, to look only.
    pub(super) fn look(&self, peer: Peer) -> Option<&Connection<D>> {
        self.connections.get(peer as usize)?.as_deref()
    }

    /// Notes a future connection.
    pub(super) fn add(&mut self, peer: Peer, connection: Connection<D>) {
        self.all_silent = false;
        self.connections[peer as usize] = Some(Box::new(connection));
    }

    /// Forgets the connection, and hands it out.
    pub(super) fn remove(&mut self, peer: Peer) -> Option<Box<Connection<D>>> {
        self.connections.get_mut(peer as usize)?.take()
    }

    /// Returns the number of connections that are not broken.
    pub(super) fn connected(&self) -> usize {
        self.iter().filter(|(_, connection)| !matches!(connection.stage, Stage::Broken(_))).count()
    }

    /// Calls `f` for every connection.
    pub(super) fn for_each(&mut self, mut f: impl FnMut(&mut Connection<D>)) {
        self.connections.iter_mut().flatten().for_each(|connection| f(connection));
    }

    /// Returns the number of processes of the job.
    pub(super) fn len(&self) -> usize {
        self.cards.len()
    }

    /// Calls `f` for every connection over which packets can be sent.
    pub(super) fn for_each_up(&mut self, mut f: impl FnMut(Peer, &mut Connection<D>)) {
        let all = (0..).zip(self.connections.iter_mut());
        let up = all.filter_map(|(peer, connection)| Some((peer, connection.as_deref_mut()?)));
        up.filter(|(_, connection)| connection.is_up()).for_each(|(peer, connection)| f(peer, connection));
    }

    /// Iterates over all peers with a connection, ready, broken or not yet made.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Peer, &Connection<D>)> {
        (0..)
            .zip(self.connections.iter())
            .filter_map(|(peer, connection)| Some((peer, connection.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit; the engine's own pointer for the peer must stay below it too.
    #[test]
    fn a_silent_peer_costs_little() {
        assert!(Peers::<u8>::silent_bytes() + size_of::<Option<Box<u8>>>() <= 64);
    }
}
