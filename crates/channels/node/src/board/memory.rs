//! The memory of a board: the one place where its words and bytes are touched by address.
//!
//! | part | size | content |
//! | --- | --- | --- |
//! | members' words | a few lines for each member | last collective closed; posts; parts; quarters entered; latest record; calls told |
//! | slot table | some lines | which pieces of which collectives the slots hold |
//! | logs | one for each member | see `log` |
//! | slots | `slots` for each member | pieces of long collectives |

use super::log::{HEAD_BYTES, Words};
use super::parts::PartWords;
use super::words::{CallWords, MemberWords, SHARED_SLOTS_MAX, SlotTable};
use crate::prefetch::fetch_to_write;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::*, fence};
use verbena_memory::Region;

/// The measures of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measures {
    /// Members.
    pub(crate) ranks: usize,
    /// Bytes of a log, a power of two.
    pub(crate) log_bytes: usize,
    /// Slots of a member.
    pub(crate) slots: usize,
    /// Bytes of a slot.
    pub(crate) slot_bytes: usize,
}

/// Heads are multiplied by this odd number, so that numbers of a program are no heads, and zero is
/// none still: a member that passed a record of another length than it thought may come upon
/// payload.
const MIXED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The number that takes that back.
const UNMIXED: u64 = 0xf1de_83e1_9937_733d;
const _: () = assert!(MIXED.wrapping_mul(UNMIXED) == 1);

/// The memory that the logs of all members take together, if that leaves each what it needs.
const LOGS_BYTES: usize = 1 << 20;
const LOG_BYTES_MIN: usize = 16 << 10;
const LOG_BYTES_MAX: usize = 64 << 10;
/// The memory that the slots of all members take together, if that leaves each what it needs.
const SLOTS_BYTES: usize = 4 << 20;
const SLOT_BYTES_MIN: usize = 8 << 10;
const SLOT_BYTES_MAX: usize = 64 << 10;
/// Slots of each member: some that others read, and some to be filled meanwhile.
const SLOTS: usize = 8;

impl Measures {
    /// The measures of a board of `ranks` members.
    pub(crate) fn of(ranks: usize) -> Measures {
        let share = |total: usize, low: usize, high: usize| (1 << (total / ranks).ilog2()).clamp(low, high);
        Measures {
            ranks,
            log_bytes: share(LOGS_BYTES, LOG_BYTES_MIN, LOG_BYTES_MAX),
            slots: SLOTS,
            slot_bytes: share(SLOTS_BYTES / SLOTS, SLOT_BYTES_MIN, SLOT_BYTES_MAX),
        }
    }

    /// The bytes of the board.
    pub(crate) fn bytes(&self) -> usize {
        self.slots_at() + self.ranks * self.slots * self.slot_bytes
    }

    pub(super) fn slots_at(&self) -> usize {
        self.logs_at() + self.ranks * self.log_bytes
    }

    /// The offset of the logs: behind the members' words and the slot table, at a page.
    fn logs_at(&self) -> usize {
        (self.slot_table_at() + size_of::<SlotTable>()).next_multiple_of(4096)
    }

    fn slot_table_at(&self) -> usize {
        self.ranks * size_of::<MemberWords>()
    }

    /// The number of slots that one member may fill.
    pub(super) fn shared_slots(&self) -> usize {
        (self.ranks * self.slots).min(SHARED_SLOTS_MAX)
    }
}

/// The board's memory. Valid as long as the backing beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) base: NonNull<u8>,
    pub(super) measures: Measures,
    pub(super) me: usize,
}

// SAFETY: a plain address into shared memory, whose words are atomic and whose bytes are used as
// the protocol says.
unsafe impl Send for Memory {}

impl Memory {
    #[inline]
    pub(super) fn member(&self, rank: usize) -> &MemberWords {
        assert!(rank < self.measures.ranks);
        // SAFETY: within the board by the check, aligned as its pages are, and made of atomics
        // only.
        unsafe { self.base.add(rank * size_of::<MemberWords>()).cast::<MemberWords>().as_ref() }
    }

    #[inline]
    pub(super) fn told(&self, rank: usize, number: u64) -> &CallWords {
        self.member(rank).told(number)
    }

    #[inline]
    pub(super) fn slot_table(&self) -> &SlotTable {
        // SAFETY: within the board, aligned as the members' words before it are, and made of
        // atomics only.
        unsafe { self.base.add(self.measures.slot_table_at()).cast::<SlotTable>().as_ref() }
    }

