//! Counts of accesses to files: of this process, over all files. They are performance variables
//! (`tool`, `pvar.rs`).

use super::representation::Direction;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use verbena_storage::{pieces_by_mapping, pieces_by_ring, threads_started};

/// The things that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Count {
    /// Bytes that this process read from files.
    BytesRead,
    /// Bytes that this process wrote to files.
    BytesWritten,
    /// Reads of several runs with the gaps between them.
    SievedReads,
    /// Writes of several runs with the gaps between them.
    SievedWrites,
    /// Operations that a thread beside the program carried out.
    Beside,
    /// Operations that the program's own thread carried out, since too many waited.
    HeldBack,
    /// Collective accesses in which each process moved its own bytes.
    Alone,
    /// Collective accesses in which some processes moved the bytes of all.
    Aggregated,
    /// Pieces that this process moved for all in such accesses.
    Rounds,
    /// Bytes that this process sent to others in such accesses, or got from them.
    BytesExchanged,
    /// Pieces of lists that went through io_uring. The crate `storage` counts them.
    ByRing,
    /// Pieces of lists that were stored in a file's pages. The crate `storage` counts them.
    ByMapping,
    /// Threads that were started to work beside the program. The crate `storage` counts them.
    Threads,
}

/// The number of things that are counted here.
const COUNTS: usize = 10;

static VALUES: [AtomicU64; COUNTS] = [const { AtomicU64::new(0) }; COUNTS];

/// Adds to a count.
pub(super) fn add(count: Count, more: u64) {
    VALUES[count as usize].fetch_add(more, Relaxed);
}

/// The value of a count.
pub(crate) fn value(count: Count) -> u64 {
    match count {
        Count::ByRing => pieces_by_ring(),
        Count::ByMapping => pieces_by_mapping(),
        Count::Threads => threads_started(),
        _ => VALUES[count as usize].load(Relaxed),
    }
}

/// Counts the bytes of an access.
pub(super) fn moved(direction: Direction, bytes: usize) {
    let count = if direction == Direction::Read { Count::BytesRead } else { Count::BytesWritten };
    add(count, bytes as u64);
}

/// Counts a read or write of several runs with their gaps.
pub(super) fn sieved(direction: Direction) {
    add(if direction == Direction::Read { Count::SievedReads } else { Count::SievedWrites }, 1);
}
