//! Completion queues and shared receive queues.

use crate::device::Context;
use crate::domain::ProtectionDomain;
use crate::explain::{check, errno, fault};
use crate::raw::{self, ibv_cq, ibv_recv_wr, ibv_sge, ibv_srq, ibv_srq_attr, ibv_srq_init_attr, ibv_wc};
use crate::wake::EventChannel;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use verbena_fault::Fault;

/// A completion queue.
pub struct CompletionQueue {
    context: Arc<Context>,
    raw: NonNull<ibv_cq>,
    /// The channel to which it reports events.
    _events: Option<Arc<EventChannel>>,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for CompletionQueue {}
// SAFETY: as above.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    /// Makes a new one that holds at least `entries`.
    ///
    /// # Errors
    /// The device cannot do that many, or the limit on locked memory.
    pub fn new(context: &Arc<Context>, entries: u32) -> Result<Arc<CompletionQueue>, Fault> {
        CompletionQueue::reporting(context, entries, None)
    }

    /// Makes one as [`CompletionQueue::new`] does; it reports its events to `events`.
    ///
    /// # Errors
    /// As for [`CompletionQueue::new`].
    pub fn reporting(
        context: &Arc<Context>,
        entries: u32,
        events: Option<Arc<EventChannel>>,
    ) -> Result<Arc<CompletionQueue>, Fault> {
        let channel = events.as_ref().map_or(null_mut(), |events| events.raw());
        // SAFETY: the context is open, and the channel lives as long as the queue; the first
        // vector.
        let raw = unsafe {
            (context.functions().ibv_create_cq)(context.raw(), entries as i32, null_mut(), channel, 0)
        };
        let Some(raw) = NonNull::new(raw) else {
            let on = format!("{}, {entries} entries", context.name());
            return Err(fault("a completion queue cannot be made", on, errno()));
        };
        Ok(Arc::new(CompletionQueue { context: Arc::clone(context), raw, _events: events }))
    }

    pub(crate) fn raw(&self) -> *mut ibv_cq {
        self.raw.as_ptr()
    }

    /// Asks for an event at the next completion. Completions that are there already make none: look
    /// once more afterwards.
    ///
    /// # Errors
    /// The error number: the queue reports nowhere, or the driver failed.
    pub fn ask_for_event(&self) -> Result<(), i32> {
        // SAFETY: the queue lives; a driver without the verb has no event channels either, and is
        // asked by none.
        let code = unsafe {
            let ask = self.raw().as_ref().and_then(|raw| raw.context.as_ref()?.ops.req_notify_cq);
            ask.map_or(libc::ENOSYS, |ask| ask(self.raw(), 0))
        };
        if code == 0 { Ok(()) } else { Err(code) }
    }

    /// Returns how many completions it holds.
    pub fn entries(&self) -> u32 {
        // SAFETY: the queue lives; only `resize` changes the field.
        unsafe { self.raw.as_ref().cqe as u32 }
    }

    /// Makes it hold at least `entries`; nothing in it is lost.
    ///
    /// # Errors
    /// The device cannot do that many, or cannot resize.
    pub fn resize(&self, entries: u32) -> Result<(), Fault> {
        // SAFETY: the queue lives.
        let code = unsafe { (self.context.functions().ibv_resize_cq)(self.raw(), entries as i32) };
        check(code, "a completion queue cannot grow", || {
            format!("{}, {entries} entries", self.context.name())
        })
    }

    /// Takes the oldest completions, as many as there are and fit. Returns how many.
    ///
    /// # Errors
    /// The device's driver failed (the number that it returned).
    #[inline]
    pub fn poll(&self, into: &mut [ibv_wc]) -> Result<usize, i32> {
        // SAFETY: the queue lives, every driver has the verb, and it writes at most this many
        // completions.
        let count = unsafe {
            let poll = self.raw.as_ref().context.as_ref().and_then(|context| context.ops.poll_cq);
            poll.unwrap_unchecked()(self.raw(), into.len() as i32, into.as_mut_ptr())
        };
        usize::try_from(count).map_err(|_| count)
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: made once, ended once; queue pairs held it alive. An error leaves nothing to be
        // done.
        unsafe { (self.context.functions().ibv_destroy_cq)(self.raw.as_ptr()) };
    }
}

