//! Memory of the library's own, which lends regions.
//!
//! A [`Region`] knows no owner, so that messages can hold it at no cost; safe code could then keep
//! one for longer than its owner lives. That stays an error of a message and never becomes one of
//! memory: when its owner goes, a block is not given back to the allocator but to a reserve of the
//! process, from which the next owner of that size takes it. So the memory of a region of this
//! module always stays mapped, initialised memory of the library. Large blocks lose their pages
//! meanwhile, so that the reserve holds addresses but hardly any memory.

use super::{LINE_BYTES, Region};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size from which blocks are whole pages, which can be given back to the kernel.
const PAGED_BYTES_MIN: usize = 256 << 10;
/// Memory of paged blocks that the reserve keeps, in bytes; pages above that are given back.
const RESIDENT_BYTES_MAX: usize = 16 << 20;
/// The number of sizes, which are powers of two.
const SIZES: usize = usize::BITS as usize;

/// Blocks without an owner.
static RESERVE: Mutex<Reserve> = Mutex::new(Reserve::new());

struct Reserve {
    /// The blocks by the power of two that is their size.
    blocks: [Vec<Block>; SIZES],
    /// The bytes of paged blocks that still have their pages. More than there should be if the
    /// system keeps the pages, as it does once the program has locked its memory.
    resident: usize,
}

/// A block that is never unmapped.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: *mut u8,
    /// The power of two that is its size in bytes.
    power: u32,
    /// True if all its bytes are 0.
    is_zero: bool,
}

// SAFETY: an address; the taker of a block from the reserve owns it alone.
unsafe impl Send for Block {}

impl Reserve {
    const fn new() -> Reserve {
        Reserve { blocks: [const { Vec::new() }; SIZES], resident: 0 }
    }

    fn lock() -> MutexGuard<'static, Reserve> {
        RESERVE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&mut self, power: u32) -> Option<Block> {
        let block = self.blocks[power as usize].pop()?;
        if block.is_paged() && !block.is_zero {
            self.resident -= block.bytes();
        }
        Some(block)
    }

    /// Takes a block back. `empty` gives its pages to the kernel and says whether they are gone.
    fn give_back(&mut self, mut block: Block, empty: impl FnOnce(&Block) -> bool) {
        let has_room = block.bytes() <= RESIDENT_BYTES_MAX.saturating_sub(self.resident);
        block.is_zero = block.is_paged() && !has_room && empty(&block);
        if block.is_paged() && !block.is_zero {
            self.resident += block.bytes();
        }
        self.blocks[block.power as usize].push(block);
    }
}

/// Bytes on the heap, which regions may name.
#[derive(Debug)]
pub struct Owned {
    block: Block,
    /// The length asked for, in bytes.
    len: usize,
}

// SAFETY: it offers nothing but the block's address and length, which threads may share as they
// share a region.
unsafe impl Sync for Owned {}

impl Owned {
    /// Takes `len` bytes of 0, which begin at a cache line.
    ///
    /// # Panics
    /// If no block is that long.
    pub fn zeroed(len: usize) -> Owned {
        Owned::stale(len).cleared()
    }

    /// Like [`Owned::zeroed`]; `None` if the system refuses as much memory, or no block is that
    /// long.
    pub fn try_zeroed(len: usize) -> Option<Owned> {
        let power = power_of(len)?;
        let kept = Reserve::lock().take(power);
        let block = kept.or_else(|| Block::try_new(power))?;
        Some(Owned { block, len }.cleared())
    }

    fn cleared(self) -> Owned {
        if !self.block.is_zero {
            self.lend().fill(0);
        }
        self
    }

    /// Takes `len` bytes with what the last owner left in them, which begin at a cache line.
    ///
    /// # Panics
    /// If no block is that long.
    pub fn stale(len: usize) -> Owned {
        let power = power_of(len).expect("a length within the address space");
        let kept = Reserve::lock().take(power);
        Owned { block: kept.unwrap_or_else(|| Block::new(power)), len }
    }

    /// The memory. The operations that were given the region should end before the owner goes: the
    /// next owner may use the same memory.
    #[inline]
    pub fn lend(&self) -> Region {
        // SAFETY: the block is as long, is never unmapped, and is initialised.
        unsafe { Region::new(self.block.start, self.len) }
    }

    /// The length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<&[u8]> for Owned {
    fn from(bytes: &[u8]) -> Owned {
        let owned = Owned::zeroed(bytes.len());
        owned.lend().write(0, bytes);
        owned
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        Reserve::lock().give_back(self.block, Block::empty);
    }
}

