//! Communicators some of whose members have failed (ULFM): what is known of the failures, and what
//! the others do about them.

use super::{Comm, Remote, Traffic};
use crate::agreement::{self, Agreement, Members, Value};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::process::{Process, revoked};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::Peer;

/// The bits of a context that tell the kinds of traffic of a communicator.
pub(super) const TRAFFIC: u64 = 3;

/// The failures that a communicator knows of.
#[derive(Default)]
pub(super) struct Faults {
    revoked: Arc<AtomicBool>,
    /// The failed members that the program has acknowledged.
    acknowledged: Mutex<Vec<Peer>>,
    /// The number of agreements begun.
    agreements: AtomicU32,
}

impl Faults {
    /// The flag that says whether the communicator was revoked.
    pub(super) fn revoked_flag(&self) -> Arc<AtomicBool> {
        self.revoked.clone()
    }
}

impl Comm {
    /// Returns whether it was revoked, by any member.
    #[inline]
    pub fn is_revoked(&self) -> bool {
        self.faults.revoked.load(Ordering::Relaxed)
    }

    /// Notes that it was revoked, and with it the communicator behind it.
    pub fn note_revoked(&self) {
        self.faults.revoked.store(true, Ordering::Relaxed);
        self.inner().faults.revoked.store(true, Ordering::Relaxed);
    }

    /// Returns `MPIX_ERR_REVOKED` if it was revoked.
    #[inline]
    pub fn check_usable(&self) -> Result<()> {
        if self.is_revoked() { Err(revoked()) } else { Ok(()) }
    }

    /// Revokes it: whatever is under way on it fails, on all members, and nothing begins any more
    /// but agreements.
    pub fn revoke(&self, process: &Process) {
        self.note_revoked();
        let members = self.everyone();
        process.command(|engine| {
            engine.revoke(self.context(Traffic::Point), &members);
            if self.is_inter() {
                engine.revoke(self.inner().context(Traffic::Point), &[]);
            }
        });
    }

    /// All members, those of the first group of an intercommunicator first: in the same order on
    /// all of them.
    pub fn everyone(&self) -> Vec<Peer> {
        let (local, targets) = (self.local.members(), self.targets.members());
        let [first, second] = match self.is_first_group() {
            None => [local, &[]],
            Some(true) => [local, targets],
            Some(false) => [targets, local],
        };
        first.iter().chain(second).copied().collect()
    }

    /// The number of the next agreement: all members that live begin them in the same order.
    pub(crate) fn next_agreement(&self) -> u32 {
        self.faults.agreements.fetch_add(1, Ordering::Relaxed)
    }

    /// The members that have failed as far as is known here, in the order of the news.
    pub fn failed_members(&self, process: &Process) -> Vec<Peer> {
        process.look_for_deaths();
        let mut dead = process.look(|engine| engine.dead().to_vec());
        dead.retain(|peer| self.local.members().contains(peer) || self.targets.members().contains(peer));
        dead
    }

    /// The group of these members.
    pub fn group_of_members(&self, members: Vec<Peer>) -> Group {
        self.group_of(members)
    }

    /// Acknowledges up to so many of the [failed members](Comm::failed_members), and returns how
    /// many are acknowledged now. Receives from any source do not fail because of them any more.
    pub fn acknowledge(&self, process: &Process, count: usize) -> usize {
        let failed = self.failed_members(process);
        let mut acknowledged = self.lock_acknowledged();
        let more = failed.into_iter().take(count).skip(acknowledged.len());
        acknowledged.extend(more.collect::<Vec<Peer>>());
        acknowledged.len()
    }

    /// The failed members that were acknowledged.
    pub fn acknowledged(&self) -> Vec<Peer> {
        self.lock_acknowledged().clone()
    }

    /// Returns whether a message of this process may be awaited here: it is a member, and if the
    /// program waits for any source, or some members make a communicator, not one that it has
    /// acknowledged to have failed.
    pub fn may_hear(&self, context: u64, peer: Peer) -> bool {
        // Members of an intercommunicator that live leave the calls of their own group, too, after
        // a death in the other one.
        let is_own = self.has_context(context) || self.is_inter() && self.inner().has_context(context);
        let is_member = self.targets.members().contains(&peer) || self.local.members().contains(&peer);
        let may_do_without = [Traffic::Point, Traffic::Exchange].map(|traffic| self.context(traffic));
        let is_missed = !may_do_without.contains(&context) || !self.lock_acknowledged().contains(&peer);
        is_own && is_member && is_missed
    }

