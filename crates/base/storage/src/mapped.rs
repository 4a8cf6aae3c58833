//! Many small writes that lie close together, as stores to the file's pages: a call for each would
//! cost more than its bytes, and the file's own lock would be taken each time. Nothing is read and
//! written back, so bytes of other processes between the pieces stay theirs.
//!
//! The kernel does the stores (`process_vm_readv` of the process's own memory): where a page cannot
//! be had, since the device is full or another process has cut the file, it says so, and nobody
//! gets a signal. Then the pieces are written by plain calls, which tell the reason. Where the call
//! that makes the file long enough fails, that is the reason already.

use crate::disk::{Cut, Disk, Piece, write_all};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use verbena_memory::Region;

/// The fewest pieces for which pages are mapped.
const PIECES_MIN: usize = 16;
/// The fewest pieces to a page, on average. A page that is mapped costs about as much as a call.
const PIECES_A_PAGE: usize = 2;
/// The most bytes that are mapped at once.
const WINDOW_BYTES_MAX: u64 = 4 << 20;
/// The most pieces in one call (`UIO_MAXIOV`).
const PIECES_A_CALL: usize = 1024;
/// `MADV_POPULATE_WRITE`, since Linux 5.14: all pages are there at once.
const POPULATE_WRITE: libc::c_int = 23;

/// Set once the kernel has refused the copy, as filters of containers do.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Pieces that were written so.
static PIECES: AtomicU64 = AtomicU64::new(0);

/// The number of pieces so far that were stored in a file's pages.
pub fn pieces_by_mapping() -> u64 {
    PIECES.load(Ordering::Relaxed)
}

/// A part of a list: how many pieces, and whether they are to be stored in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) pieces: usize,
    pub(crate) is_dense: bool,
}

impl Part {
    /// Pieces that are written by calls.
    pub(crate) fn by_calls(pieces: usize) -> Part {
        Part { pieces, is_dense: false }
    }
}

/// The first part of a list of pieces.
pub(crate) fn first_part(pieces: &[Piece]) -> Part {
    let mut count = 0;
    while count < pieces.len() {
        let part = stretch(&pieces[count..]);
        if part.is_dense {
            return if count == 0 { part } else { Part::by_calls(count) };
        }
        count += part.pieces;
    }
    Part::by_calls(count)
}

/// The pieces at the beginning of a list that follow each other with less than a page between them.
fn stretch(pieces: &[Piece]) -> Part {
    let page = page_bytes();
    let end_of = |piece: &Piece| piece.at.saturating_add(piece.region.len() as u64);
    let Some(first) = pieces.first() else { return Part::by_calls(0) };
    let (begin, mut end, mut count) = (first.at / page * page, end_of(first), 1);
    for piece in &pieces[1..] {
        let is_close = piece.at >= end && piece.at - end < page && end_of(piece) - begin <= WINDOW_BYTES_MAX;
        if !is_close {
            break;
        }
        end = end_of(piece);
        count += 1;
    }
    let pages = (end - begin).div_ceil(page) as usize;
    let is_dense = count >= PIECES_MIN && count >= PIECES_A_PAGE * pages && !REFUSED.load(Ordering::Relaxed);
    Part { pieces: count, is_dense }
}

/// Stores the pieces of a dense part. Returns false if that failed: some bytes may be there.
///
/// # Errors
/// That of a plain call for the last piece, which comes first.
pub(crate) fn write(file: &impl Disk, descriptor: RawFd, pieces: &[Piece]) -> Result<bool, Cut> {
    let [first, .., last] = pieces else { return Ok(false) };
    // The file reaches so far then, and all pages exist.
    write_all(file, last.region, last.at)?;
    let begin = first.at / page_bytes() * page_bytes();
    let len = (last.at - begin) as usize + last.region.len();
    let Some(mapping) = Mapping::new(descriptor, begin, len) else { return Ok(false) };
    let all_there = pieces.chunks(PIECES_A_CALL).all(|pieces| mapping.store(pieces));
    if all_there {
        PIECES.fetch_add(pieces.len() as u64, Ordering::Relaxed);
    }
    Ok(all_there)
}

