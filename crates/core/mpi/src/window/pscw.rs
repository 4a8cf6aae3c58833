//! Post, start, complete and wait (MPI-5.0, 12.5.2).
//!
//! A post and a complete are messages without bytes in the window's own communicator, whatever the
//! way to the target is. Messages of one pair keep their order, so the n-th post meets the n-th
//! start.

use super::epoch::Meeting;
use super::{Win, error};
use crate::comm::Traffic;
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::process::Process;
use crate::request::{Active, Direction, Outcome};
use std::collections::BTreeMap;
use std::sync::atomic::{Ordering, fence};
use verbena_channel::mark::Mark;
use verbena_engine::{Mode, Posted, ReceiveRequest, SendRequest};
use verbena_memory::Buffer;

/// The tags of the two messages.
const POST: i32 = 1;
const COMPLETE: i32 = 2;

/// The messages that this process waits for.
#[derive(Default)]
pub(super) struct Meetings {
    /// The posts of the targets that were started.
    posts: BTreeMap<i32, Active>,
    /// The completes of the origins that were posted to.
    completes: Vec<Active>,
}

impl Win {
    /// Begins access to the members of `group` (`MPI_Win_start`). Does not wait for their posts.
    pub fn start(&self, process: &Process, group: &Group, assert: i32) -> Result<()> {
        if assert & !mpi::MPI_MODE_NOCHECK != 0 {
            return Err(error::assertion("MPI_Win_start", assert, "MPI_MODE_NOCHECK"));
        }
        let targets = self.ranks_of(group)?;
        let is_checked = assert & mpi::MPI_MODE_NOCHECK == 0;
        let meeting = if is_checked { Meeting::Due } else { Meeting::Unchecked };
        self.epochs.lock().start(&targets, meeting)?;
        if is_checked {
            let posts = targets.iter().map(|&rank| (rank, self.hear(process, rank, POST))).collect();
            self.meetings.lock().posts = posts;
        }
        Ok(())
    }

    /// Waits until the target has posted.
    pub(super) fn await_post(&self, process: &Process, rank: i32) -> Result<()> {
        let Some(post) = self.meetings.lock().posts.remove(&rank) else { return Ok(()) };
        let outcome = crate::point::wait(process, &post);
        fence(Ordering::SeqCst);
        let Some(error) = outcome.error.clone() else { return Ok(()) };
        // Whoever comes next fails as well.
        self.meetings.lock().posts.insert(rank, Active::Done(outcome));
        Err(error)
    }

    /// Ends the access that `MPI_Win_start` began (`MPI_Win_complete`). Waits for the posts of
    /// targets that were not accessed, too.
    pub fn complete(&self, process: &Process) -> Result<()> {
        let targets = self.epochs.lock().complete()?;
        let mut outcome = Ok(());
        for (rank, meeting) in targets {
            let met = if meeting == Meeting::Due { self.await_post(process, rank) } else { Ok(()) };
            let finished = self.finish_at(process, rank as usize);
            fence(Ordering::SeqCst);
            outcome = outcome.and(met).and(finished).and(self.tell(process, rank, COMPLETE));
        }
        outcome
    }

    /// Exposes this process's memory to the members of `group` (`MPI_Win_post`).
    pub fn post(&self, process: &Process, group: &Group, assert: i32) -> Result<()> {
        let allowed = mpi::MPI_MODE_NOCHECK | mpi::MPI_MODE_NOSTORE | mpi::MPI_MODE_NOPUT;
        if assert & !allowed != 0 {
            let names = "any of MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT";
            return Err(error::assertion("MPI_Win_post", assert, names));
        }
        let origins = self.ranks_of(group)?;
        let mut epochs = self.epochs.lock();
        epochs.check_post()?;
        epochs.posted(&origins);
        drop(epochs);
        fence(Ordering::SeqCst);
        let completes = origins.iter().map(|&rank| self.hear(process, rank, COMPLETE)).collect();
        self.meetings.lock().completes = completes;
        if assert & mpi::MPI_MODE_NOCHECK != 0 {
            return Ok(());
        }
        origins.iter().try_for_each(|&rank| self.tell(process, rank, POST))
    }

    /// Waits until all origins have completed (`MPI_Win_wait`).
    pub fn wait(&self, process: &Process) -> Result<()> {
        self.epochs.lock().check_exposed("MPI_Win_wait")?;
        process.wait(|process| self.are_complete(process).then_some(()));
        self.end_exposure()
    }

    /// Returns whether all origins have completed, which ends the exposure (`MPI_Win_test`).
    pub fn test(&self, process: &Process) -> Result<bool> {
        self.epochs.lock().check_exposed("MPI_Win_test")?;
        if !self.are_complete(process) {
            process.poll();
            if !self.are_complete(process) {
                return Ok(false);
            }
        }
        self.end_exposure().map(|()| true)
    }

    /// Looks at every origin's message once more; one that came stays so.
    fn are_complete(&self, process: &Process) -> bool {
        let mut all = true;
        for one in &mut self.meetings.lock().completes {
            match one.poll(process) {
                Some(outcome) => *one = Active::Done(outcome),
                None => all = false,
            }
        }
        all
    }

    fn end_exposure(&self) -> Result<()> {
        fence(Ordering::SeqCst);
        let completes = std::mem::take(&mut self.meetings.lock().completes);
        self.epochs.lock().end_exposure();
        completes.iter().try_for_each(|one| match one {
            Active::Done(Outcome { error: Some(error), .. }) => Err(error.clone()),
            _ => Ok(()),
        })
    }

    /// The ranks of a group's members. `MPI_ERR_GROUP` if one is no member of the window.
    fn ranks_of(&self, group: &Group) -> Result<Vec<i32>> {
        let all: Vec<i32> = (0..group.size()).collect();
        let ranks = group.translate(&all, self.group())?;
        match ranks.contains(&mpi::MPI_UNDEFINED) {
            true => Err(error::group(group.size(), self.size())),
            false => Ok(ranks),
        }
    }

    /// Sends a member a message without bytes. It leaves by itself.
    fn tell(&self, process: &Process, rank: i32, tag: i32) -> Result<()> {
        let message = SendRequest {
            peer: self.group().peer(rank),
            context: self.comm.context(Traffic::Point),
            source: self.rank(),
            tag,
            buffer: Buffer::EMPTY,
            mark: Mark::NONE,
            mode: Mode::Standard,
        };
        match process.command(|engine| engine.send(message)) {
            Posted::Done(completion) => crate::process::checked(completion).map(drop),
            Posted::Pending(id) => {
                process.command(|engine| engine.forget(id));
                Ok(())
            }
        }
    }

    /// Begins to wait for a member's message.
    fn hear(&self, process: &Process, rank: i32, tag: i32) -> Active {
        let receive = ReceiveRequest {
            peer: Some(self.group().peer(rank)),
            context: self.comm.context(Traffic::Point),
            source: rank,
            tag,
            buffer: Buffer::EMPTY,
            mark: Mark::NONE,
        };
        Active::posted(Direction::Receive, process.command(|engine| engine.receive(receive)))
    }
}
