//! A board in mapped memory: the one place where its words and bytes are touched by address.
//!
//! | part | size | content |
//! | --- | --- | --- |
//! | members' words | a few lines for each member | last collective closed; posts; parts; quarters entered; latest record |
//! | slot table | a few lines | which slots the last posts mean |
//! | logs | one for each member | see `log` |
//! | slots | `slots` for each member | pieces of long collectives |

use super::log::{HEAD_BYTES, Logs, Words};
use super::parts::{PartWords, Parts};
use crate::prefetch::fetch_to_write;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};
use verbena_channel::board::{Board, Clash, Look, Shape};
use verbena_channel::mark::Mark;
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
/// The most slots of all members that one member may fill: no more pieces are unread at a time.
const SHARED_SLOTS_MAX: usize = 64;

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

    fn slots_at(&self) -> usize {
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
    fn shared_slots(&self) -> usize {
        (self.ranks * self.slots).min(SHARED_SLOTS_MAX)
    }
}

/// The words of one member.
#[repr(C)]
struct MemberWords {
    closed: Line,
    posts: Line,
    offered: Line,
    finished: Line,
    failed: AtomicU64,
    entered: AtomicU64,
    latest: AtomicU64,
    /// The collective that was opened last (low half of its number), above the member's call in it.
    called: AtomicU64,
}

/// For each post that announces a slot, at the post's remainder: the slot's number, above it the
/// poster's call. Valid from the post on, until all have read the slot.
#[repr(C, align(64))]
struct SlotTable([AtomicU32; SHARED_SLOTS_MAX]);

/// A word with a cache line to itself.
#[repr(C, align(64))]
struct Line(AtomicU64);

/// Keeps a board's memory mapped, and wakes its members.
pub(crate) trait Backing: Send {
    /// Wakes the other members that sleep.
    fn wake(&self);
}

/// One member's side of a board.
#[derive(Debug)]
pub(crate) struct MappedBoard<K> {
    memory: Memory,
    logs: Logs,
    parts: Parts,
    posts: u64,
    /// For each slot that any member may fill, the post by which members say that they have read
    /// it.
    read_by: Vec<u64>,
    /// The post by which members say that they have read every slot.
    all_read_by: u64,
    /// The post by which members say that they have read the last results.
    results_read_by: u64,
    backing: K,
}

/// The board's memory. Valid as long as the backing beside it.
#[derive(Clone, Copy, Debug)]
struct Memory {
    base: NonNull<u8>,
    measures: Measures,
    me: usize,
}

// SAFETY: a plain address into shared memory, whose words are atomic and whose bytes are used as
// the protocol says.
unsafe impl Send for Memory {}

impl Memory {
    #[inline]
    fn member(&self, rank: usize) -> &MemberWords {
        assert!(rank < self.measures.ranks);
        // SAFETY: within the board by the check, aligned as its pages are, and made of atomics
        // only.
        unsafe { self.base.add(rank * size_of::<MemberWords>()).cast::<MemberWords>().as_ref() }
    }

    #[inline]
    fn slot_word(&self, post: u64) -> &AtomicU32 {
        // SAFETY: within the board, aligned as the members' words before it are, and made of
        // atomics only.
        let table = unsafe { self.base.add(self.measures.slot_table_at()).cast::<SlotTable>().as_ref() };
        &table.0[post as usize % SHARED_SLOTS_MAX]
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
        self.head_word(rank, offset).load(Acquire)
    }

    #[inline]
    fn publish(&self, offset: u64, head: u64) {
        self.head_word(self.me, offset).store(head, Release);
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
        self.member(rank).closed.0.load(Acquire)
    }

    fn tell_closed(&self, number: u64) {
        self.member(self.me).closed.0.store(number, Release);
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

    fn tell_finished(&self, parts: u64) {
        self.member(self.me).finished.0.store(parts, Release);
        fence(SeqCst);
    }

    fn failed(&self, rank: usize) -> u64 {
        self.member(rank).failed.load(Acquire)
    }

    fn tell_failed(&self, number: u64) {
        self.member(self.me).failed.store(number, Release);
    }
}

impl<K: Backing> MappedBoard<K> {
    /// One side of a board, that of member `me`. The board's memory was zero when it was made.
    ///
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `measures.bytes()` bytes that stay mapped until
    /// the backing is dropped, and that only the members of this board use, each side once.
    pub(crate) unsafe fn new(base: NonNull<u8>, measures: Measures, me: usize, backing: K) -> MappedBoard<K> {
        let logs = Logs::new(me, measures.ranks, measures.log_bytes);
        let (memory, parts) = (Memory { base, measures, me }, Parts::default());
        let read_by = vec![0; measures.shared_slots()];
        MappedBoard { memory, logs, parts, posts: 0, read_by, all_read_by: 0, results_read_by: 0, backing }
    }

    /// Makes a post.
    #[inline]
    fn count_post(&mut self) {
        self.posts += 1;
        self.memory.member(self.memory.me).posts.0.store(self.posts, Release);
        self.backing.wake();
    }

    /// Returns whether all other members have made this many posts.
    fn others_have_posted(&self, posts: u64) -> bool {
        (0..self.ranks()).all(|rank| rank == self.memory.me || self.has_posted(rank, posts))
    }
}

impl<K: Backing> Board for MappedBoard<K> {
    fn ranks(&self) -> usize {
        self.memory.measures.ranks
    }

