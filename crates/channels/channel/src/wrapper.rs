//! A channel around another: it sees each packet that goes through, and hands everything else on.
//!
//! Tracing and the simulator's costs are such channels. Only this file must know every method of
//! [`Channel`]. It takes no packet past its poll, and shows nothing by a glance, so that all
//! packets and looks pass the [`Tap`].

use crate::packet::Header;
use crate::{
    Channel, Connections, Counts, Failover, Landing, Payload, Peer, PollCost, Reach, RemoteMemory, Report,
    SendError, Shared, Sharing, Sink, Streams,
};
use std::ops::DerefMut;
use std::os::fd::RawFd;
use std::time::Duration;
use verbena_fault::Fault;

/// Handles the packets that pass.
pub trait Tap: Send {
    /// Passes a packet that goes out on to `inner`.
    fn send(
        &mut self,
        inner: &mut dyn Channel,
        peer: Peer,
        header: &Header,
        payload: Payload<'_>,
    ) -> Result<(), SendError> {
        inner.send(peer, header, payload)
    }

    /// Tells that `inner` is about to be polled.
    fn polling(&mut self) {}

    /// Passes packets on that `inner` hands back ([`Failover::undelivered`]).
    fn handed_back(&mut self, packets: Vec<(Header, Vec<u8>)>) -> Vec<(Header, Vec<u8>)> {
        packets
    }

    /// Passes a packet that came in on to `sink`.
    fn packet(&mut self, sink: &mut dyn Sink, peer: Peer, header: &Header, payload: &[u8]);

    /// Tells that a packet came in whose payload went to its place without the sink.
    fn landed(&mut self, _peer: Peer) {}
}

/// A channel (or a pointer to one, such as a box) with a [`Tap`] around it.
pub struct Wrapper<I, T> {
    /// The channel.
    pub inner: I,
    /// The handler of its packets.
    pub tap: T,
}

/// The sink behind a tap.
struct Tapped<'a, T> {
    tap: &'a mut T,
    sink: &'a mut dyn Sink,
}

impl<T: Tap> Sink for Tapped<'_, T> {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        self.tap.packet(self.sink, peer, header, payload);
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.sink.transferred(token, outcome);
    }

    fn receive_for(&mut self, peer: Peer, header: &Header) -> Option<u64> {
        self.sink.receive_for(peer, header)
    }

    fn landing(&mut self, peer: Peer, header: &Header, bytes: u64) -> Landing {
        self.sink.landing(peer, header, bytes)
    }

    fn landed(&mut self, peer: Peer, header: &Header, bytes: u64, whole: bool) {
        self.tap.landed(peer);
        self.sink.landed(peer, header, bytes, whole);
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.sink.broken(peer, fault);
    }
}

impl<I: DerefMut<Target = dyn Channel> + Send, T: Tap> Failover for Wrapper<I, T> {
    fn keep_sent(&mut self, peer: Peer) -> bool {
        self.inner.failover().is_some_and(|inner| inner.keep_sent(peer))
    }

    fn is_only_way(&mut self, peer: Peer) {
        if let Some(inner) = self.inner.failover() {
            inner.is_only_way(peer);
        }
    }

    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        let packets = self.inner.failover().map_or_else(Vec::new, |inner| inner.undelivered(peer));
        self.tap.handed_back(packets)
    }

    fn abandon(&mut self, peer: Peer, fault: &Fault) {
        if let Some(inner) = self.inner.failover() {
            inner.abandon(peer, fault);
        }
    }

    fn gone(&mut self, peer: Peer, fault: &Fault) {
        if let Some(inner) = self.inner.failover() {
            inner.gone(peer, fault);
        }
    }
}

impl<I: DerefMut<Target = dyn Channel> + Send, T: Tap> Channel for Wrapper<I, T> {
    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        self.tap.send(&mut *self.inner, peer, header, payload)
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        self.tap.polling();
        self.inner.poll(&mut Tapped { tap: &mut self.tap, sink })
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        self.inner.reach(peer)
    }

    fn near(&self) -> Option<&[Peer]> {
        self.inner.near()
    }

    fn is_quiet(&mut self) -> bool {
        self.inner.is_quiet()
    }

    fn farewell(&mut self) -> bool {
        self.inner.farewell()
    }

    fn poll_cost(&self) -> Option<PollCost> {
        self.inner.poll_cost()
    }

    fn arm(&mut self) -> Duration {
        self.inner.arm()
    }

    fn disarm(&mut self) {
        self.inner.disarm();
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.inner.descriptors()
    }

    fn hint(&mut self, peers: &[Peer]) {
        self.inner.hint(peers);
    }

    fn connections(&mut self) -> Option<&mut dyn Connections> {
        self.inner.connections()
    }

    fn failover(&mut self) -> Option<&mut dyn Failover> {
        self.inner.failover()?;
        Some(self)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.inner.remote_memory()
    }

    fn sharing(&mut self) -> Option<&mut dyn Sharing> {
        self.inner.sharing()
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        self.inner.streams()
    }

    fn shared(&self) -> Shared {
        self.inner.shared()
    }

    fn report(&self) -> Report {
        self.inner.report()
    }

    fn counts(&self) -> Counts {
        self.inner.counts()
    }
}
