//! Collective accesses (MPI-5.0, 14.4): all processes of a file read or write together.
//!
//! | file | what it does |
//! | --- | --- |
//! | `plan` | decides whether some processes move the bytes of all, and which |
//! | `meeting` | tells all processes what each one wants |
//! | `round` | the messages of a round |
//! | `section`, `coverage` | the pieces that a process accesses, and those of all |
//! | `disk` | reads and writes a stretch of the file |
//! | `rounds` | one round after the other, with reads and writes beside the messages |
//!
//! Processes first tell each other what they want. Where each one's bytes lie side by side, or in
//! long pieces, each moves its own. Where short pieces are mixed, a few processes (the aggregators)
//! move the bytes of all: each has a part of the file, its domain, of which it is the only one to
//! write.
//! In the end all hear whether an aggregator has failed.

mod coverage;
mod disk;
mod meeting;
mod plan;
mod round;
mod rounds;
mod section;

use super::File;
use super::access::{Access, Place};
use super::counts::{self, Count};
use super::hints::Choice;
use super::pending::{Starter, move_beside};
use super::representation::{Data, Direction};
use crate::active::Active;
use crate::beside::Operation;
use crate::coll::call::in_words;
use crate::comm::Traffic;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use crate::task::Task;
use meeting::Meeting;
use plan::{Plan, Wish};
use rounds::Rounds;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_hang::Awaited;

/// A collective access under way.
struct Together {
    file: Arc<File>,
    direction: Direction,
    access: Access,
    tag: i32,
    choices: Choices,
    /// True for an access at the individual file pointer, which has moved it.
    has_moved_pointer: bool,
    /// True if the program waits for it: what is short is done by its own thread.
    is_blocking: bool,
    stage: Stage,
    /// The first error of this process.
    failure: Option<Error>,
}

/// The hints that the processes choose the way by. They are taken when the access begins, in the
/// order of calls that is the same in all processes: until the meeting ends, they may change.
struct Choices {
    choice: Choice,
    aggregators: Vec<usize>,
    align: u64,
    round_bytes: u64,
}

enum Stage {
    /// The processes tell each other what they want.
    Meeting(Meeting),
    /// This process moves its own bytes.
    Alone(Option<Operation>),
    /// Some processes move the bytes of all.
    Rounds(Box<Rounds>),
    /// All hear whether one has failed.
    Ending(Meeting, usize),
}

impl File {
    /// Reads or writes in all processes of the file together; returns the bytes of this process's
    /// memory that were filled or taken. `data` may be an error of the arguments: the process then
    /// takes part without bytes, so that nobody waits for it, and it alone fails.
    ///
    /// # Errors
    /// As [`File::access`]; the class of a process that failed to move the bytes of others.
    pub fn access_all(
        self: &Arc<Self>,
        process: &Process,
        direction: Direction,
        place: Place,
        data: Result<Data>,
    ) -> Result<usize> {
        let data = self.check_no_split().and(data);
        let mut together = Together::new(self, direction, place, data, true);
        let moved = together.finish(process);
        if moved.is_err() {
            together.take_back();
        }
        moved
    }

    /// Starts [`File::access_all`], which goes on beside the program.
    ///
    /// # Errors
    /// Those of [`File::access`] that can be told at once.
    pub fn start_all(
        self: &Arc<Self>,
        process: &Process,
        direction: Direction,
        place: Place,
        data: Result<Data>,
    ) -> Result<Active> {
        let data = self.check_no_split().and(data);
        if self.view().representation.calls_program(direction) {
            // Functions of the program run in its own thread only, and this call waits for nobody:
            // the bytes move at once, and the task takes part without any.
            self.start_together(process, direction, place, Ok(Data::nothing()));
            return data.and_then(|data| self.start(process.waker().clone(), direction, place, &data));
        }
        let (wrong, operation) = self.start_together(process, direction, place, data);
        // What is wrong here is told at once; the task takes part for the others all the same.
        wrong.map_or(Ok(Active::File(operation)), Err)
    }

    /// Starts the task of a collective access. Returns what is wrong with it, too.
    fn start_together(
        self: &Arc<Self>,
        process: &Process,
        direction: Direction,
        place: Place,
        data: Result<Data>,
    ) -> (Option<Error>, Operation) {
        let together = Together::new(self, direction, place, data, false);
        let wrong = together.failure.clone();
        let operation = Operation::new(process.waker().clone());
        let task = Beside { together, operation: operation.clone() };
        process.tasks().start(process, Box::new(task));
        (wrong, operation)
    }
}

