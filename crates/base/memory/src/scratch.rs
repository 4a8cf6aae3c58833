//! Temporary memory of one operation: handed out piece by piece, taken back all at once, and kept
//! for the next operation, so that the steady state allocates nothing.

use crate::{LINE_BYTES, Owned, Region};

/// The alignment of every piece: that of the widest predefined datatype, and of a cache line.
const ALIGN: usize = LINE_BYTES;
/// The smallest block that is asked for, in bytes.
const BLOCK_BYTES_MIN: usize = 4096;
/// The most memory kept between operations, in bytes; the rest is given back.
pub const KEPT_BYTES_MAX: usize = 16 << 20;

/// A pool of temporary memory. Pieces stay where they are until [`Scratch::clear`].
#[derive(Default)]
pub struct Scratch {
    blocks: Vec<Owned>,
    /// The bytes used of the last block.
    used: usize,
}

impl Scratch {
    /// A piece of `bytes` bytes with any content, aligned for any datatype. It is its taker's until
    /// [`Scratch::clear`] or the scratch is dropped; the owner ends all operations on it before.
    pub fn take(&mut self, bytes: usize) -> Region {
        if bytes == 0 {
            return Region::EMPTY;
        }
        let room = self.blocks.last().map_or(0, Owned::len);
        if bytes > room.saturating_sub(self.used) {
            self.blocks.push(Owned::stale(bytes.max(BLOCK_BYTES_MIN)));
            self.used = 0;
        }
        let block = self.blocks.last().expect("a block with room");
        let region = block.lend().part(self.used, bytes);
        self.used = (self.used + bytes).next_multiple_of(ALIGN).min(block.len());
        region
    }

    /// Makes all memory free for the next operation. Several blocks become one as long as all of
    /// them.
    pub fn clear(&mut self) {
        self.used = 0;
        let total: usize = self.blocks.iter().map(Owned::len).sum();
        if total > KEPT_BYTES_MAX {
            self.blocks.clear();
        } else if self.blocks.len() > 1 {
            self.blocks.clear();
            self.blocks.push(Owned::stale(total));
        }
    }

    /// Gives the memory up without freeing it, because someone may still write there.
    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.blocks));
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_and_apart() {
        let mut scratch = Scratch::default();
        for _ in 0..3 {
            let mut pieces: Vec<Region> =
                [1, 5000, 64, 100_000, 63].iter().map(|&b| scratch.take(b)).collect();
            pieces.sort_by_key(Region::address);
            assert!(pieces.iter().all(|p| p.address() % ALIGN as u64 == 0));
            assert!(pieces.windows(2).all(|w| w[0].address() + w[0].len() as u64 <= w[1].address()));
            scratch.clear();
            assert_eq!(scratch.blocks.len(), 1);
        }
    }

    #[test]
    fn much_memory_is_not_kept() {
        let mut scratch = Scratch::default();
        scratch.take(KEPT_BYTES_MAX + 1);
        scratch.clear();
        assert!(scratch.blocks.is_empty());
    }
}
