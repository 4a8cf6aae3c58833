//! Whole pages of this process's memory.

use std::sync::LazyLock;
use verbena_memory::Region;

/// The size of a page in bytes.
pub(super) static PAGE_BYTES: LazyLock<u64> = LazyLock::new(|| {
    // SAFETY: asks the C library for a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
});

/// The pages from the one at address `start` to the one before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The address of the first page.
    pub start: u64,
    /// The address behind the last page.
    pub end: u64,
}

impl Span {
    /// Returns the pages that hold the region.
    pub fn of(region: Region) -> Span {
        let (address, page) = (region.address(), *PAGE_BYTES);
        Span {
            start: address & !(page - 1),
            end: (address + region.len().max(1) as u64).next_multiple_of(page),
        }
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Returns whether all of `other` lies within this span.
    pub fn contains(&self, other: &Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns whether the two share a page.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns the whole pages as a region. The caller was given a region within them.
    ///
    /// # Safety
    /// All pages are mapped as long as the region is used, and only what was given as a region is
    /// touched.
    pub unsafe fn region(&self) -> Region {
        // SAFETY: the caller's promise.
        unsafe { Region::new(self.start as *mut u8, self.bytes() as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_whole_pages() {
        let page = *PAGE_BYTES;
        // SAFETY: never dereferenced.
        let span = |at: u64, len| Span::of(unsafe { Region::new(at as *mut u8, len) });
        assert_eq!(span(page, 1), Span { start: page, end: 2 * page });
        assert_eq!(span(2 * page - 1, 2), Span { start: page, end: 3 * page });
        assert_eq!(span(page + 5, page as usize), Span { start: page, end: 3 * page });
        let (a, b) = (span(page, 1), span(2 * page, 1));
        assert!(!a.overlaps(&b) && span(page, 2 * page as usize).contains(&b));
    }
}
