//! Communicators (MPI-5.0, 7.4): a group (two for an intercommunicator) and a matching context.
//!
//! | file | what it does |
//! | --- | --- |
//! | `exchange` | what making communicators asks of the collectives |
//! | `words` | numbers and lists as bytes, for those exchanges |
//! | `agree` | exchanges in which a failure of one process reaches all |
//! | `dup` | duplication |
//! | `idup` | the nonblocking form as a task |
//! | `make` | communicators from groups and by splitting |
//! | `hint` | info keys that are hints to the channels |
//! | `introduce` | processes that do not know each other yet |
//! | `inter` | intercommunicators: making and merging |
//! | `from_group` | communicators without a parent (sessions) |
//! | `private` | communicators that the library makes for itself |
//! | `fault` | members that have failed |
//! | `split_type` | splitting by hardware and resources |

mod agree;
pub mod dup;
pub mod exchange;
mod fault;
pub mod from_group;
pub mod hint;
pub mod idup;
mod inter;
mod introduce;
mod make;
pub mod private;
mod split_type;
pub(crate) mod words;
pub mod world;

pub use exchange::Exchange;
pub use fault::none_left;
pub use introduce::Far;
pub use split_type::{HARDWARE, Place, Places, SplitType};

use crate::attribute::Attributes;
use crate::bsend::BufferedSends;
use crate::coll::board::BoardHandle;
use crate::errhandler::{Errhandler, Handling, predefined};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::{Group, Likeness};
use crate::info::Info;
use crate::process::Process;
use crate::topology::{Neighbors, Topology};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use verbena_channel::Peer;

/// Kinds of traffic of one communicator; each has its own matching context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The program's point-to-point messages.
    Point = 0,
    /// Messages of collectives.
    Collective = 1,
    /// Messages of partitioned communication.
    Partitioned = 2,
    /// Messages between some of its members that make a new communicator.
    Exchange = 3,
}

/// Context of [`Comm::universe`], unlike any that processes hand out.
const UNIVERSE_CONTEXT: u64 = 1 << 63;
/// Context of a communicator that [`Comm::settle`] has not given its own yet.
const NO_CONTEXT: u64 = u64::MAX - 3;

/// A communicator.
pub struct Comm {
    context: AtomicU64,
    local: Arc<Group>,
    remote: Option<Remote>,
    /// The remote group of an intercommunicator, else the local one.
    targets: Arc<Group>,
    rank: i32,
    name: Mutex<Vec<u8>>,
    hints: Info,
    errhandling: Handling,
    attributes: Attributes,
    topology: Option<(Topology, Neighbors)>,
    handle: AtomicUsize,
    /// The number of the engine for the program's messages.
    engine: AtomicU8,
    buffered: BufferedSends,
    /// Number of blocking collectives begun on this communicator.
    blocking: AtomicU32,
    /// Number of nonblocking and persistent ones.
    nonblocking: AtomicU32,
    board_handle: BoardHandle,
    faults: fault::Faults,
    /// The place among the library's own, if it is one of them.
    known: Option<private::Known>,
}

/// The other side of an intercommunicator.
pub struct Remote {
    group: Arc<Group>,
    /// An intracommunicator of the local group, for the library's own use.
    inner: Arc<Comm>,
    /// True if the local side is the first, on which both sides agree: the first one chooses
    /// contexts and leads in a merge.
    is_local_first: bool,
}

impl Remote {
    /// The other side's `group`, as seen by a process of the local group, which `inner` connects.
    /// `is_local_first` is true on exactly one of the two sides.
    pub fn new(group: Arc<Group>, inner: Arc<Comm>, is_local_first: bool) -> Remote {
        Remote { group, inner, is_local_first }
    }
}

impl Comm {
    /// A communicator over `local` (and `remote`, for an intercommunicator) with base context
    /// `context`: a multiple of 4 that no other communicator of any member has. Its creator must be
    /// a member of `local`. Its errors are fatal until an error handler is set.
    pub fn new(context: u64, local: Arc<Group>, remote: Option<Remote>) -> Comm {
        debug_assert!(context.is_multiple_of(4));
        let rank = local.rank().expect("the caller is a member of its communicator");
        let targets = remote.as_ref().map_or(&local, |remote| &remote.group).clone();
        Comm {
            context: AtomicU64::new(context),
            local,
            remote,
            targets,
            rank,
            name: Mutex::default(),
            hints: Info::new(),
            errhandling: Handling::new(predefined::are_fatal()),
            attributes: Attributes::default(),
            topology: None,
            handle: AtomicUsize::new(0),
            engine: AtomicU8::new(0),
            buffered: BufferedSends::new(),
            blocking: AtomicU32::new(0),
            nonblocking: AtomicU32::new(0),
            board_handle: BoardHandle::default(),
            faults: fault::Faults::default(),
            known: None,
        }
    }

