//! A table of shared objects behind handles: slots never move, lookups take no lock, and freeing a
//! handle while another thread still uses its object does no harm.
//!
//! A slot's state is one word: generation (32 bits), live (1), filled (1), pins (30). A lookup adds
//! a pin and then looks whether the word says that the slot is live in the handle's generation.
//! Freeing clears live; the thread that takes away the last pin of a slot that is filled and not
//! live empties it. So an object is never dropped under a reader, and a reader pays two atomic
//! additions and no lock.

mod slot;

use slot::Slot;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use verbena_memory::LINE_BYTES;
use verbena_waiting::lock::SingleThread;

/// Slots of the first chunk; each further chunk doubles the table.
const CHUNK_SLOTS_MIN: usize = 64;
/// The number of chunks that make 2^27 slots.
const CHUNKS: usize = 22;
/// Largest number of objects in one table: what the index of a handle can express.
pub const SLOTS_MAX: usize = 1 << 27;

/// The place of an object in a table; a handle is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the slot, below [`SLOTS_MAX`].
    pub index: u32,
    /// The number that tells this use of the slot from earlier ones.
    pub generation: u32,
}

/// A place that was set aside for an object.
#[derive(Debug)]
pub struct Reserved(Place);

impl Reserved {
    /// The place.
    pub fn place(&self) -> Place {
        self.0
    }
}

/// A table of objects of one kind. Usable from any thread, and as a static.
pub struct Table<T> {
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS],
    free: Mutex<Free>,
    live: AtomicUsize,
    /// The distance of slots that are handed out for the first time.
    stride: u32,
}

struct Free {
    indices: Vec<u32>,
    used: u32,
}

/// An object found by its handle, held for the length of a call: it may be freed meanwhile but
/// lives as long as this.
pub struct Ref<'a, T> {
    /// The object. It is no reference, since the drop of the last pin empties the slot while this
    /// value is still an argument.
    object: NonNull<Arc<T>>,
    _object: PhantomData<&'a Arc<T>>,
    /// The pin that holds an object in a table; `None` for one that lives anyway.
    _pin: Option<Pin<'a, T>>,
}

impl<'a, T> Ref<'a, T> {
    /// An object that is never freed.
    #[inline]
    pub fn fixed(object: &'a Arc<T>) -> Ref<'a, T> {
        Ref { object: object.into(), _object: PhantomData, _pin: None }
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        // SAFETY: the object is pinned, or lives as long as `'a`.
        unsafe { self.object.as_ref() }
    }
}

/// One user of a slot.
struct Pin<'a, T> {
    table: &'a Table<T>,
    slot: &'a Slot<T>,
}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new() -> Table<T> {
        Table::with_stride(1)
    }

    /// An empty table whose objects lie far enough apart that threads which use different ones
    /// share no cache line.
    pub const fn apart() -> Table<T> {
        Table::with_stride(LINE_BYTES.div_ceil(size_of::<Slot<T>>()) as u32)
    }

    const fn with_stride(stride: u32) -> Table<T> {
        let free = Mutex::new(Free { indices: Vec::new(), used: 0 });
        Table { chunks: [const { OnceLock::new() }; CHUNKS], free, live: AtomicUsize::new(0), stride }
    }

    /// Puts an object into the table.
    ///
    /// # Panics
    /// If [`SLOTS_MAX`] objects are alive.
    pub fn insert(&self, value: Arc<T>) -> Place {
        let index = self.vacant();
        // SAFETY: the index came from the free list, or is new.
        unsafe { self.fill(index, value) }
    }

    /// Puts an object into the slot of this index.
    ///
    /// # Safety
    /// The slot is vacant, and the caller's.
    unsafe fn fill(&self, index: u32, value: Arc<T>) -> Place {
        // SAFETY: the caller's promise.
        let generation = unsafe { self.slot_or_grow(index).fill(value) };
        self.live.fetch_add(1, Ordering::Relaxed);
        Place { index, generation }
    }

    /// Sets a place aside for an object that is not there yet. Until then nothing is found there.
    ///
    /// # Panics
    /// As [`Table::insert`].
    pub fn reserve(&self) -> Reserved {
        let index = self.vacant();
        Reserved(Place { index, generation: self.slot_or_grow(index).next_generation() })
    }

    /// Puts an object at the place that was set aside for it in this table.
    pub fn insert_at(&self, Reserved(place): Reserved, value: Arc<T>) {
        // SAFETY: the index came from the free list, or was new, and nobody else has this value.
        let filled = unsafe { self.fill(place.index, value) };
        debug_assert_eq!(filled, place);
    }

    /// The object at `place`; `None` if there is none or it was freed.
    #[inline]
    pub fn get(&self, place: Place) -> Option<Ref<'_, T>> {
        let slot = self.slot(place.index)?;
        let is_live = slot.pin(place.generation);
        let pin = Pin { table: self, slot };
        if !is_live {
            return None;
        }
        // SAFETY: the slot was live when the pin was added; `Ref` lends the object no longer than
        // it keeps the pin.
        let object = unsafe { slot.object() };
        Some(Ref { object: object.into(), _object: PhantomData, _pin: Some(pin) })
    }

    /// Returns the object as [`Table::get`] does, without holding it.
    ///
    /// # Safety
    /// Nobody frees the object while it is used: this thread is alone in MPI, and runs no code of
    /// the program meanwhile.
    #[inline(always)]
    pub unsafe fn peek(&self, _alone: SingleThread, place: Place) -> Option<&T> {
        let slot = self.slot(place.index)?;
        if !slot.is_shown(place.generation) {
            return None;
        }
        // SAFETY: the slot is live, and stays so by the caller's promise.
        Some(unsafe { slot.object() })
    }

    /// Keeps the object from [`Table::peek`] from now on.
    pub fn hide(&self, place: Place) {
        // The pin keeps the slot from being used for another object meanwhile.
        if let (Some(_held), Some(slot)) = (self.get(place), self.slot(place.index)) {
            slot.hide();
        }
    }

    /// Frees the handle at `place` and hands back the object; `None` if there is none.
    pub fn remove(&self, place: Place) -> Option<Arc<T>> {
        let held = self.get(place)?;
        if !self.slot(place.index)?.close() {
            return None;
        }
        self.live.fetch_sub(1, Ordering::Relaxed);
        Some(Arc::clone(&held))
    }

    /// The generation of the slot now, to complete a handle whose index alone is known; `None` if
    /// there is no object.
    pub fn generation(&self, index: u32) -> Option<u32> {
        self.slot(index)?.generation()
    }

    /// The place of the first object for which `wanted` holds. Walks the table.
    pub fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Place> {
        let used = self.free.lock().unwrap().used;
        (0..used).find_map(|index| {
            let place = Place { index, generation: self.generation(index)? };
            self.get(place).filter(|object| wanted(object)).map(|_| place)
        })
    }

    /// Number of handles that were not freed.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    fn vacant(&self) -> u32 {
        let mut free = self.free.lock().unwrap();
        if let Some(index) = free.indices.pop() {
            return index;
        }
        assert!(
            ((free.used + self.stride - 1) as usize) < SLOTS_MAX,
            "more than {SLOTS_MAX} MPI objects of one kind"
        );
        free.used += self.stride;
        free.used - self.stride
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (chunk, offset) = locate(index);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    fn slot_or_grow(&self, index: u32) -> &Slot<T> {
        let (chunk, offset) = locate(index);
        let slots = self.chunks[chunk].get_or_init(|| slots_of(chunk).map(Slot::new).collect());
        &slots[offset]
    }

    #[cold]
    fn reclaim(&self, slot: &Slot<T>, value: Arc<T>) {
        self.free.lock().unwrap().indices.push(slot.index);
        drop(value);
    }
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table::new()
    }
}

