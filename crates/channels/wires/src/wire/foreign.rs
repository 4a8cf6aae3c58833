//! A channel to processes of another job: it numbers them as the two groups that met did, the
//! engine as this process does.
//!
//! Beside that it wakes the process: a channel through shared memory has a bell of its own in its
//! own segment, and a process sleeps at one place only. So this bell is made to ring the socket on
//! which the process sleeps ([`Waiter::socket`](verbena_waiting::Waiter::socket)). And once the
//! owner has found out that a process of this machine has ended ([`Ends`]), that one is given up
//! when all that it sent has been taken: not every network notices, and shared memory never does.
//! Of a network that is so once nothing has come from it for a while, poll after poll, since one
//! poll may bring nothing though more is on its way.

mod ends;

use super::Wire;
pub use ends::Ends;
use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verbena_channel::packet::Header;
use verbena_channel::{
    Access, Atomic, AtomicScope, Atomics, Channel, Choice, Connection, Connections, Counts, Direction,
    Division, End, Failover, Key, Landing, Payload, Peer, Reach, RemoteMemory, Report, SendError, Sharing,
    Sink, Started, Streams,
};
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_node::shm::Lane;
use verbena_waiting::current::CurrentWaiter;
use verbena_waiting::{NAP, SLEEP_MAX};

/// No process.
const NOBODY: Peer = Peer::MAX;

/// The time in which a network of this machine brings what a process sent before it ended, or more
/// of it.
const ON_THE_WAY: Duration = Duration::from_millis(50);
/// The least polls of that time: a provider may take something in by one, and tell it by another.
const SILENT_POLLS_MIN: u32 = 16;

/// The numbers of the processes that a channel reaches.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The engine's number of each process, by the channel's; `NOBODY` for those that the engine
    /// reaches otherwise.
    ours: Vec<Peer>,
    /// The channel's number of each process, by the engine's.
    theirs: BTreeMap<Peer, Peer>,
}

impl Numbers {
    /// The engine's numbers in the channel's order; `None` for a process that the engine reaches
    /// otherwise, or that is this one.
    pub fn new(ours: impl Iterator<Item = Option<Peer>>) -> Numbers {
        let ours: Vec<Peer> = ours.map(|peer| peer.unwrap_or(NOBODY)).collect();
        let known = (0..).zip(&ours).filter(|(_, peer)| **peer != NOBODY);
        let theirs = known.map(|(theirs, ours)| (*ours, theirs)).collect();
        Numbers { ours, theirs }
    }

    /// The channel's number of a process; one that no channel knows if it is not among these.
    fn inside(&self, peer: Peer) -> Peer {
        self.theirs.get(&peer).copied().unwrap_or(NOBODY)
    }

    /// The engine's number of a process.
    fn outside(&self, peer: Peer) -> Option<Peer> {
        self.ours.get(peer as usize).copied().filter(|peer| *peer != NOBODY)
    }
}

/// A channel to processes of another job.
pub struct Foreign {
    inner: Wire,
    numbers: Numbers,
    /// The name that the rails of the channel share; empty if it needs no connections.
    rail: &'static str,
    waiter: CurrentWaiter,
    /// The threads of this process between arming and disarming.
    armed: u32,
    ends: Arc<Ends>,
    /// The number of those that were given up.
    given_up: usize,
    silence: Option<Silence>,
}

/// The time in which nothing has come from those that have ended, poll after poll.
#[derive(Clone, Copy)]
struct Silence {
    /// The number of those that have ended.
    ended: usize,
    since: Instant,
    polls: u32,
}

impl Foreign {
    /// Wraps a channel. `waiter` is that of the process; `ends` tells of the processes that have
    /// ended.
    pub fn new(mut inner: Wire, numbers: Numbers, waiter: CurrentWaiter, ends: Arc<Ends>) -> Foreign {
        let rail = inner.connections().map_or("", |connections| connections.rail_of());
        Foreign { inner, numbers, rail, waiter, armed: 0, ends, given_up: 0, silence: None }
    }

