//! The communicators that the library makes for itself over one of the program's: for the messages
//! of a window or a file, or of a window that holds the pointer of a file.
//!
//! The program has no handle of them. They are known here from the time when they are made, so that
//! deaths and revocations end what waits on them, also while the window or the file is being made.

use super::fault::TRAFFIC;
use super::{Comm, Exchange, Traffic};
use crate::group::Group;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verbena_channel::Peer;

/// A communicator as it is known here.
struct Entry {
    context: u64,
    /// The context of the communicator over which it was made.
    origin: u64,
    group: Arc<Group>,
    revoked: Arc<AtomicBool>,
}

/// Those of this process. The engine asks while it is locked, so nothing is locked after this.
static KNOWN: Mutex<Vec<Arc<Entry>>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Arc<Entry>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a communicator among those that are known here, which it leaves with its end.
pub(super) struct Known(Arc<Entry>);

impl Drop for Known {
    fn drop(&mut self) {
        known().retain(|entry| !Arc::ptr_eq(entry, &self.0));
    }
}

impl Comm {
    /// A communicator of the same processes for messages of the library's own, as those of a
    /// window. All of them give the same context. It is revoked with this one.
    pub(crate) fn private(&self, context: u64, exchange: &dyn Exchange) -> Comm {
        let mut comm = Comm::new(context, self.group().clone(), None);
        let (origin, group) = (self.context(Traffic::Point), self.group().clone());
        let entry = Arc::new(Entry { context, origin, group, revoked: comm.faults.revoked_flag() });
        known().push(entry.clone());
        comm.known = Some(Known(entry));
        // Another member may have revoked this one before the new one was known.
        if let Some(process) = exchange.process() {
            process.recall_revoked(origin);
        }
        comm
    }
}

/// Returns whether a message of this process may be awaited in this context, which is that of a
/// communicator of the library's own: the process is a member.
pub fn may_hear(context: u64, peer: Peer) -> bool {
    let hears = |entry: &&Arc<Entry>| entry.context == context & !TRAFFIC;
    known().iter().filter(hears).any(|entry| entry.group.members().contains(&peer))
}

/// Notes that the communicator with this context was revoked, and with it those that were made over
/// it, and over these. Returns their contexts: nothing begins on them any more.
pub fn revoke_with(context: u64) -> Vec<u64> {
    let known = known();
    let mut revoked = vec![context & !TRAFFIC];
    let mut looked = 0;
    while let Some(&origin) = revoked.get(looked) {
        for entry in known.iter().filter(|entry| entry.origin == origin) {
            entry.revoked.store(true, Ordering::Relaxed);
            revoked.push(entry.context);
        }
        looked += 1;
    }
    revoked.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::tests::fake::run;

    #[test]
    fn those_over_a_revoked_one_are_revoked_while_they_live() {
        // No other test has these contexts.
        const OWN: u64 = 1 << 61;
        run(1, |_, fake| {
            let program = Comm::new(OWN, Arc::new(Group::new(vec![7, 9], 7)), None);
            let file = program.private(OWN + 4, fake);
            let word = file.private(OWN + 8, fake);
            assert!(may_hear(OWN + 6, 9) && may_hear(OWN + 8, 7));
            assert!(!may_hear(OWN + 4, 8) && !may_hear(OWN, 9));
            assert!(revoke_with(OWN + 12).is_empty() && !file.is_revoked() && !word.is_revoked());
            assert_eq!(revoke_with(OWN + 1), [OWN + 4, OWN + 8]);
            assert!(file.is_revoked() && word.is_revoked() && !program.is_revoked());
            drop(file);
            assert!(revoke_with(OWN).is_empty() && !may_hear(OWN + 4, 9) && may_hear(OWN + 8, 9));
            drop(word);
            assert!(!may_hear(OWN + 8, 9));
        });
    }
}
