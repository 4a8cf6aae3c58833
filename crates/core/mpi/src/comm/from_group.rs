//! Communicators without a parent (`MPI_Comm_create_from_group`,
//! `MPI_Intercomm_create_from_groups`; MPI-5.0, 7.4.2 and 7.6.2). The processes find each other in
//! the library's own communicator of all processes.

use super::inter::no_leader;
use super::introduce::{ByRank, Far};
use super::words::{join, pack, part, tag_number, unpack};
use super::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use std::sync::Arc;
use verbena_channel::Peer;

/// The other side of an intercommunicator made from groups. Only the leader's counts.
pub struct Other<'a> {
    /// The remote group.
    pub group: &'a Group,
    /// The rank of its leader.
    pub leader: i32,
}

impl Comm {
    /// The communicator of `group`, agreed on in `self`, which must be the
    /// [universe](Comm::universe). Only the members call. `tag` keeps concurrent calls apart.
    /// `MPI_ERR_GROUP` if the caller is not a member.
    pub fn create_from_group(&self, group: &Arc<Group>, tag: &[u8], exchange: &dyn Exchange) -> Result<Comm> {
        if group.rank().is_none() {
            return Err(not_a_member());
        }
        if let Some(foreign) = group.members().iter().find(|peer| **peer >= self.size() as u32) {
            return Err(of_another_job(*foreign));
        }
        let members: Vec<i32> = group.members().iter().map(|&peer| peer as i32).collect();
        let number = tag_number(tag, &members);
        let mine = join(&[pack(&[exchange.new_context()]), tag.to_vec()]);
        let table = exchange.allgather_group(self, &members, number, &mine)?;
        let table: Vec<Vec<Vec<u8>>> = table.iter().map(|one| part(one)).collect::<Result<_>>()?;
        // Different tags may have one number: then all have to fail, also those before a wrong one.
        let is_right = |one: &Vec<Vec<u8>>| matches!(&one[..], [_, theirs] if theirs == tag);
        if !table.iter().all(is_right) {
            return Err(other_tag(tag));
        }
        Ok(Comm::new(unpack::<1>(&table[0][0])?[0], group.clone(), None))
    }

    /// The intercommunicator of `group` and another group, agreed on in `self` as in
    /// [`Comm::create_from_group`]. Only the leader, rank `leader` of `group`, must give the other
    /// group. `MPI_ERR_RANK` if a leader is not in its group.
    pub fn intercomm_from_groups(
        &self,
        group: &Arc<Group>,
        leader: i32,
        other: Option<Other<'_>>,
        tag: &[u8],
        exchange: &dyn Exchange,
    ) -> Result<Comm> {
        if !(0..group.size()).contains(&leader) {
            return Err(no_leader(leader, group.size()));
        }
        let local = self.create_from_group(group, tag, exchange)?;
        let reach = other.map_or(Err(no_leader(leader, 0)), |other| {
            let peer =
                usize::try_from(other.leader).ok().and_then(|leader| other.group.members().get(leader));
            let tag = tag_number(tag, &[]);
            let far = peer.map(|&peer| ByRank { exchange, comm: self, rank: peer as i32, tag });
            far.ok_or_else(|| no_leader(other.leader, other.group.size()))
        });
        local.bridge(leader, reach.map(|far| Box::new(far) as Box<dyn Far>), exchange)
    }
}

#[cold]
fn not_a_member() -> Error {
    Error::new(
        mpi::MPI_ERR_GROUP,
        "the calling process is not in the group",
        "the group of a communicator to be made",
        "a process outside of the group made the call, too",
        "let only the members call",
    )
}

#[cold]
fn of_another_job(peer: Peer) -> Error {
    Error::new(
        mpi::MPI_ERR_GROUP,
        "a communicator without a parent cannot have members of another job",
        format!("process {peer}, as this process numbers those of other jobs"),
        "the group was made from a communicator with processes that were spawned or connected",
        "use MPI_Comm_create_group of that communicator",
    )
}

#[cold]
fn other_tag(tag: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the members of a group gave different tags for one communicator",
        format!("the tag \"{}\" here", String::from_utf8_lossy(tag)),
        "two communicators of the same group are being made at once, with their tags mixed up",
        "let all members give the same tag, and concurrent calls different ones",
    )
}
