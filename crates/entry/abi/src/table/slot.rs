//! One slot of a table: a word of state, and the object that the word guards.
//!
//! Word and cell are behind traits, so that loom's can stand in for them in tests.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LIVE: u64 = 1 << 31;
const FILLED: u64 = 1 << 30;
const PINS: u64 = FILLED - 1;

/// The word of state; each function returns what was there before.
pub(super) trait Word {
    fn zero() -> Self;
    fn load(&self) -> u64;
    fn add_pin(&self) -> u64;
    fn take_pin(&self) -> u64;
    fn set(&self, bits: u64) -> u64;
    fn replace(&self, old: u64, new: u64) -> bool;
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            fn zero() -> Self {
                Self::new(0)
            }
            #[inline(always)]
            fn load(&self) -> u64 {
                self.load(Ordering::Acquire)
            }
            #[inline(always)]
            fn add_pin(&self) -> u64 {
                self.fetch_add(1, Ordering::Acquire)
            }
            #[inline(always)]
            fn take_pin(&self) -> u64 {
                self.fetch_sub(1, Ordering::Release)
            }
            #[inline(always)]
            fn set(&self, bits: u64) -> u64 {
                self.fetch_or(bits, Ordering::Release)
            }
            #[inline(always)]
            fn replace(&self, old: u64, new: u64) -> bool {
                self.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            }
        }
    };
}

word!(AtomicU64);

/// The cell of the object: `with` lends it for reading, `with_mut` for writing.
pub(super) trait Room<T> {
    fn empty() -> Self;
    fn with<R>(&self, read: impl FnOnce(*const Option<Arc<T>>) -> R) -> R;
    fn with_mut<R>(&self, write: impl FnOnce(*mut Option<Arc<T>>) -> R) -> R;
}

impl<T> Room<T> for UnsafeCell<Option<Arc<T>>> {
    fn empty() -> Self {
        UnsafeCell::new(None)
    }
    #[inline(always)]
    fn with<R>(&self, read: impl FnOnce(*const Option<Arc<T>>) -> R) -> R {
        read(self.get())
    }
    #[inline(always)]
    fn with_mut<R>(&self, write: impl FnOnce(*mut Option<Arc<T>>) -> R) -> R {
        write(self.get())
    }
}

/// A slot.
pub(super) struct Slot<T, W = AtomicU64, R = UnsafeCell<Option<Arc<T>>>> {
    /// The slot's index in the table.
    pub(super) index: u32,
    state: W,
    room: R,
    object: std::marker::PhantomData<T>,
}

// SAFETY: the object is written only by the thread that has the slot alone (`fill`, or having won
// the exchange in `unpin`), and read only under a pin; see the text of the module `table`.
unsafe impl<T: Send + Sync, W: Sync, R> Sync for Slot<T, W, R> {}

fn generation(state: u64) -> u32 {
    (state >> 32) as u32
}

fn is_live(state: u64, generation: u32) -> bool {
    // Pins and filled are the bits below live. A shift costs the fast paths one register less than
    // a mask.
    state >> LIVE.trailing_zeros() == u64::from(generation) << 1 | 1
}

impl<T, W: Word, R: Room<T>> Slot<T, W, R> {
    /// An empty slot.
    pub(super) fn new(index: usize) -> Slot<T, W, R> {
        Slot { index: index as u32, state: W::zero(), room: R::empty(), object: std::marker::PhantomData }
    }

    /// Puts an object in and returns its generation.
    ///
    /// # Safety
    /// The slot is empty, and the caller's alone: it was taken from the free list.
    pub(super) unsafe fn fill(&self, value: Arc<T>) -> u32 {
        // SAFETY: nobody else writes it by the caller's promise, and nobody reads it while it is
        // not live.
        self.room.with_mut(|room| unsafe { *room = Some(value) });
        generation(self.state.set(LIVE | FILLED))
    }

    /// The generation that its next object will have.
    pub(super) fn next_generation(&self) -> u32 {
        generation(self.state.load())
    }

