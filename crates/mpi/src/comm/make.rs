//! Communicators from groups and by splitting (MPI-5.0, 7.4.2).

use super::words::{join, pack, part, unpack, unpack_all};
use super::{Comm, Exchange, Remote};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use std::sync::Arc;
use verbena_channel::Peer;

/// What a rank contributes to a split.
#[derive(Clone, Copy)]
struct Row {
    /// Ranks with the same color come together; `None` stays out.
    color: Option<u64>,
    key: i32,
    /// For the new communicator, if this becomes its first rank.
    context: u64,
    /// For its inner communicator, if the parent is an intercommunicator.
    inner: u64,
}

impl Row {
    fn pack(self) -> Vec<u8> {
        let (taking, color) = self.color.map_or((0, 0), |color| (1, color));
        pack(&[taking, color, self.key as u32 as u64, self.context, self.inner])
    }

    fn unpack(bytes: &[u8]) -> Result<Row> {
        let [taking, color, key, context, inner] = unpack(bytes)?;
        Ok(Row { color: (taking == 1).then_some(color), key: key as u32 as i32, context, inner })
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
    /// The communicator of those that gave the same color, ordered by key (`MPI_Comm_split`); `None` for
    /// color `MPI_UNDEFINED`, and in an intercommunicator where the other side has no such color.
    /// `MPI_ERR_ARG` for another negative color.
    pub fn split(&self, color: i32, key: i32, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let color = match color {
            mpi::MPI_UNDEFINED => None,
            0.. => Some(color as u64),
            _ => return Err(negative_color(color)),
        };
        self.split_by(color, key, exchange)
    }

    /// As [`Comm::split`] with any number as color.
    pub(super) fn split_by(
        &self,
        color: Option<u64>,
        key: i32,
        exchange: &dyn Exchange,
    ) -> Result<Option<Comm>> {
        let inner = if self.is_inter() { exchange.new_context() } else { 0 };
        let mine = Row { color, key, context: exchange.new_context(), inner };
        let table = exchange.allgather(self.inner(), &mine.pack())?;
        match self.is_inter() {
            false => Ok(color.map(|color| self.split_intra(&rows(&table)?, color)).transpose()?),
            true => {
                let (ours, theirs) = self.swap(&join(&table), exchange)?;
                let (ours, theirs) = (rows(&part(&ours)?)?, rows(&part(&theirs)?)?);
                Ok(color.and_then(|color| self.split_inter(&ours, &theirs, color).transpose()).transpose()?)
            }
        }
    }

    fn split_intra(&self, rows: &[Row], color: u64) -> Result<Comm> {
        let ranks = chosen(rows, color);
        let group = Group::new(peers(&self.local, &ranks), self.me());
        Ok(self.child(rows[ranks[0]].context, Arc::new(group), None))
    }

    fn split_inter(&self, ours: &[Row], theirs: &[Row], color: u64) -> Result<Option<Comm>> {
        let remote = self.remote()?;
        let (local_ranks, remote_ranks) = (chosen(ours, color), chosen(theirs, color));
        let (Some(&leader), Some(&other)) = (local_ranks.first(), remote_ranks.first()) else {
            return Ok(None);
        };
        let context = if remote.is_local_first { ours[leader].context } else { theirs[other].context };
        let local = Arc::new(Group::new(peers(&self.local, &local_ranks), self.me()));
        let group = Arc::new(Group::new(peers(&remote.group, &remote_ranks), self.me()));
        let inner = Arc::new(self.child(ours[leader].inner, local.clone(), None));
        let new = Remote { group, inner, is_local_first: remote.is_local_first };
        Ok(Some(self.child(context, local, Some(new))))
    }

    /// The calling process.
    pub(super) fn me(&self) -> Peer {
        self.local.peer(self.rank)
    }

    /// The communicator of `group`, which all ranks of this one call for, each group's members with their own
    /// (`MPI_Comm_create`); `None` for ranks that are not members. `MPI_ERR_GROUP` if `group` has
    /// members that this communicator has not.
    pub fn create(&self, group: &Arc<Group>, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let ranks = self.local_ranks(group)?;
        if self.is_inter() {
            return self.create_inter(group, exchange);
        }
        let table = exchange.allgather(self, &pack(&[exchange.new_context()]))?;
        self.child_of(group, ranks.first().map(|&leader| &table[leader as usize]))
    }

    /// As [`Comm::create`], but only the members call, and `tag` keeps concurrent calls apart
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
        let table = exchange.allgather_group(self, &ranks, tag, &pack(&[exchange.new_context()]))?;
        self.child_of(group, table.first())
    }

    /// The communicator of `group` with the context that its first member gave.
    fn child_of(&self, group: &Arc<Group>, context: Option<&Vec<u8>>) -> Result<Option<Comm>> {
        let (Some(_), Some(context)) = (group.rank(), context) else { return Ok(None) };
        let [context] = unpack(context)?;
        Ok(Some(self.child(context, group.clone(), None)))
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

    /// The first member of the group speaks for it: it says the members and two contexts.
    fn create_inter(&self, group: &Arc<Group>, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let mut mine = Vec::new();
        if group.rank() == Some(0) {
            mine = vec![exchange.new_context(), exchange.new_context()];
            mine.extend(group.members().iter().map(|&peer| u64::from(peer)));
        }
        let table = exchange.allgather(self.inner(), &pack(&mine))?;
        let spoken = table.into_iter().find(|said| !said.is_empty()).unwrap_or_default();
        let (ours, theirs) = self.swap(&spoken, exchange)?;
        let (ours, theirs) = (unpack_all(&ours)?, unpack_all(&theirs)?);
        let ([ours, inner, _, ..], [theirs, _, members @ ..]) = (&ours[..], &theirs[..]) else {
            return Ok(None);
        };
        if group.rank().is_none() || members.is_empty() {
            return Ok(None);
        }
        let is_local_first = self.remote()?.is_local_first;
        let context = if is_local_first { *ours } else { *theirs };
        let members = members.iter().map(|&peer| peer as Peer).collect();
        let inner = Arc::new(self.child(*inner, group.clone(), None));
        let remote = Remote { group: Arc::new(Group::new(members, self.me())), inner, is_local_first };
        Ok(Some(self.child(context, group.clone(), Some(remote))))
    }
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
        format!("a group of {members} processes, a communicator of {size}"),
        "the group was made from another communicator",
        "make the group from MPI_Comm_group of this communicator",
    )
}
