//! Errors at a target that nobody was told yet, and counts.

use super::Counts;
use crate::error::Error;
use std::collections::BTreeMap;

/// Errors that an origin is still to be told, and counts.
#[derive(Default)]
pub(super) struct Notes {
    /// The first error of each origin that it was not told.
    troubles: BTreeMap<i32, Error>,
    /// The first error that no origin can be told.
    fault: Option<Error>,
    pub(super) counts: Counts,
}

impl Notes {
    /// Notes an error that the origin's next flush or unlock tells.
    pub(super) fn trouble(&mut self, origin: i32, error: Error) {
        self.counts.failures += 1;
        self.troubles.entry(origin).or_insert(error);
    }

    /// Takes the error that an origin was not told.
    pub(super) fn take_trouble(&mut self, origin: i32) -> Option<Error> {
        self.troubles.remove(&origin)
    }

    /// Notes an error that no origin can be told.
    pub(super) fn fault(&mut self, error: Error) {
        self.counts.failures += 1;
        self.fault.get_or_insert(error);
    }

    /// Takes the first error that no origin can be told.
    pub(super) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }
}