    /// Hands out the sending end towards `peer`, as [`Wire::lend`].
    pub(crate) fn lend(&mut self, peer: Peer) -> Option<Lane> {
        self.inner.lend(self.numbers.inside(peer))
    }

    /// Returns whether a glance tells that there is nothing to poll.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.inner.is_silent() && self.ended() == self.given_up
    }

    /// The number of processes that are to be given up, or were. A channel that only moves memory
    /// gives up nobody.
    #[inline]
    fn ended(&self) -> usize {
        if matches!(self.inner, Wire::Memory(_)) { 0 } else { self.ends.count() }
    }

    /// Polls, and gives up the first `ended` that have ended if nothing more comes from them.
    #[cold]
    fn poll_for_ended(&mut self, ended: usize, sink: &mut dyn Sink) -> usize {
        let peers = self.ends.part(self.given_up, ended);
        let Foreign { inner, numbers, .. } = self;
        let mut renumbered = Renumbered { numbers, sink: &mut *sink, ended: &peers, is_heard: false };
        let events = inner.deref_mut().poll(&mut renumbered);
        if renumbered.is_heard {
            self.silence = None;
        }
        if events == 0 {
            self.give_up(ended, sink);
        }
        events
    }

    /// Gives up the first `count` that have ended, if nothing more comes from them. A poll since
    /// then has found nothing of theirs.
    #[cold]
    fn give_up(&mut self, count: usize, sink: &mut dyn Sink) {
        if !matches!(self.inner, Wire::Shm(_)) {
            let new = Silence { ended: count, since: Instant::now(), polls: 0 };
            let silence = self.silence.get_or_insert(new);
            if silence.ended < count {
                *silence = new;
            }
            silence.polls = silence.polls.saturating_add(1);
            if silence.polls < SILENT_POLLS_MIN || silence.since.elapsed() < ON_THE_WAY {
                return;
            }
        }
        for peer in self.ends.part(self.given_up, count) {
            // Others are reached by other channels.
            if self.inner.reach(self.numbers.inside(peer)).is_some() {
                sink.broken(peer, ends::fault(peer));
            }
        }
        self.given_up = count;
    }
}

/// The sink as the channel sees it.
struct Renumbered<'a> {
    numbers: &'a Numbers,
    sink: &'a mut dyn Sink,
    /// Those that have ended and are not given up yet, by the engine's numbers.
    ended: &'a [Peer],
    /// True once something of one of them has come.
    is_heard: bool,
}

impl Renumbered<'_> {
    /// The engine's number of a process from which something comes.
    #[inline]
    fn source(&mut self, peer: Peer) -> Option<Peer> {
        let peer = self.numbers.outside(peer)?;
        self.is_heard |= self.ended.contains(&peer);
        Some(peer)
    }
}

impl Sink for Renumbered<'_> {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        if let Some(peer) = self.source(peer) {
            self.sink.packet(peer, header, payload);
        }
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.sink.transferred(token, outcome);
    }

    fn landing(&mut self, peer: Peer, header: &Header, bytes: u64) -> Landing {
        self.source(peer).map_or(Landing::Nowhere, |peer| self.sink.landing(peer, header, bytes))
    }

    fn landed(&mut self, peer: Peer, header: &Header, bytes: u64, whole: bool) {
        if let Some(peer) = self.source(peer) {
            self.sink.landed(peer, header, bytes, whole);
        }
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        if let Some(peer) = self.numbers.outside(peer) {
            self.sink.broken(peer, fault);
        }
    }
}

/// Forwards a capability that the inner channel has.
macro_rules! if_capable {
    ($self:ident, $capability:ident) => {{
        $self.inner.$capability()?;
        Some($self)
    }};
}