    fn me(&self) -> usize {
        self.memory.me
    }

    fn record_bytes_max(&self) -> usize {
        self.logs.bytes_max()
    }

    #[inline]
    fn open(&mut self, number: u32) {
        self.logs.open(number);
    }

    fn number(&self) -> u64 {
        self.logs.number()
    }

    #[inline]
    fn tell_call(&mut self, mark: Mark) {
        self.logs.set_call(mark);
        let word = self.logs.number() << 32 | u64::from(mark.0);
        self.memory.member(self.memory.me).called.store(word, Release);
    }

    fn clash(&self) -> Option<Clash> {
        let (number, mine) = (self.logs.number(), self.logs.call());
        let of = |rank: usize| {
            let word = self.memory.member(rank).called.load(Acquire);
            (rank, word >> 32, Mark(word as u16))
        };
        let is_unlike = |&(_, its, theirs): &(usize, u64, Mark)| {
            its == number & u64::from(u32::MAX) && mine.is_unlike(theirs)
        };
        let found = (0..self.ranks()).map(of).find(is_unlike);
        found.map(|(rank, _, theirs)| Clash { number, rank, mine, theirs })
    }

    #[inline]
    fn claim(&mut self, shape: Shape) -> Option<Region> {
        self.logs.claim(&self.memory, shape)
    }

    #[inline]
    fn publish(&mut self) {
        self.logs.publish(&self.memory);
        self.backing.wake();
    }

    #[inline]
    fn look(&mut self, rank: usize, shape: Shape) -> Look {
        self.logs.look(&self.memory, rank, shape)
    }

    fn seek(&mut self, rank: usize, shape: Shape) {
        self.logs.seek(&self.memory, rank, shape);
    }

    #[inline]
    fn pass(&mut self, rank: usize, shape: Shape) {
        self.logs.pass(rank, shape);
    }

    #[inline]
    fn close(&mut self) {
        if self.logs.close(&self.memory) {
            self.backing.wake();
        }
    }

    fn slots(&self) -> usize {
        self.memory.measures.slots
    }

    fn slot_bytes(&self) -> usize {
        self.memory.measures.slot_bytes
    }

    fn slot(&self, rank: usize, index: usize) -> Region {
        let measures = self.memory.measures;
        assert!(rank < measures.ranks && index < measures.slots);
        let at = measures.slots_at() + (rank * measures.slots + index) * measures.slot_bytes;
        // SAFETY: within the board by the check; a collective's posts keep writers and readers
        // apart.
        unsafe { Region::new(self.memory.base.add(at).as_ptr(), measures.slot_bytes) }
    }

    #[inline]
    fn post(&mut self) {
        self.all_read_by = self.posts + 1;
        self.count_post();
    }

    #[inline]
    fn step(&mut self) {
        self.count_post();
    }

    #[inline]
    fn posted(&self) -> u64 {
        self.posts
    }

    #[inline]
    fn has_posted(&self, rank: usize, posts: u64) -> bool {
        self.memory.member(rank).posts.0.load(Acquire) >= posts
    }

    fn free_slot(&self) -> Option<usize> {
        if !self.others_have_posted(self.all_read_by.max(self.results_read_by)) {
            return None;
        }
        self.read_by.iter().position(|&post| self.others_have_posted(post))
    }

    fn any_slot(&self, number: usize) -> Region {
        let slots = self.memory.measures.slots;
        self.slot(number / slots, number % slots)
    }

    fn announce(&mut self, number: usize) {
        self.memory
            .slot_word(self.posts + 1)
            .store(number as u32 | u32::from(self.logs.call().0) << 16, Relaxed);
        self.release(number);
    }

    fn announced(&self, rank: usize) -> Option<(usize, Mark)> {
        let post = self.posts + 1;
        let word = || self.memory.slot_word(post).load(Relaxed);
        self.has_posted(rank, post).then(word).map(|word| (word as u16 as usize, Mark((word >> 16) as u16)))
    }

    fn release(&mut self, number: usize) {
        self.read_by[number] = self.posts + 1;
        self.count_post();
    }

    fn slots_are_read(&self) -> bool {
        let last = self.read_by.iter().fold(self.all_read_by, |last, &post| last.max(post));
        self.others_have_posted(last)
    }

    fn say_results_read(&mut self) {
        self.results_read_by = self.posts + 1;
        self.count_post();
    }

    fn offer_parts(&mut self) {
        self.parts.offer(&self.memory, self.logs.number());
    }

    fn owe_parts(&mut self, parts: usize) {
        self.parts.owe(parts);
    }

    fn take_part(&mut self, owner: usize, parts: usize) -> Option<usize> {
        self.parts.take(&self.memory, self.logs.number(), owner, parts)
    }

    fn finish_part(&mut self, done: bool) {
        if self.parts.finish(&self.memory, self.logs.number(), done) {
            self.backing.wake();
        }
    }

    fn all_parts_finished(&self) -> bool {
        self.parts.all_finished(&self.memory)
    }

    fn any_part_failed(&self) -> bool {
        self.parts.any_failed(&self.memory, self.logs.number())
    }
}
