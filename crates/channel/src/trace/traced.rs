//! A channel whose messages are traced.

use super::{Way, clock, delivered, looking, posted, posting, sent};
use crate::board::Boards;
use crate::memory::Region;
use crate::neighbor::Neighbors;
use crate::packet::{Header, Kind};
use crate::wait::Waiter;
use crate::{
    Channel, Choice, Direction, Division, End, Fault, Key, Payload, Peer, Reach, Registrations, SendError,
    Sink, Transfer, Wire,
};
use std::sync::Arc;

/// A channel that stamps what goes through it. It lends no lanes and takes no packet past its poll, so that all do.
pub struct Traced {
    inner: Wire,
    way: Way,
}

impl Traced {
    /// Wraps a channel with packets; one that only moves memory stays as it is.
    pub fn wrap(wire: Wire) -> Wire {
        if matches!(wire, Wire::Memory(_)) {
            return wire;
        }
        let way = match wire.name() {
            "shm" => Way::Shm,
            "loopback" => Way::Loopback,
            _ => Way::Other,
        };
        Wire::Other(Box::new(Traced { inner: wire, way }))
    }
}

/// Stamps packets on their way to the engine.
struct Stamping<'a>(&'a mut dyn Sink);

impl Sink for Stamping<'_> {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        let handed = clock::ticks();
        self.0.packet(peer, header, payload);
        if header.kind == Kind::Eager {
            delivered(peer, header, handed);
        }
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.0.transferred(token, outcome);
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.0.broken(peer, fault);
    }
}

impl Channel for Traced {
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        posting(self.way);
        let answer = self.inner.send(peer, header, payload);
        if super::NOW.get().posted == 0 {
            posted();
        }
        if answer.is_ok() && header.kind == Kind::Eager {
            sent(peer, header);
        }
        answer
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        looking(self.way);
        self.inner.poll(&mut Stamping(sink))
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.inner.reach(peer)
    }

    fn hold(&mut self, peer: Peer) {
        self.inner.hold(peer);
    }

    fn release(&mut self, peer: Peer) {
        self.inner.release(peer);
    }

    fn stream_bytes_max(&mut self, peer: Peer) -> Option<usize> {
        self.inner.stream_bytes_max(peer)
    }

    fn choose_direction(&mut self, bytes: u64, estimate: Direction) -> Option<Choice> {
        self.inner.choose_direction(bytes, estimate)
    }

    fn choice_ended(&mut self, choice: Choice) {
        self.inner.choice_ended(choice);
    }

    fn is_quiet(&mut self) -> bool {
        self.inner.is_quiet()
    }

    fn expose(&mut self, peer: Peer, region: Region) -> Option<Key> {
        self.inner.expose(peer, region)
    }

    fn conceal(&mut self, peer: Peer, key: &Key) {
        self.inner.conceal(peer, key);
    }

    fn get(&mut self, peer: Peer, key: &Key, at: u64, into: Region, token: u64) -> Result<Transfer, Fault> {
        self.inner.get(peer, key, at, into, token)
    }

    fn put(&mut self, peer: Peer, key: &Key, at: u64, from: Region, token: u64) -> Result<Transfer, Fault> {
        self.inner.put(peer, key, at, from, token)
    }

    fn divide(&mut self, peer: Peer, parts: u32) -> Option<Division> {
        self.inner.divide(peer, parts)
    }

    fn take_part(&mut self, peer: Peer, division: Division, from: End) -> Option<u32> {
        self.inner.take_part(peer, division, from)
    }

    fn end_division(&mut self, peer: Peer, division: Division) -> u32 {
        self.inner.end_division(peer, division)
    }

    fn forget_division(&mut self, peer: Peer, division: Division) {
        self.inner.forget_division(peer, division);
    }

    fn waiter(&self) -> Option<Arc<dyn Waiter>> {
        self.inner.waiter()
    }

    fn boards(&self) -> Option<Arc<dyn Boards>> {
        self.inner.boards()
    }

    fn registrations(&self) -> Option<Registrations> {
        self.inner.registrations()
    }

    fn neighbors(&self) -> Option<Arc<dyn Neighbors>> {
        self.inner.neighbors()
    }

    fn findings(&self) -> Vec<String> {
        self.inner.findings()
    }
}