    /// The library's own communicator of all `size` processes of the job, in which communicators
    /// without a parent are agreed on. The program never sees it.
    pub fn universe(me: Peer, size: u32) -> Comm {
        Comm::new(UNIVERSE_CONTEXT, Arc::new(Group::of_job(me, size)), None)
    }

    /// A communicator derived from `self`, whose error handler it takes over (MPI-5.0, 9.3.1).
    fn child(&self, context: u64, local: Arc<Group>, remote: Option<Remote>) -> Comm {
        Comm { errhandling: Handling::new(self.errhandler()), ..Comm::new(context, local, remote) }
    }

    /// The matching context of this kind of traffic.
    #[inline]
    pub fn context(&self, traffic: Traffic) -> u64 {
        self.context.load(Ordering::Relaxed) + traffic as u64
    }

    /// The number of the process's engine for the program's messages on it.
    #[inline]
    pub fn engine(&self) -> usize {
        self.engine.load(Ordering::Relaxed).into()
    }

    /// Gives it the engine that all its members have for it. To be called before the program knows
    /// it, and once it has its context.
    pub fn choose_engine(&self, process: &Process) {
        if self.context.load(Ordering::Acquire) != NO_CONTEXT {
            self.engine.store(process.engine_for(self) as u8, Ordering::Relaxed);
        }
    }

    /// Returns whether `context` is one of this communicator's.
    pub fn has_context(&self, context: u64) -> bool {
        context & !fault::TRAFFIC == self.context(Traffic::Point)
    }

    /// The tag of the next blocking collective's messages, even and below 2^30. All members begin a
    /// communicator's collectives in the same order (MPI-5.0, 6.14), so they count alike.
    #[inline]
    pub fn next_collective_tag(&self) -> i32 {
        tag_of(self.blocking.fetch_add(1, Ordering::Relaxed), 0)
    }

    /// The tag of the next nonblocking or persistent collective's messages, odd and below 2^30.
    /// They are counted separately, as they never match blocking ones (6.12). So a program that
    /// begins the two sorts in different order (such as mpi4py's test of `Iagree`) still works.
    #[inline]
    pub fn next_nonblocking_tag(&self) -> i32 {
        tag_of(self.nonblocking.fetch_add(1, Ordering::Relaxed), 1)
    }

    /// Gives back the tag of the last blocking collective, which did not take part: the next one
    /// gets it.
    pub fn give_back_collective_tag(&self) {
        self.blocking.fetch_sub(1, Ordering::Relaxed);
    }

    /// Like [`Comm::give_back_collective_tag`], for nonblocking and persistent collectives.
    pub fn give_back_nonblocking_tag(&self) {
        self.nonblocking.fetch_sub(1, Ordering::Relaxed);
    }

    /// The place where it keeps its board.
    #[inline]
    pub(crate) fn board_handle(&self) -> &BoardHandle {
        &self.board_handle
    }

    /// The number of blocking collectives so far, with the one under way and those that failed. It
    /// is the same on all members.
    #[inline]
    pub fn collectives_begun(&self) -> u32 {
        self.blocking.load(Ordering::Relaxed)
    }

    /// Tells the other members, where they share memory, that the last blocking collective failed
    /// on this one, if it took no part.
    #[cold]
    pub fn leave_collective(&self) {
        self.board_handle.leave(self.collectives_begun());
    }

    /// Like [`Comm::collectives_begun`], of nonblocking and persistent ones.
    pub fn nonblocking_begun(&self) -> u32 {
        self.nonblocking.load(Ordering::Relaxed)
    }

    /// The communicator under this name, as the report of a hang has it.
    pub fn told(&self, name: String) -> verbena_hang::Communicator {
        let (local, remote) = (self.group().members().iter(), self.targets().members().iter());
        let remote = remote.filter(|_| self.is_inter());
        verbena_hang::Communicator {
            context: self.context(Traffic::Point),
            name,
            members: verbena_hang::Communicator::ranges(local.chain(remote).copied()),
            blocking: self.collectives_begun(),
            nonblocking: self.nonblocking_begun(),
        }
    }

    /// The communicator's buffer for buffered sends (MPI-5.0, 3.6).
    #[inline]
    pub fn buffered_sends(&self) -> &BufferedSends {
        &self.buffered
    }

    /// The caller's rank in the local group.
    #[inline]
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// Size of the local group.
    #[inline]
    pub fn size(&self) -> i32 {
        self.local.size()
    }

    /// Returns whether this is an intercommunicator.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// True if the local group is the first of an intercommunicator; `None` on an
    /// intracommunicator.
    #[inline]
    pub fn is_first_group(&self) -> Option<bool> {
        self.remote.as_ref().map(|remote| remote.is_local_first)
    }

    /// The local group.
    pub fn group(&self) -> &Arc<Group> {
        &self.local
    }

