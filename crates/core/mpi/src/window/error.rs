//! Errors of windows, in words (MPI-5.0, 12.6).

use super::part::Part;
use crate::error::{Class, Error};
use crate::generated::constants as mpi;
use crate::process::failure_error;
use verbena_channel::Peer;
use verbena_channel::neighbor::Refusal;
use verbena_engine::Failure;
use verbena_fault::{Fault, count};

/// The epochs that are open when a call fails.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    /// An epoch of a fence, and whether an operation was called in it.
    pub fence: Option<bool>,
    pub started: Option<Vec<i32>>,
    pub posted: Option<Vec<i32>>,
    pub locked: Vec<i32>,
    pub is_all_locked: bool,
}

impl Open {
    /// Returns whether no epoch is open.
    pub(super) fn is_nothing(&self) -> bool {
        self.fence.is_none()
            && self.started.is_none()
            && self.posted.is_none()
            && self.locked.is_empty()
            && !self.is_all_locked
    }

    fn describe(&self) -> String {
        let fence = self.fence.map(|used| match used {
            true => "the epoch of a fence, with operations".to_string(),
            false => "the epoch of a fence, without operations yet".to_string(),
        });
        let started = self.started.as_ref().map(|targets| format!("MPI_Win_start to {}", ranks(targets)));
        let posted = self.posted.as_ref().map(|origins| format!("MPI_Win_post to {}", ranks(origins)));
        let locked = (!self.locked.is_empty()).then(|| format!("MPI_Win_lock of {}", ranks(&self.locked)));
        let all = self.is_all_locked.then(|| "MPI_Win_lock_all".to_string());
        let open: Vec<String> = [fence, started, posted, locked, all].into_iter().flatten().collect();
        match open.is_empty() {
            true => "no epoch is open on the window here".into(),
            false => format!("open on the window here: {}", open.join("; ")),
        }
    }
}

/// Ranks as a person reads them, not too many.
fn ranks(list: &[i32]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = list.iter().take(SHOWN).map(i32::to_string).collect();
    let more = if list.len() > SHOWN { format!(" and {} more", list.len() - SHOWN) } else { String::new() };
    match list.len() {
        0 => "no rank".into(),
        1 => format!("rank {}", shown[0]),
        _ => format!("ranks {}{more}", shown.join(", ")),
    }
}

#[cold]
fn sync(what: String, open: &Open, cause: &str, remedy: String) -> Error {
    Error::new(mpi::MPI_ERR_RMA_SYNC, what, open.describe(), cause, remedy)
}

/// The error of an operation on a rank to which no access epoch is open.
#[cold]
pub(super) fn no_access(call: &str, rank: i32, open: &Open) -> Error {
    sync(
        format!("{call} needs an access epoch to rank {rank}"),
        open,
        "the epoch was not opened, was closed already, or is one to other ranks",
        format!(
            "call MPI_Win_fence, MPI_Win_start with rank {rank} in the group, MPI_Win_lock or MPI_Win_lock_all first"
        ),
    )
}

/// The error of a call that needs a lock.
#[cold]
pub(super) fn no_lock(call: &str, rank: Option<i32>, open: &Open) -> Error {
    let of = rank.map_or(String::new(), |rank| format!(" of rank {rank}"));
    sync(
        format!("{call} needs a lock{of}"),
        open,
        "the lock was not taken, was given back already, or is one of another rank",
        "call MPI_Win_lock or MPI_Win_lock_all first".into(),
    )
}

/// The error of a call that closes what is not open.
#[cold]
pub(super) fn not_open(call: &str, opener: &str, open: &Open) -> Error {
    sync(
        format!("{call} closes the epoch of {opener}, which is not open"),
        open,
        "the two calls are not paired, or an earlier one failed",
        format!("call {opener} first, once for each {call}"),
    )
}

/// The error of a call that must not come within an open epoch.
#[cold]
pub(super) fn still_open(call: &str, open: &Open) -> Error {
    sync(
        format!("{call} came while another epoch is open"),
        open,
        "the call that closes that epoch was left out or failed",
        "close it first: a fence by MPI_Win_fence, MPI_Win_start by MPI_Win_complete, MPI_Win_post by MPI_Win_wait, locks by MPI_Win_unlock"
            .into(),
    )
}

