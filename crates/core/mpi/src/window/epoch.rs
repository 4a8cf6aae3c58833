//! The epochs of a window at one process (MPI-5.0, 12.5): those that are open, and the calls that
//! are allowed meanwhile. Nothing here communicates.
//!
//! A fence opens an epoch of access and exposure; the next one closes it. An open fence epoch in
//! which nothing was called yet gives way to any other epoch, since the fence before it may have
//! been the last one.

use super::error::{self, Open};
use super::lock::Kind;
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};

/// The state of fences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fence {
    #[default]
    Closed,
    /// Open, and no operation was called.
    Open,
    /// Open, and an operation was called.
    Used,
}

/// The meeting of an origin with a target in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Nothing to wait for: `MPI_MODE_NOCHECK`.
    Unchecked,
    /// The target's post, or its lock, is waited for at the first access.
    Due,
    /// A thread waits for it now.
    Waiting,
    /// The target was met.
    Done,
}

impl Meeting {
    /// Returns whether nothing is left to wait for.
    fn is_over(&self) -> bool {
        matches!(self, Meeting::Unchecked | Meeting::Done)
    }
}

/// The work that comes before an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// None.
    Ready,
    /// The target's `MPI_Win_post` is waited for.
    AwaitPost,
    /// A shared lock of the target is taken.
    TakeLock,
    /// Another thread does one of both; [`Epochs::is_met`] tells when it has ended.
    AwaitThread,
}

/// A lock that the program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub kind: Kind,
    /// False with `MPI_MODE_NOCHECK`: nothing was taken.
    pub is_taken: bool,
}

/// The epochs that are open.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    fence: Fence,
    /// The targets of `MPI_Win_start`.
    access: Option<BTreeMap<i32, Meeting>>,
    /// The origins of `MPI_Win_post`.
    exposure: Option<Vec<i32>>,
    /// The targets that are locked one by one.
    locks: BTreeMap<i32, Hold>,
    /// Set by `MPI_Win_lock_all`: the targets that were met, and what others need.
    all: Option<LockAll>,
    /// Calls that finished operations since one made progress.
    finishes: u32,
}

/// The number of calls that finish operations and need not wait, of which the last makes progress.
/// A program may call them in a loop until another process has stored something, and that process
/// may wait for messages.
const PROGRESS_EVERY: u32 = 64;

/// An epoch of `MPI_Win_lock_all`.
#[derive(Debug)]
struct LockAll {
    first: Meeting,
    /// The ranks that were met, a bit each, up to the highest.
    met: Vec<u64>,
    /// The ranks whose locks threads wait for.
    waiting: BTreeSet<i32>,
}

impl Epochs {
    /// Checks an operation on `rank`, notes it, and says what comes before it. `MPI_ERR_RMA_SYNC`
    /// if no access epoch to the rank is open.
    #[inline]
    pub(super) fn enter(&mut self, rank: i32, call: &str) -> Result<Entry> {
        if !self.locks.is_empty() && self.locks.contains_key(&rank) {
            return Ok(Entry::Ready);
        }
        if let Some(all) = &mut self.all {
            return Ok(all.enter(rank));
        }
        if self.fence != Fence::Closed {
            self.fence = Fence::Used;
            return Ok(Entry::Ready);
        }
        match self.access.as_mut().and_then(|targets| targets.get_mut(&rank)) {
            Some(meeting) if *meeting == Meeting::Due => {
                *meeting = Meeting::Waiting;
                Ok(Entry::AwaitPost)
            }
            Some(Meeting::Waiting) => Ok(Entry::AwaitThread),
            Some(_) => Ok(Entry::Ready),
            None => Err(error::no_access(call, rank, &self.open())),
        }
    }

    /// Returns whether an operation on `rank` may go on at once: what [`Epochs::enter`] notes, it
    /// has noted already, or [`Epochs::used`] does.
    #[inline]
    pub(super) fn is_open_to(&self, rank: i32) -> bool {
        if !self.locks.is_empty() && self.locks.contains_key(&rank) {
            return true;
        }
        match (&self.all, &self.access) {
            (Some(all), _) => all.first != Meeting::Due || all.has_met(rank),
            (None, _) if self.fence != Fence::Closed => true,
            (None, Some(targets)) => targets.get(&rank).is_some_and(Meeting::is_over),
            (None, None) => false,
        }
    }

    /// Notes an operation in an epoch that was open to it.
    #[inline]
    pub(super) fn used(&mut self) {
        if self.fence == Fence::Open {
            self.fence = Fence::Used;
        }
    }

    /// Returns whether the next call that finishes operations makes progress.
    #[inline]
    pub(super) fn owes_progress(&self) -> bool {
        self.finishes + 1 >= PROGRESS_EVERY
    }

    /// Notes a call that finishes operations. Returns whether it makes progress.
    #[inline]
    pub(super) fn finish(&mut self) -> bool {
        let owes = self.owes_progress();
        self.finishes = if owes { 0 } else { self.finishes + 1 };
        owes
    }

