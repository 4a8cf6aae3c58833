//! The memory that this process exposes in a window, and what keeps it.

use super::error;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use verbena_channel::heap::{Block, Ticket};
use verbena_machine::headroom;
use verbena_memory::{LINE_BYTES, Owned, Region};

/// From this size on, private memory is compared with what is free, which takes some ten
/// microseconds.
const CHECKED_BYTES_MIN: usize = 1 << 20;

/// The memory of a window at this process.
pub(super) struct Memory {
    region: Region,
    /// The ticket, if the memory lies in the node's heap.
    ticket: Option<Ticket>,
    keep: Keep,
}

/// The owner of the memory.
enum Keep {
    /// The program, or the member that allocated for all.
    Other,
    Heap(#[allow(dead_code, reason = "it keeps the memory")] Block),
    Private(#[allow(dead_code, reason = "it keeps the memory")] Owned),
}

impl Memory {
    /// No memory.
    pub(super) fn none() -> Memory {
        Memory { region: Region::EMPTY, ticket: None, keep: Keep::Other }
    }

    /// Memory of the program. It has a ticket if it came from the heap (`MPI_Alloc_mem`).
    pub(super) fn of_program(process: &Process, region: Region) -> Memory {
        let heap = process.heap().filter(|_| !region.is_empty());
        let ticket = heap.and_then(|heap| heap.find(region.address(), region.len()));
        Memory { region, ticket, keep: Keep::Other }
    }

    /// New memory of `bytes` zeros, which begins at a multiple of `alignment` (a power of two):
    /// from the heap, between closed pages, or the process's own if there is none. `MPI_ERR_NO_MEM`
    /// if there is not as much.
    pub(super) fn allocate(process: &Process, bytes: usize, alignment: usize) -> Result<Memory> {
        if bytes == 0 {
            return Ok(Memory::none());
        }
        if let Some(heap) = process.heap() {
            return heap.allocate_guarded(bytes, alignment).map(Memory::of_block).map_err(no_memory);
        }
        let (region, owned) = private(bytes, alignment)?;
        Ok(Memory { region, ticket: None, keep: Keep::Private(owned) })
    }

    /// Like [`Memory::allocate`], but takes no pages of the heap: all members touch their parts.
    pub(super) fn claim(process: &Process, bytes: usize, alignment: usize) -> Result<Memory> {
        match process.heap().filter(|_| bytes > 0) {
            Some(heap) => heap.claim_guarded(bytes, alignment).map(Memory::of_block).map_err(no_memory),
            None => Memory::allocate(process, bytes, alignment),
        }
    }

    /// The memory of a block.
    pub(super) fn of_block(block: Block) -> Memory {
        Memory { region: block.region(), ticket: Some(block.ticket()), keep: Keep::Heap(block) }
    }

    /// A part of memory that all members share, which this one or another allocated.
    pub(super) fn shared(self, region: Region, ticket: Ticket) -> Memory {
        Memory { region, ticket: Some(ticket), keep: self.keep }
    }

    /// No part of the memory that all members share, though this one may have allocated it.
    pub(super) fn shared_nothing(self) -> Memory {
        Memory { region: Region::EMPTY, ticket: None, keep: self.keep }
    }

    /// The memory.
    #[inline]
    pub(super) fn region(&self) -> Region {
        self.region
    }

    /// Returns whether it is memory of the program, which may take it back.
    pub(super) fn may_go(&self) -> bool {
        matches!(self.keep, Keep::Other) && self.ticket.is_none()
    }

    /// The ticket, if the memory lies in the heap.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }
}

/// Memory of this process alone, and its owner. The system gives its pages when they are used, and
/// may end a process then instead of refusing: so no more than what is free now is allocated.
fn private(bytes: usize, alignment: usize) -> Result<(Region, Owned)> {
    let free = if bytes < CHECKED_BYTES_MIN { u64::MAX } else { headroom::bytes() };
    // It begins at a cache line anyway.
    let room = bytes.checked_add(alignment.saturating_sub(LINE_BYTES));
    let owned = room.filter(|_| bytes as u64 <= free).and_then(Owned::try_zeroed);
    let owned = owned.ok_or_else(|| error::no_memory(bytes, free))?;
    let address = owned.lend().address();
    let gap = address.next_multiple_of(alignment.max(1) as u64) - address;
    Ok((owned.lend().part(gap as usize, bytes), owned))
}

/// The error of a heap without room.
#[cold]
pub(super) fn no_memory(fault: verbena_fault::Fault) -> Error {
    Error { class: mpi::MPI_ERR_NO_MEM, fault: Box::new(fault) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_memory_begins_where_it_was_asked_to() {
        for alignment in [1, 64, 128, 4096, 1 << 20] {
            let (region, _owned) = private(1000, alignment).unwrap();
            assert!(region.address().is_multiple_of(alignment as u64), "{alignment}");
            assert_eq!(region.to_vec(), [0; 1000]);
        }
        assert_eq!(private(usize::MAX, 4096).unwrap_err().class, mpi::MPI_ERR_NO_MEM);
    }
}
