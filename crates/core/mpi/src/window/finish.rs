//! The end of what was called on members. All of them are asked to finish before any is waited
//! for, and each hears of what follows (that the access is complete, that the lock is given back)
//! as soon as it has finished itself: many members cost one round trip, and none waits for another.

use super::Win;
use super::far;
use super::lock::Kind;
use super::service;
use crate::error::Result;
use crate::process::Process;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

/// The members that are looked at in one round of a wait, in turn: a bound of a round's time, and
/// not of the wait, which goes on until all have ended.
const LOOKS_MAX: usize = 64;

/// The work that follows once everything that was called on a member is done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    /// The member hears that the access is complete (`MPI_Win_complete`).
    Complete,
    /// The lock of this kind is given back.
    Unlock(Kind),
}

/// A member on the way to its end.
struct Ending {
    rank: usize,
    then: Then,
    stage: Stage,
    /// The first error so far.
    outcome: Result<()>,
}

/// The thing that is waited for.
enum Stage {
    /// The device does there what was begun before this moment.
    Device(far::Moment),
    /// Messages do so, and the member says that all of it is done.
    Messages(service::Moment),
}

impl Ending {
    fn new(win: &Win, process: &Process, rank: usize, then: Then) -> Ending {
        match &win.far {
            Some(far) => Ending { rank, then, stage: Stage::Device(far.now()), outcome: Ok(()) },
            None => Ending { rank, then, stage: ask(win, process, rank, then), outcome: Ok(()) },
        }
    }

    /// Goes on until something must be waited for. At the end: the outcome.
    fn advance(&mut self, win: &Win, mut process: &Process) -> Option<Result<()>> {
        let target = self.rank as i32;
        if let (Stage::Device(moment), Some(far)) = (&self.stage, &win.far) {
            let settled = far.settle(&mut process, target, *moment)?;
            self.note(settled);
            // What the device could not do went as messages before this.
            self.stage = ask(win, process, self.rank, self.then);
        }
        if let Stage::Messages(moment) = self.stage {
            let settled = win.service.origin().settle(&mut process, target, moment)?;
            self.note(settled);
        }
        let followed = win.follow(process, self.rank, self.then);
        self.note(followed);
        Some(std::mem::replace(&mut self.outcome, Ok(())))
    }

    fn note(&mut self, outcome: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = outcome;
        }
    }
}

/// Asks a member to finish what messages have told it. One whose lock messages have taken finishes
/// everything when it takes the lock back.
fn ask(win: &Win, mut process: &Process, rank: usize, then: Then) -> Stage {
    let origin = win.service.origin();
    match then {
        Then::Unlock(_) if win.target(process, rank).words.is_none() => {
            origin.unlock(&mut process, rank as i32);
        }
        _ => {
            origin.flush(&mut process, rank as i32);
        }
    }
    Stage::Messages(origin.now())
}

impl Win {
    /// Waits until everything called on a member is done there. What this process stored itself is
    /// there for every process that hears of it by a release that comes after.
    pub(super) fn finish_at(&self, process: &Process, rank: usize) -> Result<()> {
        self.finish_then(process, rank, Then::Nothing)
    }

    /// Waits until everything is done at all members, as [`Win::finish_at`].
    pub(super) fn finish_all(&self, process: &Process) -> Result<()> {
        match self.serving {
            None => Ok(()),
            Some(_) => {
                self.finish_each(process, self.unfinished().into_iter().map(|rank| (rank, Then::Nothing)))
            }
        }
    }

    /// Like [`Win::finish_at`], with what follows.
    pub(super) fn finish_then(&self, process: &Process, rank: usize, then: Then) -> Result<()> {
        if self.serving.is_none() {
            return self.follow(process, rank, then);
        }
        let mut ending = Ending::new(self, process, rank, then);
        let awaited = |_: &Process| self.awaited_operations(&[rank as i32]);
        process.wait_for(awaited, |process| ending.advance(self, process))
    }

    /// Like [`Win::finish_then`], for several members at once. The error is the first one in time;
    /// each member is waited for, whatever became of the others.
    pub(super) fn finish_each(
        &self,
        process: &Process,
        members: impl Iterator<Item = (usize, Then)>,
    ) -> Result<()> {
        if self.serving.is_none() {
            return members.map(|(rank, then)| self.follow(process, rank, then)).fold(Ok(()), Result::and);
        }
        let endings = members.map(|(rank, then)| Ending::new(self, process, rank, then));
        let endings: RefCell<VecDeque<Ending>> = RefCell::new(endings.collect());
        let mut outcome = Ok(());
        let awaited = |_: &Process| {
            let ranks: Vec<i32> = endings.borrow().iter().map(|ending| ending.rank as i32).collect();
            self.awaited_operations(&ranks)
        };
        process.wait_for(awaited, |process| {
            let mut endings = endings.borrow_mut();
            for _ in 0..endings.len().min(LOOKS_MAX) {
                let Some(mut ending) = endings.pop_front() else { break };
                match ending.advance(self, process) {
                    None => endings.push_back(ending),
                    Some(Err(error)) if outcome.is_ok() => outcome = Err(error),
                    Some(_) => (),
                }
            }
            endings.is_empty().then_some(())
        });
        outcome
    }

    /// Waits until everything called on a member, or on all, is done at this side: the program's
    /// memory may be used again.
    pub(super) fn settle(&self, process: &Process, member: Option<usize>) -> Result<()> {
        if self.serving.is_none() {
            return Ok(());
        }
        let by_device = self.settle_device(process, member);
        let (origin, moment) = (self.service.origin(), self.service.origin().now());
        let targets = member.map_or_else(|| origin.unsettled(), |member| vec![member as i32]);
        let settle = |target: i32| {
            let awaited = |_: &Process| self.awaited_operations(&[target]);
            process.wait_for(awaited, |mut process| origin.settle(&mut process, target, moment))
        };
        // Each is waited for, whatever became of those before.
        targets.into_iter().map(settle).fold(by_device, Result::and)
    }

    /// The members at which something called may not be done.
    pub(super) fn unfinished(&self) -> BTreeSet<usize> {
        let origin = self.service.origin();
        let by_device = self.far.as_ref().map_or_else(Vec::new, far::Far::unsettled);
        let all = by_device.into_iter().chain(origin.unfinished()).chain(origin.unsettled());
        all.map(|rank| rank as usize).collect()
    }

    /// Does what follows once a member has finished.
    fn follow(&self, process: &Process, rank: usize, then: Then) -> Result<()> {
        match then {
            Then::Nothing => Ok(()),
            Then::Complete => self.tell_complete(process, rank as i32),
            Then::Unlock(kind) => {
                self.give(process, rank, kind);
                Ok(())
            }
        }
    }
}