    /// Returns whether an epoch of locks is open to `rank`, or to any rank.
    #[inline]
    pub(super) fn is_passive(&self, rank: Option<i32>) -> bool {
        let is_locked = match rank {
            Some(rank) => !self.locks.is_empty() && self.locks.contains_key(&rank),
            None => !self.locks.is_empty(),
        };
        is_locked || self.all.is_some()
    }

    /// Notes that the work that [`Epochs::enter`] asked for has ended. If it failed, the next
    /// operation asks for it again.
    #[cold]
    pub(super) fn met(&mut self, rank: i32, is_met: bool) {
        if let Some(all) = &mut self.all {
            all.waiting.remove(&rank);
            if is_met {
                all.note(rank);
            }
        } else if let Some(meeting) = self.access.as_mut().and_then(|targets| targets.get_mut(&rank)) {
            *meeting = if is_met { Meeting::Done } else { Meeting::Due };
        }
    }

    /// Returns whether no thread waits for the target's post or lock.
    #[cold]
    pub(super) fn is_met(&self, rank: i32) -> bool {
        let is_awaited = |targets: &BTreeMap<_, _>| targets.get(&rank) == Some(&Meeting::Waiting);
        let is_locking = self.all.as_ref().is_some_and(|all| all.waiting.contains(&rank));
        !is_locking && !self.access.as_ref().is_some_and(is_awaited)
    }

    /// The work that comes before loads and stores of a rank's memory, if all are locked.
    pub(super) fn enter_all(&mut self, rank: i32) -> Option<Entry> {
        self.all.as_mut().map(|all| all.enter(rank))
    }

    /// Like [`Epochs::enter`], for an operation with a request, which needs a passive epoch
    /// (12.3.5).
    pub(super) fn enter_passive(&mut self, rank: i32, call: &str) -> Result<Entry> {
        self.check_passive(Some(rank), call)?;
        self.enter(rank, call)
    }

    /// Checks that an epoch of locks is open, to `rank` if one is given. `MPI_ERR_RMA_SYNC` if not.
    pub(super) fn check_passive(&self, rank: Option<i32>, call: &str) -> Result<()> {
        if self.is_passive(rank) { Ok(()) } else { Err(error::no_lock(call, rank, &self.open())) }
    }

    /// Checks that a fence may come now. `MPI_ERR_RMA_SYNC` within any other epoch.
    pub(super) fn check_fence(&self) -> Result<()> {
        let open = self.open();
        let is_free = Open { fence: None, ..open.clone() }.is_nothing();
        if is_free { Ok(()) } else { Err(error::still_open("MPI_Win_fence", &open)) }
    }

    /// Notes that a fence is done; `opens` is false with `MPI_MODE_NOSUCCEED`.
    pub(super) fn fenced(&mut self, opens: bool) {
        self.fence = if opens { Fence::Open } else { Fence::Closed };
    }

    /// Opens access to `targets` (`MPI_Win_start`).
    pub(super) fn start(&mut self, targets: &[i32], meeting: Meeting) -> Result<()> {
        self.check_access_closed("MPI_Win_start")?;
        self.fence = Fence::Closed;
        self.access = Some(targets.iter().map(|&rank| (rank, meeting)).collect());
        Ok(())
    }

    /// The targets of the access that `MPI_Win_complete` closes, and whether each was met.
    pub(super) fn complete(&mut self) -> Result<BTreeMap<i32, Meeting>> {
        self.access.take().ok_or_else(|| error::not_open("MPI_Win_complete", "MPI_Win_start", &self.open()))
    }

    /// Checks that no exposure is open, and that this process, `own`, has not locked its own memory
    /// (`MPI_Win_post`).
    pub(super) fn check_post(&self, own: i32) -> Result<()> {
        let is_locked = self.all.is_some() || self.locks.contains_key(&own);
        match self.exposure.is_some() || self.fence == Fence::Used || is_locked {
            true => Err(error::still_open("MPI_Win_post", &self.open())),
            false => Ok(()),
        }
    }

    /// Opens the exposure to `origins`.
    pub(super) fn posted(&mut self, origins: &[i32]) {
        self.fence = Fence::Closed;
        self.exposure = Some(origins.to_vec());
    }

    /// Checks that an exposure is open (`MPI_Win_wait`, `MPI_Win_test`).
    pub(super) fn check_exposed(&self, call: &str) -> Result<()> {
        match self.exposure {
            Some(_) => Ok(()),
            None => Err(error::not_open(call, "MPI_Win_post", &self.open())),
        }
    }

    /// Closes the exposure.
    pub(super) fn end_exposure(&mut self) {
        self.exposure = None;
    }

    /// Checks that `rank` may be locked (`MPI_Win_lock`): its memory must not be exposed, which is
    /// known here if it is that of this process, `own`.
    pub(super) fn check_lock(&self, rank: i32, own: i32) -> Result<()> {
        if self.locks.contains_key(&rank) {
            return Err(error::locked_already(rank, &self.open()));
        }
        let is_exposed = rank == own && self.exposure.is_some();
        let others = self.all.is_some() || self.access.is_some() || self.fence == Fence::Used || is_exposed;
        if others { Err(error::still_open("MPI_Win_lock", &self.open())) } else { Ok(()) }
    }

