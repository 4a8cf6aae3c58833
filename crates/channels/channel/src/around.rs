//! A channel around another: it sees each packet that goes through, and hands everything else on.
//!
//! Tracing and the simulator's costs are such channels. Only this file must know every method of
//! [`Channel`]. It takes no packet past its poll, so that all packets pass the [`Tap`].

use crate::board::Boards;
use crate::neighbor::Neighbors;
use crate::packet::Header;
use crate::{
    Access, Channel, Choice, Connection, Direction, Division, End, Key, Payload, Peer, PollCost, Reach,
    Registrations, SendError, Sink, Transfer,
};
use std::ops::DerefMut;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_waiting::Waiter;

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

    /// Passes a packet that came in on to `sink`.
    fn packet(&mut self, sink: &mut dyn Sink, peer: Peer, header: &Header, payload: &[u8]);
}

/// A channel (or a pointer to one, such as a box) with a [`Tap`] around it.
pub struct Around<I, T> {
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

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.sink.broken(peer, fault);
    }
}

impl<I: DerefMut<Target = dyn Channel> + Send, T: Tap> Channel for Around<I, T> {
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

    fn farewell(&mut self) -> bool {
        self.inner.farewell()
    }

    fn keep_sent(&mut self, peer: Peer) -> bool {
        self.inner.keep_sent(peer)
    }

    fn abandon(&mut self, peer: Peer, fault: &Fault) {
        self.inner.abandon(peer, fault);
    }

    fn meet(&mut self, peer: Peer) {
        self.inner.meet(peer);
    }

    fn connection(&self, peer: Peer) -> Connection {
        self.inner.connection(peer)
    }

    fn connections(&self) -> usize {
        self.inner.connections()
    }

    fn limit_connections(&mut self, most: usize) {
        self.inner.limit_connections(most);
    }

    fn leave(&mut self, peer: Peer) {
        self.inner.leave(peer);
    }

    fn rail_of(&self) -> Option<&'static str> {
        self.inner.rail_of()
    }

    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        self.inner.undelivered(peer)
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

    fn expose(&mut self, peer: Peer, region: Region, access: Access) -> Option<Key> {
        self.inner.expose(peer, region, access)
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

    fn hint(&mut self, peers: &[Peer]) {
        self.inner.hint(peers);
    }

    fn waiter(&self) -> Option<Arc<dyn Waiter>> {
        self.inner.waiter()
    }

    fn boards(&self) -> Option<Arc<dyn Boards>> {
        self.inner.boards()
    }

    fn strange_messages(&self) -> u64 {
        self.inner.strange_messages()
    }

    fn registrations(&self) -> Option<Registrations> {
        self.inner.registrations()
    }

    fn neighbors(&self) -> Option<Arc<dyn Neighbors>> {
        self.inner.neighbors()
    }

    fn absence(&self) -> Option<&Fault> {
        self.inner.absence()
    }

    fn findings(&self) -> Vec<String> {
        self.inner.findings()
    }
}
