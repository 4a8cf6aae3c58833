//! Memory of the node's heap that the program holds by `MPI_Alloc_mem` (MPI-5.0, 9.2): a window on
//! it is reached by load and store.

use super::Process;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbena_channel::heap::Block;
use verbena_fault::Fault;
use verbena_memory::Region;

/// From this size on memory is taken from the heap, which gives whole pages.
const HEAP_BYTES_MIN: usize = 4096;

/// The blocks that the program holds, by address.
#[derive(Default)]
pub(super) struct Allocated {
    blocks: Mutex<BTreeMap<u64, Block>>,
}

impl Allocated {
    fn blocks(&self) -> MutexGuard<'_, BTreeMap<u64, Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sort of memory that the program wants to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// A block of the heap, which is free now.
    Block,
    /// Memory in the heap that is no block which the program was given and still has.
    NoBlock,
    /// Memory that does not lie in the heap.
    Elsewhere,
}

impl Process {
    /// Allocates memory of the heap for the program, from a multiple of `alignment` on (a power of
    /// two) and between closed pages. `None` if such memory comes from elsewhere: where there is no
    /// heap, or for a short one. In a job of several nodes too: a device registers memory of the
    /// heap for each message anew, since the cache of registrations hears of changes of private
    /// memory only.
    ///
    /// # Errors
    /// The heap has no room, or the machine no memory. Memory that is not reserved may still be
    /// had elsewhere.
    pub fn allocate(&self, bytes: usize, alignment: usize) -> Option<Result<Region, Fault>> {
        let heap = self.heap().filter(|_| bytes >= HEAP_BYTES_MIN)?;
        if !(0..self.size()).all(|peer| heap.unites(peer)) {
            return None;
        }
        Some(heap.allocate_guarded(bytes, alignment).map(|block| {
            let region = block.region();
            self.allocated.blocks().insert(region.address(), block);
            region
        }))
    }

    /// Frees memory at this address, if it is of the heap.
    pub fn free(&self, address: u64) -> Freed {
        if !self.heap().is_some_and(|heap| heap.covers(address)) {
            return Freed::Elsewhere;
        }
        // The block is given back after the lock.
        let block = self.allocated.blocks().remove(&address);
        block.map_or(Freed::NoBlock, |_| Freed::Block)
    }
}
