//! One round after the other. While a stretch is written, the messages of the next round go on.

use super::meeting::Meeting;
use super::plan::Plan;
use super::round::{Common, Next, Round, Stretch};
use crate::beside::Operation;
use crate::error::{Error, Result};
use crate::file::File;
use crate::file::access::Access;
use crate::file::pending::{Starter, run_beside};
use crate::file::representation::Direction;
use crate::process::Process;
use std::sync::Arc;
use verbena_memory::{Buffer, Owned};

/// The rounds of a collective access.
pub(super) struct Rounds {
    plan: Plan,
    /// The bytes of the access as they are in the file: the program's memory, or a copy that is
    /// converted.
    buffer: Buffer,
    staged: Option<Owned>,
    /// True if the calling thread reads and writes itself: there is one round, and it waits.
    is_at_once: bool,
    number: u64,
    /// True if no round follows.
    is_at_end: bool,
    /// The ranks tell each other in which round their next bytes are.
    meeting: Option<Meeting>,
    round: Option<Round>,
    /// The read or write under way, with the stretch that it reads to.
    disk: Option<(Operation, Option<Stretch>)>,
    failure: Option<Error>,
}

impl Rounds {
    /// Rounds of this plan.
    ///
    /// # Errors
    /// The elements cannot be converted to the form of the file.
    pub(super) fn new(plan: Plan, access: &Access, is_blocking: bool) -> Result<Rounds> {
        let representation = &access.view.representation;
        let converts = representation.converts(access.direction) && access.bytes > 0;
        let staged = converts.then(|| Owned::stale(access.bytes));
        let buffer = match &staged {
            Some(staged) => Buffer::Contiguous(staged.lend()),
            None => access.data.buffer.part(0, access.bytes.min(access.data.buffer.len())),
        };
        if let (Some(staged), Direction::Write) = (&staged, access.direction) {
            representation.encode(&access.data, staged.lend())?;
        }
        let is_only = plan.round_from(0).is_none_or(|first| plan.round_from(first + 1).is_none());
        let is_at_once = is_blocking && is_only;
        let (number, meeting, round, disk, failure) = (0, None, None, None, None);
        let is_at_end = false;
        Ok(Rounds { plan, buffer, staged, is_at_once, number, is_at_end, meeting, round, disk, failure })
    }

    /// Goes on. Returns the bytes of memory that were moved, or the error of this process, once all
    /// rounds have ended.
    ///
    /// # Errors
    /// The messages failed: no round can follow.
    pub(super) fn advance(
        &mut self,
        process: &Process,
        file: &Arc<File>,
        access: &Access,
        tag: i32,
    ) -> Result<Option<Result<usize>>> {
        loop {
            if self.round.is_none() {
                match self.following(process, file, access, tag)? {
                    Following::Wait => return Ok(None),
                    Following::Nothing => return Ok(self.finish(access)),
                    Following::Round(number) => self.number = number,
                }
            }
            let (comm, plan, buffer) = (&file.comm, &self.plan, &self.buffer);
            let common = Common { comm, tag, plan, access, buffer };
            if self.round.is_none() {
                self.round = Some(Round::new(&common, self.number)?);
            }
            let Some(round) = &mut self.round else { unreachable!("a round was begun") };
            match round.advance(process, &common)? {
                Next::Wait => return Ok(None),
                Next::Ended => {
                    self.round = None;
                    self.number += 1;
                }
                Next::Disk if access.direction == Direction::Write => {
                    if !settle(&mut self.disk, &mut self.failure, None) {
                        return Ok(None);
                    }
                    if let Some(stretch) = round.stretch.take() {
                        self.disk = start_write(file, process, stretch, self.is_at_once, &mut self.failure);
                    }
                    self.round = None;
                    self.number += 1;
                }
                Next::Disk => {
                    if self.disk.is_none()
                        && let Some(stretch) = round.stretch.take()
                    {
                        self.disk = Some(start_read(file, process, stretch, self.is_at_once));
                    }
                    if !settle(&mut self.disk, &mut self.failure, Some(&mut *round)) {
                        return Ok(None);
                    }
                    round.have_read(&common);
                }
            }
        }
    }

