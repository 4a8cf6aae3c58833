//! Post, start, complete and wait (MPI-5.0, 12.5.2).
//!
//! Where two members have each other's control words mapped, a post is the target's bit in the
//! words of the origin, and a complete is the origin's bit in the words of the target. The target
//! does not post again before the origin has taken the one bit and set the other. Its own words say
//! whether its memory is exposed, to whomever: then it cannot be locked.
//!
//! Elsewhere both are messages without bytes in the window's own communicator, whatever the way to
//! the target's memory is. Messages of one pair keep their order, so the n-th post meets the n-th
//! start.

use super::control::Words;
use super::epoch::Meeting;
use super::finish::Then;
use super::lock::Lock;
use super::{Win, error};
use crate::comm::Traffic;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::process::{Process, failure_error};
use crate::request::{Active, Direction};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::take;
use verbena_channel::mark::Mark;
use verbena_engine::{Mode, Posted, ReceiveRequest, SendRequest};
use verbena_memory::Buffer;

/// The tags of the two messages.
const POST: i32 = 1;
const COMPLETE: i32 = 2;

/// The looks at mapped words before the first round of progress, where every rank has a core: about
/// half a microsecond.
const LOOKS: u32 = 100;

/// A group of at most as many members is searched member by member.
const FEW_MEMBERS: usize = 8;

/// The notes and messages that this process waits for.
#[derive(Default)]
pub(super) struct Meetings {
    /// The posts of the targets that were started, as far as they are messages.
    posts: BTreeMap<i32, Active>,
    /// The origins that were posted to.
    origins: Vec<i32>,
    /// The number of those, the first ones, that may not have completed.
    left: usize,
    /// The completes that are messages and have not come, by origin.
    completes: Vec<(i32, Active)>,
    /// The first error of those that will not come.
    failure: Option<Error>,
    /// The error with which an exposure ended before all its origins had completed. They still have
    /// access, and what tells that they have completed would count for a later exposure: there is
    /// none before.
    torn: Option<Error>,
}

impl Win {
    /// Begins access to the members of `group` (`MPI_Win_start`). Does not wait for their posts.
    pub fn start(&self, process: &Process, group: &Group, assert: i32) -> Result<()> {
        if assert & !mpi::MPI_MODE_NOCHECK != 0 {
            return Err(error::assertion("MPI_Win_start", assert, "MPI_MODE_NOCHECK"));
        }
        let targets = self.ranks_of(group)?;
        self.comm.check_usable()?;
        let is_checked = assert & mpi::MPI_MODE_NOCHECK == 0;
        let meeting = if is_checked { Meeting::Due } else { Meeting::Unchecked };
        self.epochs.lock().start(&targets, meeting)?;
        for &rank in targets.iter().filter(|_| is_checked) {
            if !self.meets_in_words(process, rank) {
                let post = self.hear(process, rank, POST);
                self.meetings.lock().posts.insert(rank, post);
            }
        }
        Ok(())
    }

    /// Waits until the target has posted.
    pub(super) fn await_post(&self, process: &Process, rank: i32) -> Result<()> {
        if self.meets_in_words(process, rank) {
            let own = self.local.control.words();
            return self.await_words(process, &|| vec![rank], || own.take_post(rank));
        }
        let Some(post) = self.meetings.lock().posts.remove(&rank) else { return Ok(()) };
        let outcome = crate::point::wait(process, &post);
        let Some(error) = outcome.error.clone() else { return Ok(()) };
        // Whoever comes next fails as well.
        self.meetings.lock().posts.insert(rank, Active::Done(outcome));
        Err(error)
    }

    /// Ends the access that `MPI_Win_start` began (`MPI_Win_complete`). Waits for the posts of
    /// targets that were not accessed, too. Fails if one of the targets is dead.
    pub fn complete(&self, process: &Process) -> Result<()> {
        let targets = self.epochs.lock().complete()?;
        let ranks = targets.keys().copied();
        let (due, met): (Vec<i32>, Vec<i32>) = ranks.partition(|rank| targets[rank] == Meeting::Due);
        // Nothing was called on those whose post nobody has waited for yet.
        let met = met.into_iter().map(|rank| (rank as usize, Then::Complete));
        let finished = self.finish_each(process, met);
        let told = if due.is_empty() { finished } else { finished.and(self.complete_posted(process, due)) };
        told.and_then(|()| self.check_living(process, |dead| targets.contains_key(&dead)))
    }

