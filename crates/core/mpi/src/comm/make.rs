//! Communicators from groups and by splitting (MPI-5.0, 7.4.2).

use super::words::{fingerprint, join, pack, part, tag_number, unpack, unpack_all};
use super::{Comm, Exchange, Remote};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use std::sync::Arc;
use verbena_channel::Peer;

/// The contribution of a rank to a split.
#[derive(Clone, Copy)]
struct Row {
    /// The color: ranks of one color come together; `None` stays out.
    color: Option<u64>,
    key: i32,
    /// The context for the new communicator, if this becomes its first rank.
    context: u64,
    /// The context for its inner communicator, if the parent is an intercommunicator.
    inner: u64,
    /// The [`fingerprint`] of the arguments that all ranks must give alike.
    alike: u64,
}

impl Row {
    fn pack(self) -> Vec<u8> {
        let (taking, color) = self.color.map_or((0, 0), |color| (1, color));
        pack(&[taking, color, self.key as u32 as u64, self.context, self.inner, self.alike])
    }

    fn unpack(bytes: &[u8]) -> Result<Row> {
        let [taking, color, key, context, inner, alike] = unpack(bytes)?;
        Ok(Row { color: (taking == 1).then_some(color), key: key as u32 as i32, context, inner, alike })
    }
}

fn rows(list: &[Vec<u8>]) -> Result<Vec<Row>> {
    list.iter().map(|bytes| Row::unpack(bytes)).collect()
}

/// The ranks with this color, by key and then by rank.
fn chosen(rows: &[Row], color: u64) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..rows.len()).filter(|&rank| rows[rank].color == Some(color)).collect();
    ranks.sort_by_key(|&rank| rows[rank].key);
    ranks
}

fn peers(group: &Group, ranks: &[usize]) -> Vec<Peer> {
    ranks.iter().map(|&rank| group.members()[rank]).collect()
}

impl Comm {
    /// The communicator of the ranks that gave the same color, ordered by key (`MPI_Comm_split`).
    /// `None` for color `MPI_UNDEFINED`, and in an intercommunicator where the other side has no
    /// such color. `MPI_ERR_ARG` for another negative color.
    pub fn split(&self, color: i32, key: i32, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let color = match color {
            mpi::MPI_UNDEFINED => Ok(None),
            0.. => Ok(Some(color as u64)),
            _ => Err(negative_color(color)),
        };
        self.split_by(color, key, 0, exchange)
    }

    /// Like [`Comm::split`], with any number as color. An error of one rank fails the call on all;
    /// `MPI_ERR_ARG` if not all give `alike`, the fingerprint of other arguments.
    pub(crate) fn split_by(
        &self,
        color: Result<Option<u64>>,
        key: i32,
        alike: u64,
        exchange: &dyn Exchange,
    ) -> Result<Option<Comm>> {
        let inner = if self.is_inter() { exchange.new_context() } else { 0 };
        let context = exchange.new_context();
        let row = color.map(|color| Row { color, key, context, inner, alike });
        let table = self.gather(row.clone().map(Row::pack), exchange);
        if !self.is_inter() {
            let table = rows(&table?)?;
            table.iter().position(|row| row.alike != alike).map_or(Ok(()), |rank| Err(unlike(rank)))?;
            return row?.color.map(|color| self.split_intra(&table, color)).transpose();
        }
        let (ours, theirs) = self.swap(table.map(|table| join(&table)), exchange)?;
        let (ours, theirs) = (rows(&part(&ours)?)?, rows(&part(&theirs)?)?);
        let new = row?.color.map(|color| self.split_inter(&ours, &theirs, color)).transpose()?;
        Ok(new.flatten())
    }

    fn split_intra(&self, rows: &[Row], color: u64) -> Result<Comm> {
        let ranks = chosen(rows, color);
        let group = self.group_of(peers(&self.local, &ranks));
        Ok(self.child(rows[ranks[0]].context, Arc::new(group), None))
    }