impl Channel for Foreign {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.inner.reach(self.numbers.inside(peer))
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        self.inner.send(self.numbers.inside(peer), header, payload)
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        // Asked before the poll, so that all that these have sent is there.
        let ended = self.ended();
        if ended > self.given_up {
            return self.poll_for_ended(ended, sink);
        }
        let Foreign { inner, numbers, .. } = self;
        inner.deref_mut().poll(&mut Renumbered { numbers, sink, ended: &[], is_heard: false })
    }

    fn shows(&self) -> bool {
        self.inner.shows()
    }

    fn is_quiet(&mut self) -> bool {
        self.inner.is_quiet()
    }

    fn farewell(&mut self) -> bool {
        self.inner.farewell()
    }

    fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        self.inner.take_direct(self.numbers.inside(peer), header, into)
    }

    fn hint(&mut self, peers: &[Peer]) {
        let inside: Vec<Peer> =
            peers.iter().filter_map(|peer| self.numbers.theirs.get(peer).copied()).collect();
        self.inner.hint(&inside);
    }

    /// A bell of shared memory rings the socket of the process from now on. Without a socket the
    /// process naps.
    fn arm(&mut self) -> Duration {
        if matches!(self.inner, Wire::Memory(_)) {
            // Nothing comes by itself.
            return Duration::MAX;
        }
        let longest = self.inner.arm();
        // One that is about to be given up rings no more.
        let longest = if self.ended() > self.given_up { longest.min(NAP) } else { longest };
        let Wire::Shm(shm) = &self.inner else { return longest };
        let Some((name, secret)) = self.waiter.get().socket() else { return NAP };
        if self.armed == 0 {
            shm.bell().sleep_on(name, secret);
        }
        self.armed += 1;
        shm.bell().raise();
        longest.min(SLEEP_MAX)
    }

    fn disarm(&mut self) {
        self.inner.disarm();
        let Wire::Shm(shm) = &self.inner else { return };
        self.armed = self.armed.saturating_sub(1);
        if self.armed == 0 {
            shm.bell().lower();
        }
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.inner.descriptors()
    }

    fn connections(&mut self) -> Option<&mut dyn Connections> {
        if_capable!(self, connections)
    }

    fn failover(&mut self) -> Option<&mut dyn Failover> {
        if_capable!(self, failover)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        if_capable!(self, remote_memory)
    }

    fn sharing(&mut self) -> Option<&mut dyn Sharing> {
        if_capable!(self, sharing)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        if_capable!(self, streams)
    }

    fn report(&self) -> Report {
        self.inner.report()
    }

    fn counts(&self) -> Counts {
        self.inner.counts()
    }
}

/// Asked only where the inner channel has the capability.
const CAPABLE: &str = "the channel has this capability";

impl Connections for Foreign {
    fn meet(&mut self, peer: Peer) {
        let peer = self.numbers.inside(peer);
        self.inner.connections().expect(CAPABLE).meet(peer);
    }

    fn need(&mut self, peer: Peer) {
        let peer = self.numbers.inside(peer);
        self.inner.connections().expect(CAPABLE).need(peer);
    }

    fn connection(&self, _peer: Peer) -> Connection {
        // Whoever needs a connection with another job's process gets one at the first packet: the
        // choice of connections is made among the processes of one job.
        Connection::None
    }

    fn count(&self) -> usize {
        0
    }

    fn limit(&mut self, _most: usize) {}

    fn leave(&mut self, peer: Peer) {
        let peer = self.numbers.inside(peer);
        self.inner.connections().expect(CAPABLE).leave(peer);
    }

    fn rail_of(&self) -> &'static str {
        self.rail
    }
}

impl Failover for Foreign {
    fn keep_sent(&mut self, peer: Peer) -> bool {
        let peer = self.numbers.inside(peer);
        self.inner.failover().expect(CAPABLE).keep_sent(peer)
    }

    fn is_only_way(&mut self, peer: Peer) {
        let peer = self.numbers.inside(peer);
        self.inner.failover().expect(CAPABLE).is_only_way(peer);
    }

    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        let peer = self.numbers.inside(peer);
        self.inner.failover().expect(CAPABLE).undelivered(peer)
    }

    fn abandon(&mut self, peer: Peer, fault: &Fault) {
        if let Some(peer) = self.numbers.theirs.get(&peer).copied() {
            self.inner.failover().expect(CAPABLE).abandon(peer, fault);
        }
    }

    fn gone(&mut self, peer: Peer, fault: &Fault) {
        // An engine that gives a peer up tells all its channels.
        if let Some(peer) = self.numbers.theirs.get(&peer).copied() {
            self.inner.failover().expect(CAPABLE).gone(peer, fault);
        }
    }
}

