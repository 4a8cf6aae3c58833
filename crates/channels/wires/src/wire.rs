//! An open channel as the engine holds it.
//!
//! A channel does everything through the trait [`Channel`], and nobody above asks which one it is.
//! But a small message takes little more time than calls through a table of functions do. So
//! polling, taking the next packet and sending are called directly where the channel is known here,
//! and the compiler can join them with the engine's own code. (Through shared memory, the engine
//! sends by the lane that the channel lends: [`Wire::lend`].)

pub mod foreign;

use foreign::Foreign;
use std::ops::{Deref, DerefMut};
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::packet::Header;
use verbena_channel::trace::Traced;
use verbena_channel::wrapper::Wrapper;
use verbena_channel::{Channel, Payload, Peer, SendError, Sink};
use verbena_infiniband::pipe::PipeChannel;
use verbena_infiniband::rc::RcChannel;
use verbena_infiniband::rc::verbs::Verbs;
use verbena_infiniband::ud::UdChannel;
use verbena_infiniband::ud::verbs::Device;
use verbena_memory::Region;
use verbena_node::cma::CmaChannel;
use verbena_node::shm::{Lane, ShmChannel};
use verbena_ofi::Connected;

/// An open channel.
pub enum Wire {
    /// Packets through shared memory.
    Shm(Box<ShmChannel>),
    /// Packets to oneself.
    Loopback(Box<LoopbackChannel>),
    /// Packets and memory by RDMA.
    Rc(Box<RcChannel<Verbs>>),
    /// A channel that moves packets and is not known here.
    Other(Box<dyn Channel>),
    /// A channel that only moves memory, and at once: there is nothing to poll.
    Memory(Box<dyn Channel>),
    /// A channel to processes of another job.
    Foreign(Box<Foreign>),
}

impl Wire {
    /// This channel with its messages traced, if it moves packets.
    pub fn traced(self) -> Wire {
        if matches!(self, Wire::Memory(_)) {
            return self;
        }
        let tap = Traced::new(self.name());
        Wire::Other(Box::new(Wrapper { inner: self, tap }))
    }

    /// Returns this channel once more, for the engine of this process with this number, which
    /// counts from 1. `None` if only the first engine has it.
    pub fn beside(&self, number: u32) -> Option<Wire> {
        match self {
            Wire::Shm(shm) => shm.beside(number).map(Wire::from),
            Wire::Loopback(loopback) => Some(loopback.beside().into()),
            Wire::Memory(channel) => channel.beside().map(Wire::Memory),
            Wire::Rc(_) | Wire::Other(_) | Wire::Foreign(_) => None,
        }
    }

    /// Hands out the sending end towards `peer`, if this channel has one: packets to that peer then
    /// go through it and no longer through [`Channel::send`].
    pub fn lend(&mut self, peer: Peer) -> Option<Lane> {
        match self {
            Wire::Shm(shm) => shm.lend(peer),
            Wire::Foreign(foreign) => foreign.lend(peer),
            _ => None,
        }
    }

    /// Returns whether a glance tells that there is nothing to poll.
    #[inline(always)]
    pub fn is_silent(&self) -> bool {
        match self {
            Wire::Shm(shm) => shm.is_silent(),
            Wire::Loopback(loopback) => loopback.is_empty(),
            Wire::Memory(_) => true,
            Wire::Foreign(foreign) => foreign.is_silent(),
            // A packet outside the rings shows only to the device.
            Wire::Rc(_) | Wire::Other(_) => false,
        }
    }

    /// Returns whether `is_silent` is certain: no poll is needed to know that nothing came.
    #[inline]
    pub fn shows(&self) -> bool {
        !matches!(self, Wire::Rc(_) | Wire::Other(_) | Wire::Foreign(_)) || self.other_shows()
    }

    /// Asks a channel that is not known here.
    #[inline(never)]
    fn other_shows(&self) -> bool {
        match self {
            Wire::Other(channel) => channel.shows(),
            Wire::Foreign(foreign) => foreign.shows(),
            _ => false,
        }
    }

