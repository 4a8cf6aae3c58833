//! Locks of parts of a target's memory, for elements that no processor changes at once.
//!
//! A target has 16 locks, the *stripes*, each a word of 8 bytes on a cache line of its own: 0 if it
//! is free, else the peer who holds it, plus 1. The target's bytes have positions, which all who
//! change them count alike. Each stripe covers a *granule*, so many bytes from a multiple of so
//! many on, and then every sixteenth one. A holder takes all stripes that its bytes touch, in the
//! order of their numbers, so that no two wait for each other, and gives them back within
//! microseconds. Whoever waits spins, and yields through a function of the caller. The stripes of a
//! process that has died with them go to the next one: what it was changing is undefined.
//!
//! The words are behind [`Words`], so that loom can try every interleaving.

#[cfg(test)]
mod tests;

use crate::process::is_known_dead;
use verbena_memory::{LINE_BYTES, Region};

/// The number of stripes of a target.
pub const STRIPES: usize = 16;
/// Bytes of the words of all stripes.
pub const STRIPES_BYTES: usize = STRIPES * LINE_BYTES;
const WORD: usize = size_of::<u64>();
/// The number of pieces after which stripes are given back though the next piece has the same ones.
const PIECES_MAX: u32 = 256;
/// The looks at a held stripe before its waiter lets others run.
const SPINS: u32 = 64;

/// The words of a target's stripes.
pub trait Words {
    /// Takes a free stripe (acquire), and returns 0; else returns who holds it.
    fn take(&self, stripe: usize, holder: u64) -> u64;
    /// Frees a stripe (release).
    fn free(&self, stripe: usize);
    /// Reads a stripe's word.
    fn holder(&self, stripe: usize) -> u64;
    /// Takes a stripe from this holder, which is dead (acquire). Returns whether it still had it.
    fn inherit(&self, stripe: usize, dead: u64, holder: u64) -> bool;
}

impl Words for Region {
    #[inline]
    fn take(&self, stripe: usize, holder: u64) -> u64 {
        self.compare_exchange(stripe * LINE_BYTES, WORD, 0, holder).err().unwrap_or(0)
    }

    #[inline]
    fn free(&self, stripe: usize) {
        self.word_store(stripe * LINE_BYTES, 0);
    }

    #[inline]
    fn holder(&self, stripe: usize) -> u64 {
        self.word_load(stripe * LINE_BYTES)
    }

    fn inherit(&self, stripe: usize, dead: u64, holder: u64) -> bool {
        self.compare_exchange(stripe * LINE_BYTES, WORD, dead, holder).is_ok()
    }
}

/// A function that lets others run while a stripe is held by this peer, and returns whether that
/// peer is dead.
pub type Pause<'a> = &'a (dyn Fn(u32) -> bool + Sync);

/// The stripes of a target, as one process takes them.
#[derive(Clone, Copy)]
pub struct Stripes<'a, W = Region> {
    words: W,
    /// The word of a stripe that this process holds.
    me: u64,
    pause: Pause<'a>,
}

impl<'a, W: Words> Stripes<'a, W> {
    /// The stripes in these words, which are 0 at first, for process `me`.
    #[inline]
    pub fn new(words: W, me: u32, pause: Pause<'a>) -> Stripes<'a, W> {
        Stripes { words, me: u64::from(me) + 1, pause }
    }

    /// Takes the stripes of these bytes, and keeps them until what is returned goes. A thread takes
    /// them once at a time.
    #[inline]
    pub fn hold(&self, extent: Extent) -> Held<'_, W> {
        self.hold_all(extent.mask())
    }

    #[inline]
    fn hold_all(&self, mask: u32) -> Held<'_, W> {
        let held = Held { words: &self.words, mask };
        held.for_each(|stripe| self.take(stripe));
        held
    }

    #[inline]
    fn take(&self, stripe: usize) {
        let holder = self.words.take(stripe, self.me);
        if holder != 0 {
            self.wait(stripe, holder);
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, stripe: usize, mut holder: u64) {
        let mut looks = 0;
        while holder != 0 {
            looks += 1;
            let is_dead = looks % SPINS == 0 && (self.pause)(holder.wrapping_sub(1) as u32);
            if is_dead && self.words.inherit(stripe, holder, self.me) {
                return;
            }
            std::hint::spin_loop();
            holder = self.words.holder(stripe);
            if holder == 0 {
                holder = self.words.take(stripe, self.me);
            }
        }
    }
}

/// Bytes of a target, and how many of them one stripe covers before the next one's begin.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The position of the first byte.
    pub position: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Bytes of a granule: a power of two.
    pub granule_bytes: u64,
}

impl Extent {
    /// The stripes of these bytes, a bit each.
    #[inline]
    fn mask(&self) -> u32 {
        let shift = self.granule_bytes.trailing_zeros();
        let first = self.position >> shift;
        let last = self.position.saturating_add(self.bytes.max(1) - 1) >> shift;
        if first == last {
            return 1 << (first % STRIPES as u64);
        }
        if last - first >= STRIPES as u64 - 1 {
            return (1 << STRIPES) - 1;
        }
        (first..=last).fold(0, |mask, granule| mask | 1 << (granule % STRIPES as u64))
    }
}

/// Stripes that are kept from one piece to the next while both have the same.
pub struct Holding<'a, W: Words = Region> {
    stripes: &'a Stripes<'a, W>,
    held: Option<Held<'a, W>>,
    pieces: u32,
}

impl<'a, W: Words> Holding<'a, W> {
    /// Holds nothing yet.
    #[inline]
    pub fn new(stripes: &'a Stripes<'a, W>) -> Holding<'a, W> {
        Holding { stripes, held: None, pieces: 0 }
    }

    /// Holds the stripes of these bytes, and no other.
    #[inline]
    pub fn cover(&mut self, extent: Extent) {
        let mask = extent.mask();
        self.pieces += 1;
        if self.pieces < PIECES_MAX && self.held.as_ref().is_some_and(|held| held.mask == mask) {
            return;
        }
        // Given back first: whoever holds some waits for none.
        self.release();
        self.held = Some(self.stripes.hold_all(mask));
    }

    /// Holds nothing any more.
    #[inline]
    pub fn release(&mut self) {
        self.held = None;
        self.pieces = 0;
    }
}

/// Stripes that are held, until this goes.
#[must_use]
pub struct Held<'a, W: Words = Region> {
    words: &'a W,
    /// A bit for each.
    mask: u32,
}

impl<W: Words> Held<'_, W> {
    /// Calls `each` with every stripe, from the lowest one on.
    #[inline]
    fn for_each(&self, mut each: impl FnMut(usize)) {
        let mut left = self.mask;
        while left != 0 {
            each(left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

impl<W: Words> Drop for Held<'_, W> {
    fn drop(&mut self) {
        self.for_each(|stripe| self.words.free(stripe));
    }
}

/// Lets another thread or process run; returns whether the launcher says that the holder is dead.
pub fn yield_core(holder: u32) -> bool {
    std::thread::yield_now();
    is_known_dead(holder)
}
