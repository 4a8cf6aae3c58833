//! Communicators (MPI-5.0, 7.4): a group (two for an intercommunicator) and a matching context.

pub mod exchange;

pub use exchange::Exchange;

use crate::group::Group;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use verbena_channel::Peer;

/// Kinds of traffic of one communicator; each has its own matching context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The program's point-to-point messages.
    Point = 0,
    /// Messages of collectives.
    Collective = 1,
    /// Messages of partitioned communication.
    Partitioned = 2,
    /// Messages between some of its members that make a new communicator.
    Exchange = 3,
}

/// A communicator.
pub struct Comm {
    context: u64,
    local: Arc<Group>,
    remote: Option<Arc<Group>>,
    rank: i32,
    /// Number of collectives begun on this communicator.
    collectives: AtomicU32,
}

impl Comm {
    /// A communicator over `local` (and `remote`, for an intercommunicator) with base context `context`:
    /// a multiple of 4 that no other communicator of any member has. Its creator must be a member of `local`.
    pub fn new(context: u64, local: Arc<Group>, remote: Option<Arc<Group>>) -> Comm {
        debug_assert!(context % 4 == 0);
        let rank = local.rank().expect("the caller is a member of its communicator");
        Comm { context, local, remote, rank, collectives: AtomicU32::new(0) }
    }

    /// The matching context of this kind of traffic.
    #[inline]
    pub fn context(&self, traffic: Traffic) -> u64 {
        self.context + traffic as u64
    }

    /// The tag of the next collective's messages, below 2^30. All members begin the collectives of a
    /// communicator in the same order (MPI-5.0, 6.14), so they count alike.
    #[inline]
    pub fn next_collective_tag(&self) -> i32 {
        (self.collectives.fetch_add(1, Ordering::Relaxed) & ((1 << 30) - 1)) as i32
    }

    /// The caller's rank in the local group.
    #[inline]
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// Size of the local group.
    #[inline]
    pub fn size(&self) -> i32 {
        self.local.size()
    }

    /// Whether this is an intercommunicator.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The local group.
    pub fn group(&self) -> &Arc<Group> {
        &self.local
    }

    /// The group that ranks in point-to-point calls mean: the remote one of an intercommunicator.
    #[inline]
    pub fn targets(&self) -> &Arc<Group> {
        self.remote.as_ref().unwrap_or(&self.local)
    }

    /// The process that `rank` means in a point-to-point call. Panics if out of range.
    #[inline]
    pub fn peer(&self, rank: i32) -> Peer {
        self.targets().peer(rank)
    }
}
