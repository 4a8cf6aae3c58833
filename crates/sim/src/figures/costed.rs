//! A channel whose packets cost the CPU time: handling a packet, and copying its bytes.
//!
//! The devices charge what is posted and completed by themselves; what the engine and the channel do with a packet
//! is charged here, around the real channel.

use crate::Rank;
use crate::verbs::Subnet;
use verbena_channel::memory::Region;
use verbena_channel::packet::Header;
use verbena_channel::{
    Channel, Choice, Direction, Fault, Key, Payload, Peer, Reach, SendError, Sink, Transfer,
};

/// The channel of a rank, charged.
pub(super) struct Costed<C> {
    pub rank: Rank,
    pub subnet: Subnet,
    pub inner: C,
}

/// A sink that charges what is delivered.
struct CostedSink<'a> {
    rank: Rank,
    subnet: &'a Subnet,
    inner: &'a mut dyn Sink,
}

impl Sink for CostedSink<'_> {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        self.subnet.charge_packet(self.rank, payload.len());
        self.inner.packet(peer, header, payload);
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.inner.transferred(token, outcome);
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.inner.broken(peer, fault);
    }
}

impl<C: Channel> Channel for Costed<C> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.inner.reach(peer)
    }

    /// The packet is copied before the device hears of it, so the cost comes first; it is taken back if there was no room.
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let before = self.subnet.clock_ns(self.rank);
        self.subnet.charge_packet(self.rank, payload.len());
        let sent = self.inner.send(peer, header, payload);
        if sent.is_err() {
            self.subnet.set_clock_ns(self.rank, before);
        }
        sent
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

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        self.inner.poll(&mut CostedSink { rank: self.rank, subnet: &self.subnet, inner: sink })
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
}