    /// Adds a pin, which the caller takes away by [`Slot::unpin`] in any case. Returns whether the
    /// object is live in this generation; if so, it stays until then.
    #[inline(always)]
    pub(super) fn pin(&self, generation: u32) -> bool {
        is_live(self.state.add_pin(), generation)
    }

    /// Returns whether the object is live in this generation at the moment, and not hidden.
    #[inline(always)]
    pub(super) fn is_shown(&self, generation: u32) -> bool {
        // The bits of live and filled, by a shift as in `is_live`.
        self.state.load() >> FILLED.trailing_zeros() == u64::from(generation) << 2 | 3
    }

    /// Hides the object from [`Slot::is_shown`] for as long as it lives. The caller has a pin.
    pub(super) fn hide(&self) {
        loop {
            let state = self.state.load();
            if state & LIVE == 0 || self.state.replace(state, state & !FILLED) {
                return;
            }
        }
    }

    /// The object.
    ///
    /// # Safety
    /// It is live, or was when the caller added a pin that it still has; and it is not freed while
    /// the reference is used.
    #[inline(always)]
    pub(super) unsafe fn object(&self) -> &Arc<T> {
        // SAFETY: the caller's promise; a slot with pins is not emptied.
        self.room.with(|room| unsafe { (*room).as_ref().unwrap_unchecked() })
    }

    /// Ends the life of the handle. Returns whether this call did so.
    pub(super) fn close(&self) -> bool {
        loop {
            let state = self.state.load();
            if state & LIVE == 0 {
                return false;
            }
            // It may have been hidden.
            if self.state.replace(state, (state | FILLED) & !LIVE) {
                return true;
            }
        }
    }

    /// The generation, if there is a live object.
    pub(super) fn generation(&self) -> Option<u32> {
        let state = self.state.load();
        (state & LIVE != 0).then(|| generation(state))
    }

    /// Takes a pin away. Returns the object if the slot is empty from now on and belongs to the
    /// free list.
    #[inline(always)]
    pub(super) fn unpin(&self) -> Option<Arc<T>> {
        let state = self.state.take_pin() - 1;
        if state & (LIVE | FILLED | PINS) == FILLED { self.empty(state) } else { None }
    }

