//! Locks, flushes and the memory barrier (MPI-5.0, 12.5.3 and 12.5.4).
//!
//! A lock is one word of the target's control words, the same for all origins. Where the words are
//! mapped, the origin changes them itself; else the target's service does.
//!
//! Taking a lock acquires and giving it back releases what was stored meanwhile, so that only a
//! flush and `MPI_Win_sync` need a fence of their own: they order stores with loads that follow.

use super::control::Words;
use super::epoch::{Hold, Meeting};
use super::finish::Then;
use super::lock::{Attempt, Claim, Kind, Lock, Ticket};
use super::service::dead_ahead;
use super::{Flavor, Win, counts, error};
use crate::coll::is_round_to_look;
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::process::Process;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use verbena_memory::Region;
use verbena_memory::atomic::full_fence;

/// The time for which `MPI_Win_lock_all` holds some locks while it waits for another: at first, and
/// after it gave them back a few times.
const PATIENCE_MIN: Duration = Duration::from_millis(1);
const PATIENCE_MAX: Duration = Duration::from_secs(1);

/// The looks at a lock before its taker notes that it waits: about the time for which a holder on
/// another core has it for a short operation.
const LOOKS: u32 = 100;

/// Looks for a while whether it is a ticket's turn. If it was, the lock is held, and the next one
/// may have to be woken.
#[inline]
fn look_for_turn(lock: Lock<Region>, ticket: Ticket, kind: Kind) -> Option<Option<Ticket>> {
    (0..LOOKS).find_map(|_| match lock.try_enter(ticket, kind) {
        Attempt::Entered { next } => Some(next),
        Attempt::Early => {
            std::hint::spin_loop();
            None
        }
    })
}

/// The members whose shared locks `MPI_Win_lock_all` holds, and for how long while it waits.
struct Held {
    ranks: Vec<usize>,
    patience: Duration,
}

/// The kind of a lock type of the standard. `MPI_ERR_LOCKTYPE` if it is none.
fn kind_of(lock_type: i32) -> Result<Kind> {
    match lock_type {
        mpi::MPI_LOCK_SHARED => Ok(Kind::Reader),
        mpi::MPI_LOCK_EXCLUSIVE => Ok(Kind::Writer),
        _ => Err(error::argument(
            mpi::MPI_ERR_LOCKTYPE,
            "the lock type is none of MPI's",
            format!("lock type {lock_type}"),
            "pass MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE",
        )),
    }
}

/// Returns whether the lock is really taken, by the assertions of `call`.
fn is_checked(call: &str, assert: i32) -> Result<bool> {
    match assert & !mpi::MPI_MODE_NOCHECK {
        0 => Ok(assert == 0),
        _ => Err(error::assertion(call, assert, "MPI_MODE_NOCHECK")),
    }
}

impl Win {
    /// Locks the memory of `rank` (`MPI_Win_lock`) and returns once the lock is held. An error if
    /// that member is dead.
    pub fn lock(&self, process: &Process, lock_type: i32, rank: i32, assert: i32) -> Result<()> {
        let kind = kind_of(lock_type)?;
        let is_taken = is_checked("MPI_Win_lock", assert)?;
        let Some(member) = self.member(rank)? else { return Ok(()) };
        self.check_locks("MPI_Win_lock")?;
        self.epochs.lock().check_lock(rank, self.rank())?;
        match is_taken {
            true => self.take(process, member, kind)?,
            false => self.check_living(process, |dead| dead == rank)?,
        }
        self.epochs.lock().locked(rank, Hold { kind, is_taken });
        Ok(())
    }

    /// Finishes what was called on `rank` and gives its lock back (`MPI_Win_unlock`). This and the
    /// other calls here that finish operations at their targets fail if one of these is dead.
    pub fn unlock(&self, process: &Process, rank: i32) -> Result<()> {
        let Some(member) = self.member(rank)? else { return Ok(()) };
        let hold = self.epochs.lock().hold(rank)?;
        let then = if hold.is_taken { Then::Unlock(hold.kind) } else { Then::Nothing };
        let finished = self.finish_then(process, member, then);
        self.epochs.lock().unlocked(rank);
        self.make_progress(process);
        finished.and_then(|()| self.check_living(process, |dead| dead == rank))
    }

