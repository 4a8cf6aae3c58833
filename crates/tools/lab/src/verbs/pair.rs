//! A connected queue pair over the memory of both ranks.

use super::memory::{Far, LANDING, Memory, Part};
use anyhow::{Result, anyhow, ensure};
use std::ptr::null_mut;
use std::sync::Arc;
use verbena_verbs::explain::fault;
use verbena_verbs::queues::ReceiveBuffer;
use verbena_verbs::raw::{self, ibv_rdma_target, ibv_send_wr, ibv_sge, ibv_target, ibv_wc};
use verbena_verbs::{CompletionQueue, QueuePair, SharedReceiveQueue};

/// The most parts that one piece of work gathers.
pub(super) const PARTS_MAX: usize = 4;
/// The most work under way on a queue pair.
pub(super) const WORK_MAX: u32 = 128;

/// The work of a queue pair. Offsets count in the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A send, into a receive buffer of the peer.
    Send,
    /// An RDMA write.
    Write {
        /// The offset to which it writes.
        to: usize,
    },
    /// An RDMA write that uses up a receive buffer of the peer, whose completion bears a value.
    WriteImmediate {
        /// The offset to which it writes.
        to: usize,
        /// The value.
        value: u32,
    },
    /// An RDMA read.
    Read {
        /// The offset from which it reads.
        from: usize,
    },
}

/// A completion, which was no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// True for a receive.
    pub received: bool,
    /// The bytes received.
    pub bytes: usize,
    /// The immediate value that came with it.
    pub immediate: Option<u32>,
    /// The number of the queue pair.
    pub pair: u32,
}

/// A connected queue pair.
pub(super) struct Pair {
    queue: QueuePair,
    completions: Arc<CompletionQueue>,
    shared: Option<Arc<SharedReceiveQueue>>,
    memory: Arc<Memory>,
    far: Far,
}

impl Pair {
    /// Wraps a queue pair that is connected, over the memory of both ranks.
    pub(super) fn new(
        queue: QueuePair,
        completions: Arc<CompletionQueue>,
        shared: Option<Arc<SharedReceiveQueue>>,
        memory: Arc<Memory>,
        far: Far,
    ) -> Pair {
        Pair { queue, completions, shared, memory, far }
    }

    /// Returns the queue pair's number.
    pub(super) fn number(&self) -> u32 {
        self.queue.number()
    }

    /// Posts work over these parts of the memory.
    ///
    /// # Errors
    /// The device refuses it.
    ///
    /// # Panics
    /// If there are more than [`PARTS_MAX`] parts.
    #[inline]
    pub(super) fn post(&self, work: Work, parts: &[Part], signalled: bool) -> Result<()> {
        let mut segments = [ibv_sge::zeroed(); PARTS_MAX];
        for (segment, &part) in segments[..parts.len()].iter_mut().zip(parts) {
            *segment = ibv_sge {
                addr: self.memory.address(part),
                length: part.bytes as u32,
                lkey: self.memory.key(),
            };
        }
        let mut request = self.request(work);
        request.sg_list = segments.as_mut_ptr();
        // A segment of length 0 would mean 2^31 bytes to some devices.
        request.num_sge = parts.iter().filter(|part| part.bytes > 0).count() as i32;
        request.send_flags = if signalled { raw::IBV_SEND_SIGNALED } else { 0 };
        // SAFETY: the segments lie in registered memory that this pair keeps alive, and lists are
        // well formed.
        unsafe { self.queue.post(&mut request) }.map_err(|number| self.refused("work", number))
    }

    fn request(&self, work: Work) -> ibv_send_wr {
        let mut request = ibv_send_wr::zeroed();
        request.next = null_mut();
        let remote = |at: usize| ibv_target {
            rdma: ibv_rdma_target { remote_addr: self.far.address + at as u64, rkey: self.far.key },
        };
        match work {
            Work::Send => request.opcode = raw::IBV_WR_SEND,
            Work::Write { to } => (request.opcode, request.wr) = (raw::IBV_WR_RDMA_WRITE, remote(to)),
            Work::WriteImmediate { to, value } => {
                (request.opcode, request.wr) = (raw::IBV_WR_RDMA_WRITE_WITH_IMM, remote(to));
                request.imm_data = value;
            }
            Work::Read { from } => (request.opcode, request.wr) = (raw::IBV_WR_RDMA_READ, remote(from)),
        }
        request
    }

    fn refused(&self, what: &str, number: i32) -> anyhow::Error {
        let on = format!("queue pair {}", self.number());
        anyhow!(fault(&format!("{what} cannot be posted"), on, number))
    }

    /// Posts the place where messages land as a receive buffer.
    ///
    /// # Errors
    /// The device refuses it.
    #[inline]
    pub(super) fn post_receive(&self, bytes: usize) -> Result<()> {
        let part = Part { offset: LANDING, bytes };
        let (address, local_key) = (self.memory.address(part), self.memory.key());
        let buffer = ReceiveBuffer { id: 0, address, bytes: bytes as u32, local_key };
        // SAFETY: registered memory that this pair keeps alive, which is read by address only.
        let posted = unsafe {
            match &self.shared {
                Some(shared) => shared.post(&buffer),
                None => self.queue.post_receive(&buffer),
            }
        };
        posted.map_err(|number| self.refused("a receive buffer", number))
    }

    /// Takes the oldest completion of the queue that this pair reports to, if there is one.
    ///
    /// # Errors
    /// The work failed.
    #[inline]
    pub(super) fn take(&self) -> Result<Option<Ended>> {
        let mut ends = [ibv_wc::zeroed()];
        let count = self.completions.poll(&mut ends).map_err(|number| self.refused("a look", number))?;
        if count == 0 {
            return Ok(None);
        }
        let [end] = ends;
        ensure!(
            end.status == raw::IBV_WC_SUCCESS,
            "work on queue pair {} failed with status {} (ibv_wc_status)",
            end.qp_num,
            end.status
        );
        let has_immediate = end.wc_flags & raw::IBV_WC_WITH_IMM != 0;
        Ok(Some(Ended {
            received: end.opcode & raw::IBV_WC_RECV != 0,
            bytes: end.byte_len as usize,
            immediate: has_immediate.then_some(end.imm_data),
            pair: end.qp_num,
        }))
    }

    /// Takes all completions that are there.
    ///
    /// # Errors
    /// Work failed.
    #[inline]
    pub(super) fn drain(&self) -> Result<()> {
        while self.take()?.is_some() {}
        Ok(())
    }
}
