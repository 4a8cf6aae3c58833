//! Memory that the ranks of a host share with their launcher: each rank writes there what it waits
//! for, and the launcher reads it, also of a rank that is stopped or computes.
//!
//! Our `mpiexec` (or its agent on another host) creates the memory, which has no name, and the
//! ranks inherit its descriptor; `VERBENA_STATUS` tells them its number. Under other launchers
//! there is none, and nothing is written.
//!
//! | block | words |
//! | --- | --- |
//! | the first | a mark that tells our memory; the number of the launcher's last question; the number of ranks that have died, and of those whose death was acknowledged; whether all may leave; the number of such news; a bit for each dead rank, and for each that was acknowledged |
//! | one for each rank | process id; beats; waits; version; length; the question answered; the signal of a crash; whether it tells its frames; the bytes; its lines in Python; the frames; whether it wants to go on without others |
//!
//! The bytes of a rank are behind a version that is odd while they are written. Nobody waits for
//! anybody: a reader that meets a writer tries again a few times.

mod whereabouts;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

/// The variable that tells a rank the memory and its place there: `FD:INODE:PLACE`.
pub const VARIABLE: &str = "VERBENA_STATUS";

/// Bytes of a block.
const BLOCK_BYTES: usize = 16 << 10;
const WORD_BYTES: usize = size_of::<u64>();
const BLOCK_WORDS: usize = BLOCK_BYTES / WORD_BYTES;
/// The first word of the memory: it is ours, of this layout.
const MARK: u64 = u64::from_le_bytes(*b"VBstat03");
const MARK_AT: usize = 0;
const QUESTION_AT: usize = 8;
const DEATHS_AT: usize = 16;
const ACKNOWLEDGED_AT: usize = 17;
const PARTED_AT: usize = 18;
/// Counts what the launcher has told. Ranks sleep on its lower half.
const NEWS_AT: usize = 19;
/// A bit for each rank of the job that has died.
const DEAD_BITS_AT: usize = 24;
/// A bit for each rank whose death another one has acknowledged.
const ACKNOWLEDGED_BITS_AT: usize = DEAD_BITS_AT + BITS_WORDS;
const BITS_WORDS: usize = (BLOCK_WORDS - DEAD_BITS_AT) / 2;
/// The ranks that have bits; the deaths of others cannot be told.
pub const RANKS_MAX: usize = BITS_WORDS * 64;
/// The words of a rank's block.
const PID_AT: usize = 0;
const BEATS_AT: usize = 1;
const WAITS_AT: usize = 2;
const VERSION_AT: usize = 3;
const LENGTH_AT: usize = 4;
const ANSWER_AT: usize = 5;
const CRASH_AT: usize = 6;
const OFFERS_FRAMES_AT: usize = 7;
/// The return addresses of a rank that computes: the question, their number, and they.
const FRAMES_AT: usize = BLOCK_WORDS - 3 - FRAMES_MAX;
/// The traceback of a rank that computes in Python: its length in bytes, and the text.
const PYTHON_AT: usize = FRAMES_AT - 1 - PYTHON_BYTES_MAX / WORD_BYTES;
/// The most bytes of such a text.
pub const PYTHON_BYTES_MAX: usize = 1024;
/// Set while the rank wants to go on when others die.
const GOES_ON_AT: usize = BLOCK_WORDS - 1;
/// The most return addresses that a rank tells.
pub const FRAMES_MAX: usize = 48;
const BYTES_AT: usize = 8;
/// The most bytes that a rank can say.
pub const BYTES_MAX: usize = (PYTHON_AT - BYTES_AT) * WORD_BYTES;
/// In place of the signal of a crash: an error of an MPI call has ended the rank.
pub const ERROR: i32 = 0xffff;
/// The longest sleep until there is news, in seconds.
const LIMIT_SECONDS_MAX: u64 = 3600;
/// The number of times that a reader tries again.
const READS_MAX: u32 = 100;