    /// Finds the round that follows, alike for all ranks.
    fn following(
        &mut self,
        mut process: &Process,
        file: &File,
        access: &Access,
        tag: i32,
    ) -> Result<Following> {
        let number = match self.is_at_end {
            true => None,
            false if !self.plan.is_sparse => self.plan.round_from(self.number),
            false => {
                if self.meeting.is_none() {
                    let own = self.plan.round_of_bytes(access, self.number)?.unwrap_or(u64::MAX);
                    self.meeting = Some(Meeting::new(&file.comm, tag, &[own]));
                }
                let Some(meeting) = &mut self.meeting else { unreachable!("a meeting was begun") };
                let Some(told) = meeting.advance(&mut process)? else { return Ok(Following::Wait) };
                self.meeting = None;
                told.iter().map(|words| words[0].max(self.number)).min().filter(|&number| number < u64::MAX)
            }
        };
        self.is_at_end = number.is_none();
        Ok(number.map_or(Following::Nothing, Following::Round))
    }

    /// Ends once the last write has ended.
    fn finish(&mut self, access: &Access) -> Option<Result<usize>> {
        if !settle(&mut self.disk, &mut self.failure, None) {
            return None;
        }
        if let Some(error) = self.failure.take() {
            return Some(Err(error));
        }
        Some(match (&self.staged, access.direction) {
            (Some(staged), Direction::Read) => access.view.representation.decode(staged.lend(), &access.data),
            (Some(_), Direction::Write) => Ok(access.data.buffer.len()),
            (None, _) => Ok(self.buffer.len()),
        })
    }
}

/// The round that follows.
enum Following {
    /// The ranks have not told it yet.
    Wait,
    Round(u64),
    /// No rank has bytes left.
    Nothing,
}

/// Looks whether the disk has done its work, and notes how it went. What was read goes back to its
/// round.
fn settle(
    disk: &mut Option<(Operation, Option<Stretch>)>,
    failure: &mut Option<Error>,
    round: Option<&mut Round>,
) -> bool {
    let Some((operation, _)) = disk else { return true };
    let Some(outcome) = operation.poll() else { return false };
    if let Some(error) = outcome.error {
        failure.get_or_insert(error);
    }
    let stretch = disk.take().and_then(|(_, stretch)| stretch);
    if let Some(round) = round {
        round.stretch = stretch;
    }
    true
}

/// Starts to write a stretch; returns what to wait for.
fn start_write(
    file: &Arc<File>,
    process: &Process,
    stretch: Stretch,
    is_at_once: bool,
    failure: &mut Option<Error>,
) -> Option<(Operation, Option<Stretch>)> {
    let write =
        move |file: &File| file.write_stretch(stretch.memory.lend(), stretch.extent.start, &stretch.coverage);
    if is_at_once {
        if let Err(error) = write(file) {
            failure.get_or_insert(error);
        }
        return None;
    }
    Some((run_beside((Starter::Task, Direction::Write), file, process.waker().clone(), write), None))
}

/// Starts to read a stretch.
fn start_read(
    file: &Arc<File>,
    process: &Process,
    mut stretch: Stretch,
    is_at_once: bool,
) -> (Operation, Option<Stretch>) {
    let (memory, start) = (stretch.memory.lend(), stretch.extent.start);
    let coverage = stretch.take_coverage();
    let read = move |file: &File| file.read_stretch(memory, start, &coverage);
    let operation = match is_at_once {
        true => Operation::ended(read(file)),
        false => run_beside((Starter::Task, Direction::Read), file, process.waker().clone(), read),
    };
    (operation, Some(stretch))
}