    /// Notes a lock.
    pub(super) fn locked(&mut self, rank: i32, hold: Hold) {
        self.fence = Fence::Closed;
        self.locks.insert(rank, hold);
    }

    /// The locks that are held: ranks and kinds.
    #[cold]
    pub(super) fn held(&self) -> Vec<(i32, Kind)> {
        let one_by_one = self.locks.iter().filter(|(_, hold)| hold.is_taken);
        let all = self.all.iter().filter(|all| all.first == Meeting::Due).flat_map(LockAll::ranks);
        one_by_one
            .map(|(rank, hold)| (*rank, hold.kind))
            .chain(all.map(|rank| (rank, Kind::Reader)))
            .collect()
    }

    /// The lock of `rank`, which `MPI_Win_unlock` gives back.
    pub(super) fn hold(&self, rank: i32) -> Result<Hold> {
        let hold = self.locks.get(&rank).copied();
        hold.ok_or_else(|| error::no_lock("MPI_Win_unlock", Some(rank), &self.open()))
    }

    /// Forgets the lock of `rank`.
    pub(super) fn unlocked(&mut self, rank: i32) {
        self.locks.remove(&rank);
    }

    /// Checks that all ranks may be locked (`MPI_Win_lock_all`).
    pub(super) fn check_lock_all(&self) -> Result<()> {
        if self.exposure.is_some() {
            return Err(error::still_open("MPI_Win_lock_all", &self.open()));
        }
        self.check_access_closed("MPI_Win_lock_all")
    }

    /// Opens access to all ranks (`MPI_Win_lock_all`).
    pub(super) fn lock_all(&mut self, first: Meeting) -> Result<()> {
        self.check_lock_all()?;
        self.fence = Fence::Closed;
        self.all = Some(LockAll { first, met: Vec::new(), waiting: BTreeSet::new() });
        Ok(())
    }

    /// Notes that the locks of these members are held.
    pub(super) fn met_all(&mut self, members: &[usize]) {
        if let Some(all) = &mut self.all {
            members.iter().for_each(|&rank| all.note(rank as i32));
        }
    }

    /// The ranks whose locks `MPI_Win_unlock_all` gives back.
    pub(super) fn locked_by_all(&self) -> Result<Vec<i32>> {
        match &self.all {
            Some(all) => Ok(all.ranks()),
            None => Err(error::not_open("MPI_Win_unlock_all", "MPI_Win_lock_all", &self.open())),
        }
    }

    /// Closes the access to all ranks.
    pub(super) fn unlocked_all(&mut self) {
        self.all = None;
    }

    /// Checks that the window may be freed: no epoch is open in which anything happened.
    pub(super) fn check_free(&self) -> Result<()> {
        let open = self.open();
        let is_free = match self.fence {
            Fence::Used => false,
            Fence::Open | Fence::Closed => Open { fence: None, ..open.clone() }.is_nothing(),
        };
        if is_free { Ok(()) } else { Err(error::still_open("MPI_Win_free", &open)) }
    }

    fn check_access_closed(&self, call: &str) -> Result<()> {
        let is_open = self.access.is_some()
            || self.all.is_some()
            || !self.locks.is_empty()
            || self.fence == Fence::Used;
        if is_open { Err(error::still_open(call, &self.open())) } else { Ok(()) }
    }

    /// The open epochs, for errors.
    #[cold]
    fn open(&self) -> Open {
        Open {
            fence: (self.fence != Fence::Closed).then_some(self.fence == Fence::Used),
            started: self.access.as_ref().map(|targets| targets.keys().copied().collect()),
            posted: self.exposure.clone(),
            locked: self.locks.keys().copied().collect(),
            is_all_locked: self.all.is_some(),
        }
    }
}

impl LockAll {
    #[inline]
    fn enter(&mut self, rank: i32) -> Entry {
        if self.has_met(rank) || self.first != Meeting::Due { Entry::Ready } else { self.begin(rank) }
    }

    /// Asks a thread, and only one, to take the lock of a rank.
    #[cold]
    fn begin(&mut self, rank: i32) -> Entry {
        if self.waiting.insert(rank) { Entry::TakeLock } else { Entry::AwaitThread }
    }

    /// Notes that the lock of a rank is held.
    fn note(&mut self, rank: i32) {
        let word = rank as usize / 64;
        if word >= self.met.len() {
            self.met.resize(word + 1, 0);
        }
        self.met[word] |= 1 << (rank % 64);
    }

    /// Returns whether a rank was noted.
    #[inline]
    fn has_met(&self, rank: i32) -> bool {
        self.met.get(rank as usize / 64).is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    fn ranks(&self) -> Vec<i32> {
        (0..64 * self.met.len() as i32).filter(|&rank| self.has_met(rank)).collect()
    }
}

#[cfg(test)]
mod tests;