    fn split_inter(&self, ours: &[Row], theirs: &[Row], color: u64) -> Result<Option<Comm>> {
        let remote = self.remote()?;
        let (local_ranks, remote_ranks) = (chosen(ours, color), chosen(theirs, color));
        let (Some(&leader), Some(&other)) = (local_ranks.first(), remote_ranks.first()) else {
            return Ok(None);
        };
        let context = if remote.is_local_first { ours[leader].context } else { theirs[other].context };
        let local = Arc::new(self.group_of(peers(&self.local, &local_ranks)));
        let group = Arc::new(remote.group.derive(&self.local, peers(&remote.group, &remote_ranks)));
        let inner = Arc::new(self.child(ours[leader].inner, local.clone(), None));
        let new = Remote { group, inner, is_local_first: remote.is_local_first };
        Ok(Some(self.child(context, local, Some(new))))
    }

    /// The group of these processes in a communicator derived from this one.
    pub(super) fn group_of(&self, members: Vec<Peer>) -> Group {
        self.local.derive(&self.local, members)
    }

    /// The calling process.
    pub(super) fn me(&self) -> Peer {
        self.local.peer(self.rank)
    }

    /// The communicator of `group` (`MPI_Comm_create`); `None` for ranks that are not members. All
    /// ranks of this communicator call, the members of each group with their own group.
    /// `MPI_ERR_GROUP` if `group` has members that this communicator does not have, or a member
    /// gave another group.
    pub fn create(&self, group: &Arc<Group>, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let ranks = self.local_ranks(group);
        if self.is_inter() {
            return self.create_inter(group, ranks, exchange);
        }
        let number = ranks.as_ref().map_or(0, |ranks| identity(ranks));
        let row = Choice { group: number, context: exchange.new_context() };
        let table = self.gather(ranks.clone().map(|_| row.pack()), exchange)?;
        if group.rank().is_none() {
            return Ok(None);
        }
        let of = |rank: i32| Choice::unpack(&table[rank as usize]);
        let choices = ranks?.into_iter().map(of).collect::<Result<Vec<Choice>>>()?;
        self.chosen(group, &row, &choices).map(Some)
    }

    /// Like [`Comm::create`], but only the members call, and `tag` keeps concurrent calls apart
    /// (`MPI_Comm_create_group`).
    pub fn create_group(
        &self,
        group: &Arc<Group>,
        tag: i32,
        exchange: &dyn Exchange,
    ) -> Result<Option<Comm>> {
        self.check_intra()?;
        let ranks = self.local_ranks(group)?;
        if group.rank().is_none() {
            return Ok(None);
        }
        // The members are in the messages' tag: what is left of a call that failed with one of
        // them is no part of the next call without it.
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        let number = tag_number(&tag.to_le_bytes(), &sorted);
        let row = Choice { group: identity(&ranks), context: exchange.new_context() };
        let table = exchange.allgather_group(self, &ranks, number, &row.pack())?;
        let choices = table.iter().map(|said| Choice::unpack(said)).collect::<Result<Vec<Choice>>>()?;
        self.chosen(group, &row, &choices).map(Some)
    }

    /// The communicator of a group whose members chose so; `MPI_ERR_GROUP` if one chose another
    /// group than this process did.
    fn chosen(&self, group: &Arc<Group>, own: &Choice, all: &[Choice]) -> Result<Comm> {
        match all.iter().all(|choice| choice.group == own.group) {
            true => Ok(self.child(all[0].context, group.clone(), None)),
            false => Err(groups_differ()),
        }
    }

    /// The members' ranks in the local group; `MPI_ERR_GROUP` if one is not there.
    fn local_ranks(&self, group: &Group) -> Result<Vec<i32>> {
        let all: Vec<i32> = (0..group.size()).collect();
        let ranks = group.translate(&all, &self.local)?;
        match ranks.contains(&mpi::MPI_UNDEFINED) {
            true => Err(not_a_subset(group.size(), self.size())),
            false => Ok(ranks),
        }
    }