/// The host's clock in milliseconds: the same for all its processes.
pub fn now_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills our structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Words of shared memory.
#[derive(Debug)]
struct Words {
    base: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: plain shared memory, touched through atomics only.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn map(memory: RawFd, bytes: usize) -> io::Result<Words> {
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                memory,
                0,
            )
        };
        match NonNull::new(at.cast()) {
            Some(base) if at != libc::MAP_FAILED => Ok(Words { base, count: bytes / WORD_BYTES }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.count, "word {at} of {}", self.count);
        // SAFETY: within the mapping by the check, which lives as long as `self`; a mapping is
        // aligned to pages.
        unsafe { self.base.add(at).as_ref() }
    }

    /// Adds a rank that has a bit to the set at `bits`, and counts the ranks of the set at `count`.
    fn add(&self, rank: u32, bits: usize, count: usize) {
        let (word, bit) = (bits + rank as usize / 64, 1 << (rank % 64));
        if self.word(word).fetch_or(bit, Ordering::Release) & bit == 0 {
            self.word(count).fetch_add(1, Ordering::Release);
        }
    }

    /// The half of a word on which the system lets threads sleep: the lower one.
    fn half(&self, at: usize) -> *const u32 {
        let half = if cfg!(target_endian = "little") { 0 } else { 1 };
        self.word(at).as_ptr().cast::<u32>().cast_const().wrapping_add(half)
    }

    /// Wakes all threads that sleep on the word.
    fn wake(&self, at: usize) {
        // SAFETY: the system uses the address, which is within the mapping, as a name only.
        unsafe { libc::syscall(libc::SYS_futex, self.half(at), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Sleeps while the lower half of the word has this value, until woken, for so long at most.
    fn sleep(&self, at: usize, value: u32, at_most: Duration) {
        let limit = libc::timespec {
            tv_sec: at_most.as_secs().min(LIMIT_SECONDS_MAX) as libc::time_t,
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // SAFETY: the word is within the mapping; the system reads it and the limit.
        unsafe { libc::syscall(libc::SYS_futex, self.half(at), libc::FUTEX_WAIT, value, &limit) };
    }

    /// The ranks of the set at `bits`.
    fn ranks(&self, bits: usize) -> Vec<u32> {
        let word = |at: usize| self.word(bits + at).load(Ordering::Acquire);
        let ranks = |at: usize| {
            (0..64).filter(move |bit| word(at) >> bit & 1 == 1).map(move |bit| at as u32 * 64 + bit)
        };
        (0..BITS_WORDS).filter(|at| word(*at) != 0).flat_map(ranks).collect()
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: our own mapping, into which nobody holds a reference any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.count * WORD_BYTES) };
    }
}

/// A rank's signs of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Changes whenever a wait begins that takes longer than a look.
    pub beats: u64,
    /// The number of threads that have waited for longer than a moment.
    pub waits: u64,
    /// The rank's process id; 0 if it never came here.
    pub pid: u64,
}

/// The memory, as the launcher has it.
#[derive(Debug)]
pub struct StatusMemory {
    words: Words,
    memory: OwnedFd,
    inode: u64,
}

