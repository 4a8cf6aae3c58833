//! Work that is described once and posted again and again (paper 1, section 4.3): the work request
//! stays filled in, and a post sets only length and flags.

use crate::device::Post;
use crate::rc::adapter::{Operation, Work};
use std::ptr::null_mut;
use verbena_channel::Atomic;
use verbena_verbs::QueuePair;
use verbena_verbs::raw::{self, ibv_atomic_target, ibv_rdma_target, ibv_send_wr, ibv_sge, ibv_target};

/// A work request and its only segment.
pub struct Descriptor {
    request: ibv_send_wr,
    segment: ibv_sge,
    bytes_max: usize,
    /// True if the peer's device answers with bytes.
    is_answered: bool,
}

// SAFETY: the pointers within are set when the work is posted, to the descriptor itself.
unsafe impl Send for Descriptor {}

impl Descriptor {
    /// Fills in all that stays.
    pub fn new(work: &Work) -> Descriptor {
        let mut request = ibv_send_wr::zeroed();
        request.wr_id = work.id;
        let to = |address, key| ibv_target { rdma: ibv_rdma_target { remote_addr: address, rkey: key } };
        match work.operation {
            Operation::Send => request.opcode = raw::IBV_WR_SEND,
            Operation::Write(remote) => {
                request.opcode = raw::IBV_WR_RDMA_WRITE;
                request.wr = to(remote.address, remote.key);
            }
            Operation::Read(remote) => {
                request.opcode = raw::IBV_WR_RDMA_READ;
                request.wr = to(remote.address, remote.key);
            }
            Operation::Atomic(remote, operation) => {
                let (opcode, compare_add, swap) = match operation {
                    Atomic::FetchAdd(added) => (raw::IBV_WR_ATOMIC_FETCH_AND_ADD, added, 0),
                    Atomic::CompareSwap { expected, desired } => {
                        (raw::IBV_WR_ATOMIC_CMP_AND_SWP, expected, desired)
                    }
                };
                let (remote_addr, rkey) = (remote.address, remote.key);
                request.opcode = opcode;
                let atomic = ibv_atomic_target { remote_addr, compare_add, swap, rkey };
                request.wr = ibv_target { atomic };
            }
        }
        let segment = ibv_sge { addr: work.local.address(), length: 0, lkey: work.local_key };
        let is_answered = work.operation.is_answered();
        Descriptor { request, segment, bytes_max: work.local.len(), is_answered }
    }

    /// Posts it over the first `bytes` bytes.
    ///
    /// # Errors
    /// The error number.
    ///
    /// # Panics
    /// If there are fewer bytes, or `bytes` is more than may be inline.
    #[inline]
    pub fn post(
        &mut self,
        on: &QueuePair,
        bytes: usize,
        how: Post,
        inline_bytes_max: usize,
    ) -> Result<(), i32> {
        let inline = how.inline && !self.is_answered;
        assert!(
            bytes <= self.bytes_max && u32::try_from(bytes).is_ok(),
            "{bytes} bytes of {}",
            self.bytes_max
        );
        assert!(!inline || bytes <= inline_bytes_max, "{bytes} bytes inline, at most {inline_bytes_max}");
        self.segment.length = bytes as u32;
        self.request.sg_list = &mut self.segment;
        // A segment of length 0 would mean 2^31 bytes to some devices.
        self.request.num_sge = i32::from(bytes != 0);
        self.request.next = null_mut();
        self.request.send_flags = flag(how.signalled || self.is_answered, raw::IBV_SEND_SIGNALED)
            | flag(inline, raw::IBV_SEND_INLINE);
        // SAFETY: the segment lies in the region of the work, which stays valid until the work is
        // complete, as the region's creator promised; if inline, it is read now.
        unsafe { on.post(&mut self.request) }
    }
}

#[inline]
fn flag(on: bool, value: u32) -> u32 {
    if on { value } else { 0 }
}