    /// Locks the memory of all members for sharing (`MPI_Win_lock_all`). Waits for the locks of
    /// memory that the program may load and store without a call: its own, and what
    /// `MPI_Win_shared_query` tells. Those of others are taken when they are first accessed.
    pub fn lock_all(&self, process: &Process, assert: i32) -> Result<()> {
        let is_taken = is_checked("MPI_Win_lock_all", assert)?;
        self.check_locks("MPI_Win_lock_all")?;
        self.epochs.lock().check_lock_all()?;
        let now = if is_taken { self.stored(process) } else { Vec::new() };
        self.take_all(process, &now)?;
        let mut epochs = self.epochs.lock();
        epochs.lock_all(if is_taken { Meeting::Due } else { Meeting::Unchecked })?;
        epochs.met_all(&now);
        Ok(())
    }

    /// Checks that the window was made for locks.
    fn check_locks(&self, call: &str) -> Result<()> {
        if self.allows_locks.load(Ordering::Relaxed) { Ok(()) } else { Err(error::no_locks(call)) }
    }

    /// The members whose memory the program may load and store, this process first.
    fn stored(&self, process: &Process) -> Vec<usize> {
        let own = self.rank() as usize;
        let others = 0..if self.is_stored_by_others() { self.size() as usize } else { 0 };
        let has_lock = |&rank: &usize| self.target(process, rank).words.is_some();
        let others = others.filter(|&rank| rank != own && self.shared(process, rank).is_some());
        std::iter::once(own).chain(others.filter(has_lock)).collect()
    }

    /// Takes the shared locks of these members, all of them or none. It takes its place at one
    /// after the other and holds what it has for a while only, so that nobody waits in a circle, in
    /// whatever order others take theirs; its place it keeps, so that it gets there in the end.
    fn take_all(&self, process: &Process, members: &[usize]) -> Result<()> {
        let mut held = Held { ranks: Vec::new(), patience: PATIENCE_MIN };
        while let Some(&rank) = members.iter().find(|rank| !held.ranks.contains(rank)) {
            if let Err(error) = self.take_holding(process, rank, Kind::Reader, &mut held) {
                self.give_back(process, &mut held);
                return Err(error);
            }
            held.ranks.push(rank);
        }
        Ok(())
    }

    /// Gives shared locks back.
    fn give_back(&self, process: &Process, held: &mut Held) {
        held.patience = (2 * held.patience).min(PATIENCE_MAX);
        held.ranks.drain(..).for_each(|rank| self.give(process, rank, Kind::Reader));
    }

    /// Takes the lock of a member now if an epoch of `MPI_Win_lock_all` is open.
    pub(super) fn lock_at_once(&self, process: &Process, rank: usize) -> Result<()> {
        const CALL: &str = "MPI_Win_lock_all";
        let entry = self.epochs.lock().enter_all(rank as i32);
        entry.map_or(Ok(()), |entry| self.meet(process, rank, entry, CALL))
    }

    /// Returns whether the program may load and store the memory of other members.
    fn is_stored_by_others(&self) -> bool {
        self.flavor == Flavor::Shared || self.is_shared_told.load(Ordering::Relaxed)
    }

    /// Finishes everything and gives the locks back (`MPI_Win_unlock_all`).
    pub fn unlock_all(&self, process: &Process) -> Result<()> {
        let locked = self.epochs.lock().locked_by_all()?;
        let locked = locked.into_iter().map(|rank| (rank as usize, Then::Unlock(Kind::Reader)));
        let outcome = match self.serving {
            None => self.finish_each(process, locked),
            Some(_) => {
                let others = self.unfinished().into_iter().map(|rank| (rank, Then::Nothing));
                let members: BTreeMap<usize, Then> = others.chain(locked).collect();
                self.finish_each(process, members.into_iter())
            }
        };
        let outcome = outcome.and_then(|()| self.check_accessed(process));
        self.epochs.lock().unlocked_all();
        self.make_progress(process);
        outcome
    }

