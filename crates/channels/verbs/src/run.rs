//! Several datagrams posted at once. The device is told once of all of them, which costs as much as
//! it does for one (a system call where the driver has no doorbell that a process may ring).

use crate::domain::AddressHandle;
use crate::pair::QueuePair;
use crate::raw::{self, ibv_datagram_target, ibv_send_wr, ibv_sge, ibv_target};
use std::ptr::null_mut;

/// Work requests for a run of datagrams, each with its only segment, used again and again.
pub struct DatagramRun(Box<[(ibv_send_wr, ibv_sge)]>);

// SAFETY: the pointers within are set when the run is posted, and not used after it.
unsafe impl Send for DatagramRun {}

impl DatagramRun {
    /// Makes room for `most` datagrams.
    pub fn new(most: usize) -> DatagramRun {
        let mut work = ibv_send_wr::zeroed();
        (work.num_sge, work.opcode) = (1, raw::IBV_WR_SEND);
        DatagramRun(vec![(work, ibv_sge::zeroed()); most].into())
    }

    /// Sets the datagram at this place: `segment`, with these flags (`IBV_SEND_SIGNALED`,
    /// `IBV_SEND_INLINE`). Its completion bears `id`.
    ///
    /// # Panics
    /// If there are not that many places.
    #[inline]
    pub fn set(
        &mut self,
        at: usize,
        id: u64,
        segment: ibv_sge,
        to: &AddressHandle,
        (remote_pair, q_key): (u32, u32),
        flags: u32,
    ) {
        let (work, place) = &mut self.0[at];
        *place = segment;
        (work.wr_id, work.send_flags) = (id, flags);
        let ud = ibv_datagram_target { ah: to.raw(), remote_qpn: remote_pair, remote_qkey: q_key };
        work.wr = ibv_target { ud };
    }

    /// Posts the first `count` datagrams.
    ///
    /// # Errors
    /// The number of them taken, and the error number: `ENOMEM` if the queue is full.
    ///
    /// # Panics
    /// If there are fewer than `count` places, or `count` is 0.
    ///
    /// # Safety
    /// All of them were set since the last call. Their segments (unless inline) and handles live
    /// until the work is complete.
    #[inline]
    pub unsafe fn post(&mut self, on: &QueuePair, count: usize) -> Result<(), (usize, i32)> {
        let run = &mut self.0[..count];
        assert!(!run.is_empty());
        let first = run.as_mut_ptr();
        for at in 0..count {
            // SAFETY: all within the slice.
            unsafe {
                let place = first.add(at);
                (*place).0.sg_list = &raw mut (*place).1;
                (*place).0.next = if at + 1 == count { null_mut() } else { &raw mut (*first.add(at + 1)).0 };
            }
        }
        // SAFETY: a list that ends, of one segment each; the rest is the caller's promise.
        let outcome = unsafe { on.post_list(&raw mut (*first).0) };
        outcome.map_err(|(refused, code)| {
            let taken = self.0[..count].iter().position(|(work, _)| std::ptr::eq(work, refused));
            (taken.unwrap_or(0), code)
        })
    }
}
