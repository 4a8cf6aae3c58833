//! A contiguous copy, with ordinary or non-temporal stores by the size of the whole operation.
//!
//! Ordinary stores first fetch the destination's lines into the cache. Non-temporal ones write
//! lines whole, past the caches: they save that fetch where the destination is not in cache, and
//! lose where it is, or where somebody reads it soon. Measured here (Xeon with 2 MiB of L2 and a
//! large L3, GB/s, medians of noisy runs):
//!
//! | bytes | to memory in L3: ordinary, non-temporal | to memory in no cache | to memory in L3, and read afterwards |
//! | --- | --- | --- | --- |
//! | 64 KiB to 512 KiB | 47, 21 | 6.5, 11.5 | ordinary is ahead |
//! | 1 MiB | 31, 22 | 6.5, 11.7 | 19, 5 |
//! | 4 MiB | 14, 13 | 6.6, 11.7 | 7, 4.5 |
//! | 16 MiB | 13, 13 | 6.6, 11.7 | 7, 4.5 |
//! | 32 MiB | 13, 13 | 7.0, 12.1 | 3.0, 4.3 |
//! | 64 MiB | 8, 14 | 7.3, 12.2 | 3.2, 4.5 |
//!
//! No program can ask whether a destination is in cache. So non-temporal stores are used from the
//! size on from which they lose in no column ([`NONTEMPORAL_BYTES_MIN`]), unless the caller knows
//! better and says so ([`Stores`]).
//!
//! The size is that of the *whole* operation (a message, a collective's vector); one copy may move
//! a small piece of it: many small copies sweep the caches as one large copy does.

use crate::{Region, vectors};

/// The size of a whole operation from which [`Stores::by_size`] passes the caches by, in bytes.
pub const NONTEMPORAL_BYTES_MIN: usize = 32 << 20;

/// The way in which a copy writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Through the caches: for what is in cache, or is read soon.
    Ordinary,
    /// Past the caches: for what is neither.
    NonTemporal,
}

impl Stores {
    /// The choice for an operation that writes `whole_bytes` in all.
    #[inline]
    pub fn by_size(whole_bytes: usize) -> Stores {
        if whole_bytes < NONTEMPORAL_BYTES_MIN { Stores::Ordinary } else { Stores::NonTemporal }
    }
}

/// Copies `from` to `to`, which must be of the same length (overlap allowed). Others see
/// non-temporal writes in the order of the program, as with ordinary stores.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn copy(from: Region, to: Region, stores: Stores) {
    match stores {
        Stores::NonTemporal if apart(from, to) => nontemporal::copy(from, to),
        _ => to.copy_from(from),
    }
}

/// Copies `from` to `to`, which must be of the same length, through the caches, with the widest
/// registers: for some kilobytes whose lines lie in another core's cache.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn copy_wide(from: Region, to: Region) {
    assert_eq!(from.len(), to.len());
    // SAFETY: both are valid by their creators' promise, and of one length.
    unsafe { vectors::copy_any(from.pointer(), to.pointer(), from.len()) }
}

fn apart(from: Region, to: Region) -> bool {
    from.address().abs_diff(to.address()) >= from.len().max(to.len()) as u64
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod nontemporal {
    use crate::{LINE_BYTES, Region};
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    const VECTOR_BYTES: usize = 16;
    /// The number of pages worked on at a time: faster than one after the other, 11.5 against 8.5
    /// GB/s.
    const PAGES: usize = 4;
    const PAGE_BYTES: usize = 4096;
    const BLOCK_BYTES: usize = PAGES * PAGE_BYTES;

    /// Copies between regions of the same length that do not overlap.
    pub(super) fn copy(from: Region, to: Region) {
        assert_eq!(from.len(), to.len());
        let head = (to.address().next_multiple_of(LINE_BYTES as u64) - to.address()) as usize;
        let head = head.min(to.len());
        let body = (to.len() - head) / LINE_BYTES * LINE_BYTES;
        to.part(0, head).copy_from(from.part(0, head));
        lines(from.part(head, body), to.part(head, body));
        let tail = to.len() - head - body;
        to.part(head + body, tail).copy_from(from.part(head + body, tail));
    }

    /// Copies whole lines; `to` begins at one.
    fn lines(from: Region, to: Region) {
        let blocks = to.len() / BLOCK_BYTES * BLOCK_BYTES;
        for block in (0..blocks).step_by(BLOCK_BYTES) {
            for at in (block..block + PAGE_BYTES).step_by(LINE_BYTES) {
                (0..PAGES).for_each(|page| line(from, to, at + page * PAGE_BYTES));
            }
        }
        (blocks..to.len()).step_by(LINE_BYTES).for_each(|at| line(from, to, at));
        // SAFETY: orders stores; touches no memory.
        unsafe { _mm_sfence() };
    }

    #[inline(always)]
    fn line(from: Region, to: Region, at: usize) {
        debug_assert!(at + LINE_BYTES <= to.len());
        let source = from.pointer().wrapping_add(at).cast::<__m128i>();
        let target = to.pointer().wrapping_add(at).cast::<__m128i>();
        for vector in 0..LINE_BYTES / VECTOR_BYTES {
            // SAFETY: the line lies within both regions, which are of one length and valid by their
            // creators' promise; `target` is at a line's begin, as the store wants. The caller ends
            // with a store fence.
            unsafe { _mm_stream_si128(target.add(vector), _mm_loadu_si128(source.add(vector))) };
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod nontemporal {
    use crate::Region;

    /// Copies with the processor's own choice of stores, on other architectures.
    pub(super) fn copy(from: Region, to: Region) {
        to.copy_from(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    #[test]
    fn every_length_and_alignment_arrives_whole_and_alone() {
        for len in [0, 1, 63, 64, 65, 4096, 16384, 16384 + 100, 5 * 16384 + 777] {
            for (skip_from, skip_to) in [(0, 0), (1, 0), (0, 1), (63, 17), (8, 64)] {
                let mut source = bytes(len + skip_from);
                let mut target = vec![0xee; len + skip_to + 9];
                // SAFETY: both vectors outlive the copy.
                let (from, to) = unsafe { (Region::of(&mut source), Region::of(&mut target)) };
                copy(from.part(skip_from, len), to.part(skip_to, len), Stores::NonTemporal);
                assert!(target[..skip_to].iter().all(|&b| b == 0xee), "{len}");
                assert_eq!(target[skip_to..skip_to + len], source[skip_from..]);
                assert!(target[skip_to + len..].iter().all(|&b| b == 0xee), "{len}");
            }
        }
    }

    #[test]
    fn overlap_is_allowed_either_way() {
        for (from_at, to_at) in [(0, 100), (100, 0), (50, 50)] {
            let (mut memory, before) = (bytes(70_000), bytes(70_000));
            // SAFETY: the vector outlives the copy.
            let all = unsafe { Region::of(&mut memory) };
            copy(all.part(from_at, 69_000), all.part(to_at, 69_000), Stores::NonTemporal);
            assert_eq!(memory[to_at..to_at + 69_000], before[from_at..from_at + 69_000]);
        }
    }

    #[test]
    fn the_choice_is_by_the_whole() {
        assert_eq!(Stores::by_size(NONTEMPORAL_BYTES_MIN - 1), Stores::Ordinary);
        assert_eq!(Stores::by_size(NONTEMPORAL_BYTES_MIN), Stores::NonTemporal);
    }
}