/// The error of a second lock on a target.
#[cold]
pub(super) fn locked_already(rank: i32, open: &Open) -> Error {
    sync(
        format!("MPI_Win_lock came for rank {rank}, which this process has locked already"),
        open,
        "the first lock was not given back",
        format!("call MPI_Win_unlock for rank {rank} first"),
    )
}

/// An access that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub rank: i32,
    pub displacement: i64,
    /// The first byte and the one after the last, relative to the place of the displacement.
    pub span: (i64, i64),
}

/// The bytes of an access, counted from its displacement.
fn bytes_of((low, high): (i64, i64)) -> String {
    match i128::from(high) - i128::from(low) {
        ..=0 => "no byte".into(),
        1 => format!("byte {low}"),
        _ => format!("bytes {low} to {}", high - 1),
    }
}

/// The error of an access outside of a target's window.
#[cold]
pub(super) fn range(access: Access, &Part { base, size, unit, .. }: &Part) -> Error {
    let Access { rank, displacement, span: (low, high) } = access;
    let wanted = (i128::from(high) - i128::from(low)).max(0);
    Error::new(
        mpi::MPI_ERR_RMA_RANGE,
        format!("an access of {} leaves the window of rank {rank}", count(wanted, "byte")),
        format!(
            "displacement {displacement} in units of {}, {} from there; the window has {} at {base:#x}",
            count(unit, "byte"),
            bytes_of(access.span),
            count(size, "byte"),
        ),
        "the displacement is not in the units that the target gave, or the count or datatype is too large",
        format!(
            "stay within {}: MPI_Win_shared_query or the target tell its size and unit",
            count(size, "byte")
        ),
    )
}

/// The error of an access to memory that is not attached.
#[cold]
pub(super) fn unattached(access: Access) -> Error {
    let Access { rank, displacement, span } = access;
    Error::new(
        mpi::MPI_ERR_RMA_RANGE,
        format!("an access leaves the memory that rank {rank} has attached to the window"),
        format!("address {displacement:#x}, {} from there", bytes_of(span)),
        "the memory was never attached, was detached already, or the displacement is no address of that process",
        "attach the memory there first, and pass the address that MPI_Get_address gives there",
    )
}

/// The error of attached memory that was detached while elements in several pieces changed.
#[cold]
pub(super) fn detached(address: u64, bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_RANGE,
        "memory was detached while an operation on it was under way",
        format!("{bytes} bytes at {address:#x}"),
        "the program there has called MPI_Win_detach before the origin had finished",
        "detach memory once all origins have finished: after a barrier, say",
    )
}

/// The error of an access to memory that the target's program has taken back.
#[cold]
pub(super) fn gone(access: Access) -> Error {
    let Access { rank, displacement, span: (low, high) } = access;
    taken_back(rank, "", format!("displacement {displacement:#x}, bytes {low} to {high} from there"))
}

fn taken_back(rank: i32, how: &str, on: String) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_RANGE,
        format!("the memory of a window of rank {rank} is not there{how}"),
        on,
        "the program there has freed, unmapped or protected it before MPI_Win_free, or the origin its own",
        "keep the memory of a window until MPI_Win_free has returned",
    )
}

/// The error of an access to a dynamic window whose member died while it attached or detached
/// memory.
#[cold]
pub(super) fn torn_table(rank: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_PROC_ABORTED,
        format!("nobody knows any more which memory rank {rank} has attached to the window"),
        format!("rank {rank} was in the middle of MPI_Win_attach or MPI_Win_detach"),
        "the process was killed, or its node is gone",
        "look for the end of that rank in the output of the launcher",
    )
}

/// The error of an argument with a value that it cannot have.
#[cold]
pub(super) fn argument(class: Class, what: &str, on: String, remedy: &str) -> Error {
    Error::new(class, what, on, "the value was never set, or the arguments are in the wrong order", remedy)
}