    fn lock_acknowledged(&self) -> MutexGuard<'_, Vec<Peer>> {
        self.faults.acknowledged.lock().expect("nothing panics while it holds them")
    }

    fn begin_agreement(&self, process: &Process, flags: [u32; 2]) -> Agreement {
        let members = self.everyone();
        let places = |peers: Vec<Peer>| {
            let place = |peer: Peer| members.iter().position(|member| *member == peer);
            Members::these(members.len(), peers.into_iter().filter_map(place))
        };
        let contexts = [process.new_context(), process.new_context(), process.new_context()];
        let (failed, acknowledged) = (places(self.failed_members(process)), places(self.acknowledged()));
        agreement::start(process, self, Value { flags, failed, acknowledged, contexts })
    }

    /// Begins an agreement on the bits that all members have which are left (`MPIX_Comm_agree`).
    /// Each group of an intercommunicator gets those of the other one.
    pub fn agree(&self, process: &Process, flags: u32) -> Agreement {
        let mut both = [u32::MAX; 2];
        both[usize::from(self.is_first_group() == Some(false))] = flags;
        self.begin_agreement(process, both)
    }

    /// The bits of an agreement that are for this process.
    pub fn agreed_flags(&self, agreed: &Value) -> u32 {
        agreed.flags[usize::from(self.is_first_group() == Some(true))]
    }

    /// Takes note of the members that have failed by an agreement, of which the launcher may not
    /// have told this process yet. Returns them.
    pub fn learn_failed(&self, process: &Process, agreed: &Value) -> Vec<Peer> {
        let everyone = self.everyone();
        let failed = everyone.iter().enumerate().filter(|(place, _)| agreed.failed.has(*place));
        let failed: Vec<Peer> = failed.map(|(_, peer)| *peer).filter(|peer| *peer != process.me()).collect();
        process.note_dead(failed.clone());
        failed
    }

    /// Returns `MPIX_ERR_PROC_FAILED` if members have failed that not all have acknowledged, alike
    /// on all of them.
    pub fn check_agreed(&self, agreed: &Value) -> Result<()> {
        if agreed.failed.are_in(&agreed.acknowledged) {
            return Ok(());
        }
        let everyone = self.everyone();
        let failed = everyone.iter().enumerate().filter(|(place, _)| agreed.failed.has(*place));
        let failed: Vec<String> = failed.map(|(_, peer)| peer.to_string()).collect();
        Err(Error::new(
            mpi::MPIX_ERR_PROC_FAILED,
            "processes of the communicator have failed that not all others have acknowledged",
            format!("processes {} of the job", failed.join(", ")),
            "they were killed, or crashed; the agreement holds all the same",
            "call MPIX_Comm_ack_failed before the agreement, or make a new communicator with MPIX_Comm_shrink",
        ))
    }

    /// Begins to agree on the members that are left (`MPIX_Comm_shrink`).
    pub fn begin_shrink(&self, process: &Process) -> Agreement {
        self.begin_agreement(process, [u32::MAX; 2])
    }

    /// The communicator of the members that are left by this agreement; `None` if nobody of the
    /// other group of an intercommunicator is.
    ///
    /// # Errors
    /// The others take this process for dead.
    pub fn shrunk(&self, agreed: &Value) -> Result<Option<Comm>> {
        let everyone = self.everyone();
        let is_left = |peer: &Peer| {
            let place = everyone.iter().position(|member| member == peer);
            place.is_some_and(|place| !agreed.failed.has(place))
        };
        if !is_left(&self.group().peer(self.rank())) {
            return Err(given_up());
        }
        let left = |group: &Group| group.members().iter().copied().filter(is_left).collect::<Vec<Peer>>();
        if self.remote.as_ref().is_some_and(|remote| left(&remote.group).is_empty()) {
            return Ok(None);
        }
        let local = Arc::new(self.group_of(left(&self.local)));
        let [context, first, second] = agreed.contexts;
        let remote = self.remote.as_ref().map(|remote| {
            let group = Arc::new(remote.group.derive(&self.local, left(&remote.group)));
            let inner = if remote.is_local_first { first } else { second };
            let inner = Arc::new(self.child(inner, local.clone(), None));
            Remote { group, inner, is_local_first: remote.is_local_first }
        });
        Ok(Some(self.child(context, local, remote)))
    }
}

/// The error of a shrunk intercommunicator of whose other group nobody is left, where its handle
/// was given out before.
#[cold]
pub fn none_left() -> Error {
    Error::new(
        mpi::MPIX_ERR_PROC_FAILED,
        "there is no intercommunicator of the processes that are left",
        "an intercommunicator of whose other group every process has failed",
        "they were killed, or crashed",
        "spawn other processes, or connect with some",
    )
}

#[cold]
fn given_up() -> Error {
    Error::new(
        mpi::MPIX_ERR_PROC_FAILED,
        "the other processes of the communicator take this one for dead",
        "a communicator of those that are left, which this process is not to be in",
        "the launcher has told them that this process was killed",
        "end this process; if it was not killed, report a defect of the launcher",
    )
}