    /// Takes the next packet where that needs no call: on some channels, and for very short
    /// messages.
    #[inline(always)]
    pub fn take_line(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        match self {
            Wire::Shm(shm) => shm.take_line(peer, header, into),
            _ => None,
        }
    }

    /// Takes the next packet; see [`Channel::take_direct`].
    #[inline(always)]
    pub fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        match self {
            Wire::Shm(shm) => shm.take_direct(peer, header, into),
            Wire::Rc(rc) => rc.take_direct(peer, header, into),
            Wire::Loopback(_) | Wire::Memory(_) => None,
            Wire::Other(channel) => channel.take_direct(peer, header, into),
            Wire::Foreign(foreign) => foreign.take_direct(peer, header, into),
        }
    }

    /// Sends a packet; see [`Channel::send`].
    ///
    /// # Errors
    /// Those of [`Channel::send`].
    #[inline(always)]
    pub fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        match self {
            Wire::Rc(rc) => rc.send(peer, header, payload),
            other => other.deref_mut().send(peer, header, payload),
        }
    }

    /// Polls; see [`Channel::poll`].
    #[inline]
    pub fn poll<S: Sink>(&mut self, sink: &mut S) -> usize {
        match self {
            Wire::Shm(shm) => shm.poll_into(sink),
            Wire::Loopback(loopback) => loopback.poll(sink),
            Wire::Rc(rc) => rc.poll(sink),
            Wire::Other(channel) => channel.poll(sink),
            Wire::Foreign(foreign) => foreign.poll(sink),
            Wire::Memory(_) => 0,
        }
    }
}

impl From<ShmChannel> for Wire {
    fn from(shm: ShmChannel) -> Wire {
        Wire::Shm(Box::new(shm))
    }
}

impl From<LoopbackChannel> for Wire {
    fn from(loopback: LoopbackChannel) -> Wire {
        Wire::Loopback(Box::new(loopback))
    }
}

impl From<RcChannel<Verbs>> for Wire {
    fn from(rc: RcChannel<Verbs>) -> Wire {
        Wire::Rc(Box::new(rc))
    }
}

impl From<UdChannel<Device>> for Wire {
    fn from(ud: UdChannel<Device>) -> Wire {
        Wire::Other(Box::new(ud))
    }
}

impl From<PipeChannel<Verbs>> for Wire {
    fn from(pipe: PipeChannel<Verbs>) -> Wire {
        Wire::Other(Box::new(pipe))
    }
}

impl From<CmaChannel> for Wire {
    fn from(cma: CmaChannel) -> Wire {
        Wire::Memory(Box::new(cma))
    }
}

impl From<Connected> for Wire {
    fn from(ofi: Connected) -> Wire {
        match ofi {
            Connected::Open(ofi) => Wire::Other(ofi),
            // There is nothing to poll.
            Connected::Absent(absent) => Wire::Memory(Box::new(absent)),
        }
    }
}

impl Deref for Wire {
    type Target = dyn Channel;

    fn deref(&self) -> &(dyn Channel + 'static) {
        match self {
            Wire::Shm(shm) => shm.as_ref(),
            Wire::Loopback(loopback) => loopback.as_ref(),
            Wire::Rc(rc) => rc.as_ref(),
            Wire::Foreign(foreign) => foreign.as_ref(),
            Wire::Other(channel) | Wire::Memory(channel) => channel.as_ref(),
        }
    }
}

impl DerefMut for Wire {
    fn deref_mut(&mut self) -> &mut (dyn Channel + 'static) {
        match self {
            Wire::Shm(shm) => shm.as_mut(),
            Wire::Loopback(loopback) => loopback.as_mut(),
            Wire::Rc(rc) => rc.as_mut(),
            Wire::Foreign(foreign) => foreign.as_mut(),
            Wire::Other(channel) | Wire::Memory(channel) => channel.as_mut(),
        }
    }
}