    /// Tells each of these members that the access is complete, as soon as it has posted.
    fn complete_posted(&self, process: &Process, due: Vec<i32>) -> Result<()> {
        let (left, mut outcome) = (RefCell::new(due), Ok(()));
        // Those that were told may go: only the others are waited for.
        let awaited = self.await_words(process, &|| left.borrow().clone(), || {
            let mut left = left.borrow_mut();
            left.retain(|&rank| match self.take_post(process, rank) {
                None => true,
                Some(posted) => {
                    let told = self.tell_complete(process, rank);
                    outcome = std::mem::replace(&mut outcome, Ok(())).and(posted).and(told);
                    false
                }
            });
            left.is_empty()
        });
        // If one of them is lost, the others hear all the same that nothing comes.
        let told = left
            .into_inner()
            .into_iter()
            .map(|rank| self.tell_complete(process, rank))
            .fold(Ok(()), Result::and);
        outcome.and(awaited).and(told)
    }

    /// Takes the post of a target, if it has come: its error, if the target is lost.
    fn take_post(&self, process: &Process, rank: i32) -> Option<Result<()>> {
        if self.meets_in_words(process, rank) {
            return self.local.control.words().take_post(rank).then_some(Ok(()));
        }
        let mut meetings = self.meetings.lock();
        let Some(post) = meetings.posts.get(&rank) else { return Some(Ok(())) };
        let outcome = post.poll(process)?;
        meetings.posts.remove(&rank);
        Some(outcome.error.map_or(Ok(()), Err))
    }

    /// Exposes this process's memory to the members of `group` (`MPI_Win_post`). If one of them
    /// cannot be told, the others are, and nothing is exposed.
    pub fn post(&self, process: &Process, group: &Group, assert: i32) -> Result<()> {
        let allowed = mpi::MPI_MODE_NOCHECK | mpi::MPI_MODE_NOSTORE | mpi::MPI_MODE_NOPUT;
        if assert & !allowed != 0 {
            let names = "any of MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT";
            return Err(error::assertion("MPI_Win_post", assert, names));
        }
        let (origins, words) = (self.ranks_of(group)?, self.local.control.words());
        self.comm.check_usable()?;
        self.check_torn(process)?;
        let mut epochs = self.epochs.lock();
        epochs.check_post(self.rank())?;
        if Lock(words.lock()).is_taken() {
            return Err(error::locked_by_others(self.rank()));
        }
        epochs.posted(&origins);
        drop(epochs);
        let others = origins.iter().filter(|&&rank| !self.meets_in_words(process, rank));
        let completes = others.map(|&rank| (rank, self.hear(process, rank, COMPLETE))).collect();
        words.expose(origins.len() as u64);
        let mut meetings = self.meetings.lock();
        (meetings.origins, meetings.left, meetings.completes) = (origins.clone(), origins.len(), completes);
        drop(meetings);
        if assert & mpi::MPI_MODE_NOCHECK != 0 {
            return Ok(());
        }
        let tell = |&rank: &i32| {
            let told = self.tell_post(process, rank);
            if told.is_err() {
                words.complete(rank);
            }
            told
        };
        let told = origins.iter().map(tell).fold(Ok(()), Result::and);
        // A word is told to one that is dead, too.
        let told = told.and_then(|()| self.loss_among(process, &origins).map_or(Ok(()), Err));
        told.map_err(|error| self.tear_exposure(process, error))
    }

    /// Waits until all origins have completed (`MPI_Win_wait`). An error ends the exposure as well,
    /// so that the window can be freed.
    pub fn wait(&self, process: &Process) -> Result<()> {
        self.epochs.lock().check_exposed("MPI_Win_wait")?;
        match self.await_words(process, &|| self.incomplete(), || self.are_complete(process)) {
            Ok(()) => self.end_exposure(process),
            Err(error) => Err(self.tear_exposure(process, error)),
        }
    }

