//! The size of the heap: one slice of address space for each rank of the node.

use crate::shm::segment;
use verbena_machine::limits::{self, Resource};

/// The most address space of a heap, over all ranks. Processors have at least 128 TiB for a
/// process.
const HEAP_BYTES_MAX: u64 = 16 << 40;

/// The smallest slice that is of use.
pub(super) const SLICE_BYTES_MIN: u64 = 1 << 20;

/// The bounds of a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The machine's memory.
    pub(super) machine: u64,
    /// The file size limit, which holds for anonymous memory too (`ulimit -f`).
    pub(super) file: Option<u64>,
    /// The limit of address space (`ulimit -v`).
    pub(super) addresses: Option<u64>,
}

impl Bounds {
    /// The bounds of this process.
    pub(super) fn here() -> Bounds {
        Bounds { machine: machine_bytes(), file: segment::file_limit(), addresses: addresses_limit() }
    }

    /// The bytes of each of `ranks` slices: as much as a rank can use. Where address space is
    /// limited, most of it stays the program's. `None` if the limits leave no slice that is of use.
    pub(super) fn slice_bytes(&self, ranks: u32) -> Option<u64> {
        let all = [Some(HEAP_BYTES_MAX), self.file, self.addresses.map(|limit| limit / 4)];
        let all = all.into_iter().flatten().min()?;
        let slice = (all / u64::from(ranks)).min(self.machine);
        (slice >= SLICE_BYTES_MIN).then(|| slice / SLICE_BYTES_MIN * SLICE_BYTES_MIN)
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = |limit: Option<u64>| limit.map_or("none".into(), |limit| format!("{limit} bytes"));
        write!(f, "ulimit -f: {}, ulimit -v: {}", bytes(self.file), bytes(self.addresses))
    }
}

/// Bytes of a page, the granule of all extents.
pub(super) fn page_bytes() -> u64 {
    // SAFETY: the call only answers.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

fn machine_bytes() -> u64 {
    // SAFETY: the call only answers.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * page_bytes()
}

/// The limit of this process's address space, if there is one.
pub(super) fn addresses_limit() -> Option<u64> {
    limits::soft(Resource::Addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: Bounds = Bounds { machine: 64 << 30, file: None, addresses: None };

    #[test]
    fn a_slice_is_the_machines_memory_or_a_share_of_the_most() {
        assert_eq!(PLENTY.slice_bytes(2), Some(64 << 30));
        assert_eq!(PLENTY.slice_bytes(1024), Some(16 << 30));
        assert_eq!(Bounds { machine: (9 << 20) + 5, ..PLENTY }.slice_bytes(2), Some(9 << 20));
    }

    #[test]
    fn limits_make_slices_smaller_or_leave_none() {
        let file = |bytes| Bounds { file: Some(bytes), ..PLENTY }.slice_bytes(4);
        assert_eq!(
            [file(16 << 30), file(4 << 20), file((4 << 20) - 1)],
            [Some(4 << 30), Some(1 << 20), None]
        );
        let addresses = |bytes| Bounds { addresses: Some(bytes), ..PLENTY }.slice_bytes(4);
        assert_eq!(
            [addresses(16 << 30), addresses(16 << 20), addresses(1)],
            [Some(1 << 30), Some(1 << 20), None]
        );
        assert!(Bounds::here().machine > 1 << 20);
    }
}
