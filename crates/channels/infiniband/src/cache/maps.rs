//! The sort of memory that pages are.
//!
//! Only private anonymous memory (heap, stack, `mmap` without a file) changes by nothing but calls
//! of this process, and the kernel tells of all of these but one (see [`super::watch`]). A file can
//! be truncated and a shared segment emptied from elsewhere, unheard. Memory that cannot be written
//! is registered for reading only, and may become writable unheard: it does not count either.

use super::span::Span;
use std::fs::File;
use std::os::fd::AsRawFd;

/// `PROCMAP_QUERY` of <linux/fs.h> (Linux 6.11).
const PROCMAP_QUERY: libc::Ioctl = 0xc068_6611_u32 as libc::Ioctl;
const VMA_WRITABLE: u64 = 2;
const VMA_SHARED: u64 = 8;

/// `struct procmap_query`.
#[derive(Default)]
#[repr(C)]
struct Query {
    size: u64,
    query_flags: u64,
    address: u64,
    start: u64,
    end: u64,
    flags: u64,
    page_bytes: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_bytes: u32,
    build_id_bytes: u32,
    name_at: u64,
    build_id_at: u64,
}

/// A stretch of memory of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    span: Span,
    is_private: bool,
}

/// A view of this process's address space.
#[derive(Debug)]
pub(super) struct Maps {
    /// `/proc/self/maps`; `None` where there is no such file.
    file: Option<File>,
    answers_queries: bool,
}

impl Maps {
    /// Finds out how the kernel can be asked.
    pub(super) fn open() -> Maps {
        let file = File::open("/proc/self/maps").ok();
        let here = Maps::open as *const () as u64;
        let answers_queries = file.as_ref().is_some_and(|file| query(file, here).is_some());
        Maps { file, answers_queries }
    }

    /// Returns whether all pages are mapped, and are private anonymous memory that can be written.
    pub(super) fn is_private(&self, span: Span) -> bool {
        let Some(file) = &self.file else { return false };
        if self.answers_queries {
            return is_covered(span, |at| query(file, at));
        }
        let Ok(text) = std::fs::read_to_string("/proc/self/maps") else { return false };
        let mappings: Vec<Mapping> = text.lines().filter_map(parse).collect();
        is_covered(span, |at| mappings.iter().find(|m| m.span.start <= at && at < m.span.end).copied())
    }
}

/// Returns whether private mappings hold the span, one after the other.
fn is_covered(span: Span, at: impl Fn(u64) -> Option<Mapping>) -> bool {
    let mut next = span.start;
    while next < span.end {
        match at(next).filter(|mapping| mapping.is_private && mapping.span.end > next) {
            Some(mapping) => next = mapping.span.end,
            None => return false,
        }
    }
    true
}

fn query(file: &File, address: u64) -> Option<Mapping> {
    let mut query = Query { size: size_of::<Query>() as u64, address, ..Query::default() };
    // SAFETY: the structure is the request's, and says its size.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), PROCMAP_QUERY, &mut query) };
    let span = Span { start: query.start, end: query.end };
    let is_private = query.flags & (VMA_SHARED | VMA_WRITABLE) == VMA_WRITABLE && query.inode == 0;
    (outcome == 0).then_some(Mapping { span, is_private })
}

/// Parses a line such as `7f0000000000-7f0000021000 rw-p 00000000 00:00 0 [heap]`.
fn parse(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (rights, inode) = (words.next()?, words.nth(2)?);
    let address = |text| u64::from_str_radix(text, 16).ok();
    let span = Span { start: address(start)?, end: address(end)? };
    Some(Mapping {
        span,
        is_private: rights.ends_with('p') && rights.as_bytes().get(1) == Some(&b'w') && inode == "0",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_private_memory_from_files_and_segments() {
        let sort = |line| parse(line).map(|mapping| (mapping.span.bytes(), mapping.is_private));
        assert_eq!(sort("1000-3000 rw-p 00000000 00:00 0   [heap]"), Some((0x2000, true)));
        assert_eq!(sort("1000-2000 rw-p 00000000 00:00 0"), Some((0x1000, true)));
        assert_eq!(sort("1000-2000 rw-s 00000000 00:01 9 /dev/zero (deleted)"), Some((0x1000, false)));
        assert_eq!(sort("1000-2000 r--p 00000000 fe:00 4711 /lib/x.so"), Some((0x1000, false)));
        assert_eq!(sort("1000-2000 r--p 00000000 00:00 0"), Some((0x1000, false)));
        assert_eq!(sort("what is this"), None);
    }

    /// Asks in both ways about the same memory.
    #[test]
    fn the_kernel_says_what_memory_is() {
        let (heap, file) = (vec![1u8; 1 << 20], std::fs::File::open("/proc/self/exe").unwrap());
        let private = span_of(heap.as_ptr() as u64, heap.len());
        // SAFETY: a new mapping; the test ends it.
        let shared = unsafe {
            libc::mmap(std::ptr::null_mut(), 8192, 3, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
        };
        // SAFETY: as above.
        let mapped = unsafe {
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        let mut maps = Maps::open();
        for answers_queries in [maps.answers_queries, false] {
            maps.answers_queries = answers_queries;
            assert!(maps.is_private(private));
            assert!(!maps.is_private(span_of(shared as u64, 8192)));
            assert!(!maps.is_private(span_of(mapped as u64, 4096)));
            assert!(!maps.is_private(Span { start: 4096, end: 8192 }), "nothing is mapped there");
        }
        // SAFETY: both were mapped above.
        unsafe { (libc::munmap(shared, 8192), libc::munmap(mapped, 4096)) };
    }

    fn span_of(address: u64, len: usize) -> Span {
        // SAFETY: only its address is looked at.
        Span::of(unsafe { verbena_memory::Region::new(address as *mut u8, len) })
    }
}
