//! Completion events: a descriptor that becomes readable when a completion queue that was asked for
//! it gets something (InfiniBand specification, 11.4.2.2; `ibv_create_comp_channel`).

use crate::device::Context;
use crate::explain::{errno, fault};
use crate::raw::{ibv_comp_channel, ibv_cq};
use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use verbena_fault::Fault;

/// A channel to which completion queues report events.
pub struct EventChannel {
    context: Arc<Context>,
    raw: NonNull<ibv_comp_channel>,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for EventChannel {}
// SAFETY: as above.
unsafe impl Sync for EventChannel {}

impl EventChannel {
    /// Makes a new one, whose descriptor does not block.
    ///
    /// # Errors
    /// The device has none, or the process no descriptor left.
    pub fn new(context: &Arc<Context>) -> Result<Arc<EventChannel>, Fault> {
        // SAFETY: the context is open.
        let raw = unsafe { (context.functions().ibv_create_comp_channel)(context.raw()) };
        let refused = || fault("a channel for completion events cannot be made", context.name(), errno());
        let raw = NonNull::new(raw).ok_or_else(refused)?;
        let channel = EventChannel { context: Arc::clone(context), raw };
        // SAFETY: an open descriptor of ours; the call touches no memory.
        let flags = unsafe { libc::fcntl(channel.descriptor(), libc::F_GETFL) };
        // SAFETY: as above.
        if unsafe { libc::fcntl(channel.descriptor(), libc::F_SETFL, flags | libc::O_NONBLOCK) } != 0 {
            return Err(refused());
        }
        Ok(Arc::new(channel))
    }

    /// Returns the descriptor that becomes readable when an event comes.
    pub fn descriptor(&self) -> RawFd {
        // SAFETY: the channel lives; the library sets the field once.
        unsafe { self.raw.as_ref().fd }
    }

    pub(crate) fn raw(&self) -> *mut ibv_comp_channel {
        self.raw.as_ptr()
    }

    /// Takes the events that came, so that the descriptor is no longer readable. Returns how many
    /// there were.
    pub fn drain(&self) -> usize {
        let mut taken = 0;
        loop {
            let (mut queue, mut own): (*mut ibv_cq, _) = (null_mut(), null_mut());
            // SAFETY: the channel lives and its descriptor does not block; the library fills in
            // both.
            let code =
                unsafe { (self.context.functions().ibv_get_cq_event)(self.raw(), &mut queue, &mut own) };
            if code != 0 {
                return taken;
            }
            taken += 1;
            // SAFETY: acknowledged once; until then the library keeps the queue from being
            // destroyed.
            unsafe { (self.context.functions().ibv_ack_cq_events)(queue, 1) };
        }
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        // SAFETY: made once, ended once; completion queues held it alive.
        unsafe { (self.context.functions().ibv_destroy_comp_channel)(self.raw.as_ptr()) };
    }
}