/// The error of a rank that the window does not have.
#[cold]
pub(super) fn rank(rank: i32, size: i32) -> Error {
    argument(
        mpi::MPI_ERR_RANK,
        "the target rank is not a rank of the window",
        format!("rank {rank}, a window of {}", count(size, "process")),
        &format!("{}, or MPI_PROC_NULL", verbena_fault::rank_below(size)),
    )
}

/// The error of assertions that do not belong to the call.
#[cold]
pub(super) fn assertion(call: &str, assert: i32, allowed: &str) -> Error {
    argument(
        mpi::MPI_ERR_ASSERT,
        &format!("the assertions are not those of {call}"),
        format!("assert {assert}"),
        &format!("pass 0, or {allowed}"),
    )
}

/// The error of an origin and a target that differ in length.
#[cold]
pub(super) fn lengths(call: &str, origin: u64, target: u64) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        format!("{call} moves between an origin and a target of different lengths"),
        format!("{origin} bytes at the origin, {target} bytes at the target"),
        "counts or datatypes do not match (MPI-5.0, 12.3.1)",
        "pass counts and datatypes of the same basic elements for both",
    )
}

/// The error of a datatype that an accumulate does not take.
#[cold]
pub(super) fn elements(call: &str, what: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        format!("{call} does not take this datatype"),
        what,
        "accumulates work on elements of one predefined datatype, the same on both sides (MPI-5.0, 12.3.4)",
        "use a predefined datatype, or one made of elements of a single one",
    )
}

/// The error of an operation of the program in an accumulate.
#[cold]
pub(super) fn user_op(call: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_OP,
        format!("{call} takes predefined operations only"),
        "an operation made by MPI_Op_create",
        "the target would have to know the function (MPI-5.0, 12.3.4)",
        "use a predefined operation, or MPI_Get, the function, and MPI_Put under a lock",
    )
}

/// The error of an accumulate that would change nothing and fetch nothing.
#[cold]
pub(super) fn no_op(call: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_OP,
        format!("{call} does not take MPI_NO_OP"),
        "an accumulate that changes nothing and fetches nothing",
        "MPI_NO_OP is for calls that fetch what is there (MPI-5.0, 12.3.4)",
        "use MPI_Get_accumulate, MPI_Rget_accumulate or MPI_Fetch_and_op",
    )
}

/// The error of memory of a target, process `peer`, that the kernel does not copy.
#[cold]
pub(super) fn refused((rank, peer): (i32, Peer), Refusal { is_gone, fault }: Refusal) -> Error {
    if !is_gone {
        return failure_error(Failure::Channel(peer, Box::new(fault)));
    }
    taken_back(rank, &format!(": {}", fault.what), fault.on)
}

/// The error of a call that this flavor of window does not have.
#[cold]
pub(super) fn flavor(call: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_FLAVOR,
        format!("{call} is not for this flavor of window"),
        "the attribute MPI_WIN_CREATE_FLAVOR tells it",
        "memory is attached to and detached from windows made by MPI_Win_create_dynamic only",
        "make the window with MPI_Win_create_dynamic",
    )
}

/// The error of a call that a dynamic window does not have.
#[cold]
pub(super) fn no_parts(call: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_FLAVOR,
        format!("{call} is not for dynamic windows"),
        "a window of MPI_Win_create_dynamic",
        "its processes have no memory of their own in it, only what they attach",
        "use a window of MPI_Win_allocate_shared or MPI_Win_allocate",
    )
}

/// The error of a lock on a window that was made without them.
#[cold]
pub(super) fn no_locks(call: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_SYNC,
        format!("{call} came for a window without locks"),
        "the window has the hint no_locks=true",
        "the hint says that no process locks the window, so that nobody serves locks",
        "make the window without the hint, or use fences or MPI_Win_post and MPI_Win_start",
    )
}

/// The error of a lock on memory that is exposed.
#[cold]
pub(super) fn exposed(rank: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_SYNC,
        format!("the memory of rank {rank} cannot be locked while it is exposed"),
        format!("rank {rank} has called MPI_Win_post, and not all origins have called MPI_Win_complete"),
        "MPI-5.0, 12.5.3 forbids to lock a window that is exposed",
        "lock it after MPI_Win_wait there: a message or a barrier can tell when that is over",
    )
}

