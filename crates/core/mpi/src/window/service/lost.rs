//! The members of a window that are lost, for those who wait for its lock.

use super::Addresses;
use crate::process::Access;
use verbena_engine::Failure;

/// The members that are lost, as they were when the number of losses last changed.
#[derive(Default)]
pub(super) struct Lost {
    losses: u64,
    members: Vec<Member>,
}

/// A member that is lost: nothing comes from it any more.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) rank: i32,
    /// True if the launcher says that it is dead.
    pub(super) is_told: bool,
    /// True if it does not go on by itself, so that what it has in mapped memory stays as it is.
    pub(super) is_dead: bool,
}

impl Lost {
    /// The members that are lost. One that may be dead, and of which the launcher will tell more,
    /// is none of them yet.
    pub(super) fn members(&mut self, access: &mut impl Access, addresses: &Addresses) -> &[Member] {
        access.look(|engine| {
            if std::mem::replace(&mut self.losses, engine.losses()) == engine.losses() {
                return;
            }
            let others = (0..addresses.group.size()).filter(|rank| *rank != addresses.rank);
            let member = |rank| {
                let peer = addresses.group.peer(rank);
                let loss = engine.loss_of(peer).filter(|_| !engine.is_suspect(peer))?;
                let is_told = matches!(loss, Failure::Dead(_));
                Some(Member { rank, is_told, is_dead: engine.counts_as_dead(peer) })
            };
            self.members = others.filter_map(member).collect();
        });
        &self.members
    }
}
