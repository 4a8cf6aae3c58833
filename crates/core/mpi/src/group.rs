//! Groups: ordered sets of processes (MPI-5.0, 7.3).
//!
//! Every operation is linear in the groups' sizes: membership is looked up in a hash map made for
//! the call.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::session::Session;
use crate::tie::Tie;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use verbena_channel::Peer;

/// An ordered set of processes. Immutable; shared by `Arc`. Two with the same members in the same
/// order are equal, wherever they come from.
#[derive(Clone, Debug)]
pub struct Group {
    members: Arc<[Peer]>,
    rank: Option<i32>,
    /// The session that the group comes from, through other groups and communicators.
    session: Option<Arc<Session>>,
    /// The ties of the caller with members of other jobs.
    ties: Vec<Arc<Tie>>,
}

/// The relation of two groups, or two communicators (MPI-5.0, 7.3.1 and 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Identical: `MPI_IDENT`.
    Identical = mpi::MPI_IDENT as isize,
    /// Communicators with identical groups in different contexts: `MPI_CONGRUENT`.
    Congruent = mpi::MPI_CONGRUENT as isize,
    /// Groups with the same members in different order: `MPI_SIMILAR`.
    Similar = mpi::MPI_SIMILAR as isize,
    /// Different members: `MPI_UNEQUAL`.
    Unequal = mpi::MPI_UNEQUAL as isize,
}

/// The ranks first, first + stride, ..., not beyond last (MPI-5.0, 7.3.2, `MPI_Group_range_incl`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First rank.
    pub first: i32,
    /// Bound, included.
    pub last: i32,
    /// Distance from one rank to the next, not zero; negative counts down.
    pub stride: i32,
}

impl PartialEq for Group {
    fn eq(&self, other: &Group) -> bool {
        (&self.members, self.rank) == (&other.members, other.rank)
    }
}

impl Eq for Group {}

/// The processes 0 to `size`, in a list that all who ask for it share.
fn list_of_job(size: u32) -> Arc<[Peer]> {
    static LIST: Mutex<Weak<[Peer]>> = Mutex::new(Weak::<[Peer; 0]>::new());
    let mut kept = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.upgrade().filter(|list| list.len() == size as usize);
    known.unwrap_or_else(|| {
        let list: Arc<[Peer]> = (0..size).collect();
        *kept = Arc::downgrade(&list);
        list
    })
}

impl Group {
    /// The group of these processes, seen by process `me`.
    pub fn new(members: Vec<Peer>, me: Peer) -> Group {
        let rank = members.iter().position(|&m| m == me).map(|r| r as i32);
        Group { members: members.into(), rank, session: None, ties: Vec::new() }
    }

    /// The group of all `size` processes of the job, in their order, seen by process `me`. All such
    /// groups of a process share one list.
    pub fn of_job(me: Peer, size: u32) -> Group {
        let rank = (me < size).then_some(me as i32);
        Group { members: list_of_job(size), rank, session: None, ties: Vec::new() }
    }

    /// Makes it a group of this session.
    pub fn of_session(self, session: Arc<Session>) -> Group {
        Group { session: Some(session), ..self }
    }

    /// Holds these ties too, as long as the group lives.
    pub(crate) fn tied_too(mut self, ties: Vec<Arc<Tie>>) -> Group {
        self.ties.extend(ties);
        self
    }

    /// The ties of the caller with members of other jobs.
    pub(crate) fn ties(&self) -> &[Arc<Tie>] {
        &self.ties
    }

    /// The session that it comes from, if there is one.
    #[inline]
    pub fn session(&self) -> Option<&Arc<Session>> {
        self.session.as_ref()
    }

