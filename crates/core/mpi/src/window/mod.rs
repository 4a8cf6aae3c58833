//! Windows: one-sided communication (MPI-5.0, chapter 12).
//!
//! | file | what it does |
//! | --- | --- |
//! | `create` | making and freeing windows, collectively |
//! | `own`, `local` | the memory that this process exposes, and all that belongs to it |
//! | `attached`, `chunks`, `table` | memory attached to a dynamic window, and how others are told |
//! | `control` | the words of a process that all origins of its node change: locks and the like |
//! | `part`, `parts` | what the members tell each other when they make a window, and what is kept |
//! | `target` | the way to a member: mapped memory, its process, or messages |
//! | `place`, `runs` | the bytes that an access names at a target |
//! | `epoch` | which epochs are open, and what may be called |
//! | `fence`, `pscw`, `passive` | the three ways to synchronise |
//! | `finish` | the end of what was called, at many members at once |
//! | `operate`, `accumulate` | the operations |
//! | `copied` | copies by the kernel |
//! | `fast_path` | the most frequent calls in their most frequent form |
//! | `counts` | how many went which way |
//! | `traced` | calls in a trace |
//! | `watch` | waits and locks, for reports of hangs |
//! | [`apply`] | what accumulate calls do to the memory of a target |
//! | [`stripe`] | locks of parts of that memory, for what no processor changes at once |
//! | [`lock`] | the lock of a whole target |
//! | [`service`] | operations by messages |
//! | [`far`] | puts and gets by the device, between nodes |
//! | `info` | hints |
//! | `error` | errors |
//!
//! An origin reaches a target in one of three ways. If the target's memory is mapped here, an
//! operation is a copy or a processor's atomic. If the target is another process of the node, the
//! kernel copies. Otherwise messages carry the operation. Operations of the first two ways are
//! complete when the call returns.

mod accumulate;
pub mod apply;
mod attached;
mod chunks;
mod control;
mod copied;
pub(crate) mod counts;
mod create;
mod epoch;
mod error;
pub mod far;
mod fast_path;
mod fence;
mod finish;
mod info;
mod local;
pub mod lock;
mod operate;
mod own;
mod part;
mod parts;
mod passive;
mod place;
mod pscw;
mod runs;
pub mod service;
pub mod stripe;
mod table;
mod target;
mod traced;
mod watch;

pub use accumulate::{Source, Swap};
pub use create::{Means, Server, Wanted};
pub use fast_path::Spot;
pub use place::Remote;
pub use traced::Traced;
pub use verbena_channel::trace::one_sided::Call;

use crate::attribute::Attributes;
use crate::comm::Comm;
use crate::errhandler::{Errhandler, Handling, Kind};
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::info::Info;
use crate::process::{Process, failure_error};
use crate::task::Running;
use epoch::Epochs;
use far::Far;
use local::Local;
use pscw::Meetings;
use service::Service;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use target::Target;
use verbena_memory::Region;
use verbena_waiting::lock::Lock;

/// The ways in which a window is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Flavor {
    /// Over memory of the program (`MPI_Win_create`).
    Create = mpi::MPI_WIN_FLAVOR_CREATE,
    /// Over memory that it allocates (`MPI_Win_allocate`).
    Allocate = mpi::MPI_WIN_FLAVOR_ALLOCATE,
    /// Over memory that is attached later (`MPI_Win_create_dynamic`).
    Dynamic = mpi::MPI_WIN_FLAVOR_DYNAMIC,
    /// Over memory that all members load and store (`MPI_Win_allocate_shared`).
    Shared = mpi::MPI_WIN_FLAVOR_SHARED,
}

/// The attributes of a window that are integers, where the program may read them (MPI-5.0, 12.2.7).
pub struct Facts {
    /// `MPI_WIN_SIZE`: bytes of this process's part.
    pub size: isize,
    /// `MPI_WIN_DISP_UNIT`; `MPI_UNDEFINED` if it is no `int`.
    pub unit: i32,
    /// `MPI_WIN_CREATE_FLAVOR`.
    pub flavor: i32,
    /// `MPI_WIN_MODEL`: always the unified one.
    pub model: i32,
}

/// A window, at one of its processes.
pub struct Win {
    /// A communicator of the members for the window's own messages.
    comm: Comm,
    flavor: Flavor,
    facts: Facts,
    /// The ways to those members that were accessed.
    targets: Box<[OnceLock<Box<Target>>]>,
    local: Arc<Local>,
    service: Arc<Service>,
    /// The task of the service, if some member reaches another by messages.
    serving: Option<Arc<Running>>,
    /// Puts and gets by the device, if it may be used.
    far: Option<Far>,
    needs_progress: bool,
    /// False with the hint `no_locks`.
    allows_locks: AtomicBool,
    /// Set once the program was told where memory of a member is.
    is_shared_told: AtomicBool,
    epochs: Lock<Epochs>,
    meetings: Lock<Meetings>,
    hints: Info,
    truths: info::Truths,
    name: Mutex<Vec<u8>>,
    errhandling: Handling,
    attributes: Attributes,
    handle: AtomicUsize,
}

impl Win {
    /// The members (`MPI_Win_get_group`).
    pub fn group(&self) -> &Arc<Group> {
        self.comm.group()
    }