impl StatusMemory {
    /// Creates memory for this many ranks. None of it takes room before it is written.
    ///
    /// # Errors
    /// The system gives no memory or descriptor, or a limit on files (`ulimit -f`) forbids it.
    pub fn create(ranks: usize) -> io::Result<StatusMemory> {
        let bytes = (ranks + 1) * BLOCK_BYTES;
        if file_limit().is_some_and(|limit| bytes as u64 > limit) {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        // SAFETY: the name is a C string; the call makes a descriptor and touches no memory of
        // ours.
        let fd = unsafe {
            libc::memfd_create(c"verbena-status".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        let memory = unsafe { OwnedFd::from_raw_fd(fd) };
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: calls on our own descriptor.
        let sized = unsafe {
            libc::ftruncate(fd, bytes as libc::off_t) == 0 && libc::fcntl(fd, libc::F_ADD_SEALS, seals) == 0
        };
        if !sized {
            return Err(io::Error::last_os_error());
        }
        let words = Words::map(fd, bytes)?;
        words.word(MARK_AT).store(MARK, Ordering::Release);
        let inode = status(fd).map_or(0, |stat| stat.st_ino);
        Ok(StatusMemory { words, memory, inode })
    }

    /// The descriptor, which the ranks must inherit.
    pub fn descriptor(&self) -> RawFd {
        self.memory.as_raw_fd()
    }

    /// The value of [`VARIABLE`] for the rank at this place.
    pub fn variable(&self, place: usize) -> String {
        format!("{}:{}:{place}", self.memory.as_raw_fd(), self.inode)
    }

    /// Asks all ranks to say anew what they do. Those that are in MPI do so within a moment.
    pub fn ask(&self) {
        self.words.word(QUESTION_AT).fetch_add(1, Ordering::Release);
    }

    /// Returns whether the rank at this place wants to go on now when others die.
    pub fn goes_on(&self, place: usize) -> bool {
        self.words.word(block(place) + GOES_ON_AT).load(Ordering::Relaxed) != 0
    }

    /// Tells all ranks of the host that this rank of the job has died; `false` if it has no bit.
    pub fn bury(&self, rank: u32) -> bool {
        let has_bit = (rank as usize) < RANKS_MAX;
        if has_bit {
            self.words.add(rank, DEAD_BITS_AT, DEATHS_AT);
            self.tell_news();
        }
        has_bit
    }

    /// Wakes all ranks that sleep until there is news.
    fn tell_news(&self) {
        self.words.word(NEWS_AT).fetch_add(1, Ordering::Release);
        self.words.wake(NEWS_AT);
    }

    /// The number of ranks whose death some rank of the host has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.words.word(ACKNOWLEDGED_AT).load(Ordering::Acquire)
    }

    /// These ranks.
    pub fn acknowledged_ranks(&self) -> Vec<u32> {
        self.words.ranks(ACKNOWLEDGED_BITS_AT)
    }

    /// Tells all ranks of the host that every rank of the job has left MPI, or is dead.
    pub fn part(&self) {
        self.words.word(PARTED_AT).store(1, Ordering::Release);
        self.tell_news();
    }

    /// The signs of life of the rank at this place.
    pub fn pulse(&self, place: usize) -> Pulse {
        let word = |at| self.words.word(block(place) + at).load(Ordering::Relaxed);
        Pulse { beats: word(BEATS_AT), waits: word(WAITS_AT), pid: word(PID_AT) }
    }

    /// The words of the rank at this place when it crashed, and the signal; `None` if it did not.
    pub fn crash(&self, place: usize) -> Option<(u64, Vec<u8>)> {
        let signal = self.words.word(block(place) + CRASH_AT).load(Ordering::Acquire);
        (signal != 0).then(|| (signal, self.read(place).unwrap_or_default().0))
    }

    /// The last words of the rank at this place, and whether they answer the last question; `None`
    /// if it said nothing yet, or is just speaking.
    pub fn read(&self, place: usize) -> Option<(Vec<u8>, bool)> {
        let question = self.words.word(QUESTION_AT).load(Ordering::Relaxed);
        (0..READS_MAX).find_map(|_| {
            std::hint::spin_loop();
            self.try_read(block(place), question)
        })
    }

    fn try_read(&self, at: usize, question: u64) -> Option<(Vec<u8>, bool)> {
        let version = self.words.word(at + VERSION_AT).load(Ordering::Acquire);
        if version == 0 || version % 2 == 1 {
            return None;
        }
        let length = self.words.word(at + LENGTH_AT).load(Ordering::Relaxed) as usize;
        let answer = self.words.word(at + ANSWER_AT).load(Ordering::Relaxed);
        let length = length.min(BYTES_MAX);
        let words = (0..length.div_ceil(WORD_BYTES))
            .flat_map(|n| self.words.word(at + BYTES_AT + n).load(Ordering::Relaxed).to_le_bytes());
        let mut bytes: Vec<u8> = words.collect();
        bytes.truncate(length);
        fence(Ordering::Acquire);
        let is_whole = self.words.word(at + VERSION_AT).load(Ordering::Relaxed) == version;
        is_whole.then_some((bytes, answer == question))
    }
}

/// The place of this process in its launcher's memory.
#[derive(Debug)]
pub struct StatusPlace {
    words: Words,
    at: usize,
}

impl StatusPlace {
    /// Takes over what the launcher of this process gave it, once: the descriptor is closed.
    /// `None` if there is nothing, or the program has closed it.
    pub fn inherit() -> Option<StatusPlace> {
        StatusPlace::told(&std::env::var(VARIABLE).ok()?)
    }

    fn told(variable: &str) -> Option<StatusPlace> {
        let mut parts = variable.split(':');
        let fd: RawFd = parts.next()?.parse().ok()?;
        let inode: u64 = parts.next()?.parse().ok()?;
        let place: usize = parts.next()?.parse().ok()?;
        let stat = status(fd).filter(|stat| stat.st_ino == inode)?;
        // SAFETY: the number is the launcher's memory, which nobody else in this process uses.
        let memory = unsafe { OwnedFd::from_raw_fd(fd) };
        let bytes = usize::try_from(stat.st_size).ok()?;
        if place >= bytes / BLOCK_BYTES - 1 {
            return None;
        }
        let words = Words::map(memory.as_raw_fd(), bytes).ok()?;
        if words.word(MARK_AT).load(Ordering::Acquire) != MARK {
            return None;
        }
        let at = block(place);
        words.word(at + PID_AT).store(std::process::id().into(), Ordering::Relaxed);
        Some(StatusPlace { words, at })
    }

    /// Gives a sign of life.
    #[inline]
    pub fn beat(&self) {
        let beats = self.words.word(self.at + BEATS_AT);
        // Two threads at once may count one beat: it changes all the same.
        beats.store(beats.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The number of the launcher's last question.
    #[inline]
    pub fn question(&self) -> u64 {
        self.words.word(QUESTION_AT).load(Ordering::Relaxed)
    }

    /// Returns whether the launcher has asked since this process last said something.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.question() != self.words.word(self.at + ANSWER_AT).load(Ordering::Relaxed)
    }

    /// Says whether this process wants to go on when others die.
    pub fn go_on(&self, wanted: bool) {
        self.words.word(self.at + GOES_ON_AT).store(wanted.into(), Ordering::Relaxed);
    }

    /// Returns whether it has said so.
    pub fn goes_on(&self) -> bool {
        self.words.word(self.at + GOES_ON_AT).load(Ordering::Relaxed) != 0
    }

    /// Says that this process has taken notice of the deaths of these ranks.
    pub fn acknowledge(&self, dead: impl IntoIterator<Item = u32>) {
        let have_bits = dead.into_iter().filter(|rank| (*rank as usize) < RANKS_MAX);
        have_bits.for_each(|rank| self.words.add(rank, ACKNOWLEDGED_BITS_AT, ACKNOWLEDGED_AT));
    }

    /// Returns whether every rank of the job has left MPI, or is dead.
    pub fn is_parted(&self) -> bool {
        self.words.word(PARTED_AT).load(Ordering::Acquire) != 0
    }

    /// The number of ranks of the job that have died.
    #[inline]
    pub fn deaths(&self) -> u64 {
        self.words.word(DEATHS_AT).load(Ordering::Acquire)
    }

    /// Changes whenever the launcher tells of another death, or that all may leave.
    #[inline]
    pub fn news(&self) -> u64 {
        self.words.word(NEWS_AT).load(Ordering::Acquire)
    }

    /// Sleeps until there is other news than `known`, for so long at most, or less.
    pub fn await_news(&self, known: u64, at_most: Duration) {
        self.words.sleep(NEWS_AT, known as u32, at_most);
    }

    /// Ends the sleep of all that await news.
    pub fn wake_all(&self) {
        self.words.wake(NEWS_AT);
    }

    /// The ranks of the job that have died.
    pub fn dead(&self) -> Vec<u32> {
        self.words.ranks(DEAD_BITS_AT)
    }

    /// Sets the number of threads that wait.
    pub fn set_waits(&self, waits: u64) {
        self.words.word(self.at + WAITS_AT).store(waits, Ordering::Relaxed);
    }

    /// Says where this process crashed, by a signal. Safe in a handler of that signal.
    pub fn crash(&self, signal: u64, bytes: &[u8]) {
        self.write(bytes, self.question());
        self.words.word(self.at + CRASH_AT).store(signal, Ordering::Release);
    }

    /// Says something, of [`BYTES_MAX`] bytes at most, as the answer to a question. One thread at a
    /// time may speak.
    pub fn write(&self, bytes: &[u8], question: u64) {
        let bytes = &bytes[..bytes.len().min(BYTES_MAX)];
        let word = |at| self.words.word(self.at + at);
        let version = word(VERSION_AT).load(Ordering::Relaxed);
        word(VERSION_AT).store(version | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        word(LENGTH_AT).store(bytes.len() as u64, Ordering::Relaxed);
        word(ANSWER_AT).store(question, Ordering::Relaxed);
        for (n, piece) in bytes.chunks(WORD_BYTES).enumerate() {
            word(BYTES_AT + n).store(word_of(piece), Ordering::Relaxed);
        }
        word(VERSION_AT).store((version | 1).wrapping_add(1), Ordering::Release);
    }
}

/// A word of these bytes, and zeros.
fn word_of(piece: &[u8]) -> u64 {
    let mut whole = [0; WORD_BYTES];
    whole[..piece.len()].copy_from_slice(piece);
    u64::from_le_bytes(whole)
}

/// The first word of a rank's block.
fn block(place: usize) -> usize {
    (place + 1) * BLOCK_WORDS
}

fn status(fd: RawFd) -> Option<libc::stat> {
    let mut stat = std::mem::MaybeUninit::uninit();
    // SAFETY: fstat writes at most one structure where the pointer leads, and success means that it
    // did.
    unsafe { (libc::fstat(fd, stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
}

/// The file size limit of this process in bytes, if there is one.
fn file_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills our structure.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests;