fn page_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    // SAFETY: the call only returns a number.
    *BYTES.get_or_init(|| u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096))
}

/// Pages of a file that are mapped.
struct Mapping {
    address: *mut libc::c_void,
    len: usize,
    begin: u64,
}

impl Mapping {
    fn new(file: RawFd, begin: u64, len: usize) -> Option<Mapping> {
        let (rights, at) = (libc::PROT_READ | libc::PROT_WRITE, libc::off_t::try_from(begin).ok()?);
        // SAFETY: a new mapping, wherever the kernel finds room.
        let address = unsafe { libc::mmap(ptr::null_mut(), len, rights, libc::MAP_SHARED, file, at) };
        if address == libc::MAP_FAILED {
            return None;
        }
        let mapping = Mapping { address, len, begin };
        // SAFETY: the mapping is ours. A child that another thread makes from now on does not get
        // it: nobody there would ever end it, and it would hold the file and its room on the
        // device, also once the file is deleted. (One that is made between `mmap` and this call
        // does: the kernel offers no mapping that is so from its start.) If the pages are not there
        // now, the copy makes them.
        unsafe {
            libc::madvise(address, len, libc::MADV_DONTFORK);
            libc::madvise(address, len, POPULATE_WRITE);
        }
        Some(mapping)
    }