    /// Finishes what was called on `rank`, at both sides (`MPI_Win_flush`).
    pub fn flush(&self, process: &Process, rank: i32) -> Result<()> {
        let Some(member) = self.member(rank)? else { return Ok(()) };
        self.epochs.lock().check_passive(Some(rank), "MPI_Win_flush")?;
        self.make_progress(process);
        full_fence();
        self.finish_at(process, member)?;
        self.check_living(process, |dead| dead == rank)
    }

    /// Finishes everything, at both sides (`MPI_Win_flush_all`).
    pub fn flush_all(&self, process: &Process) -> Result<()> {
        self.epochs.lock().check_passive(None, "MPI_Win_flush_all")?;
        self.make_progress(process);
        full_fence();
        self.finish_all(process)?;
        self.check_accessed(process)
    }

    /// Checks that no member is dead to which an epoch of locks is open and that was accessed.
    fn check_accessed(&self, process: &Process) -> Result<()> {
        let is_known = |rank: i32| self.targets[rank as usize].get().is_some();
        self.check_living(process, |dead| is_known(dead) && self.epochs.lock().is_open_to(dead))
    }

    /// Finishes what was called on `rank`, at this side (`MPI_Win_flush_local`).
    pub fn flush_local(&self, process: &Process, rank: i32) -> Result<()> {
        let Some(member) = self.member(rank)? else { return Ok(()) };
        self.epochs.lock().check_passive(Some(rank), "MPI_Win_flush_local")?;
        self.make_progress(process);
        self.settle(process, Some(member))
    }

    /// Finishes everything, at this side (`MPI_Win_flush_local_all`).
    pub fn flush_local_all(&self, process: &Process) -> Result<()> {
        self.epochs.lock().check_passive(None, "MPI_Win_flush_local_all")?;
        self.make_progress(process);
        self.settle(process, None)
    }

    /// Orders this process's loads and stores with those of others (`MPI_Win_sync`).
    pub fn sync(&self, process: &Process) {
        full_fence();
        // A program may call this in a loop until another process has stored something.
        process.poll();
    }

    /// Makes progress in one call of many. To be called by calls that need not wait: a program may
    /// repeat them until another process has stored something, which may wait for messages.
    pub fn make_progress(&self, process: &Process) {
        if self.epochs.lock().finish() {
            process.poll_after_work();
        }
    }

    /// Takes the shared lock of a member in an epoch of `MPI_Win_lock_all`.
    pub(super) fn take_shared(&self, process: &Process, rank: usize) -> Result<()> {
        self.take(process, rank, Kind::Reader)
    }

    fn take(&self, process: &Process, rank: usize, kind: Kind) -> Result<()> {
        self.take_holding(process, rank, kind, &mut Held { ranks: Vec::new(), patience: PATIENCE_MAX })
    }

    /// Takes a lock. What is `held` meanwhile is given back if that takes long.
    fn take_holding(&self, process: &Process, rank: usize, kind: Kind, held: &mut Held) -> Result<()> {
        self.comm.check_usable()?;
        self.check_living(process, |dead| dead == rank as i32)?;
        match self.target(process, rank).words {
            Some(words) if words.is_exposed(self.size()) => Err(error::exposed(rank as i32)),
            Some(words) => self.take_mapped(process, (rank, words), kind, held),
            None if self.serving.is_none() => Err(self.unreachable(process, rank as i32)),
            None => {
                let awaited = |_: &Process| self.awaited_lock(rank, kind);
                self.service.lock(process, rank, kind, awaited, || self.comm.check_usable())
            }
        }
    }

    /// Gives a lock back, unless messages have taken it and give it back.
    pub(super) fn give(&self, process: &Process, rank: usize, kind: Kind) {
        let Some(words) = self.target(process, rank).words else { return };
        let next = Lock(words.lock()).leave(kind);
        // At once: one that dies before counts as a holder.
        self.local.control.words().unclaim(rank as i32);
        if let Some(next) = next {
            self.wake_waiting(process, rank, words, next);
        }
    }

