//! Counts of one-sided communication: of this process, over all windows. They are performance
//! variables (`tool`, `pvar.rs`).

use super::place::Place;
use std::sync::atomic::{AtomicU64, Ordering};
use verbena_channel::trace::one_sided as trace;
use verbena_waiting::lock::is_shared;

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `MPI_Put` and `MPI_Rput`.
    Put,
    /// `MPI_Get` and `MPI_Rget`.
    Get,
    /// `MPI_Accumulate`, `MPI_Get_accumulate` and those with requests.
    Accumulate,
    /// `MPI_Fetch_and_op`.
    Fetch,
    /// `MPI_Compare_and_swap`.
    Swap,
}

/// The ways to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Memory that is mapped here.
    Mapped,
    /// The kernel copies.
    Neighbor,
    /// Messages.
    Messages,
    /// The device.
    Device,
}

impl Kind {
    /// The call in a trace.
    fn call(self) -> trace::Call {
        match self {
            Kind::Put => trace::Call::Put,
            Kind::Get => trace::Call::Get,
            Kind::Accumulate => trace::Call::Accumulate,
            Kind::Fetch => trace::Call::FetchAndOp,
            Kind::Swap => trace::Call::CompareAndSwap,
        }
    }
}

impl Way {
    /// The way in a trace.
    fn traced(self) -> trace::Way {
        match self {
            Way::Mapped => trace::Way::Mapped,
            Way::Neighbor => trace::Way::Neighbor,
            Way::Messages => trace::Way::Messages,
            Way::Device => trace::Way::Device,
        }
    }
}

const KINDS: usize = 5;
const WAYS: usize = 4;

/// A count. A thread that is alone inside MPI adds to it by a plain increment.
#[derive(Debug)]
struct Count(AtomicU64);

impl Count {
    const fn zero() -> Count {
        Count(AtomicU64::new(0))
    }

    #[inline]
    fn add(&self, more: u64) {
        if is_shared() {
            self.0.fetch_add(more, Ordering::Relaxed);
        } else {
            self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        }
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

static OPERATIONS: [[Count; WAYS]; KINDS] = [const { [const { Count::zero() }; WAYS] }; KINDS];
static LOCKS_AWAITED: Count = Count::zero();
static LOCKS_QUEUED: Count = Count::zero();
static REQUESTS_SERVED: Count = Count::zero();
static WENT_AGAIN: Count = Count::zero();

/// Counts an operation, and notes it for a trace.
#[inline]
pub(super) fn operation(kind: Kind, way: Way) {
    OPERATIONS[kind as usize][way as usize].add(1);
    trace::goes(kind.call(), way.traced());
}

impl Place {
    /// Counts an operation at this place.
    #[inline]
    pub(super) fn count(&self, kind: Kind) {
        let way = match self {
            Place::Mapped(..) | Place::Pieces(_) => Way::Mapped,
            Place::Neighbor(..) => Way::Neighbor,
            Place::Messages => Way::Messages,
        };
        operation(kind, way);
    }
}

/// Counts a lock in mapped memory for which this process has to wait.
#[cold]
pub(super) fn lock_awaited() {
    LOCKS_AWAITED.add(1);
}

/// Counts a lock of this process for which another has to wait that asked by a message.
#[cold]
pub(super) fn lock_queued() {
    LOCKS_QUEUED.add(1);
}

/// Counts requests that came by messages.
pub(super) fn requests_served(requests: u64) {
    REQUESTS_SERVED.add(requests);
}

/// Counts an operation that the device could not do, so that it goes again by messages.
#[cold]
pub(super) fn went_again() {
    WENT_AGAIN.add(1);
}

/// Operations of this kind that went this way so far.
pub(crate) fn operations(kind: Kind, way: Way) -> u64 {
    OPERATIONS[kind as usize][way as usize].now()
}

/// Locks of other processes, mapped here, for which this process waited.
pub(crate) fn locks_awaited() -> u64 {
    LOCKS_AWAITED.now()
}

/// Locks of this process for which others waited that asked by messages.
pub(crate) fn locks_queued() -> u64 {
    LOCKS_QUEUED.now()
}

/// Requests of others by messages.
pub(crate) fn served() -> u64 {
    REQUESTS_SERVED.now()
}

/// Operations that the device could not do, and that went again by messages.
pub(crate) fn gone_again() -> u64 {
    WENT_AGAIN.now()
}