impl RemoteMemory for Foreign {
    fn expose(&mut self, peer: Peer, region: Region, access: Access) -> Option<Key> {
        let peer = self.numbers.inside(peer);
        self.inner.remote_memory().expect(CAPABLE).expose(peer, region, access)
    }

    fn conceal(&mut self, peer: Peer, key: &Key) {
        let peer = self.numbers.inside(peer);
        self.inner.remote_memory().expect(CAPABLE).conceal(peer, key);
    }

    fn get(&mut self, peer: Peer, key: &Key, offset: u64, into: Region, token: u64) -> Started {
        let peer = self.numbers.inside(peer);
        self.inner.remote_memory().expect(CAPABLE).get(peer, key, offset, into, token)
    }

    fn put(&mut self, peer: Peer, key: &Key, offset: u64, from: Region, token: u64) -> Started {
        let peer = self.numbers.inside(peer);
        self.inner.remote_memory().expect(CAPABLE).put(peer, key, offset, from, token)
    }

    fn atomics(&mut self) -> Option<&mut dyn Atomics> {
        self.inner.remote_memory().expect(CAPABLE).atomics()?;
        Some(self)
    }

    fn choose_direction(&mut self, bytes: u64, estimate: Direction) -> Option<Choice> {
        self.inner.remote_memory().expect(CAPABLE).choose_direction(bytes, estimate)
    }

    fn choice_ended(&mut self, choice: Choice) {
        self.inner.remote_memory().expect(CAPABLE).choice_ended(choice);
    }
}

impl Foreign {
    fn inner_atomics(&mut self) -> &mut dyn Atomics {
        self.inner.remote_memory().and_then(|memory| memory.atomics()).expect(CAPABLE)
    }
}

impl Atomics for Foreign {
    fn scope(&self) -> AtomicScope {
        // The narrower promise: asking the inner channel would need it for change.
        AtomicScope::Device
    }

    fn atomic(
        &mut self,
        peer: Peer,
        key: &Key,
        offset: u64,
        operation: Atomic,
        former: Region,
        token: u64,
    ) -> Started {
        let peer = self.numbers.inside(peer);
        self.inner_atomics().atomic(peer, key, offset, operation, former, token)
    }
}

impl Sharing for Foreign {
    fn divide(&mut self, peer: Peer, parts: u32) -> Option<Division> {
        let peer = self.numbers.inside(peer);
        self.inner.sharing().expect(CAPABLE).divide(peer, parts)
    }

    fn take_part(&mut self, peer: Peer, division: Division, from: End) -> Option<u32> {
        let peer = self.numbers.inside(peer);
        self.inner.sharing().expect(CAPABLE).take_part(peer, division, from)
    }

    fn end_division(&mut self, peer: Peer, division: Division) -> u32 {
        let peer = self.numbers.inside(peer);
        self.inner.sharing().expect(CAPABLE).end_division(peer, division)
    }

    fn forget_division(&mut self, peer: Peer, division: Division) {
        let peer = self.numbers.inside(peer);
        self.inner.sharing().expect(CAPABLE).forget_division(peer, division);
    }
}

impl Streams for Foreign {
    fn hold(&mut self, peer: Peer) {
        let peer = self.numbers.inside(peer);
        self.inner.streams().expect(CAPABLE).hold(peer);
    }

    fn release(&mut self, peer: Peer) {
        let peer = self.numbers.inside(peer);
        self.inner.streams().expect(CAPABLE).release(peer);
    }

    fn stream_bytes_max(&mut self, peer: Peer) -> Option<usize> {
        let peer = self.numbers.inside(peer);
        self.inner.streams().expect(CAPABLE).stream_bytes_max(peer)
    }
}

#[cfg(test)]
mod tests;
