//! Intercommunicators: making and merging (MPI-5.0, 7.6).

use super::introduce::{ByRank, Far, Introduction, Met, Roster, identity};
use super::words::{pack, unpack, unpack_all};
use super::{Comm, Exchange, Remote};
use crate::error::{Class, Error, Result};
use crate::generated::constants as mpi;
use crate::tie::Identity;
use std::collections::HashSet;
use std::sync::Arc;

/// One side of a new intercommunicator, as its leader tells the leader of the other side.
struct Side {
    /// Context for the intercommunicator, if this side turns out to be the first.
    context: u64,
    leader: Identity,
    members: Roster,
}

impl Side {
    fn pack(&self) -> Vec<u8> {
        let head = [&[self.context][..], &self.leader.words()].concat();
        pack(&[head, self.members.words()].concat())
    }

    fn unpack(bytes: &[u8]) -> Result<Side> {
        let words = unpack_all(bytes)?;
        let (&[context, leader @ ..], members) = words.split_first_chunk::<4>().ok_or_else(overlap)?;
        let leader = Identity::of_words(leader).ok_or_else(overlap)?;
        Ok(Side { context, leader, members: Roster::of_words(members)? })
    }
}

/// The words of a leader to its own side: an error's class (0 if none), context, inner context,
/// whether the local side is first, whether all are of one job, and the remote members.
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
        let reach = peer_comm.ok_or_else(no_peer_comm).and_then(|comm| {
            let ranks = 0..comm.targets().size();
            match ranks.contains(&remote_leader) {
                true => Ok(ByRank { exchange, comm, rank: remote_leader, tag }),
                false => Err(no_leader(remote_leader, ranks.end)),
            }
        });
        self.bridge(local_leader, reach.map(|far| Box::new(far) as Box<dyn Far>), exchange)
    }

    /// The intercommunicator of this group and one whose leader is reached by `far`, which counts
    /// only at this side's leader; or why there is none.
    pub fn connect(
        &self,
        leader: i32,
        far: Result<Box<dyn Far + '_>>,
        exchange: &dyn Exchange,
    ) -> Result<Comm> {
        if let Some(process) = exchange.process() {
            process.go_abroad()?;
        }
        self.bridge(leader, far, exchange)
    }

    /// Makes one as [`Comm::intercomm_create`] does, given the way to the other leader, or why
    /// there is none.
    pub(super) fn bridge(
        &self,
        local_leader: i32,
        far: Result<Box<dyn Far + '_>>,
        exchange: &dyn Exchange,
    ) -> Result<Comm> {
        self.check_intra()?;
        let mut failure = None;
        let mut verdict = Verdict::new();
        let mut way = None;
        if self.rank == local_leader {
            let agreed = far.and_then(|far| self.agree_with(&mut **way.insert(far), exchange));
            // The others of this side wait for the verdict, whatever it is.
            verdict = agreed.unwrap_or_else(|error| vec![failure.insert(error).class as u64]);
        }
        let verdict = unpack_all(&exchange.bcast(self, local_leader, pack(&verdict))?)?;
        if let Some(error) = failure {
            return Err(error);
        }
        let [_, context, inner, first, is_one_job, members @ ..] = &verdict[..] else {
            return Err(leader_failed(verdict.first().map_or(mpi::MPI_ERR_INTERN, |&class| class as Class)));
        };
        let (is_first, theirs) = (*first == 1, Roster::of_words(members)?);
        let met = match *is_one_job == 1 {
            true => Met {
                members: theirs.0.iter().map(|member| member.rank).collect(),
                ties: Vec::new(),
                context: *context,
                inner: *inner,
            },
            false => {
                let ours = Roster::of(self.local.members(), exchange);
                let far = way.as_mut().map(|far| &mut **far as &mut dyn Far);
                Introduction { local: self, leader: local_leader, far, exchange, is_first, ours, theirs }
                    .run()?
            }
        };
        Ok(self.intercomm_with(met, is_first))
    }

    /// Does the leader's part: both sides' leaders tell each other their groups.
    fn agree_with(&self, far: &mut dyn Far, exchange: &dyn Exchange) -> Result<Verdict> {
        let ours = Side {
            context: exchange.new_context(),
            leader: identity(self.me(), exchange),
            members: Roster::of(self.local.members(), exchange),
        };
        let theirs = Side::unpack(&far.swap(&ours.pack())?)?;
        let mine: HashSet<Identity> = ours.members.0.iter().copied().collect();
        if theirs.members.0.iter().any(|member| mine.contains(member)) {
            return Err(overlap());
        }
        let first = ours.leader < theirs.leader;
        let context = if first { ours.context } else { theirs.context };
        let is_one_job = ours.members.job().is_some() && ours.members.job() == theirs.members.job();
        let mut verdict = vec![0, context, exchange.new_context(), u64::from(first), u64::from(is_one_job)];
        verdict.extend(theirs.members.words());
        Ok(verdict)
    }

    fn intercomm_with(&self, met: Met, is_local_first: bool) -> Comm {
        let inner = Arc::new(self.child(met.inner, self.local.clone(), None));
        let group = Arc::new(self.group_of(met.members).tied_too(met.ties));
        let remote = Remote { group, inner, is_local_first };
        self.child(met.context, self.local.clone(), Some(remote))
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
        let group = self.local.derive(&remote.group, members);
        Ok(self.child(context, Arc::new(group), None))
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
