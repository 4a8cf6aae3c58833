//! Asynchronous events of a device, which nobody asked for (`ibv_get_async_event`).

use crate::device::Context;
use crate::raw::{self, ibv_async_event, ibv_qp};

/// One event, reduced to its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The device failed (`IBV_EVENT_DEVICE_FATAL`).
    DeviceFatal,
    /// A completion queue overflowed or failed.
    CompletionQueue,
    /// The shared receive queue failed.
    SharedReceiveQueue,
    /// The shared receive queue holds fewer buffers than the limit that was set
    /// ([`SharedReceiveQueue::set_limit`](crate::SharedReceiveQueue::set_limit)).
    FewReceives,
    /// The queue pair of this number went into error; the word says how.
    Pair(u32, &'static str),
    /// A port went down, or changed its address.
    PortDown(u8),
    /// A port is active again.
    PortActive(u8),
    /// The addresses of a port changed.
    Addresses(u8),
    /// An event that needs no answer, by its number.
    Other(u32),
}

impl Context {
    /// Returns the descriptor that becomes readable when an event comes.
    pub fn event_descriptor(&self) -> std::os::fd::RawFd {
        // SAFETY: the context is open; the library sets the field once.
        unsafe { (*self.raw()).async_fd }
    }

    /// Takes the oldest event that nobody has taken; costs a system call. `Ok(None)` if there is
    /// none.
    ///
    /// # Errors
    /// The error number: the device is gone.
    pub fn next_event(&self) -> Result<Option<Event>, i32> {
        let mut event = ibv_async_event::zeroed();
        // SAFETY: the context is open and its descriptor does not block; the library fills the
        // event.
        if unsafe { (self.functions().ibv_get_async_event)(self.raw(), &mut event) } != 0 {
            return match crate::explain::errno() {
                libc::EAGAIN | libc::EINTR => Ok(None),
                number => Err(number),
            };
        }
        let meaning = meaning(&event);
        // SAFETY: acknowledged once; until then the library keeps what the event is about from
        // being destroyed.
        unsafe { (self.functions().ibv_ack_async_event)(&mut event) };
        Ok(Some(meaning))
    }
}

fn meaning(event: &ibv_async_event) -> Event {
    // The number lies at the beginning of the union.
    let port = event.element.addr() as u32 as u8;
    let pair = |word| {
        // SAFETY: for these events the element is a queue pair that lives until the event is
        // acknowledged.
        Event::Pair(unsafe { (*event.element.cast::<ibv_qp>()).qp_num }, word)
    };
    match event.event_type {
        raw::IBV_EVENT_DEVICE_FATAL => Event::DeviceFatal,
        raw::IBV_EVENT_CQ_ERR => Event::CompletionQueue,
        raw::IBV_EVENT_SRQ_ERR => Event::SharedReceiveQueue,
        raw::IBV_EVENT_SRQ_LIMIT_REACHED => Event::FewReceives,
        raw::IBV_EVENT_QP_FATAL => pair("it failed"),
        raw::IBV_EVENT_QP_REQ_ERR => pair("the peer sent an invalid request"),
        raw::IBV_EVENT_QP_ACCESS_ERR => pair("the peer accessed memory that it may not"),
        raw::IBV_EVENT_PORT_ERR => Event::PortDown(port),
        raw::IBV_EVENT_PORT_ACTIVE => Event::PortActive(port),
        raw::IBV_EVENT_LID_CHANGE | raw::IBV_EVENT_GID_CHANGE => Event::Addresses(port),
        other => Event::Other(other),
    }
}