impl Block {
    fn new(power: u32) -> Block {
        let whole =
            Layout::from_size_align(1 << power, LINE_BYTES).expect("a length within the address space");
        Block::try_new(power).unwrap_or_else(|| handle_alloc_error(whole))
    }

    /// A new block; `None` if the system refuses it.
    fn try_new(power: u32) -> Option<Block> {
        let layout = Layout::from_size_align(1 << power, LINE_BYTES).ok()?;
        let start = if layout.size() < PAGED_BYTES_MIN { heap(layout) } else { pages(layout) };
        (!start.is_null()).then_some(Block { start, power, is_zero: true })
    }

    fn bytes(&self) -> usize {
        1 << self.power
    }

    fn is_paged(&self) -> bool {
        self.bytes() >= PAGED_BYTES_MIN
    }

    /// Gives the pages back to the kernel; the addresses stay valid. Returns whether all bytes are
    /// 0 now. This only spares memory, and a failure changes nothing.
    fn empty(&self) -> bool {
        if cfg!(miri) {
            return false;
        }
        // SAFETY: whole private pages of a block of ours that nobody owns.
        unsafe { libc::madvise(self.start.cast(), self.bytes(), libc::MADV_DONTNEED) == 0 }
    }
}

/// The power of two of the block for so many bytes; `None` if there is no such number.
fn power_of(len: usize) -> Option<u32> {
    Some(len.max(LINE_BYTES).checked_next_power_of_two()?.trailing_zeros())
}

fn heap(layout: Layout) -> *mut u8 {
    // SAFETY: the size is not zero.
    unsafe { alloc_zeroed(layout) }
}

/// Maps whole pages, which take no memory before they are touched.
fn pages(layout: Layout) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, wherever the kernel likes.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), protection, flags, -1, 0) };
    if start == libc::MAP_FAILED { std::ptr::null_mut() } else { start.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_that_outlives_its_owner_leads_to_memory_of_the_library() {
        for len in [1, 100, PAGED_BYTES_MIN, PAGED_BYTES_MIN + 1] {
            let region = Owned::from(&vec![7; len][..]).lend();
            region.write(len - 1, &[1]);
            let mut last = [0];
            region.read(len - 1, &mut last);
            assert_eq!(last, [1], "{len}");
        }
    }

    #[test]
    fn memory_is_zero_though_it_was_used() {
        for len in [64, PAGED_BYTES_MIN, 2 * RESIDENT_BYTES_MAX] {
            for _ in 0..3 {
                let owned = Owned::zeroed(len);
                assert!(owned.lend().to_vec().iter().all(|&byte| byte == 0));
                assert_eq!(owned.lend().address() % LINE_BYTES as u64, 0);
                owned.lend().fill(0xee);
            }
        }
    }

    /// The kernel keeps the pages of memory that the program has locked.
    #[test]
    fn pages_that_stay_are_counted_and_the_next_ones_are_given_back() {
        let (large, small) = (RESIDENT_BYTES_MAX.trailing_zeros() + 1, PAGED_BYTES_MIN.trailing_zeros());
        let mut reserve = Reserve::new();
        let block = |power| Block { start: std::ptr::null_mut(), power, is_zero: true };
        reserve.give_back(block(large), |_| false);
        assert_eq!(reserve.resident, 2 * RESIDENT_BYTES_MAX);
        reserve.give_back(block(small), |_| true);
        assert!(reserve.take(small).is_some_and(|block| block.is_zero));
        assert!(reserve.take(large).is_some_and(|block| !block.is_zero));
        assert_eq!(reserve.resident, 0);
        reserve.give_back(block(small), |_| panic!("there is room"));
        assert_eq!(reserve.resident, PAGED_BYTES_MIN);
    }

    #[test]
    fn owners_that_live_at_once_share_nothing() {
        let owners: Vec<Owned> = (0..20u8).map(|i| Owned::from(&[i; 70][..])).collect();
        assert!(owners.iter().zip(0..).all(|(owned, i): (_, u8)| owned.lend().to_vec() == [i; 70]));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no limit of memory")]
    fn memory_that_the_system_refuses_is_no_panic() {
        assert!(Owned::try_zeroed(usize::MAX).is_none());
        assert!(Owned::try_zeroed(1 << 62).is_none());
        assert_eq!(Owned::try_zeroed(100).unwrap().lend().to_vec(), [0; 100]);
    }

    #[test]
    fn no_bytes_need_no_care() {
        assert_eq!(Owned::zeroed(0).lend(), Region::EMPTY);
    }
}