    /// Returns whether all origins have completed, which ends the exposure (`MPI_Win_test`).
    pub fn test(&self, process: &Process) -> Result<bool> {
        self.epochs.lock().check_exposed("MPI_Win_test")?;
        if !self.are_complete(process) {
            process.poll();
            if !self.are_complete(process) {
                let loss = self.trouble_with(process, &self.incomplete());
                return loss.map_or(Ok(false), |error| Err(self.tear_exposure(process, error)));
            }
        }
        self.end_exposure(process).map(|()| true)
    }

    /// The reason why these members may not do any more what is waited for: the window was revoked,
    /// or one of them is lost.
    fn trouble_with(&self, process: &Process, ranks: &[i32]) -> Option<Error> {
        self.comm.check_usable().err().or_else(|| self.loss_among(process, ranks))
    }

    /// The error of the first of these members that is lost. One that may be lost is not, as long
    /// as the launcher has not said what became of it.
    fn loss_among(&self, process: &Process, ranks: &[i32]) -> Option<Error> {
        let loss = process.look(|engine| match engine.losses() {
            0 => None,
            _ => ranks
                .iter()
                .map(|&rank| self.group().peer(rank))
                .find_map(|peer| engine.loss_of(peer).filter(|_| !engine.is_suspect(peer))),
        });
        loss.map(failure_error)
    }

    /// The origins that have not completed, as far as the last look at them told.
    fn incomplete(&self) -> Vec<i32> {
        let words = self.local.control.words();
        let meetings = self.meetings.lock();
        let left = meetings.origins[..meetings.left].iter();
        left.copied().filter(|&rank| !words.has_completed(rank)).collect()
    }

    /// Looks at every origin's message once more, and at the bits of those that were not seen to
    /// have completed: a message that came sets the bit, too, so that others see in the words
    /// whether the memory is exposed. Returns true as well if one of them will not complete.
    fn are_complete(&self, process: &Process) -> bool {
        let words = self.local.control.words();
        let Meetings { origins, left, completes, failure, .. } = &mut *self.meetings.lock();
        completes.retain(|(rank, one)| match one.poll(process) {
            None => true,
            Some(outcome) => {
                *failure = failure.take().or(outcome.error);
                words.complete(*rank);
                false
            }
        });
        while *left > 0 && words.has_completed(origins[*left - 1]) {
            *left -= 1;
        }
        *left == 0 || failure.is_some()
    }

    /// Ends the exposure, which all origins have completed or one of them will not.
    fn end_exposure(&self, process: &Process) -> Result<()> {
        let failure = self.meetings.lock().failure.take();
        if let Some(failure) = failure {
            return Err(self.tear_exposure(process, failure));
        }
        self.forget_exposure();
        self.epochs.lock().end_exposure();
        Ok(())
    }

    /// Forgets what origins have told of an exposure.
    fn forget_exposure(&self) {
        let words = self.local.control.words();
        words.expose(0);
        let origins = take(&mut self.meetings.lock().origins);
        origins.into_iter().for_each(|rank| words.forget_complete(rank));
    }

    /// Ends an exposure that not all origins will complete. Those that live still have access, and
    /// the words say so of those that use them. Returns the error.
    #[cold]
    fn tear_exposure(&self, process: &Process, error: Error) -> Error {
        let words = self.local.control.words();
        let mut meetings = self.meetings.lock();
        meetings.torn = Some(error.clone());
        // Nobody looks for their messages before the next exposure.
        meetings.completes.iter().for_each(|(rank, _)| words.complete(*rank));
        drop(meetings);
        self.give_up_lost(process);
        self.epochs.lock().end_exposure();
        error
    }

    /// Takes the origins that are lost for some that have completed.
    #[cold]
    fn give_up_lost(&self, process: &Process) {
        let words = self.local.control.words();
        let lost = |rank: &i32| self.loss_among(process, &[*rank]).is_some();
        self.incomplete().into_iter().filter(lost).for_each(|rank| words.complete(rank));
    }

