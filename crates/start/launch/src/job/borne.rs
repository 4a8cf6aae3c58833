//! Ranks that were killed while others want to go on without them.
//!
//! The job goes on as long as nothing else fails. If something does, the killed rank is the cause
//! after all: what fails thereafter is most likely its effect.

use super::{Failure, Job};
use crate::plan::Exit;
use crate::pmi::Stage;

/// The ranks that the others do without.
#[derive(Debug, Default)]
pub(super) struct Borne(Vec<Failure>);

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
            self.borne.0.push(Failure::Killed { rank, signal });
        }
        true
    }

    /// The ranks that were killed, and the signals, while the job went on to its end.
    pub fn borne(&self) -> impl Iterator<Item = (u32, i32)> {
        let is_good = self.cause.is_none();
        self.borne.0.iter().filter(move |_| is_good).filter_map(|failure| match failure {
            Failure::Killed { rank, signal } => Some((*rank, *signal)),
            _ => None,
        })
    }

    /// Makes them the cause if anything else has failed.
    pub(super) fn no_longer_bear(&mut self) {
        if !self.suspects.is_empty() {
            let later = std::mem::take(&mut self.suspects);
            self.suspects = std::mem::take(&mut self.borne.0).into_iter().chain(later).collect();
        }
    }
}