    /// The remote group. `MPI_ERR_COMM` if this is an intracommunicator.
    pub fn remote_group(&self) -> Result<&Arc<Group>> {
        Ok(&self.remote()?.group)
    }

    /// The group that ranks in point-to-point calls mean: the remote one of an intercommunicator.
    #[inline]
    pub fn targets(&self) -> &Arc<Group> {
        &self.targets
    }

    /// The process that `rank` means in a point-to-point call. Panics if out of range.
    #[inline]
    pub fn peer(&self, rank: i32) -> Peer {
        self.targets().peer(rank)
    }

    /// An intracommunicator of the local group for the library's own exchanges: a hidden one in an
    /// intercommunicator, else this one.
    pub fn inner(&self) -> &Comm {
        self.remote.as_ref().map_or(self, |remote| &remote.inner)
    }

    fn remote(&self) -> Result<&Remote> {
        self.remote.as_ref().ok_or_else(not_inter)
    }

    /// Returns `MPI_ERR_COMM` if this is an intercommunicator.
    pub fn check_intra(&self) -> Result<()> {
        if self.is_inter() { Err(not_intra()) } else { Ok(()) }
    }

    /// Compares two communicators (`MPI_Comm_compare`).
    pub fn compare(&self, other: &Comm) -> Likeness {
        if self.context(Traffic::Point) == other.context(Traffic::Point) {
            return Likeness::Identical;
        }
        let local = self.local.compare(&other.local);
        let both = match (&self.remote, &other.remote) {
            (None, None) => [local, Likeness::Identical],
            (Some(a), Some(b)) => [local, a.group.compare(&b.group)],
            _ => return Likeness::Unequal,
        };
        if both.contains(&Likeness::Unequal) {
            Likeness::Unequal
        } else if both.contains(&Likeness::Similar) {
            Likeness::Similar
        } else {
            Likeness::Congruent
        }
    }

    /// The name that the program or the library gave it, empty at first (`MPI_Comm_get_name`).
    pub fn name(&self) -> Vec<u8> {
        self.lock_name().clone()
    }

    /// Gives it a name (`MPI_Comm_set_name`).
    pub fn set_name(&self, name: &[u8]) {
        *self.lock_name() = name.to_vec();
    }

    fn lock_name(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.name.lock().expect("nothing panics while it holds a name")
    }

    /// The hints that the program gave (`MPI_Comm_get_info`, `MPI_Comm_set_info`).
    pub fn hints(&self) -> &Info {
        &self.hints
    }

    /// The error handler in use.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.errhandling.get()
    }

    /// Uses another error handler. `MPI_ERR_ERRHANDLER` if it is for another kind of object.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) -> Result<()> {
        errhandler.check(crate::errhandler::Kind::Comm)?;
        self.errhandling.set(errhandler);
        Ok(())
    }

    /// Returns whether an error handler was set on it, even if it was the one in use before.
    pub fn errhandler_was_set(&self) -> bool {
        self.errhandling.was_set()
    }

    /// The attributes cached on it.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The topology, if there is one.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref().map(|(topology, _)| topology)
    }

    /// The neighbours of the calling process in the topology.
    pub(crate) fn known_neighbors(&self) -> Option<&Neighbors> {
        self.topology.as_ref().map(|(_, neighbors)| neighbors)
    }

    /// The communicator with this topology, in which every process has a place.
    pub fn with_topology(self, topology: Topology) -> Comm {
        let neighbors = topology.neighbors(self.rank);
        Comm { topology: Some((topology, neighbors)), ..self }
    }

    /// The handle by which the program knows it, 0 if it has none. Callbacks of attributes and
    /// error handlers get it.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Acquire)
    }

    /// Gives a communicator that MPI itself makes its handle and its name.
    pub(crate) fn predefine(&self, handle: usize, name: &str) {
        self.set_handle(handle);
        self.set_name(name.as_bytes());
    }

    /// Tells the communicator its handle.
    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Release);
    }
}

/// The tag of the `count`-th collective of sort 0 or 1.
#[inline]
fn tag_of(count: u32, sort: i32) -> i32 {
    (count & ((1 << 29) - 1)) as i32 * 2 + sort
}

#[cold]
fn not_inter() -> Error {
    Error::new(
        mpi::MPI_ERR_COMM,
        "the call is for intercommunicators only",
        "an intracommunicator, which has no remote group",
        "the communicator was not made by MPI_Intercomm_create or its like",
        "ask MPI_Comm_test_inter first",
    )
}

#[cold]
fn not_intra() -> Error {
    Error::new(
        mpi::MPI_ERR_COMM,
        "the call is for intracommunicators only",
        "an intercommunicator",
        "the communicator has two groups, and the call needs one",
        "make one of both groups with MPI_Intercomm_merge",
    )
}

#[cfg(test)]
pub(crate) mod tests;
