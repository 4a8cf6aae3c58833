//! Groups: ordered sets of processes (MPI-5.0, 7.3).

use verbena_channel::Peer;

/// An ordered set of processes. Immutable; shared by `Arc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    members: Vec<Peer>,
    rank: Option<i32>,
}

impl Group {
    /// The group of these processes, seen by process `me`.
    pub fn new(members: Vec<Peer>, me: Peer) -> Group {
        let rank = members.iter().position(|&m| m == me).map(|r| r as i32);
        Group { members, rank }
    }

    /// Number of processes.
    #[inline]
    pub fn size(&self) -> i32 {
        self.members.len() as i32
    }

    /// The calling process's rank, `None` if it is not a member.
    #[inline]
    pub fn rank(&self) -> Option<i32> {
        self.rank
    }

    /// The members in rank order.
    pub fn members(&self) -> &[Peer] {
        &self.members
    }

    /// The process with this rank. Panics if out of range.
    #[inline]
    pub fn peer(&self, rank: i32) -> Peer {
        self.members[rank as usize]
    }
}