    /// Stores pieces that lie within. Returns whether all bytes are there.
    fn store(&self, pieces: &[Piece]) -> bool {
        let place = |piece: &Piece| libc::iovec {
            iov_base: self.address.wrapping_byte_add((piece.at - self.begin) as usize),
            iov_len: piece.region.len(),
        };
        let into: Vec<libc::iovec> = pieces.iter().map(place).collect();
        let from = joined(pieces.iter().map(|piece| piece.region));
        let bytes: usize = into.iter().map(|part| part.iov_len).sum();
        // SAFETY: the parts of the file's pages lie within the mapping, and the regions are valid
        // by their creator's promise. The kernel checks both, as it does for calls on other
        // processes.
        let copied = unsafe {
            // Any thread's number stands for the process; its first thread may have ended.
            let me = libc::syscall(libc::SYS_gettid) as libc::pid_t;
            libc::process_vm_readv(me, into.as_ptr(), into.len() as _, from.as_ptr(), from.len() as _, 0)
        };
        let error = std::io::Error::last_os_error().raw_os_error();
        if copied < 0 && matches!(error, Some(libc::EPERM | libc::ENOSYS | libc::EACCES)) {
            REFUSED.store(true, Ordering::Relaxed);
        }
        usize::try_from(copied) == Ok(bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody has its address.
        unsafe { libc::munmap(self.address, self.len) };
    }
}

/// The regions, those that follow each other joined.
fn joined(regions: impl Iterator<Item = Region>) -> Vec<libc::iovec> {
    let mut all: Vec<libc::iovec> = Vec::new();
    for region in regions {
        let base = region.pointer().cast::<libc::c_void>();
        match all.last_mut().filter(|last| last.iov_base.wrapping_byte_add(last.iov_len) == base) {
            Some(last) => last.iov_len += region.len(),
            None => all.push(libc::iovec { iov_base: base, iov_len: region.len() }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::OpenFile;
    use crate::tests::children;
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;
    use verbena_memory::Owned;

    /// Pieces of `len` bytes, one every `step`, of memory that holds as many bytes.
    fn pieces(memory: &Owned, at: u64, len: usize, step: u64) -> Vec<Piece> {
        let count = memory.len() / len;
        let piece = |i: usize| Piece { region: memory.lend().part(i * len, len), at: at + i as u64 * step };
        (0..count).map(piece).collect()
    }

    fn part(pieces: usize, is_dense: bool) -> Part {
        Part { pieces, is_dense }
    }

    #[test]
    fn only_short_pieces_close_together_are_dense() {
        let memory = Owned::zeroed(64 * 64);
        assert_eq!(first_part(&pieces(&memory, 100, 64, 128)), part(64, true));
        assert_eq!(first_part(&pieces(&memory, 0, 64, 5000)), part(64, false));
        assert_eq!(first_part(&pieces(&memory, 0, 64, 3000)), part(64, false), "one to a page");
        assert_eq!(first_part(&pieces(&memory, 0, 64, 128)[..15]), part(15, false), "few");
        let mut both = pieces(&memory, 0, 64, 1 << 20);
        both.extend(pieces(&memory, 1 << 30, 64, 64));
        assert_eq!(first_part(&both), part(64, false));
        assert_eq!(first_part(&both[64..]), part(64, true));
        // Back, or over each other: in turn, by calls.
        let mut back = pieces(&memory, 1 << 20, 64, 128);
        back.extend(pieces(&memory, 0, 64, 128));
        assert_eq!(first_part(&back), part(64, true));
        assert_eq!(first_part(&pieces(&memory, 0, 64, 32)), part(64, false));
    }

    fn file(name: &str) -> (OpenFile, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("verbena-mapped-{name}-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        (OpenFile::new(file, true).unwrap(), path)
    }

    fn filled(len: usize) -> Owned {
        Owned::from(&(0..len).map(|i| (i * 7 % 251 + 1) as u8).collect::<Vec<u8>>()[..])
    }

    /// Lists of all sorts, against an array: also where the file ends, and with others' bytes
    /// between.
    #[test]
    fn a_list_changes_its_own_bytes_alone() {
        let (disk, path) = file("own");
        let others = Owned::from(&[9; 10_000][..]);
        write_all(&disk, others.lend(), 0).unwrap();
        let mut expected = vec![9; 10_000];
        let before = pieces_by_mapping();
        for (at, len, step, count) in
            [(3, 64, 128, 64), (9000, 5, 6, 3000), (70_000, 100, 900, 2000), (1, 1, 2, 99)]
        {
            let memory = filled(len * count);
            let list = pieces(&memory, at, len, step);
            disk.write_list(&list).unwrap();
            for piece in &list {
                let end = piece.at as usize + len;
                expected.resize(expected.len().max(end), 0);
                expected[piece.at as usize..end].copy_from_slice(&piece.region.to_vec());
            }
            assert_eq!(std::fs::read(&path).unwrap(), expected);
        }
        // Other tests store pieces at the same time.
        assert!(pieces_by_mapping() - before >= 64 + 3000 + 2000 + 99);
        std::fs::remove_file(path).unwrap();
    }

    /// Pages behind the end of the file, as when another process cuts it meanwhile.
    #[test]
    fn pages_that_are_not_there_are_told_without_a_signal() {
        let (disk, path) = file("cut");
        let memory = filled(64 * 200);
        let list = pieces(&memory, 0, 64, 128);
        disk.set_size(4096).unwrap();
        let plain = File::options().read(true).write(true).open(&path).unwrap();
        let mapping = Mapping::new(plain.as_raw_fd(), 0, 200 * 128).unwrap();
        assert!(!mapping.store(&list));
        assert!(mapping.store(&list[..32]));
        std::fs::remove_file(path).unwrap();
    }

    /// Returns whether a page is mapped here, as the calling process finds it.
    fn is_mapped(address: *mut libc::c_void) -> bool {
        let mut is_resident = [0; 1];
        // SAFETY: the kernel checks the address, and writes a byte for its page.
        unsafe { libc::mincore(address, 1, is_resident.as_mut_ptr().cast()) == 0 }
    }

    #[test]
    fn a_child_of_the_program_gets_no_pages_of_the_file() {
        let (disk, path) = file("child");
        disk.set_size(4096).unwrap();
        let plain = File::options().read(true).write(true).open(&path).unwrap();
        let mapping = Mapping::new(plain.as_raw_fd(), 0, 4096).unwrap();
        assert!(is_mapped(mapping.address));
        let status = children().find(|| !is_mapped(mapping.address));
        assert_eq!(status, 0, "the child has the mapping");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_read_is_written_by_calls() {
        let (_, path) = file("only");
        let only = OpenFile::new(File::options().write(true).open(&path).unwrap(), false).unwrap();
        let memory = filled(64 * 64);
        only.write_list(&pieces(&memory, 0, 64, 64)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), memory.lend().to_vec());
        std::fs::remove_file(path).unwrap();
    }
}
