//! Locks of parts of a target's memory, for elements that no processor changes at once.
//!
//! A target has 16 locks, the *stripes*, each a word of 8 bytes on a cache line of its own: 0 if it
//! is free, else the peer who holds it, plus 1. The target's bytes have positions, which all who
//! change them count alike. Each stripe covers a *granule*, so many bytes from a multiple of so
//! many on, and then every sixteenth one. A holder takes all stripes that its bytes touch, in the
//! order of their numbers, so that no two wait for each other, and gives them back within
//! microseconds. Whoever waits spins, and yields as its caller says ([`Pause`]); if that lasts, it
//! gives back what it has and waits like any other call of MPI. The stripes of a process that has
//! died with them go to the next one: what it was changing is undefined.
//!
//! The words are behind [`Words`], so that loom can try every interleaving.

#[cfg(test)]
mod tests;

use crate::process::{Process, is_known_dead};
use verbena_hang::Awaited;
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
/// The times that others were let run after which a wait is a long one: some milliseconds.
const PAUSES_MAX: u32 = 4096;

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

/// The way in which a process waits for a stripe that another one holds.
pub trait Pause: Sync {
    /// Lets others run while a stripe is held by this peer. Returns whether that peer is dead.
    fn pause(&self, holder: u32) -> bool;

    /// Waits, while this process holds no stripe, until `is_over` or until this peer is dead. Says
    /// what is waited for, to whom asks. By default it only returns: the caller goes on spinning.
    fn outlast(&self, _holder: u32, _is_over: &dyn Fn() -> bool) {}
}

impl<F: Fn(u32) -> bool + Sync> Pause for F {
    fn pause(&self, holder: u32) -> bool {
        self(holder)
    }
}

/// A call of the program may wait long, and learns of losses.
impl Pause for Process {
    fn pause(&self, holder: u32) -> bool {
        yield_core(holder) || self.look(|engine| engine.dead().contains(&holder))
    }

    fn outlast(&self, holder: u32, is_over: &dyn Fn() -> bool) {
        let awaited = |_: &Process| Awaited::OneSided { window: String::new(), processes: vec![holder] };
        self.wait_for(awaited, |process| (is_over() || process.pause(holder)).then_some(()));
    }
}

/// The stripes of a target, as one process takes them.
#[derive(Clone, Copy)]
pub struct Stripes<'a, W = Region> {
    words: W,
    /// The word of a stripe that this process holds.
    me: u64,
    pause: &'a dyn Pause,
}

impl<'a, W: Words> Stripes<'a, W> {
    /// The stripes in these words, which are 0 at first, for process `me`.
    #[inline]
    pub fn new(words: W, me: u32, pause: &'a dyn Pause) -> Stripes<'a, W> {
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
        loop {
            // The stripes taken so far go back with it.
            let mut held = Held { words: &self.words, mask: 0 };
            match each_of(mask).find_map(|stripe| self.take(stripe, &mut held).err()) {
                None => return held,
                Some((stripe, holder)) => {
                    drop(held);
                    self.outlast(stripe, holder);
                }
            }
        }
    }

    /// Takes a stripe. If that lasts: the stripe and who holds it.
    #[inline]
    fn take(&self, stripe: usize, held: &mut Held<'_, W>) -> Result<(), (usize, u64)> {
        let holder = self.words.take(stripe, self.me);
        if holder != 0 {
            self.wait(stripe, holder)?;
        }
        held.mask |= 1 << stripe;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, stripe: usize, mut holder: u64) -> Result<(), (usize, u64)> {
        let mut looks = 0;
        while holder != 0 {
            looks += 1;
            let is_dead = looks % SPINS == 0 && self.pause.pause(peer_of(holder));
            if is_dead && self.words.inherit(stripe, holder, self.me) {
                return Ok(());
            }
            if looks >= SPINS * PAUSES_MAX {
                return Err((stripe, holder));
            }
            std::hint::spin_loop();
            holder = self.words.holder(stripe);
            if holder == 0 {
                holder = self.words.take(stripe, self.me);
            }
        }
        Ok(())
    }

    /// Waits until this holder has given a stripe back, or is dead.
    #[cold]
    fn outlast(&self, stripe: usize, holder: u64) {
        let words = &self.words;
        self.pause.outlast(peer_of(holder), &|| words.holder(stripe) != holder);
    }
}

/// The peer whose word this is.
fn peer_of(holder: u64) -> u32 {
    holder.wrapping_sub(1) as u32
}

/// The stripes of a mask, from the lowest one on.
#[inline]
fn each_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        first
    })
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

impl<W: Words> Drop for Held<'_, W> {
    fn drop(&mut self) {
        each_of(self.mask).for_each(|stripe| self.words.free(stripe));
    }
}

/// Lets another thread or process run; returns whether the launcher says that the holder is dead.
pub fn yield_core(holder: u32) -> bool {
    std::thread::yield_now();
    is_known_dead(holder)
}
