//! The sending side: partitions leave one by one as they become ready.

use super::{Partitions, error};
use crate::comm::words::pack;
use crate::comm::{Comm, Traffic};
use crate::error::{Error, Result};
use crate::generated::constants::MPI_PROC_NULL;
use crate::outcome::Outcome;
use crate::process::{Access, Process, failure_error};
use crate::task::Task;
use std::collections::VecDeque;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Completion, Mode, Posted, RequestId, SendRequest};
use verbena_memory::{Buffer, Owned};
use verbena_waiting::lock::Lock;

/// A partitioned send.
pub struct Sending {
    partitions: Partitions,
    /// The receiver; `None` for `MPI_PROC_NULL`.
    target: Option<Target>,
    round: Lock<Round>,
}

/// The receiver of the partitions.
#[derive(Clone, Copy)]
struct Target {
    peer: Peer,
    /// The new context of this pair of initialisations.
    context: u64,
    /// The sender's rank.
    source: i32,
}

#[derive(Default)]
struct Round {
    is_ready: Vec<bool>,
    /// Number of partitions that are not ready.
    missing: usize,
    under_way: VecDeque<RequestId>,
    error: Option<Error>,
}

impl Round {
    fn note(&mut self, completion: Completion) {
        self.error = self.error.take().or(completion.failure.map(failure_error));
    }
}

/// The message that announces a send to the receiver; it belongs to the library until it has left.
pub struct Announcement {
    message: Owned,
    request: Option<RequestId>,
}

impl Sending {
    /// A send of these partitions to rank `dest`, not started, and its announcement, which goes out
    /// at once. `context` is new.
    pub fn new(
        comm: &Comm,
        partitions: Partitions,
        (dest, tag): (i32, i32),
        context: u64,
        access: &mut impl Access,
    ) -> (Sending, Announcement) {
        let words = pack(&[context, partitions.count as u64, partitions.bytes() as u64]);
        let target =
            (dest != MPI_PROC_NULL).then(|| Target { peer: comm.peer(dest), context, source: comm.rank() });
        let context = comm.context(Traffic::Partitioned);
        let announcement = Announcement::send(target.map(|target| (target, context)), tag, &words, access);
        (Sending { partitions, target, round: Lock::new(Round::default()) }, announcement)
    }

    /// The buffer and its partitions.
    pub(super) fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// Begins a round: no partition is ready.
    pub fn start(&self) {
        let count = self.partitions.count;
        *self.round.lock() = Round { is_ready: vec![false; count], missing: count, ..Round::default() };
    }

    /// Sends these partitions of the round under way. `MPI_ERR_ARG` if one does not exist or is
    /// ready already; then none is sent.
    pub fn ready(&self, access: &mut impl Access, partitions: &[i32]) -> Result<()> {
        let mut round = self.round.lock();
        self.mark(&mut round, partitions)?;
        let Some(target) = self.target else { return Ok(()) };
        access.with(|engine| {
            for &partition in partitions {
                match engine.send(self.message(target, partition)) {
                    Posted::Pending(id) => round.under_way.push_back(id),
                    Posted::Done(completion) => round.note(completion),
                }
            }
        });
        Ok(())
    }

    /// Marks all of these partitions as ready, or none.
    fn mark(&self, round: &mut Round, partitions: &[i32]) -> Result<()> {
        for (i, &partition) in partitions.iter().enumerate() {
            let marked = self.partitions.index(partition).and_then(|index| {
                let was_ready = std::mem::replace(&mut round.is_ready[index], true);
                if was_ready { Err(error::ready_already(index)) } else { Ok(()) }
            });
            if marked.is_err() {
                partitions[..i].iter().for_each(|&earlier| round.is_ready[earlier as usize] = false);
                return marked;
            }
        }
        round.missing -= partitions.len();
        Ok(())
    }

    fn message(&self, target: Target, partition: i32) -> SendRequest {
        let Target { peer, context, source } = target;
        let each = self.partitions.each();
        let buffer = self.partitions.buffer.part(partition as usize * each, each);
        SendRequest { peer, context, source, tag: partition, buffer, mark: Mark::NONE, mode: Mode::Standard }
    }

    /// Returns how the round ended, if it has: every partition is ready and has left.
    pub fn poll(&self, access: &mut impl Access) -> Option<Outcome> {
        let mut round = self.round.lock();
        if round.missing > 0 {
            return None;
        }
        // They leave mostly in this order: to look behind one that has not left would cost more
        // than it finds.
        access.look(|engine| {
            while let Some(completion) = round.under_way.front().and_then(|&id| engine.take(id)) {
                round.under_way.pop_front();
                round.note(completion);
            }
        });
        round.under_way.is_empty().then(|| Outcome { error: round.error.clone(), ..Outcome::EMPTY })
    }

    /// Says that nobody will ask again: what is under way ends by itself.
    pub fn release(&self, access: &mut impl Access) {
        let under_way = std::mem::take(&mut self.round.lock().under_way);
        access.with(|engine| under_way.into_iter().for_each(|id| engine.forget(id)));
    }
}

impl Announcement {
    fn send(to: Option<(Target, u64)>, tag: i32, words: &[u8], access: &mut impl Access) -> Announcement {
        let message = Owned::zeroed(words.len());
        message.lend().write(0, words);
        let Some((Target { peer, source, .. }, context)) = to else {
            return Announcement { message, request: None };
        };
        let buffer = Buffer::Contiguous(message.lend());
        let send = SendRequest { peer, context, source, tag, buffer, mark: Mark::NONE, mode: Mode::Standard };
        // If it fails, so will the partitions, and they report it.
        let request = match access.with(|engine| engine.send(send)) {
            Posted::Pending(id) => Some(id),
            Posted::Done(_) => None,
        };
        Announcement { message, request }
    }

    /// Returns whether it has left, so that its memory may go.
    pub fn has_left(&mut self, access: &mut impl Access) -> bool {
        let Some(id) = self.request else { return true };
        debug_assert!(!self.message.lend().is_empty());
        access.look(|engine| engine.take(id)).is_some()
    }
}

impl Task for Announcement {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        Ok(self.has_left(&mut process))
    }
}