    /// Creates an intercommunicator. The first member of the group speaks for it: it tells the
    /// members' ranks in the parent and two contexts. All tell which group they mean.
    fn create_inter(
        &self,
        group: &Arc<Group>,
        ranks: Result<Vec<i32>>,
        exchange: &dyn Exchange,
    ) -> Result<Option<Comm>> {
        let number = ranks.as_ref().map_or(0, |ranks| identity(ranks));
        let mut mine = vec![number];
        if group.rank() == Some(0) {
            mine.extend([exchange.new_context(), exchange.new_context()]);
            mine.extend(ranks.iter().flatten().map(|&rank| rank as u64));
        }
        let table = self.gather(ranks.map(|_| pack(&mine)), exchange);
        let spoken = table.and_then(|table| words_of_group(number, &table));
        let (ours, theirs) = self.swap(spoken.map(|spoken| pack(&spoken)), exchange)?;
        let (ours, theirs) = (unpack_all(&ours)?, unpack_all(&theirs)?);
        let ([ours, inner, _, ..], [theirs, _, members @ ..]) = (&ours[..], &theirs[..]) else {
            return Ok(None);
        };
        if group.rank().is_none() || members.is_empty() {
            return Ok(None);
        }
        let is_local_first = self.remote()?.is_local_first;
        let context = if is_local_first { *ours } else { *theirs };
        let theirs = &self.remote()?.group;
        let member = |&rank: &u64| theirs.members().get(rank as usize).copied();
        let members: Option<Vec<Peer>> = members.iter().map(member).collect();
        let members = members.ok_or_else(groups_differ)?;
        let inner = Arc::new(self.child(*inner, group.clone(), None));
        let remote = Remote { group: Arc::new(theirs.derive(&self.local, members)), inner, is_local_first };
        Ok(Some(self.child(context, group.clone(), Some(remote))))
    }
}

/// The contribution of a rank when groups become communicators.
struct Choice {
    /// The [`identity`] of its group.
    group: u64,
    /// The context for the new communicator, if this becomes its first rank.
    context: u64,
}

impl Choice {
    fn pack(&self) -> Vec<u8> {
        pack(&[self.group, self.context])
    }

    fn unpack(bytes: &[u8]) -> Result<Choice> {
        let [group, context] = unpack(bytes)?;
        Ok(Choice { group, context })
    }
}

/// A number for the members of a group and their order, by their ranks in the parent.
fn identity(ranks: &[i32]) -> u64 {
    fingerprint(ranks.iter().flat_map(|rank| rank.to_le_bytes()))
}

/// The words of the rank that speaks for a group: its contexts and members; empty if nobody does.
/// `MPI_ERR_GROUP` if not all mean the same group.
fn words_of_group(group: u64, table: &[Vec<u8>]) -> Result<Vec<u64>> {
    let mut spoken = Vec::new();
    for said in table {
        let mut words = unpack_all(said)?;
        if words.first() != Some(&group) {
            return Err(groups_differ());
        }
        if words.len() > 1 {
            spoken = words.split_off(1);
        }
    }
    Ok(spoken)
}

#[cold]
fn groups_differ() -> Error {
    Error::new(
        mpi::MPI_ERR_GROUP,
        "members of a group did not all give the same group",
        "the group of a communicator to be made",
        "the groups of several processes overlap without being equal, or have another order",
        "let all members of a group give it with the same members in the same order",
    )
}

#[cold]
fn unlike(rank: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the processes of a communicator want to give it different topologies",
        format!("the sizes, periods or edges of rank {rank} are others than those of this rank"),
        "the sizes were computed from something that differs between the ranks",
        "give the same sizes and periods (or index and edges) on all ranks of the collective call",
    )
}

#[cold]
fn negative_color(color: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the color of a split is negative",
        format!("color {color}"),
        "the color was computed from something unset, or -1 was meant as \"none\"",
        "give a color from 0 up, or MPI_UNDEFINED to stay out",
    )
}

#[cold]
fn not_a_subset(members: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_GROUP,
        "the group has members that the communicator has not",
        format!("a group of {}, a communicator of {size}", verbena_fault::count(members, "process")),
        "the group was made from another communicator",
        "make the group from MPI_Comm_group of this communicator",
    )
}
