//! Intercommunicators: making and merging (MPI-5.0, 7.6).

use super::words::{pack, unpack, unpack_all};
use super::{Comm, Exchange, Remote};
use crate::error::{Class, Error, Result};
use crate::generated::constants as mpi;
use std::collections::HashSet;
use std::sync::Arc;
use verbena_channel::Peer;

/// One side of a new intercommunicator, as its leader tells the leader of the other side.
struct Side {
    /// Context for the intercommunicator, if this side turns out to be the first.
    context: u64,
    leader: Peer,
    members: Vec<Peer>,
}

impl Side {
    fn pack(&self) -> Vec<u8> {
        let head = [self.context, u64::from(self.leader)];
        let words: Vec<u64> =
            head.into_iter().chain(self.members.iter().map(|&peer| u64::from(peer))).collect();
        pack(&words)
    }

    fn unpack(bytes: &[u8]) -> Result<Side> {
        let words = unpack_all(bytes)?;
        let (&[context, leader], members) = words.split_first_chunk::<2>().ok_or_else(overlap)?;
        Ok(Side {
            context,
            leader: leader as Peer,
            members: members.iter().map(|&peer| peer as Peer).collect(),
        })
    }
}

/// The words of a leader to its own side: an error's class (0 if none), context, inner context,
/// whether the local side is first, and the remote members.
type Verdict = Vec<u64>;

impl Comm {
    /// The intercommunicator of this group and that of the other side (`MPI_Intercomm_create`). The
    /// leader reaches the other leader as rank `remote_leader` of `peer_comm` (both count only at
    /// the leader) with `tag`. `MPI_ERR_COMM` if the groups overlap, `MPI_ERR_RANK` if there is no
    /// such leader.
    pub fn intercomm_create(
        &self,
        local_leader: i32,
        peer_comm: Option<&Comm>,
        remote_leader: i32,
        tag: i32,
        exchange: &dyn Exchange,
    ) -> Result<Comm> {
        let reach = peer_comm.ok_or_else(no_peer_comm).and_then(|peer_comm| {
            let ranks = 0..peer_comm.targets().size();
            if ranks.contains(&remote_leader) {
                Ok((peer_comm, remote_leader))
            } else {
                Err(no_leader(remote_leader, ranks.end))
            }
        });
        self.bridge(local_leader, reach, tag, exchange)
    }

    /// Like [`Comm::intercomm_create`], but given the way to the other leader: a communicator and a
    /// rank in it, or why there is none.
    pub(super) fn bridge(
        &self,
        local_leader: i32,
        reach: Result<(&Comm, i32)>,
        tag: i32,
        exchange: &dyn Exchange,
    ) -> Result<Comm> {
        self.check_intra()?;
        let mut failure = None;
        let mut verdict = Verdict::new();
        if self.rank == local_leader {
            let agreed = reach.and_then(|reach| self.agree_with(reach, tag, exchange));
            // The others of this side wait for the verdict, whatever it is.
            verdict = agreed.unwrap_or_else(|error| vec![failure.insert(error).class as u64]);
        }
        let verdict = unpack_all(&exchange.bcast(self, local_leader, pack(&verdict))?)?;
        match failure {
            Some(error) => Err(error),
            None => self.intercomm_from(&verdict),
        }
    }

    /// Does the leader's part: both sides' leaders tell each other their groups.
    fn agree_with(
        &self,
        (peer_comm, remote_leader): (&Comm, i32),
        tag: i32,
        exchange: &dyn Exchange,
    ) -> Result<Verdict> {
        let ours = Side {
            context: exchange.new_context(),
            leader: self.me(),
            members: self.local.members().to_vec(),
        };
        let theirs = Side::unpack(&exchange.sendrecv(peer_comm, remote_leader, tag, &ours.pack())?)?;
        let mine: HashSet<Peer> = ours.members.iter().copied().collect();
        if theirs.members.iter().any(|peer| mine.contains(peer)) {
            return Err(overlap());
        }
        let first = ours.leader < theirs.leader;
        let context = if first { ours.context } else { theirs.context };
        let mut verdict = vec![0, context, exchange.new_context(), u64::from(first)];
        verdict.extend(theirs.members.iter().map(|&peer| u64::from(peer)));
        Ok(verdict)
    }

    fn intercomm_from(&self, verdict: &[u64]) -> Result<Comm> {
        let [_, context, inner, first, members @ ..] = verdict else {
            return Err(leader_failed(verdict.first().map_or(mpi::MPI_ERR_INTERN, |&class| class as Class)));
        };
        let members = members.iter().map(|&peer| peer as Peer).collect();
        let inner = Arc::new(self.child(*inner, self.local.clone(), None));
        let group = Arc::new(self.group_of(members));
        let remote = Remote { group, inner, is_local_first: *first == 1 };
        Ok(self.child(*context, self.local.clone(), Some(remote)))
    }

    /// The intracommunicator of both groups (`MPI_Intercomm_merge`). The side that gave `high`
    /// comes second; if both gave the same, they agree on an order. `MPI_ERR_COMM` in an
    /// intracommunicator.
    pub fn merge(&self, high: bool, exchange: &dyn Exchange) -> Result<Comm> {
        let remote = self.remote()?;
        let mine = pack(&[u64::from(high), exchange.new_context()]);
        let (ours, theirs) = self.swap(Ok(mine), exchange)?;
        let ([our_high, our_context], [their_high, their_context]) = (unpack(&ours)?, unpack(&theirs)?);
        let ours_first = if our_high == their_high { remote.is_local_first } else { our_high == 0 };
        let (low, high, context) = match ours_first {
            true => (&self.local, &remote.group, our_context),
            false => (&remote.group, &self.local, their_context),
        };
        let members = [low.members(), high.members()].concat();
        Ok(self.child(context, Arc::new(self.group_of(members)), None))
    }
}

#[cold]
fn overlap() -> Error {
    Error::new(
        mpi::MPI_ERR_COMM,
        "the two groups of an intercommunicator overlap",
        "the local groups of both sides",
        "a process is on both sides, or both leaders are the same process",
        "make the two communicators disjoint, for example by one MPI_Comm_split",
    )
}

#[cold]
fn no_peer_comm() -> Error {
    Error::new(
        mpi::MPI_ERR_COMM,
        "the leader of an intercommunicator gave no peer communicator",
        "the peer_comm argument of this side's leader",
        "MPI_COMM_NULL was passed where the two leaders must reach each other",
        "pass a communicator that has both leaders, often MPI_COMM_WORLD",
    )
}

#[cold]
pub(super) fn no_leader(leader: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RANK,
        format!("the leader {leader} of an intercommunicator's side does not exist"),
        format!("a group of {size} processes"),
        "the rank is meant in another group or communicator, or the program runs with fewer processes than it expects",
        "give the remote leader's rank in the peer communicator (or remote group), the local leader's in the local group",
    )
}

#[cold]
fn leader_failed(class: Class) -> Error {
    Error::new(
        class,
        "the leader of this side could not agree with the other side",
        "the making of an intercommunicator",
        "the leader's own error says why",
        "correct what the leader's error names",
    )
}
