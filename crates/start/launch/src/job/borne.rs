//! Ranks that were killed while others want to go on without them.
//!
//! The job goes on as long as nothing else fails. If something does before another rank has
//! acknowledged the death, the killed rank is the cause after all: what fails then is most likely
//! its effect. A death that nobody has acknowledged when the job ends is its failure: the others
//! may have been done with their work just before, or never have noticed.

use super::{Failure, Job};
use crate::plan::Exit;
use crate::pmi::Stage;

/// A rank that the others do without.
#[derive(Debug)]
struct Death {
    rank: u32,
    signal: i32,
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
}

impl Job {
    /// Notes the end of a rank that others want to do without. `false` if the job ends all the
    /// same: the rank was not killed, or the job is ending already, or its output cannot be
    /// written.
    pub fn bear(&mut self, rank: u32, exit: Exit) -> bool {
        let Exit::Signal(signal) = exit else { return false };
        let is_ending = self.cause.is_some() || self.user_signal.is_some() || self.loss.is_some();
        if is_ending || !self.suspects.is_empty() || self.running <= 1 {
            return false;
        }
        if self.strike_off(rank, exit, Stage::Initialised) {
            self.borne.0.push(Death { rank, signal, acknowledged: false });
        }
        true
    }

    /// Notes that a rank has taken notice of the deaths of these.
    pub fn handle_acknowledged(&mut self, dead: &[u32]) {
        let noticed = self.borne.0.iter_mut().filter(|death| dead.contains(&death.rank));
        noticed.for_each(|death| death.acknowledged = true);
    }

    /// Handles a host whose ranks cannot go on without this rank, or do not want to.
    pub fn handle_refused(&mut self, dead: u32) {
        if let Some(at) = self.borne.0.iter().position(|death| death.rank == dead) {
            let Death { rank, signal, .. } = self.borne.0.remove(at);
            self.suspects.push(Failure::Killed { rank, signal });
        }
    }

    /// The number of ranks that the others do without.
    pub fn borne_count(&self) -> usize {
        self.borne.0.len()
    }

    /// The ranks that were killed, and the signals, while the job went on to its end.
    pub fn borne(&self) -> impl Iterator<Item = (u32, i32)> {
        let is_good = self.cause.is_none();
        self.borne.0.iter().filter(move |_| is_good).map(|death| (death.rank, death.signal))
    }

    /// Makes those that nobody has acknowledged the cause if something else has failed, or the job
    /// has come to its end. The time limit tells nothing of its cause.
    pub(super) fn look_at_the_borne(&mut self) {
        let unnoticed = || self.borne.0.iter().filter(|death| !death.acknowledged);
        let is_time = |failure: &Failure| matches!(failure, Failure::TimedOut { .. });
        if !self.suspects.iter().all(is_time) {
            let blamed = unnoticed().map(|&Death { rank, signal, .. }| Failure::Killed { rank, signal });
            self.suspects = blamed.chain(self.suspects.iter().cloned()).collect();
            self.borne.0.retain(|death| death.acknowledged);
        } else if self.is_over() && self.suspects.is_empty() {
            let ends = unnoticed().map(|&Death { rank, signal, .. }| Failure::Unnoticed { rank, signal });
            self.suspects.extend(ends.collect::<Vec<_>>());
        }
    }
}