    /// Checks that no origin has access any more by an exposure that ended with an error: else that
    /// error.
    fn check_torn(&self, process: &Process) -> Result<()> {
        let Some(error) = self.meetings.lock().torn.clone() else { return Ok(()) };
        self.give_up_lost(process);
        self.are_complete(process);
        let mut meetings = self.meetings.lock();
        if meetings.left > 0 || !meetings.completes.is_empty() {
            return Err(error);
        }
        (meetings.torn, meetings.failure) = (None, None);
        drop(meetings);
        self.forget_exposure();
        Ok(())
    }

    /// Waits no more for anything that origins would tell: the window goes.
    pub(super) fn forget_meetings(&self, process: &Process) {
        let (completes, posts) = {
            let mut meetings = self.meetings.lock();
            (take(&mut meetings.completes), take(&mut meetings.posts))
        };
        for active in completes.into_iter().map(|(_, active)| active).chain(posts.into_values()) {
            // What comes later meets it, and nobody asks.
            if let Active::Engine(_, id) = active {
                process.command(|engine| engine.forget(id));
            }
        }
    }

    /// The ranks of a group's members. `MPI_ERR_GROUP` if one is no member of the window.
    fn ranks_of(&self, group: &Group) -> Result<Vec<i32>> {
        let (members, own) = (group.members(), self.group().members());
        if members.len() <= FEW_MEMBERS {
            let rank = |peer| own.iter().position(|own| own == peer).map(|rank| rank as i32);
            let ranks: Option<Vec<i32>> = members.iter().map(rank).collect();
            return ranks.ok_or_else(|| error::group(group.size(), self.size()));
        }
        let all: Vec<i32> = (0..group.size()).collect();
        let ranks = group.translate(&all, self.group())?;
        match ranks.contains(&mpi::MPI_UNDEFINED) {
            true => Err(error::group(group.size(), self.size())),
            false => Ok(ranks),
        }
    }

    /// Returns whether this process and a member find each other's posts and completes in mapped
    /// words. Both know it alike.
    #[inline]
    fn meets_in_words(&self, process: &Process, rank: i32) -> bool {
        let has_words = || self.target(process, rank as usize).part.has_control();
        let is_here = || process.heap().is_some_and(|heap| heap.unites(self.group().peer(rank)));
        rank == self.rank() || (self.local.part.has_control() && is_here() && has_words())
    }

    /// Tells a member that this process exposes its memory to it.
    fn tell_post(&self, process: &Process, rank: i32) -> Result<()> {
        self.tell(process, rank, POST, |words| words.post(self.rank()))
    }

    /// Tells a member that this process has completed its access.
    pub(super) fn tell_complete(&self, process: &Process, rank: i32) -> Result<()> {
        self.tell(process, rank, COMPLETE, |words| words.complete(self.rank()))
    }

    /// Notes something in a member's words, or sends the message of this tag.
    fn tell(&self, process: &Process, rank: i32, tag: i32, note: impl FnOnce(Words)) -> Result<()> {
        if !self.meets_in_words(process, rank) {
            return self.send(process, rank, tag);
        }
        let words = self.target(process, rank as usize).words;
        note(words.ok_or_else(|| error::unreachable(rank))?);
        self.wake(process, rank);
        Ok(())
    }

    /// Waits until `is_done`, which the members of these ranks bring about in mapped words. An
    /// error if one of them is lost, or the window revoked.
    fn await_words(
        &self,
        process: &Process,
        ranks: &dyn Fn() -> Vec<i32>,
        mut is_done: impl FnMut() -> bool,
    ) -> Result<()> {
        let looks = if process.may_spin() { LOOKS } else { 1 };
        for _ in 0..looks {
            if is_done() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let mut slept = process.slept();
        let awaited = |_: &Process| self.awaited_epoch(&ranks());
        process.wait_for(awaited, |process| {
            if is_done() {
                return Some(Ok(()));
            }
            let sleeps = process.slept();
            if std::mem::replace(&mut slept, sleeps) == sleeps {
                return None;
            }
            self.trouble_with(process, &ranks()).map(Err)
        })
    }

    /// Sends a member a message without bytes. It leaves by itself.
    fn send(&self, process: &Process, rank: i32, tag: i32) -> Result<()> {
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
