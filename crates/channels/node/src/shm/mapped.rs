//! A ring in the mapped segment: the one place where the ring's words and bytes are touched by
//! address.

use super::control::{Control, RING_EXTRA_BYTES, RING_LOG2_MIN};
use super::ring::{LINE_PAYLOAD_BYTES_MAX, Lines, RECORD_HEAD_BYTES};
use super::segment::PAGE_BYTES;
use crate::prefetch::fetch_to_write;
use std::sync::atomic::{AtomicU64, Ordering::*};
use verbena_channel::packet::HEADER_BYTES;
use verbena_memory::{LINE_BYTES, Region};

/// Words for divisions in a ring's first page, one on each line behind the consumer's position.
pub(crate) const DIVISIONS: usize = RING_EXTRA_BYTES / LINE_BYTES - 1;

/// A ring. The segment must stay mapped as long as this exists: its holder holds the [`Control`]
/// too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MappedRing {
    lines: *mut u8,
    consumed: *const AtomicU64,
    count: u64,
    /// True if this processor can demote lines.
    demotes: bool,
}

// SAFETY: plain addresses into shared memory; each end is used by one thread at a time, through
// `&mut`.
unsafe impl Send for MappedRing {}

impl MappedRing {
    /// The ring of `1 << log2` bytes at `offset`; `None` if that is no place for a ring.
    pub(crate) fn at(control: &Control, offset: usize, log2: u32) -> Option<MappedRing> {
        let sound = (RING_LOG2_MIN..=control.measures().ring_log2).contains(&log2)
            && offset.is_multiple_of(PAGE_BYTES)
            && offset >= control.measures().control_bytes()
            && offset.checked_add(RING_EXTRA_BYTES + (1 << log2))? <= control.measures().boards_at();
        let at = control.segment().at(offset, RING_EXTRA_BYTES + (1 << log2)).filter(|_| sound)?.as_ptr();
        let lines = at.wrapping_add(RING_EXTRA_BYTES);
        Some(MappedRing {
            lines,
            consumed: at.cast(),
            count: (1 << log2) / LINE_BYTES as u64,
            demotes: can_demote(),
        })
    }

    /// The flag word of a line, for polling.
    #[inline]
    pub(crate) fn flag_word(&self, line: u64) -> *const AtomicU64 {
        debug_assert!(line < self.count);
        self.lines.wrapping_add(line as usize * LINE_BYTES) as *const AtomicU64
    }

    #[inline]
    fn flag_ref(&self, line: u64) -> &AtomicU64 {
        // SAFETY: `Producer` and `Consumer` mask every line they name by the count, so the word is
        // within the ring, which is within the mapping (checked by `at`); it is aligned, since
        // lines are.
        unsafe { &*self.flag_word(line) }
    }

    #[inline]
    fn consumed_ref(&self) -> &AtomicU64 {
        // SAFETY: the first word of the ring's pages, within the mapping (checked by `at`), aligned
        // to a page.
        unsafe { &*self.consumed }
    }

    /// A word by which both ends divide the copying of a message; `None` if there is none of that
    /// number.
    #[inline]
    pub(crate) fn division_word(&self, slot: usize) -> Option<&AtomicU64> {
        let line = self.consumed.cast::<u8>().wrapping_add((slot + 1) * LINE_BYTES);
        // SAFETY: within the ring's first page by the check, which is within the mapping; aligned,
        // as lines are.
        (slot < DIVISIONS).then(|| unsafe { &*line.cast::<AtomicU64>() })
    }

    /// Header and payload of a record, to read.
    ///
    /// # Safety
    /// The record lies within the ring and the consumer has not moved on from it.
    #[inline]
    pub(crate) unsafe fn record(&self, line: u64, payload_bytes: usize) -> &[u8] {
        // SAFETY: the caller's promise; a sound producer leaves the bytes alone until the consumer
        // moves on.
        unsafe { std::slice::from_raw_parts(self.body(line), HEADER_BYTES + payload_bytes) }
    }

    /// Header and payload of a record, to write.
    ///
    /// # Safety
    /// The lines were claimed and not committed yet.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn record_mut(&self, line: u64, payload_bytes: usize) -> &mut [u8] {
        // SAFETY: the caller's promise; the consumer does not look at claimed lines.
        unsafe { std::slice::from_raw_parts_mut(self.body(line), HEADER_BYTES + payload_bytes) }
    }

    /// Writes header and payload of a record of one line.
    ///
    /// # Safety
    /// The line was claimed and not committed yet, and `region` has at most
    /// [`LINE_PAYLOAD_BYTES_MAX`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn fill_line(&self, line: u64, header: [u64; 4], region: Region) {
        debug_assert!(region.len() <= LINE_PAYLOAD_BYTES_MAX);
        let at = self.body(line);
        // SAFETY: the line is the caller's, and aligned; header and payload end before it does.
        unsafe {
            let words = at.cast::<u64>();
            words.write(header[0]);
            words.add(1).write(header[1]);
            words.add(2).write(header[2]);
            words.add(3).write(header[3]);
            region.read_short(at.add(HEADER_BYTES));
        }
    }

    #[inline]
    fn body(&self, line: u64) -> *mut u8 {
        self.lines.wrapping_add(line as usize * LINE_BYTES + RECORD_HEAD_BYTES - HEADER_BYTES)
    }
}

impl Lines for MappedRing {
    #[inline]
    fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    fn flag(&self, line: u64) -> u64 {
        self.flag_ref(line).load(Acquire)
    }

    #[inline]
    fn publish(&self, line: u64, flag: u64) {
        self.flag_ref(line).store(flag, Release);
    }

    #[inline]
    fn clear(&self, line: u64) {
        self.flag_ref(line).store(0, Relaxed);
    }

    fn consumed(&self) -> u64 {
        self.consumed_ref().load(Acquire)
    }

    #[inline]
    fn tell_consumed(&self, position: u64) {
        self.consumed_ref().store(position, Release);
    }

    #[inline]
    fn fetch(&self, line: u64) {
        fetch_to_write(self.flag_word(line));
    }

    #[inline]
    fn demote(&self, line: u64) {
        if self.demotes {
            demote(self.flag_word(line));
        }
    }
}

/// Header and payload of the record of one line that begins with this flag word.
///
/// # Safety
/// A record of one line with this many bytes of payload begins there, and the consumer does not
/// move on from it while the slices are used.
#[inline(always)]
pub(crate) unsafe fn line_at<'a>(
    flag: *const AtomicU64,
    payload_bytes: usize,
) -> (&'a [u8; HEADER_BYTES], &'a [u8]) {
    let head = flag.wrapping_add(1).cast::<u8>();
    // SAFETY: the caller's promise: header and payload follow the flag word within its line.
    unsafe { (&*head.cast(), std::slice::from_raw_parts(head.add(HEADER_BYTES), payload_bytes)) }
}

/// Returns whether the processor has the instruction that [`demote`] uses: bit 25 of `ecx` in leaf
/// 7 of `cpuid`.
fn can_demote() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::x86_64::__cpuid(0).eax >= 7
        && std::arch::x86_64::__cpuid_count(7, 0).ecx & 1 << 25 != 0;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Moves a cache line from this processor's own caches to the one that it shares with the others.
#[inline]
fn demote<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that changes no memory, on a line of the ring; the processor knows it
    // (`can_demote`).
    unsafe {
        std::arch::asm!("cldemote [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
