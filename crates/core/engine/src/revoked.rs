//! The communicators that were revoked, as the engine remembers them.

use crate::OnRevoke;
use std::collections::HashSet;

/// The bits of a context that tell the kinds of traffic of a communicator.
pub(crate) const TRAFFIC: u64 = 3;

/// The communicators that were revoked, by their first contexts.
#[derive(Default)]
pub(crate) struct Revoked {
    pub contexts: HashSet<u64>,
    pub on_revoke: Option<OnRevoke>,
}

impl Revoked {
    /// Returns whether this is a context of a communicator that was revoked.
    #[cold]
    pub(crate) fn has(&self, context: u64) -> bool {
        self.contexts.contains(&(context & !TRAFFIC))
    }
}
