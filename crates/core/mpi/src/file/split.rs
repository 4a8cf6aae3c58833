//! Split collective accesses (MPI-5.0, 14.4.5): one is begun, goes on beside the program, and is
//! ended by another call.

use super::representation::Direction;
use super::{File, fault};
use crate::active::Active;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::process::Process;
use std::sync::{MutexGuard, PoisonError};

/// The calls that a split collective access is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// At an explicit offset.
    At,
    /// At the individual file pointer.
    Individual,
    /// At the shared file pointer, in the order of ranks.
    Ordered,
}

/// A split collective access: its direction and place.
pub type Split = (Direction, Way);

/// One that was begun.
pub(super) struct Begun {
    split: Split,
    active: Active,
}

impl File {
    /// Begins a split collective access, which `start` starts. `MPI_ERR_IO` if another one is under
    /// way: `start` says so, after it has taken part for those processes in which none is, since
    /// its begin failed there.
    pub fn begin_split(&self, split: Split, start: impl FnOnce() -> Result<Active>) -> Result<()> {
        let active = start()?;
        *self.begun() = Some(Begun { split, active });
        Ok(())
    }

    /// Waits for the end of a split collective access, and returns how it ended. `MPI_ERR_IO` if
    /// none was begun by the call that belongs to this one.
    pub fn end_split(&self, process: &Process, split: Split) -> Result<Outcome> {
        let begun = {
            let mut begun = self.begun();
            match &*begun {
                Some(found) if found.split == split => begun.take(),
                Some(_) => {
                    let what = "a split collective is ended by another call than it was begun for";
                    return Err(fault::out_of_turn(what, &self.path));
                }
                None => None,
            }
        };
        let Some(Begun { active, .. }) = begun else {
            return Err(fault::out_of_turn("there is no split collective to end", &self.path));
        };
        let outcome = process.wait(|process| active.poll(process));
        outcome.error.clone().map_or(Ok(outcome), Err)
    }

    /// Returns `MPI_ERR_IO` while a split collective access is under way: nothing else that is
    /// collective may be called then.
    pub(super) fn check_no_split(&self) -> Result<()> {
        match &*self.begun() {
            None => Ok(()),
            Some(_) => {
                let what = "a split collective is under way, and was not ended";
                Err(fault::out_of_turn(what, &self.path))
            }
        }
    }

    fn begun(&self) -> MutexGuard<'_, Option<Begun>> {
        self.split.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
