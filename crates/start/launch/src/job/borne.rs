//! Ranks that were killed, or lost with their host, while others want to go on without them.
//!
//! The job goes on as long as nothing else fails. If something does before another rank has
//! acknowledged the death, the killed rank is the cause after all: what fails then is most likely
//! its effect. A death that nobody has acknowledged when the job ends is its failure: the others
//! may have been done with their work just before, or never have noticed.

use super::{Failure, Job, LOST};
use crate::plan::Exit;
use crate::pmi::Stage;
use verbena_fault::Fault;

/// A rank that the others do without.
#[derive(Debug)]
struct Death {
    rank: u32,
    /// The failure that it is if the others do not get on without the rank.
    failure: Failure,
    /// True once another rank has taken notice.
    acknowledged: bool,
}

/// The ranks that the others do without.
#[derive(Debug, Default)]
pub(super) struct Borne(Vec<Death>);

impl Borne {
    /// Returns whether this rank is one of them.
    pub(super) fn has(&self, rank: u32) -> bool {
        self.0.iter().any(|death| death.rank == rank)
    }

    fn add(&mut self, rank: u32, failure: Failure) {
        self.0.push(Death { rank, failure, acknowledged: false });
    }
}

impl Death {
    /// The signal that killed the rank; `None`: it was lost with its host.
    fn signal(&self) -> Option<i32> {
        match self.failure {
            Failure::Killed { signal, .. } => Some(signal),
            _ => None,
        }
    }
}

impl Job {
    /// Notes the end of a rank that others want to do without. `false` if the job ends all the
    /// same: the rank was not killed, or the job is ending already, or its output cannot be
    /// written.
    pub fn bear(&mut self, rank: u32, exit: Exit) -> bool {
        let Exit::Signal(signal) = exit else { return false };
        if !self.may_go_on_without(1) {
            return false;
        }
        if self.strike_off(rank, exit, Stage::Initialised) {
            self.borne.add(rank, Failure::Killed { rank, signal });
        }
        true
    }

    /// Notes the loss of a host with these ranks, which others want to do without. `false` if the
    /// job ends all the same: as in [`Job::bear`], or because all of them had ended, and none so
    /// that the others go on without it.
    pub fn bear_lost(&mut self, ranks: &[u32], fault: &Fault) -> bool {
        let dead: Vec<u32> = ranks.iter().copied().filter(|rank| !self.has_ended(*rank)).collect();
        let others_go_on = !dead.is_empty() || ranks.iter().any(|rank| self.borne.has(*rank));
        if !others_go_on || !self.may_go_on_without(dead.len() as u32) {
            return false;
        }
        for rank in dead {
            self.strike_off(rank, LOST, Stage::Initialised);
            self.borne.add(rank, Failure::Lost(fault.clone()));
        }
        true
    }

    /// Returns whether the job is not ending yet, and has more ranks than these.
    fn may_go_on_without(&self, dead: u32) -> bool {
        let is_ending = self.cause.is_some() || self.user_signal.is_some() || self.loss.is_some();
        !is_ending && self.suspects.is_empty() && self.running > dead
    }

    /// Notes that a rank has taken notice of the deaths of these.
    pub fn handle_acknowledged(&mut self, dead: &[u32]) {
        let noticed = self.borne.0.iter_mut().filter(|death| dead.contains(&death.rank));
        noticed.for_each(|death| death.acknowledged = true);
    }

    /// Handles a host whose ranks cannot go on without this rank, or do not want to.
    pub fn handle_refused(&mut self, dead: u32) {
        if let Some(at) = self.borne.0.iter().position(|death| death.rank == dead) {
            let death = self.borne.0.remove(at);
            self.suspects.push(death.failure);
        }
    }

    /// The number of ranks that the others do without.
    pub fn borne_count(&self) -> usize {
        self.borne.0.len()
    }

    /// The ranks that died while the job went on to its end, and the signals; `None` for one that
    /// was lost with its host.
    pub fn borne(&self) -> impl Iterator<Item = (u32, Option<i32>)> {
        let is_good = self.cause.is_none();
        self.borne.0.iter().filter(move |_| is_good).map(|death| (death.rank, death.signal()))
    }

    /// Makes those that nobody has acknowledged the cause if something else has failed, or the job
    /// has come to its end. The time limit tells nothing of its cause.
    pub(super) fn look_at_the_borne(&mut self) {
        let unnoticed = || self.borne.0.iter().filter(|death| !death.acknowledged);
        let is_time = |failure: &Failure| matches!(failure, Failure::TimedOut { .. });
        if !self.suspects.iter().all(is_time) {
            let blamed = unnoticed().map(|death| death.failure.clone());
            self.suspects = blamed.chain(self.suspects.iter().cloned()).collect();
            self.borne.0.retain(|death| death.acknowledged);
        } else if self.is_over() && self.suspects.is_empty() {
            let ends =
                unnoticed().map(|death| Failure::Unnoticed { rank: death.rank, signal: death.signal() });
            self.suspects.extend(ends.collect::<Vec<_>>());
        }
    }
}
