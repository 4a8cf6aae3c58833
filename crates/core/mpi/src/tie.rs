//! The identity of a process in all jobs, and what holds the connection with processes of another.
//!
//! Each process numbers those of other jobs as it meets them, so numbers mean nothing to others:
//! what travels between jobs are identities. A [`Tie`] is held by every group that has members of
//! the job on the other side; when the last such group has gone, the connection can be given back.

use std::sync::{Arc, Mutex, PoisonError};

/// A process, wherever it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// A number that its job has and no other.
    pub job: u128,
    /// The rank of the process in its job.
    pub rank: u32,
}

impl Identity {
    /// The identity as numbers that travel.
    pub(crate) fn words(&self) -> [u64; 3] {
        [(self.job >> 64) as u64, self.job as u64, self.rank.into()]
    }

    /// The identity of such numbers; `None` if they are none.
    pub(crate) fn of_words([high, low, rank]: [u64; 3]) -> Option<Identity> {
        Some(Identity { job: u128::from(high) << 64 | u128::from(low), rank: u32::try_from(rank).ok()? })
    }
}

/// The numbers of the ties that nobody holds any more.
pub(crate) type Loosened = Arc<Mutex<Vec<u32>>>;

/// The connection with processes of another job.
#[derive(Debug)]
pub struct Tie {
    number: u32,
    loosened: Loosened,
}

impl Tie {
    /// A tie with this number, which is put on the list when the last holder has gone.
    pub(crate) fn new(number: u32, loosened: Loosened) -> Tie {
        Tie { number, loosened }
    }
}

impl Drop for Tie {
    fn drop(&mut self) {
        self.loosened.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_the_wire() {
        let identity = Identity { job: u128::MAX - 5, rank: 7 };
        assert_eq!(Identity::of_words(identity.words()), Some(identity));
        assert_eq!(Identity::of_words([0, 0, 1 << 32]), None);
    }

    #[test]
    fn the_last_holder_loosens_a_tie() {
        let loosened = Loosened::default();
        let tie = Arc::new(Tie::new(3, loosened.clone()));
        let other = tie.clone();
        drop(tie);
        assert!(loosened.lock().unwrap().is_empty());
        drop(other);
        assert_eq!(*loosened.lock().unwrap(), [3]);
    }
}