    fn take_mapped(
        &self,
        process: &Process,
        (rank, words): (usize, Words),
        kind: Kind,
        held: &mut Held,
    ) -> Result<()> {
        let (lock, own) = (Lock(words.lock()), self.local.control.words());
        // Before it has a ticket: if it dies, the others must know.
        own.claim(rank as i32);
        if lock.try_lock(kind) {
            return Ok(());
        }
        counts::lock_awaited();
        let ticket = lock.ticket();
        let place = own.claim_turn(rank as i32, ticket);
        let met = if process.may_spin() { look_for_turn(lock, ticket, kind) } else { None };
        let next = match met {
            Some(next) => Ok(next),
            None => self.await_turn(process, (rank, words), (ticket, kind), held),
        };
        own.end_claimed_turn(place);
        match next {
            Ok(next) => {
                next.into_iter().for_each(|next| self.wake_waiting(process, rank, words, next));
                Ok(())
            }
            Err(error) => {
                own.unclaim(rank as i32);
                Err(error)
            }
        }
    }

    /// Waits for the turn of a ticket. Returns the next one in the queue, if it may be able to
    /// enter too. An error if a process before it has died: with the lock, or with a place in the
    /// queue, or if the window was revoked, so that nobody takes a lock any more. The lock of one
    /// that lives is waited for.
    fn await_turn(
        &self,
        process: &Process,
        (rank, words): (usize, Words),
        (ticket, kind): (Ticket, Kind),
        held: &mut Held,
    ) -> Result<Option<Ticket>> {
        let lock = Lock(words.lock());
        words.await_turn(ticket, self.rank());
        let known = || process.look(|engine| engine.losses());
        let (mut rounds, mut losses, since) = (0_u32, 0, Instant::now());
        let next = process.wait_for(
            |_| self.awaited_lock(rank, kind),
            |process| match lock.try_enter(ticket, kind) {
                Attempt::Early => {
                    if !held.ranks.is_empty() && since.elapsed() > held.patience {
                        self.give_back(process, held);
                    }
                    rounds = rounds.wrapping_add(1);
                    let is_news = std::mem::replace(&mut losses, known()) != losses;
                    if is_news || is_round_to_look(rounds) {
                        self.note_dead_before(process, (rank, words), ticket);
                    }
                    if let Err(error) = self.comm.check_usable() {
                        return Some(Err(error));
                    }
                    let (member, claim) = words.dead_before(ticket)?;
                    Some(Err(dead_ahead(member, claim, rank as i32, process.goes_on())))
                }
                Attempt::Entered { next } => Some(Ok(next)),
            },
        );
        words.end_wait(ticket, self.rank());
        next
    }

    /// Notes in the words of a lock's owner if a member has died that is before this ticket. The
    /// service of the owner looks after those that have no words here.
    #[cold]
    fn note_dead_before(&self, process: &Process, (owner, words): (usize, Words), ticket: Ticket) {
        let rank = owner as i32;
        for member in self.dead_members(process) {
            let claim = match member == rank {
                // What its service took for others is not given back any more.
                true if words.served() > 0 => Some(Claim::Holds),
                _ => self.local.dead_claim(member, rank, words),
            };
            if let Some(claim) = claim.filter(|claim| Lock(words.lock()).is_behind(ticket, *claim)) {
                words.note_dead(member, claim);
            }
        }
    }

    /// Wakes the process whose turn to have the lock of `owner` may have come. If none is known,
    /// all that wait, and the owner, whose service may wait for others.
    fn wake_waiting(&self, process: &Process, owner: usize, words: Words, next: Ticket) {
        if !words.for_each_to_wake(next, self.size(), |rank| self.wake(process, rank)) {
            self.wake(process, owner as i32);
        }
    }

    /// Wakes a member that may sleep until mapped memory changes.
    pub(super) fn wake(&self, process: &Process, rank: i32) {
        match process.heap().filter(|_| rank != self.rank()) {
            Some(heap) => heap.wake(self.group().peer(rank)),
            None => process.notify(),
        }
    }
}
