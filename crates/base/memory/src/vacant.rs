//! Tables of boxes, most of whose places are never filled: of the processes of a large job, say, of
//! which one speaks with few.

/// The length in bytes from which a table's pages are given back until they are needed.
const LARGE_BYTES_MIN: usize = 64 << 10;

/// Makes a table of `count` places, all vacant. The pages of a large one take memory when a place
/// there is filled first: until then it takes address space and little else.
pub fn vacant<T>(count: usize) -> Box<[Option<Box<T>>]> {
    let zeroed = Box::<[Option<Box<T>>]>::new_zeroed_slice(count);
    // SAFETY: `None` of an optional box is the null pointer, as the standard library promises.
    let table = unsafe { zeroed.assume_init() };
    let bytes = size_of_val(&*table);
    if bytes >= LARGE_BYTES_MIN && !cfg!(miri) {
        // The allocator may have taken used memory and cleared it.
        let (pages, len) = whole_pages(table.as_ptr().addr(), bytes);
        let start = table.as_ptr().with_addr(pages).cast_mut();
        // SAFETY: whole private pages of the table, which are all 0 before and after.
        unsafe { libc::madvise(start.cast(), len, libc::MADV_DONTNEED) };
    }
    table
}

/// The first whole page of these bytes, and the length of all whole pages.
fn whole_pages(start: usize, bytes: usize) -> (usize, usize) {
    // SAFETY: asks for a number of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(LARGE_BYTES_MIN);
    let (first, end) = (start.next_multiple_of(page), (start + bytes) / page * page);
    (first, end.saturating_sub(first))
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

    /// The whole pages of the table that have memory, and all of them.
    #[cfg(not(miri))]
    fn pages_of<T>(table: &[T]) -> (usize, usize) {
        let (start, len) = whole_pages(table.as_ptr().addr(), size_of_val(table));
        let mut resident = vec![0u8; len / 4096];
        let start = table.as_ptr().with_addr(start).cast_mut();
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
            assert!(all >= count * 8 / 4096 - 1 && resident == 0, "{resident} of {all} pages");
            (0..3).for_each(|third| table[third * count / 3 + 700] = Some(Box::new(1)));
            let (resident, _) = pages_of(&table);
            assert!((1..=3).contains(&resident), "{resident} of {all} pages");
        }
    }
}
