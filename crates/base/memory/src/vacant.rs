//! Tables of boxes, most of whose places are never filled: of the processes of a large job, say, of
//! which one speaks with few.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};

/// The length in bytes from which a table has a mapping of its own, whose pages take memory when
/// they are first used. The allocator may take memory that was used before, and clear it.
const MAPPED_BYTES_MIN: usize = 64 << 10;

/// A table of a fixed number of places.
#[derive(Debug)]
pub struct Vacant<T> {
    places: NonNull<Option<Box<T>>>,
    count: usize,
}

// SAFETY: it owns its places, as a boxed slice would.
unsafe impl<T: Send> Send for Vacant<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Vacant<T> {}

/// Makes a table of `count` places, all vacant. The pages of a large one take memory when a place
/// there is filled first: until then it takes address space and little else.
///
/// # Panics
/// The table has more bytes than there are addresses.
pub fn vacant<T>(count: usize) -> Vacant<T> {
    let layout = Layout::array::<Option<Box<T>>>(count).expect("a table within the addresses");
    let places = if is_mapped(layout.size()) {
        map(layout)
    } else {
        let zeroed = Box::<[Option<Box<T>>]>::new_zeroed_slice(count);
        // SAFETY: `None` of an optional box is the null pointer, as the standard library promises.
        let table = unsafe { zeroed.assume_init() };
        NonNull::from(Box::leak(table)).cast()
    };
    Vacant { places, count }
}

/// Returns whether a table of this many bytes has a mapping of its own.
fn is_mapped(bytes: usize) -> bool {
    bytes >= MAPPED_BYTES_MIN && !cfg!(miri)
}

/// Maps memory of a table, which is all 0.
fn map<P>(layout: Layout) -> NonNull<P> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory, which is nobody's.
    let start = unsafe { libc::mmap(null_mut(), layout.size(), access, flags, -1, 0) };
    match NonNull::new(start).filter(|_| start != libc::MAP_FAILED) {
        Some(start) => start.cast(),
        None => handle_alloc_error(layout),
    }
}

impl<T> Default for Vacant<T> {
    fn default() -> Vacant<T> {
        vacant(0)
    }
}

impl<T> Deref for Vacant<T> {
    type Target = [Option<Box<T>>];

    #[inline(always)]
    fn deref(&self) -> &[Option<Box<T>>] {
        // SAFETY: this many places, all initialised; `None` is the null pointer.
        unsafe { std::slice::from_raw_parts(self.places.as_ptr(), self.count) }
    }
}

impl<T> DerefMut for Vacant<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Option<Box<T>>] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.places.as_ptr(), self.count) }
    }
}

impl<T> Drop for Vacant<T> {
    fn drop(&mut self) {
        let (all, bytes) = (std::ptr::from_mut::<[_]>(self), size_of_val::<[_]>(self));
        if !is_mapped(bytes) {
            // SAFETY: leaked by `vacant`.
            return drop(unsafe { Box::from_raw(all) });
        }
        self.iter_mut().for_each(|place| drop(place.take()));
        // SAFETY: mapped by `vacant` with this length, and nothing in it is left to drop.
        unsafe { libc::munmap(self.places.as_ptr().cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_places_are_vacant_and_can_be_filled() {
        for count in [1000, 100_000] {
            let mut table = vacant::<String>(count);
            assert!(table.len() == count && table.iter().all(Option::is_none));
            table[count - 1] = Some(Box::new("last".into()));
            assert_eq!(table.iter().flatten().count(), 1);
        }
        assert!(vacant::<u8>(0).is_empty());
    }

    /// A table drops what is in it, and gives its memory back.
    #[test]
    fn a_table_drops_what_was_filled() {
        let one = std::rc::Rc::new(());
        for count in [10, 100_000] {
            let mut table = vacant(count);
            table[0] = Some(Box::new(one.clone()));
            table[count - 1] = Some(Box::new(one.clone()));
            assert_eq!(std::rc::Rc::strong_count(&one), 3);
            drop(table);
            assert_eq!(std::rc::Rc::strong_count(&one), 1);
        }
    }

    /// The pages of a mapped table that have memory, and all of them.
    #[cfg(not(miri))]
    fn pages_of<T>(table: &[T]) -> (usize, usize) {
        let (start, len) = (table.as_ptr().cast_mut(), size_of_val(table));
        let mut resident = vec![0u8; len.div_ceil(4096)];
        // SAFETY: a byte for each page, and pages are not smaller.
        assert_eq!(unsafe { libc::mincore(start.cast(), len, resident.as_mut_ptr()) }, 0);
        (resident.iter().filter(|page| **page & 1 != 0).count(), resident.len())
    }

    #[cfg(not(miri))]
    #[test]
    fn a_large_table_takes_memory_where_it_is_filled() {
        for count in [16 << 10, 64 << 10, 4 << 20] {
            // Memory that was used before is used again.
            drop(vec![1u64; count]);
            let mut table = vacant::<u8>(count);
            let (resident, all) = pages_of(&table);
            assert!(all == count * 8 / 4096 && resident == 0, "{resident} of {all} pages");
            (0..3).for_each(|third| table[third * count / 3 + 700] = Some(Box::new(1)));
            let (resident, _) = pages_of(&table);
            assert!((1..=3).contains(&resident), "{resident} of {all} pages");
        }
    }
}