    /// The members that are dead, as far as this process will ever know. What one of them has in
    /// mapped memory is told to all: so no member of the node that the system sees alive, though
    /// this process has lost it.
    #[cold]
    fn dead_members(&self, process: &Process) -> Vec<i32> {
        let members = (0..).zip(self.group().members()).filter(|&(_, &peer)| peer != process.me());
        let mut dead: Vec<i32> = process.look(|engine| match engine.losses() {
            0 => Vec::new(),
            _ => members.filter(|&(_, &peer)| engine.counts_as_dead(peer)).map(|(rank, _)| rank).collect(),
        });
        dead.retain(|&rank| !self.local.lives(rank));
        dead
    }

    /// Checks that none of the members that `is_meant` names is dead, as far as this process knows:
    /// what is called on one that is may be lost, whatever way leads to its memory. The error of
    /// the death if one is.
    #[inline]
    fn check_living(&self, process: &Process, is_meant: impl Fn(i32) -> bool) -> Result<()> {
        match process.look(|engine| engine.losses()) {
            0 => Ok(()),
            _ => self.check_dead(process, &is_meant),
        }
    }

    #[cold]
    fn check_dead(&self, process: &Process, is_meant: &dyn Fn(i32) -> bool) -> Result<()> {
        let dead = self.dead_members(process).into_iter().find(|&rank| is_meant(rank));
        let loss = |rank| process.look(|engine| engine.loss_of(self.group().peer(rank)));
        dead.and_then(loss).map_or(Ok(()), |loss| Err(failure_error(loss)))
    }

    /// Number of members.
    #[inline]
    pub fn size(&self) -> i32 {
        self.comm.size()
    }

    /// The caller's rank.
    #[inline]
    pub fn rank(&self) -> i32 {
        self.comm.rank()
    }

    /// The way in which it was made.
    #[inline]
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// The attributes that are integers; they stay where they are while the window lives.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The address of this process's part: `MPI_WIN_BASE`.
    pub fn base(&self) -> usize {
        self.local.part.base as usize
    }

    /// The hints in use (`MPI_Win_get_info`).
    pub fn hints(&self) -> &Info {
        &self.hints
    }

    /// Takes over hints (`MPI_Win_set_info`).
    pub fn set_hints(&self, given: &Info) -> Result<()> {
        let updated = info::update(&self.hints, given, &self.truths);
        self.allows_locks.store(!info::is_set(&self.hints, "no_locks"), Ordering::Relaxed);
        updated
    }

    /// The name that the program gave it, empty at first (`MPI_Win_get_name`).
    pub fn name(&self) -> Vec<u8> {
        self.lock_name().clone()
    }

    /// Gives it a name (`MPI_Win_set_name`).
    pub fn set_name(&self, name: &[u8]) {
        *self.lock_name() = name.to_vec();
    }

    fn lock_name(&self) -> MutexGuard<'_, Vec<u8>> {
        self.name.lock().expect("nothing panics while it holds a name")
    }

    /// The error handler in use.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.errhandling.get()
    }

    /// Uses another error handler. `MPI_ERR_ERRHANDLER` if it is for another kind of object.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) -> Result<()> {
        errhandler.check(Kind::Win)?;
        self.errhandling.set(errhandler);
        Ok(())
    }

    /// The attributes that the program cached on it.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The handle by which the program knows it, 0 if it has none.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Acquire)
    }

    /// Tells the window its handle.
    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Release);
    }

    /// Returns whether the members need this process's progress though it calls nothing: some of
    /// them reach its memory or its lock by messages only, and lock it.
    #[inline]
    pub fn needs_progress(&self) -> bool {
        self.needs_progress
    }

    /// Checks a rank of the window: `Ok(None)` for `MPI_PROC_NULL`, `MPI_ERR_RANK` for others that
    /// it does not have.
    #[inline]
    fn member(&self, rank: i32) -> Result<Option<usize>> {
        match rank {
            mpi::MPI_PROC_NULL => Ok(None),
            _ if (rank as u32) < self.size() as u32 => Ok(Some(rank as usize)),
            _ => Err(error::rank(rank, self.size())),
        }
    }

    /// The part of `rank` as this process may load and store it (`MPI_Win_shared_query`): bytes,
    /// unit and address. For `MPI_PROC_NULL` it is the part of the lowest rank that has one. A part
    /// of no bytes, or one that is not mapped here, has the address 0 and, in the latter case, no
    /// bytes (12.2.3). `MPI_ERR_RMA_FLAVOR` for a dynamic window.
    pub fn shared_query(&self, process: &Process, rank: i32) -> Result<(u64, i64, usize)> {
        if self.flavor == Flavor::Dynamic {
            return Err(error::no_parts("MPI_Win_shared_query"));
        }
        let found = match self.member(rank)? {
            Some(rank) => Some(rank),
            None => (0..self.local.parts.len()).find(|&rank| self.local.parts.get(rank).size > 0),
        };
        let Some(rank) = found else { return Ok((0, 1, 0)) };
        let part = self.local.parts.get(rank);
        match self.shared(process, rank) {
            Some(region) => {
                self.is_shared_told.store(true, Ordering::Relaxed);
                self.lock_at_once(process, rank)?;
                Ok((part.size, part.unit, region.address() as usize))
            }
            None if self.flavor == Flavor::Shared => Ok((part.size, part.unit, 0)),
            None => Ok((0, part.unit, 0)),
        }
    }

    /// The part of a member, if it has bytes and they are mapped here.
    fn shared(&self, process: &Process, rank: usize) -> Option<Region> {
        let region = self.target(process, rank).mapped()?;
        (!region.is_empty()).then_some(region)
    }
}