/// A receive buffer: its number, address, length and local key.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveBuffer {
    /// The number that comes back in the completion.
    pub id: u64,
    /// The buffer's address.
    pub address: u64,
    /// The buffer's length in bytes.
    pub bytes: u32,
    /// The key of the registration that it lies in.
    pub local_key: u32,
}

impl ReceiveBuffer {
    /// Calls `post` with the buffer as a work request.
    #[inline]
    pub(crate) fn as_work(&self, post: impl FnOnce(&mut ibv_recv_wr) -> i32) -> Result<(), i32> {
        let mut segment = ibv_sge { addr: self.address, length: self.bytes, lkey: self.local_key };
        let mut work = ibv_recv_wr { wr_id: self.id, next: null_mut(), sg_list: &mut segment, num_sge: 1 };
        match post(&mut work) {
            0 => Ok(()),
            code => Err(code),
        }
    }
}

/// A receive queue that several queue pairs share.
pub struct SharedReceiveQueue {
    domain: Arc<ProtectionDomain>,
    raw: NonNull<ibv_srq>,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for SharedReceiveQueue {}
// SAFETY: as above.
unsafe impl Sync for SharedReceiveQueue {}

impl SharedReceiveQueue {
    /// Makes a new one that holds at least `receives` buffers of one segment each.
    ///
    /// # Errors
    /// The device cannot do that many, or the limit on locked memory.
    pub fn new(domain: &Arc<ProtectionDomain>, receives: u32) -> Result<Arc<SharedReceiveQueue>, Fault> {
        let mut wanted = ibv_srq_init_attr::zeroed();
        wanted.attr.max_wr = receives;
        wanted.attr.max_sge = 1;
        // SAFETY: the domain lives and the structure is filled in.
        let raw = unsafe { (domain.context().functions().ibv_create_srq)(domain.raw(), &mut wanted) };
        let Some(raw) = NonNull::new(raw) else {
            let on = format!("{}, {receives} buffers", domain.context().name());
            return Err(fault("a shared receive queue cannot be made", on, errno()));
        };
        Ok(Arc::new(SharedReceiveQueue { domain: Arc::clone(domain), raw }))
    }

    pub(crate) fn raw(&self) -> *mut ibv_srq {
        self.raw.as_ptr()
    }

    /// Asks for one event when the queue holds fewer than `buffers` buffers
    /// ([`Event::FewReceives`](crate::Event::FewReceives)); 0 asks for none. Each event has to be
    /// asked for anew (InfiniBand specification, 10.2.9.1).
    ///
    /// # Errors
    /// The error number: the device has no such event, or the limit is beyond the queue's size.
    pub fn set_limit(&self, buffers: u32) -> Result<(), i32> {
        let mut wanted = ibv_srq_attr { srq_limit: buffers, ..ibv_srq_attr::zeroed() };
        // SAFETY: the queue lives and the structure is filled in.
        let code = unsafe {
            let change = self.domain.context().functions().ibv_modify_srq;
            change(self.raw(), &mut wanted, raw::IBV_SRQ_LIMIT as i32)
        };
        if code == 0 { Ok(()) } else { Err(code.abs()) }
    }

    /// Posts a buffer.
    ///
    /// # Errors
    /// The error number: `ENOMEM` if the queue is full.
    ///
    /// # Safety
    /// The device writes the buffer at any moment until its completion is taken.
    #[inline]
    pub unsafe fn post(&self, buffer: &ReceiveBuffer) -> Result<(), i32> {
        // SAFETY: the queue lives and every driver with shared receive queues has the verb.
        buffer.as_work(|work| unsafe {
            let post = self.raw.as_ref().context.as_ref().and_then(|context| context.ops.post_srq_recv);
            post.unwrap_unchecked()(self.raw(), work, &mut null_mut())
        })
    }
}

impl Drop for SharedReceiveQueue {
    fn drop(&mut self) {
        // SAFETY: made once, ended once; queue pairs held it alive. An error leaves nothing to be
        // done.
        unsafe { (self.domain.context().functions().ibv_destroy_srq)(self.raw.as_ptr()) };
    }
}
