//! Taking completions from the queue, several at a time, and the meaning of their statuses.

use crate::device::{Completion, Failed, QueuePair};
use verbena_verbs::CompletionQueue;
use verbena_verbs::raw::{self, ibv_wc};

/// The number of completions taken from the device at once.
const BATCH: usize = 16;

/// Completions that were taken from the device and not yet handed out.
pub(crate) struct Taken {
    batch: Vec<ibv_wc>,
    next: usize,
    end: usize,
}

impl Taken {
    /// Makes an empty list.
    pub(crate) fn new() -> Taken {
        Taken { batch: vec![ibv_wc::zeroed(); BATCH], next: 0, end: 0 }
    }

    /// Returns the next completion, if there is one. After a batch that was not full it answers
    /// once, without a look, that there is none: a look would cost as much as taking a packet, and
    /// usually finds nothing.
    ///
    /// # Errors
    /// The driver failed.
    #[inline]
    pub(crate) fn next(&mut self, queue: &CompletionQueue) -> Result<Option<&ibv_wc>, i32> {
        if self.next == self.end {
            let was_short = (1..BATCH).contains(&self.end);
            (self.next, self.end) = (0, 0);
            if was_short {
                return Ok(None);
            }
            self.end = queue.poll(&mut self.batch[..BATCH])?;
            if self.end == 0 {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(&self.batch[self.next - 1]))
    }

    /// Returns, before a sleep, whether all was handed out: what was not makes no event any more.
    /// The next answer follows a look then.
    pub(crate) fn is_empty(&mut self) -> bool {
        if self.next == self.end {
            (self.next, self.end) = (0, 0);
        }
        self.next == self.end
    }

    /// Returns what was not handed out.
    fn rest(&self) -> &[ibv_wc] {
        &self.batch[self.next..self.end]
    }

    /// Replaces all that was taken so far by this list.
    fn replace(&mut self, all: Vec<ibv_wc>) {
        (self.next, self.end, self.batch) = (0, all.len(), all);
        self.batch.resize(self.end.max(BATCH), ibv_wc::zeroed());
    }
}

/// The completions taken for `rc`.
pub(crate) struct Batch {
    taken: Taken,
    /// Receives from the shared queue through a queue pair that was closed before they were handed
    /// out.
    orphans: Vec<Completion>,
}

impl Batch {
    /// Makes an empty batch.
    pub(crate) fn new() -> Batch {
        Batch { taken: Taken::new(), orphans: Vec::new() }
    }

    /// Returns whether all was handed out, as [`Taken::is_empty`] does.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.taken.is_empty() && self.orphans.is_empty()
    }

    /// Returns the next completion, as [`Taken::next`] does.
    ///
    /// # Errors
    /// The driver failed.
    #[inline]
    pub(crate) fn next(&mut self, queue: &CompletionQueue) -> Result<Option<Completion>, i32> {
        if let Some(orphan) = self.orphans.pop() {
            return Ok(Some(orphan));
        }
        Ok(self.taken.next(queue)?.map(completion))
    }

    /// Takes all that the device still holds after a queue pair was destroyed, and forgets what
    /// belongs to it, since its number may be given to another. A message that came through it into
    /// a buffer of the shared queue counts as flushed, so that the buffer is not lost.
    ///
    /// # Errors
    /// The driver failed.
    pub(crate) fn forget(&mut self, pair: QueuePair, shared: bool, cq: &CompletionQueue) -> Result<(), i32> {
        let mut all = self.taken.rest().to_vec();
        let outcome = drain(cq, &mut all);
        self.orphans.extend(all.iter().filter_map(|wc| orphan(wc, pair, shared)));
        all.retain(|wc| wc.qp_num != pair.0);
        self.taken.replace(all);
        outcome
    }
}

/// Takes everything that the device holds.
fn drain(queue: &CompletionQueue, into: &mut Vec<ibv_wc>) -> Result<(), i32> {
    let mut more = [ibv_wc::zeroed(); BATCH];
    loop {
        match queue.poll(&mut more)? {
            0 => return Ok(()),
            count => into.extend_from_slice(&more[..count]),
        }
    }
}

/// Returns what is left of a completion of the queue pair `closed`: the buffer of the shared queue
/// that it filled.
fn orphan(wc: &ibv_wc, closed: QueuePair, shared: bool) -> Option<Completion> {
    let received = wc.status == raw::IBV_WC_SUCCESS && wc.opcode & raw::IBV_WC_RECV != 0;
    let orphan = Completion { id: wc.wr_id, pair: closed, outcome: Err(Failed::Flushed) };
    (shared && received && wc.qp_num == closed.0).then_some(orphan)
}

#[inline]
fn completion(wc: &ibv_wc) -> Completion {
    let outcome = match wc.status {
        // The length is defined only for a receive.
        raw::IBV_WC_SUCCESS if wc.opcode & raw::IBV_WC_RECV != 0 => Ok(wc.byte_len),
        raw::IBV_WC_SUCCESS => Ok(0),
        status => Err(failed(status)),
    };
    Completion { id: wc.wr_id, pair: QueuePair(wc.qp_num), outcome }
}

#[cold]
pub(crate) fn failed(status: u32) -> Failed {
    match status {
        raw::IBV_WC_WR_FLUSH_ERR => Failed::Flushed,
        raw::IBV_WC_RETRY_EXC_ERR | raw::IBV_WC_RESP_TIMEOUT_ERR => Failed::RetriesExhausted,
        raw::IBV_WC_RNR_RETRY_EXC_ERR => Failed::ReceiverNotReady,
        raw::IBV_WC_REM_ACCESS_ERR => Failed::RemoteAccess,
        raw::IBV_WC_LOC_PROT_ERR | raw::IBV_WC_LOC_ACCESS_ERR => Failed::LocalAccess,
        other => Failed::Other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(pair: u32, status: u32, opcode: u32) -> ibv_wc {
        ibv_wc { wr_id: 9, qp_num: pair, status, opcode, byte_len: 100, ..ibv_wc::zeroed() }
    }

    #[test]
    fn only_a_receive_has_a_length() {
        assert_eq!(completion(&ended(1, 0, raw::IBV_WC_RECV)).outcome, Ok(100));
        assert_eq!(completion(&ended(1, 0, 0)).outcome, Ok(0));
    }

    #[test]
    fn statuses_have_their_meaning() {
        let of = |status| completion(&ended(1, status, 0)).outcome.expect_err("failed");
        assert_eq!(of(12), Failed::RetriesExhausted);
        assert_eq!(of(13), Failed::ReceiverNotReady);
        assert_eq!((of(10), of(4), of(5)), (Failed::RemoteAccess, Failed::LocalAccess, Failed::Flushed));
        assert_eq!(of(21), Failed::Other(21));
    }

    #[test]
    fn of_a_closed_pair_only_filled_buffers_of_the_shared_queue_come_back() {
        let of = |wc: ibv_wc, shared| orphan(&wc, QueuePair(1), shared).map(|left| left.outcome);
        assert_eq!(of(ended(1, 0, raw::IBV_WC_RECV), true), Some(Err(Failed::Flushed)));
        assert_eq!(of(ended(1, 0, raw::IBV_WC_RECV), false), None);
        assert_eq!(of(ended(1, 0, 0), true), None);
        assert_eq!(of(ended(1, raw::IBV_WC_WR_FLUSH_ERR, raw::IBV_WC_RECV), true), None);
        assert_eq!(of(ended(2, 0, raw::IBV_WC_RECV), true), None);
    }
}