/// The error of an exposure of memory that is locked.
#[cold]
pub(super) fn locked_by_others(rank: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_SYNC,
        "MPI_Win_post came while another process has locked the memory of this one",
        format!("the part of rank {rank}, which calls MPI_Win_post"),
        "MPI-5.0, 12.5.3 forbids to expose a window that is locked",
        "post after MPI_Win_unlock or MPI_Win_unlock_all there: a message or a barrier can tell when that is over",
    )
}

/// The error of memory that cannot be attached.
#[cold]
pub(super) fn attach(what: &str, address: u64, bytes: u64, cause: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_ATTACH,
        what,
        format!("{bytes} bytes at {address:#x}"),
        cause,
        "attach each piece of memory once, and detach it by its first address",
    )
}

/// The error of memory that is attached, and nobody can be told.
#[cold]
pub(super) fn no_table(fault: Fault) -> Error {
    Error { class: mpi::MPI_ERR_RMA_ATTACH, fault: Box::new(fault) }
}

/// The error of memory that the members of a window cannot share.
#[cold]
pub(super) fn not_shared(on: String, cause: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_RMA_SHARED,
        "the processes of a window cannot share its memory",
        on,
        cause,
        "split the communicator by MPI_COMM_TYPE_SHARED, with the channel shm and VERBENA_WINDOW_HEAP on; else use MPI_Win_allocate",
    )
}

/// The error of a collective call on a window that failed in another process.
#[cold]
pub(super) fn elsewhere(call: &str, rank: usize, class: Class) -> Error {
    Error::new(
        class,
        format!("{call} failed in another process"),
        format!("rank {rank} of the window's communicator"),
        "that process passed a wrong argument, or had no memory; its own error says which",
        "look at the error of that process",
    )
}

/// The error of memory that the system does not give.
#[cold]
pub(super) fn no_memory(bytes: usize, free: u64) -> Error {
    let free = if free == u64::MAX { String::new() } else { format!(", and {free} bytes are free") };
    Error::new(
        mpi::MPI_ERR_NO_MEM,
        "there is no memory for a window",
        format!("{bytes} bytes were asked for{free}"),
        "the system refuses as much: its memory, or a limit (ulimit -v, a cgroup), is used up",
        "ask for less, run fewer processes on the node, or raise the limit",
    )
}

/// The error of a group that is not part of a window's.
#[cold]
pub(super) fn group(members: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_GROUP,
        "the group has members that the window has not",
        format!("a group of {members} processes, a window of {size}"),
        "the group was made from another communicator",
        "make the group from MPI_Win_get_group of this window",
    )
}

/// The error of members that make different windows.
#[cold]
pub(super) fn unlike(call: &str, rank: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the processes of a communicator make different windows",
        format!("{call} here, and another call or another hint alloc_shared_noncontig at rank {rank}"),
        "the processes took different ways through the program",
        "make the same call with the same hints on all processes of the communicator",
    )
}

/// The error of a member, process `peer`, that has ended before it was accessed.
#[cold]
pub(super) fn ended(rank: i32, peer: Peer) -> Error {
    let fault = Fault::new(
        format!("the memory of rank {rank} of a window is gone: its process has ended"),
        format!("rank {rank} of the window, process {peer} of the job"),
        "the process was killed, or left before MPI_Win_free",
        "look for the end of that rank in the output of the launcher",
    );
    failure_error(Failure::Channel(peer, Box::new(fault)))
}

/// The error of a member that was to be reached by load and store, and cannot be.
#[cold]
pub(super) fn unreachable(rank: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_NO_MEM,
        "the memory of a process of this node cannot be mapped",
        format!("rank {rank} of the window"),
        "a limit of this process (ulimit -v, a cgroup) leaves no room for it",
        "raise the limit, or set VERBENA_WINDOW_HEAP=0 for the whole job",
    )
}