    /// The group without members, `MPI_GROUP_EMPTY`.
    pub fn empty() -> Group {
        Group { members: Arc::default(), rank: None, session: None, ties: Vec::new() }
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
    #[inline]
    pub fn members(&self) -> &[Peer] {
        &self.members
    }

    /// The process with this rank. Panics if out of range.
    #[inline]
    pub fn peer(&self, rank: i32) -> Peer {
        self.members[rank as usize]
    }

    /// The calling process, if it is a member.
    fn me(&self) -> Option<Peer> {
        self.rank.map(|rank| self.peer(rank))
    }

    /// Returns every member's rank.
    pub fn ranks(&self) -> HashMap<Peer, i32> {
        self.members.iter().zip(0..).map(|(&peer, rank)| (peer, rank)).collect()
    }

    fn set(&self) -> HashSet<Peer> {
        self.members.iter().copied().collect()
    }

    /// A group of `members`, some of `self` and `other`: the caller is known to both.
    pub(crate) fn derive(&self, other: &Group, members: Vec<Peer>) -> Group {
        let me = self.me().or(other.me());
        let rank = me.and_then(|me| members.iter().position(|&peer| peer == me)).map(|rank| rank as i32);
        let session = self.session.clone().or_else(|| other.session.clone());
        let more = other.ties.iter().filter(|tie| !self.ties.iter().any(|own| Arc::ptr_eq(own, tie)));
        let ties = self.ties.iter().chain(more).cloned().collect();
        Group { members: members.into(), rank, session, ties }
    }

    /// Translates ranks of this group to those in `other`: `MPI_UNDEFINED` for a process that is
    /// not a member, `MPI_PROC_NULL` stays (`MPI_Group_translate_ranks`). `MPI_ERR_RANK` for a rank
    /// that this group does not have.
    pub fn translate(&self, ranks: &[i32], other: &Group) -> Result<Vec<i32>> {
        let theirs = if ranks.len() > 1 { other.ranks() } else { HashMap::new() };
        let find = |peer: Peer| match ranks.len() {
            1 => other.members.iter().position(|&p| p == peer).map(|r| r as i32),
            _ => theirs.get(&peer).copied(),
        };
        let translate = |&rank: &i32| match rank {
            mpi::MPI_PROC_NULL => Ok(mpi::MPI_PROC_NULL),
            _ => Ok(find(self.peer(self.checked(rank)?)).unwrap_or(mpi::MPI_UNDEFINED)),
        };
        ranks.iter().map(translate).collect()
    }

    /// Compares two groups: identical, similar or unequal (`MPI_Group_compare`).
    pub fn compare(&self, other: &Group) -> Likeness {
        if self.members == other.members {
            return Likeness::Identical;
        }
        if self.size() != other.size() {
            return Likeness::Unequal;
        }
        let theirs = other.set();
        match self.members.iter().all(|peer| theirs.contains(peer)) {
            true => Likeness::Similar,
            false => Likeness::Unequal,
        }
    }

    /// The union: all of this group, then those of `other` that are not in it (`MPI_Group_union`).
    pub fn union(&self, other: &Group) -> Group {
        let ours = self.set();
        let added = other.members.iter().filter(|peer| !ours.contains(peer));
        let members = self.members.iter().chain(added).copied().collect();
        self.derive(other, members)
    }

    /// The members of this group that are in `other` too (`MPI_Group_intersection`).
    pub fn intersection(&self, other: &Group) -> Group {
        self.kept(other, |theirs, peer| theirs.contains(&peer))
    }

    /// The members of this group that are not in `other` (`MPI_Group_difference`).
    pub fn difference(&self, other: &Group) -> Group {
        self.kept(other, |theirs, peer| !theirs.contains(&peer))
    }

    fn kept(&self, other: &Group, keep: impl Fn(&HashSet<Peer>, Peer) -> bool) -> Group {
        let theirs = other.set();
        let members = self.members.iter().copied().filter(|&peer| keep(&theirs, peer)).collect();
        self.derive(other, members)
    }

    /// The members with these ranks, in this order (`MPI_Group_incl`). `MPI_ERR_RANK` for a rank
    /// out of range or given twice.
    pub fn incl(&self, ranks: &[i32]) -> Result<Group> {
        self.distinct(ranks)?;
        let members = ranks.iter().map(|&rank| self.peer(rank)).collect();
        Ok(self.derive(self, members))
    }

    /// All members but those with these ranks (`MPI_Group_excl`). Errors as [`Group::incl`].
    pub fn excl(&self, ranks: &[i32]) -> Result<Group> {
        let excluded = self.distinct(ranks)?;
        let members =
            self.members.iter().zip(excluded).filter(|(_, out)| !out).map(|(&peer, _)| peer).collect();
        Ok(self.derive(self, members))
    }

    /// The members whose ranks the ranges give, in that order (`MPI_Group_range_incl`).
    /// `MPI_ERR_RANK` for a rank out of range or given twice, `MPI_ERR_ARG` for a stride of zero.
    pub fn range_incl(&self, ranges: &[Range]) -> Result<Group> {
        self.incl(&self.expand(ranges)?)
    }

    /// The members whose ranks the ranges do not give (`MPI_Group_range_excl`). Errors as
    /// [`Group::range_incl`].
    pub fn range_excl(&self, ranges: &[Range]) -> Result<Group> {
        self.excl(&self.expand(ranges)?)
    }

    /// The ranks of the ranges. Each range's ends are checked first, so that no range is longer
    /// than the group.
    fn expand(&self, ranges: &[Range]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for &Range { first, last, stride } in ranges {
            self.checked(first)?;
            if stride == 0 {
                return Err(zero_stride(first, last));
            }
            let count = (i64::from(last) - i64::from(first)) / i64::from(stride);
            let end = i64::from(first) + count.max(0) * i64::from(stride);
            self.checked(i32::try_from(end).unwrap_or(i32::MAX))?;
            let wrong_way = (i64::from(last) - i64::from(first)).signum() == -i64::from(stride).signum();
            if wrong_way && first != last {
                continue;
            }
            ranks.extend((0..=count).map(|step| first + step as i32 * stride));
        }
        Ok(ranks)
    }

    fn checked(&self, rank: i32) -> Result<i32> {
        if (0..self.size()).contains(&rank) { Ok(rank) } else { Err(no_rank(rank, self.size())) }
    }

    /// Marks the ranks that are among `ranks`; an error if one is out of range or there twice.
    fn distinct(&self, ranks: &[i32]) -> Result<Vec<bool>> {
        let mut seen = vec![false; self.members.len()];
        for &rank in ranks {
            if std::mem::replace(&mut seen[self.checked(rank)? as usize], true) {
                return Err(rank_twice(rank));
            }
        }
        Ok(seen)
    }
}

#[cold]
fn no_rank(rank: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RANK,
        format!("rank {rank} does not exist in the group"),
        format!("a group of {size} processes, with ranks 0 to {}", size - 1),
        "the rank belongs to another group or communicator, or was never set",
        "give ranks of this group; MPI_Group_translate_ranks converts them",
    )
}

#[cold]
fn rank_twice(rank: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RANK,
        format!("rank {rank} is listed twice"),
        "the list of ranks of a new group",
        "ranges that overlap, or a list that was not made of distinct ranks",
        "list every rank once",
    )
}

#[cold]
fn zero_stride(first: i32, last: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a range of ranks has the stride 0",
        format!("the range from {first} to {last}"),
        "the triplet was not filled in, or its order is not (first, last, stride)",
        "give a stride of at least 1, or at most -1 to count down",
    )
}

#[cfg(test)]
mod tests;