/// A collective access that progress drives.
struct Beside {
    together: Together,
    operation: Operation,
}

impl Task for Beside {
    fn advance(&mut self, process: &Process) -> Result<bool> {
        match self.together.advance(process).transpose() {
            None => Ok(false),
            Some(moved) => {
                self.operation.finish(moved);
                Ok(true)
            }
        }
    }
}

impl Together {
    /// Begins a collective access.
    fn new(
        file: &Arc<File>,
        direction: Direction,
        place: Place,
        data: Result<Data>,
        is_blocking: bool,
    ) -> Together {
        let tag = file.comm.next_nonblocking_tag();
        let prepared = data.and_then(|data| file.prepare(direction, place, &data));
        let has_moved_pointer = prepared.is_ok() && place == Place::Individual;
        let (access, failure) = match prepared {
            Ok(access) => (access, None),
            Err(error) => (Access::nothing(direction, file.view()), Some(error)),
        };
        let (wish, failure) = match file.wish(&access) {
            Ok(wish) => (wish, failure),
            Err(error) => (Wish::NOTHING, failure.or(Some(error))),
        };
        let access = if wish.bytes == 0 { Access { bytes: 0, ..access } } else { access };
        let meeting = Meeting::new(&file.comm, tag, &wish.words());
        let stage = Stage::Meeting(meeting);
        let (choices, file) = (file.choices(direction), file.clone());
        let mut together = Together {
            file,
            direction,
            access,
            tag,
            choices,
            has_moved_pointer,
            is_blocking,
            stage,
            failure,
        };
        if together.failure.is_some() {
            together.take_back();
        }
        together
    }

    /// Goes on to the end of the access.
    fn finish(&mut self, process: &Process) -> Result<usize> {
        let (context, tag) = (self.file.comm.context(Traffic::Point), self.tag);
        let awaited = |_: &Process| Awaited::Collective(in_words(context, tag, Mark::NONE));
        process.wait_for(awaited, |process| self.advance(process).transpose())
    }

    /// Sets the individual file pointer back, if this access has moved it.
    fn take_back(&mut self) {
        if std::mem::take(&mut self.has_moved_pointer) {
            self.file.take_back(&self.access);
        }
    }

    /// Goes on. Returns the bytes of memory that were moved, once it has ended.
    fn advance(&mut self, mut process: &Process) -> Result<Option<usize>> {
        loop {
            let next = match &mut self.stage {
                Stage::Meeting(meeting) => match meeting.advance(&mut process)? {
                    None => return Ok(None),
                    Some(told) => self.decide(process, &told)?,
                },
                Stage::Alone(operation) => {
                    let Some(operation) = operation else { return self.ended(0).map(Some) };
                    let Some(outcome) = operation.poll() else { return Ok(None) };
                    let moved = outcome.error.map_or(Ok(outcome.bytes as usize), Err);
                    return moved.and_then(|moved| self.ended(moved)).map(Some);
                }
                Stage::Rounds(rounds) => {
                    let Some(moved) = rounds.advance(process, &self.file, &self.access, self.tag)? else {
                        return Ok(None);
                    };
                    self.end_together(moved)
                }
                Stage::Ending(meeting, moved) => match meeting.advance(&mut process)? {
                    None => return Ok(None),
                    Some(told) => {
                        let (moved, file) = (*moved, &self.file);
                        if let Some(rank) = told.iter().position(|words| words[0] != 0) {
                            let error = || file.failed_elsewhere(rank, told[rank][0] as i32);
                            return Err(self.failure.take().unwrap_or_else(error));
                        }
                        return self.ended(moved).map(Some);
                    }
                },
            };
            self.stage = next;
        }
    }

    fn ended(&mut self, moved: usize) -> Result<usize> {
        self.failure.take().map_or(Ok(moved), Err)
    }

