//! A member's side of a board in mapped memory.

use super::log::Logs;
use super::memory::{Measures, Memory};
use super::parts::{PartWords, Parts};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::*;
use verbena_channel::board::{ANY_BYTES, Announced, Board, Clash, Look, Shape, Way};
use verbena_channel::mark::Mark;
use verbena_memory::Region;

/// Keeps a board's memory mapped, and wakes its members.
pub(crate) trait Backing: Send {
    /// Wakes the other members that sleep.
    fn wake(&self);
}

/// More posts than any member makes.
const NEVER: u64 = u64::MAX >> 1;

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
    /// The way of this member in the collective that is open.
    way: Way,
    backing: K,
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
        let (all_read_by, results_read_by, way) = (0, 0, Way::Messages);
        MappedBoard { memory, logs, parts, posts: 0, read_by, all_read_by, results_read_by, way, backing }
    }

    /// Makes a post.
    #[inline]
    fn count_post(&mut self) {
        self.posts += 1;
        self.memory.member(self.memory.me).posts.0.store(self.posts, Release);
        self.backing.wake();
    }

    /// The clash with a member that gave the open collective up.
    fn gave_up(&self, rank: usize) -> Option<Clash> {
        let (number, (mine, own)) = (self.logs.number(), self.logs.call());
        if self.memory.member(rank).given_up.load(Acquire) != number {
            return None;
        }
        let (theirs, bytes) = self.memory.told(rank, number).of(number).unwrap_or((Mark::NONE, ANY_BYTES));
        Some(Clash { number, rank, mine, theirs, bytes: [own, bytes] })
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
    fn tell_call(&mut self, mark: Mark, bytes: u64, way: Way) {
        self.logs.set_call(mark, bytes);
        self.way = way;
        let number = self.logs.number();
        self.memory.told(self.memory.me, number).tell(number, mark, bytes);
    }

    fn told_bytes(&self) -> u64 {
        self.logs.call().1
    }

    fn clash(&self) -> Option<Clash> {
        let (number, (mine, own)) = (self.logs.number(), self.logs.call());
        let of = |rank: usize| {
            let (theirs, bytes) = self.memory.told(rank, number).of(number)?;
            Some(Clash { number, rank, mine, theirs, bytes: [own, bytes] })
        };
        let is_unlike = |clash: &Clash| {
            let [own, bytes] = clash.bytes;
            mine.is_unlike(clash.theirs) || (own != bytes && own != ANY_BYTES && bytes != ANY_BYTES)
        };
        (0..self.ranks()).filter_map(of).find(is_unlike)
    }

    fn sign_of_other_way(&self) -> Option<Clash> {
        let others = || (0..self.ranks()).filter(|&rank| rank != self.memory.me);
        let record = |rank: usize| self.logs.find(&self.memory, rank);
        let slot = |rank: usize| {
            let (number, (mine, own)) = (self.logs.number(), self.logs.call());
            let Announced { call: theirs, bytes, .. } =
                self.announced(rank).filter(|announced| announced.number == number as u32)?;
            Some(Clash { number, rank, mine, theirs, bytes: [own, bytes] })
        };
        let has_record = || if self.way == Way::Records { None } else { others().find_map(record) };
        let has_slot = || if self.way == Way::Slots { None } else { others().find_map(slot) };
        has_record().or_else(has_slot).or_else(|| others().find_map(|rank| self.gave_up(rank)))
    }

    fn give_up(&self) {
        self.memory.member(self.memory.me).given_up.store(self.logs.number(), Release);
        self.backing.wake();
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
        let (call, bytes) = self.logs.call();
        let announced = Announced { slot: number, number: self.logs.number() as u32, call, bytes };
        self.memory.slot_words(self.posts + 1).tell(announced);
        self.release(number);
    }

    fn announced(&self, rank: usize) -> Option<Announced> {
        let post = self.posts + 1;
        self.has_posted(rank, post).then(|| self.memory.slot_words(post).announced())
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

    fn abandon(&mut self) {
        self.memory.tell_abandoned(self.logs.number());
        self.posts = NEVER;
        self.all_read_by = NEVER;
        self.backing.wake();
    }

    fn begin_parts(&mut self) {
        self.memory.tell_working(self.logs.number());
    }

    fn end_parts(&mut self) {
        self.memory.tell_working(0);
    }

    fn does_parts(&self, rank: usize) -> bool {
        self.memory.working(rank) == self.logs.number()
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