impl<T> Drop for Pin<'_, T> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(value) = self.slot.unpin() {
            self.table.reclaim(self.slot, value);
        }
    }
}

/// The indices of the slots in chunk `k`.
fn slots_of(chunk: usize) -> std::ops::Range<usize> {
    let first = (CHUNK_SLOTS_MIN << chunk) - CHUNK_SLOTS_MIN;
    first..first + (CHUNK_SLOTS_MIN << chunk)
}

/// Chunk and offset of a slot: chunk `k` holds `CHUNK_SLOTS_MIN << k` slots.
#[inline]
fn locate(index: u32) -> (usize, usize) {
    let position = index as usize + CHUNK_SLOTS_MIN;
    let chunk = (position.ilog2() - CHUNK_SLOTS_MIN.ilog2()) as usize;
    (chunk, position - (CHUNK_SLOTS_MIN << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn freed_handles_find_nothing() {
        let table = Table::new();
        let first = table.insert(Arc::new(1));
        assert_eq!(**table.get(first).unwrap(), 1);
        assert_eq!(table.remove(first).as_deref(), Some(&1));
        assert!(table.get(first).is_none() && table.remove(first).is_none());
        let second = table.insert(Arc::new(2));
        assert_eq!(second.index, first.index);
        assert!(table.get(first).is_none());
        assert_eq!((**table.get(second).unwrap(), table.live()), (2, 1));
    }

    #[test]
    fn an_object_outlives_its_handle_while_pinned() {
        let table = Table::new();
        let value = Arc::new(5);
        let place = table.insert(value.clone());
        let pinned = table.get(place).unwrap();
        drop(table.remove(place));
        assert_eq!(**pinned, 5);
        assert_eq!(Arc::strong_count(&value), 2);
        drop(pinned);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn nothing_is_found_at_a_reserved_place_until_its_object_is_there() {
        let table = Table::new();
        let old = table.insert(Arc::new(1));
        table.remove(old);
        let reserved = table.reserve();
        let (place, other) = (reserved.place(), table.insert(Arc::new(3)));
        assert!(place.index == old.index && place.index != other.index);
        assert!(table.get(place).is_none() && table.remove(place).is_none() && table.live() == 1);
        table.insert_at(reserved, Arc::new(2));
        assert_eq!((**table.get(place).unwrap(), table.live()), (2, 2));
        assert!(table.get(old).is_none());
    }

    #[test]
    fn slots_do_not_overlap_across_chunks() {
        let table = Table::new();
        let places: Vec<Place> = (0..1000).map(|i| table.insert(Arc::new(i))).collect();
        assert!(places.iter().enumerate().all(|(i, &p)| **table.get(p).unwrap() == i));
        assert_eq!(locate(SLOTS_MAX as u32 - 1).0, CHUNKS - 1);
        let last = slots_of(3).end - 1;
        assert_eq!((locate(last as u32).0, locate(last as u32 + 1).0), (3, 4));
    }

    #[test]
    fn threads_that_look_up_never_see_another_object() {
        let table = Table::new();
        let stop = AtomicBool::new(false);
        let shared = Mutex::new((table.insert(Arc::new(0usize)), 0usize));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let (place, value) = *shared.lock().unwrap();
                        if let Some(pinned) = table.get(place) {
                            assert_eq!(**pinned, value);
                        }
                    }
                });
            }
            for value in 1..20_000 {
                let place = table.insert(Arc::new(value));
                let old = std::mem::replace(&mut *shared.lock().unwrap(), (place, value));
                assert!(table.remove(old.0).is_some());
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(table.live(), 1);
        assert!(table.free.lock().unwrap().used < 16);
    }
}