    /// Empties a slot without pins that is filled and not live; harmless in every other case.
    #[cold]
    fn empty(&self, state: u64) -> Option<Arc<T>> {
        // From then on the state says neither live nor filled, so no one else comes here.
        let emptied = u64::from(generation(state).wrapping_add(1)) << 32;
        if !self.state.replace(state, emptied) {
            return None;
        }
        // SAFETY: this thread won the exchange; the slot has no valid handle and is not on the free
        // list yet.
        self.room.with_mut(|room| unsafe { (*room).take() })
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    //! The slot under loom, which tries the interleavings and the reorderings that the memory model
    //! allows, and reports an object that one thread takes away while another reads it.

    use super::*;
    use loom::cell::UnsafeCell as LoomUnsafeCell;
    use loom::sync::atomic::AtomicU64 as LoomWord;

    word!(LoomWord);

    impl<T> Room<T> for LoomUnsafeCell<Option<Arc<T>>> {
        fn empty() -> Self {
            LoomUnsafeCell::new(None)
        }
        fn with<R>(&self, read: impl FnOnce(*const Option<Arc<T>>) -> R) -> R {
            LoomUnsafeCell::with(self, read)
        }
        fn with_mut<R>(&self, write: impl FnOnce(*mut Option<Arc<T>>) -> R) -> R {
            LoomUnsafeCell::with_mut(self, write)
        }
    }

    struct Model(Slot<u32, LoomWord, LoomUnsafeCell<Option<Arc<u32>>>>);

    // SAFETY: the test is about just this: loom reports two threads that use the cell at the same
    // time.
    unsafe impl Send for Model {}
    // SAFETY: as above.
    unsafe impl Sync for Model {}

    impl std::ops::Deref for Model {
        type Target = Slot<u32, LoomWord, LoomUnsafeCell<Option<Arc<u32>>>>;
        fn deref(&self) -> &Self::Target {
            &self.0
        }
    }

    /// Frees the object as a thread does. Returns whether it closed the slot, and the object if it
    /// emptied the slot.
    fn free(slot: &Model, generation: u32) -> (bool, Option<Arc<u32>>) {
        let closed = slot.pin(generation) && slot.close();
        (closed, slot.unpin())
    }

    /// Looks up an object and reads it twice. Returns the value, if there is one, and the object if
    /// it emptied the slot.
    fn look(slot: &Model, generation: u32) -> (Option<u32>, Option<Arc<u32>>) {
        let found = slot.pin(generation).then(|| {
            // SAFETY: it was live when the pin was added.
            let first = slot.room.with(|room| unsafe { (*room).as_deref().copied() });
            loom::thread::yield_now();
            // SAFETY: as above.
            let again = slot.room.with(|room| unsafe { (*room).as_deref().copied() });
            assert_eq!(first, again);
            first.expect("a pinned object stays")
        });
        (found, slot.unpin())
    }

    #[test]
    fn loom_a_pinned_object_stays_and_is_taken_away_once() {
        loom::model(|| {
            let slot = loom::sync::Arc::new(Model(Slot::new(0)));
            // SAFETY: a new slot.
            let generation = unsafe { slot.fill(Arc::new(7)) };
            let reader = {
                let slot = slot.clone();
                loom::thread::spawn(move || look(&slot, generation))
            };
            let (closed, emptied) = free(&slot, generation);
            let (found, emptied_by_reader) = reader.join().unwrap();
            assert!(closed && found.is_none_or(|value| value == 7));
            assert!(emptied.is_some() != emptied_by_reader.is_some(), "taken away once");
            assert!(!slot.is_shown(generation) && slot.generation().is_none());
        });
    }

    #[test]
    fn loom_an_object_that_is_hidden_while_it_is_freed_is_taken_away() {
        loom::model(|| {
            let slot = loom::sync::Arc::new(Model(Slot::new(0)));
            // SAFETY: a new slot.
            let generation = unsafe { slot.fill(Arc::new(7)) };
            let hider = {
                let slot = slot.clone();
                loom::thread::spawn(move || {
                    if slot.pin(generation) {
                        slot.hide();
                    }
                    slot.unpin()
                })
            };
            let (closed, emptied) = free(&slot, generation);
            assert!(closed);
            assert!(emptied.is_some() != hider.join().unwrap().is_some(), "taken away once");
        });
    }

    #[test]
    fn loom_a_handle_is_freed_by_one_thread() {
        loom::model(|| {
            let slot = loom::sync::Arc::new(Model(Slot::new(0)));
            // SAFETY: a new slot.
            let generation = unsafe { slot.fill(Arc::new(7)) };
            let other = {
                let slot = slot.clone();
                loom::thread::spawn(move || free(&slot, generation))
            };
            let mine = free(&slot, generation);
            let theirs = other.join().unwrap();
            assert!(mine.0 != theirs.0, "freed once");
            assert!(mine.1.is_some() != theirs.1.is_some(), "taken away once");
        });
    }

    #[test]
    fn loom_an_old_handle_never_finds_the_next_object() {
        loom::model(|| {
            let slot = loom::sync::Arc::new(Model(Slot::new(0)));
            // SAFETY: a new slot.
            let old = unsafe { slot.fill(Arc::new(7)) };
            let reader = {
                let slot = slot.clone();
                loom::thread::spawn(move || look(&slot, old))
            };
            if free(&slot, old).1.is_some() {
                // SAFETY: this thread emptied it, so it would have it from the free list.
                assert_ne!(unsafe { slot.fill(Arc::new(8)) }, old);
            }
            assert!(reader.join().unwrap().0.is_none_or(|value| value == 7));
        });
    }
}