    /// Chooses the way, from what all processes want: they choose alike.
    fn decide(&mut self, process: &Process, told: &[Vec<u64>]) -> Result<Stage> {
        let wishes: Vec<Wish> = told.iter().map(|words| Wish::of_words(words)).collect();
        if !plan::is_shared(&wishes, self.direction, self.choices.choice) {
            counts::add(Count::Alone, 1);
            return self.go_alone(process);
        }
        counts::add(Count::Aggregated, 1);
        if self.direction == Direction::Read {
            let size = wishes.iter().map(|wish| wish.size).max().unwrap_or(0);
            self.access.end_at(size);
        }
        let Choices { aggregators, align, round_bytes, .. } = &self.choices;
        let plan = || Plan::new(&wishes, aggregators, *align, *round_bytes);
        let rounds = Rounds::new(plan(), &self.access, self.is_blocking);
        match rounds {
            Ok(rounds) => Ok(Stage::Rounds(Box::new(rounds))),
            // Elements of this process cannot be converted: it takes part without them.
            Err(error) => {
                self.failure.get_or_insert(error);
                self.access.bytes = 0;
                Ok(Stage::Rounds(Box::new(Rounds::new(plan(), &self.access, self.is_blocking)?)))
            }
        }
    }

    /// Moves this process's own bytes.
    fn go_alone(&mut self, process: &Process) -> Result<Stage> {
        let (file, access) = (&self.file, &self.access);
        if access.bytes == 0 {
            return Ok(Stage::Alone(None));
        }
        // A stream may need the progress of this process until it has bytes.
        let calls_program = access.view.representation.calls_program(access.direction);
        if self.is_blocking && (calls_program || !file.disk.is_stream()) {
            let moved = file.carry_out_in_order(access)?;
            let operation = Operation::ended(Ok(moved.memory));
            return Ok(Stage::Alone(Some(operation)));
        }
        let how = (Starter::Task, access.direction);
        let operation = move_beside(how, file, process.waker().clone(), access.clone());
        Ok(Stage::Alone(Some(operation)))
    }

    /// Tells all whether this process has failed to move bytes, after the last round. A mistake in
    /// its own arguments is no matter of theirs.
    fn end_together(&mut self, moved: Result<usize>) -> Stage {
        let class = moved.as_ref().err().map_or(mpi::MPI_SUCCESS, |error| error.class);
        let moved = moved.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            0
        });
        Stage::Ending(Meeting::new(&self.file.comm, self.tag, &[u64::from(class as u32)]), moved)
    }
}

impl Access {
    /// An access of no bytes.
    fn nothing(direction: Direction, view: super::View) -> Access {
        Access { direction, view, start: 0, bytes: 0, asked: 0, data: Data::nothing() }
    }

    /// Leaves out what lies behind the end of a file of this size.
    fn end_at(&mut self, size: u64) {
        let there = self.view.before(size).saturating_sub(self.start);
        self.bytes = there.min(self.bytes as u64) as usize;
    }
}

impl File {
    /// Makes what this process tells the others of an access.
    fn wish(&self, access: &Access) -> Result<Wish> {
        let size = if access.direction == Direction::Read { self.disk.size().unwrap_or(0) } else { 0 };
        if access.bytes == 0 {
            return Ok(Wish { size, ..Wish::NOTHING });
        }
        Ok(Wish {
            extent: access.extent()?,
            bytes: access.bytes as u64,
            run_bytes: access.view.run_bytes().min(access.bytes as u64),
            may_share: access.view.goes_up()
                && !self.is_atomic()
                && !self.disk.is_stream()
                && !self.mode.has(mpi::MPI_MODE_SEQUENTIAL),
            size,
            cheap_gap: if self.disk.file_system().is_shared { self.cheap_gap() } else { 0 },
        })
    }

    /// The hints as they are now. As many processes as they say move the bytes of all, spread over
    /// the nodes.
    fn choices(&self, direction: Direction) -> Choices {
        let tuning = self.hints.tuning();
        let choice = match direction {
            Direction::Read => tuning.collective_read,
            Direction::Write => tuning.collective_write,
        };
        let count = self.hints.aggregators() as usize;
        let mut aggregators: Vec<usize> = self.aggregators.iter().copied().take(count).collect();
        aggregators.sort_unstable();
        Choices { choice, aggregators, align: self.hints.align(), round_bytes: tuning.round_bytes }
    }
}

/// The order in which processes become aggregators: the first of each node, then the second of
/// each.
pub(super) fn order(nodes: &[u64]) -> Vec<usize> {
    let turn = |rank: usize| nodes[..rank].iter().filter(|&&node| node == nodes[rank]).count();
    let mut order: Vec<(usize, usize)> = (0..nodes.len()).map(|rank| (turn(rank), rank)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, rank)| rank).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn aggregators_are_spread_over_the_nodes() {
        assert_eq!(super::order(&[7, 7, 7, 9, 9, 5]), [0, 3, 5, 1, 4, 2]);
        assert_eq!(super::order(&[1]), [0]);
    }
}