    #[inline]
    fn log_at(&self, rank: usize, offset: u64) -> *mut u8 {
        assert!(rank < self.measures.ranks && offset < self.measures.log_bytes as u64);
        let at = self.measures.logs_at() + rank * self.measures.log_bytes + offset as usize;
        // SAFETY: within the board by the check.
        unsafe { self.base.add(at).as_ptr() }
    }

    #[inline]
    fn head_word(&self, rank: usize, offset: u64) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8));
        // SAFETY: within a log (checked by `log_at`), and aligned: heads stand at granules.
        unsafe { &*(self.log_at(rank, offset) as *const AtomicU64) }
    }
}

impl Words for Memory {
    #[inline]
    fn head(&self, rank: usize, offset: u64) -> u64 {
        self.head_word(rank, offset).load(Acquire).wrapping_mul(UNMIXED)
    }

    #[inline]
    fn publish(&self, offset: u64, head: u64) {
        self.head_word(self.me, offset).store(head.wrapping_mul(MIXED), Release);
    }

    fn erase(&self, offset: u64, bytes: usize) {
        assert!(offset as usize + bytes <= self.measures.log_bytes);
        // SAFETY: within the log by the check. All have closed what stood there, and look there
        // again only once this member has told that it entered.
        unsafe { std::ptr::write_bytes(self.log_at(self.me, offset), 0, bytes) }
    }

    #[inline]
    fn fetch(&self, offset: u64, bytes: u64) {
        let end = (offset + bytes).min(self.measures.log_bytes as u64);
        (offset..end).step_by(64).for_each(|at| fetch_to_write(self.log_at(self.me, at)));
    }

    fn entered(&self, rank: usize) -> u64 {
        self.member(rank).entered.load(Acquire)
    }

    fn tell_entered(&self, quarters: u64) {
        self.member(self.me).entered.store(quarters, Release);
        fence(Release);
    }

    fn latest(&self, rank: usize) -> u64 {
        self.member(rank).latest.load(Acquire)
    }

    #[inline]
    fn tell_latest(&self, latest: u64) {
        self.member(self.me).latest.store(latest, Release);
    }

    #[inline]
    fn payload(&self, rank: usize, offset: u64, bytes: usize) -> Region {
        assert!(offset as usize + HEAD_BYTES + bytes <= self.measures.log_bytes);
        // SAFETY: within the log by the check. By the protocol the writer alone uses the bytes
        // until it publishes them, and nobody writes them until all have closed the collective.
        unsafe { Region::new(self.log_at(rank, offset).add(HEAD_BYTES), bytes) }
    }

    fn closed(&self, rank: usize) -> u64 {
        self.member(rank).closed.closed.load(Acquire)
    }

    fn tell_closed(&self, number: u64) {
        self.member(self.me).closed.closed.store(number, Release);
    }

    fn has_left(&self, rank: usize, number: u64) -> bool {
        self.member(rank).has_left(number)
    }
}

impl PartWords for Memory {
    fn ranks(&self) -> usize {
        self.measures.ranks
    }

    fn offered(&self, rank: usize) -> u64 {
        self.member(rank).offered.0.load(Acquire)
    }

    fn offer(&self, word: u64) {
        self.member(self.me).offered.0.store(word, Release);
    }

    fn replace_offered(&self, rank: usize, old: u64, new: u64) -> bool {
        self.member(rank).offered.0.compare_exchange(old, new, AcqRel, Acquire).is_ok()
    }

    fn finished(&self, rank: usize) -> u64 {
        self.member(rank).finished.0.load(Acquire)
    }

    fn tell_finished(&self, word: u64) {
        self.member(self.me).finished.0.store(word, Release);
        fence(SeqCst);
    }

    fn failed(&self, rank: usize) -> u64 {
        self.member(rank).failed.load(Acquire)
    }

    fn tell_failed(&self, number: u64) {
        self.member(self.me).failed.store(number, Release);
    }

    fn working(&self, rank: usize) -> u64 {
        self.member(rank).closed.working.load(Acquire)
    }

    fn tell_working(&self, number: u64) {
        self.member(self.me).closed.working.store(number, Release);
        if number != 0 {
            fence(SeqCst);
        }
    }

    fn abandoned(&self, rank: usize) -> u64 {
        self.member(rank).closed.abandoned.load(Acquire)
    }

    fn tell_abandoned(&self, number: u64) {
        self.member(self.me).closed.abandoned.store(number, Release);
        fence(SeqCst);
    }
}
