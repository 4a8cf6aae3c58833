//! Memory of the program that may not be there: the system is asked before it is touched.

use std::io::Error;
use std::ops::Range;

/// The way in which memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Bytes are read.
    Read,
    /// Bytes are read or written.
    Write,
}

/// Returns whether this process may touch the bytes from `address` on in this way. Nothing in them
/// changes; pages that nobody has touched yet come to be there, as they would by the touch. Some
/// 0.7 us, and 0.03 for each page (of 4 KiB).
pub fn may_touch(address: u64, bytes: usize, touch: Touch) -> bool {
    let page = page_bytes();
    let end = if bytes == 0 { Some(address) } else { address.checked_add(bytes as u64 - 1) };
    let Some(end) = end.map(|last| last / page * page + page) else { return false };
    let pages = address / page * page..end;
    match populate(&pages, touch) {
        None => true,
        // The advice is not known (before Linux 5.14), the pages are those of a device, or they do
        // not allow this touch.
        Some(libc::EINVAL) => {
            pages.step_by(page as usize).all(|start| word_may_be_touched(start.max(address), touch))
        }
        Some(_) => false,
    }
}

/// Has the system take these pages as a touch would. The number of its error, if there is one.
fn populate(pages: &Range<u64>, touch: Touch) -> Option<i32> {
    let advice = match touch {
        Touch::Read => libc::MADV_POPULATE_READ,
        Touch::Write => libc::MADV_POPULATE_WRITE,
    };
    loop {
        // SAFETY: the advice changes no byte; the system checks that the pages are there.
        let taken =
            unsafe { libc::madvise(pages.start as *mut _, (pages.end - pages.start) as usize, advice) };
        if taken == 0 {
            return None;
        }
        match Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => (),
            error => return error.or(Some(libc::EFAULT)),
        }
    }
}

/// An operation of a futex on two words that adds 0 to the second one (`FUTEX_OP`).
const ADD_NOTHING: u32 = 1 << 28;

/// Returns whether the word of 4 bytes around an address may be touched: the system reads it, or
/// adds 0 to it at once. Who sleeps at such a word may be woken, as always.
fn word_may_be_touched(address: u64, touch: Touch) -> bool {
    let (word, mut own) = (address & !3, 0_u32);
    let private = libc::FUTEX_PRIVATE_FLAG;
    let limit = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system checks the word, and changes no byte of it; nobody sleeps at ours.
    let outcome = unsafe {
        match touch {
            Touch::Read => {
                libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT | private, 0, &raw const limit)
            }
            Touch::Write => {
                let operation = libc::FUTEX_WAKE_OP | private;
                libc::syscall(libc::SYS_futex, &raw mut own, operation, 0, 0, word, ADD_NOTHING)
            }
        }
    };
    outcome >= 0 || Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}

/// The bytes of a page.
fn page_bytes() -> u64 {
    // SAFETY: the call takes no memory.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages. The second one has the protection of the test.
    struct Pages(u64);

    impl Pages {
        fn new(access: i32) -> Pages {
            let page = page_bytes() as usize;
            let (both, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: new memory, which is nobody's.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), 2 * page, both, flags, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            // SAFETY: the second page of it, which nobody has touched.
            assert_eq!(unsafe { libc::mprotect(start.byte_add(page), page, access) }, 0);
            Pages(start as u64)
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: the memory that was made, or a part of it.
            unsafe { libc::munmap(self.0 as *mut _, 2 * page_bytes() as usize) };
        }
    }

    /// The touches of a byte of the second page that are allowed, by the advice and by words.
    fn allowed(pages: &Pages) -> [bool; 4] {
        let second = pages.0 + page_bytes();
        [
            may_touch(second + 5, 1, Touch::Read),
            may_touch(second + 5, 1, Touch::Write),
            word_may_be_touched(second + 5, Touch::Read),
            word_may_be_touched(second + 5, Touch::Write),
        ]
    }

    #[test]
    fn memory_is_touched_as_its_protection_allows() {
        let both = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(allowed(&Pages::new(both)), [true; 4]);
        assert_eq!(allowed(&Pages::new(libc::PROT_READ)), [true, false, true, false]);
        assert_eq!(allowed(&Pages::new(libc::PROT_NONE)), [false; 4]);
    }

    #[test]
    fn memory_that_is_not_mapped_is_not_touched() {
        // The system maps nothing there unless it is told to.
        for touch in [Touch::Read, Touch::Write] {
            assert!(!may_touch(64, 8, touch) && !word_may_be_touched(64, touch));
            assert!(!may_touch(u64::MAX - 5, 100, touch));
        }
    }

    #[test]
    fn every_page_counts_and_no_byte_beside_them() {
        let (pages, page) = (Pages::new(libc::PROT_READ), page_bytes() as usize);
        for touch in [Touch::Read, Touch::Write] {
            assert!(may_touch(pages.0, page, touch) && may_touch(pages.0 + 7, page - 7, touch));
            assert!(may_touch(pages.0, 0, touch));
        }
        assert!(may_touch(pages.0 + 7, page, Touch::Read));
        assert!(!may_touch(pages.0 + 7, page, Touch::Write));
    }

    /// A page that was written in vain would be another one.
    #[test]
    fn no_byte_changes() {
        let mut bytes = vec![7_u8; 3 * page_bytes() as usize];
        let address = bytes.as_mut_ptr() as u64;
        assert!(may_touch(address, bytes.len(), Touch::Write));
        assert!(word_may_be_touched(address, Touch::Write));
        assert!(bytes.iter().all(|&byte| byte == 7));
    }
}
