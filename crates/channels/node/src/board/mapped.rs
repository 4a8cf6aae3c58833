//! A member's side of a board in mapped memory.

use super::log::Logs;
use super::memory::{Measures, Memory};
use super::parts::{PartWords, Parts};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering::*, fence};
use verbena_channel::board::{ANY_BYTES, Announced, Board, Clash, Look, Shape, Way};
use verbena_channel::mark::Mark;
use verbena_memory::Region;

/// Keeps a board's memory mapped, and wakes its members.
pub(crate) trait Backing: Send {
    /// Wakes the other members that sleep.
    fn wake(&self);
}

/// The bits of a post's number below that of its collective. So members count alike again in the
/// next collective after one in which they made other posts. A collective that makes more goes on
/// in the numbers of the next one, as its members all do.
const POST_BITS: u32 = 20;

/// One member's side of a board.
#[derive(Debug)]
pub(crate) struct MappedBoard<K> {
    memory: Memory,
    logs: Logs,
    parts: Parts,
    /// This member's last post.
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
    /// Set once this member has abandoned a collective.
    fills_none: bool,
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
        let (posts, all_read_by, results_read_by, way) = (0, 0, 0, Way::Messages);
        MappedBoard {
            memory,
            logs,
            parts,
            posts,
            read_by,
            all_read_by,
            results_read_by,
            way,
            fills_none: false,
            backing,
        }
    }

    /// The open collective, and the number of its piece that this member's next post is about.
    fn next_piece(&self) -> (u64, u64) {
        let number = self.logs.number();
        (number, self.next_post() - (number << POST_BITS))
    }

    /// The number of this member's next post.
    #[inline]
    fn next_post(&self) -> u64 {
        self.posted() + 1
    }

    /// Makes a post.
    #[inline]
    fn count_post(&mut self) {
        self.tell_post();
        self.backing.wake();
    }

    #[inline]
    fn tell_post(&mut self) {
        self.posts = self.next_post();
        self.memory.member(self.memory.me).posts.0.store(self.posts, Release);
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

    /// Returns whether `rank`, whose last post is of a later collective than this one, has gone
    /// through this one to its end.
    #[cold]
    fn has_finished(&self, rank: usize, number: u64) -> bool {
        let member = self.memory.member(rank);
        let left_early = [&member.given_up, &member.closed.abandoned];
        left_early.into_iter().all(|last| last.load(Acquire) < number)
    }

    /// Returns whether all other members have made this post, by which they say that they have read
    /// something, or will not read it any more, since they have left its collective.
    fn others_have_read(&self, post: u64) -> bool {
        let has_left = |rank: usize| self.memory.member(rank).has_left(post >> POST_BITS);
        let posted = |rank: usize| self.memory.member(rank).posts.0.load(Acquire);
        (0..self.ranks()).all(|rank| rank == self.memory.me || posted(rank) >= post || has_left(rank))
    }

    /// Returns whether nobody is in a collective any more that this member gave up. The root of a
    /// broadcast fills the slots of members that have not met it.
    fn others_are_out(&self) -> bool {
        let me = self.memory.me;
        let gave_up = self.memory.member(me).given_up.load(Relaxed);
        gave_up == 0 || (0..self.ranks()).all(|rank| rank == me || self.memory.member(rank).has_left(gave_up))
    }

    /// Returns whether this member may fill slots whose last readers make this post.
    fn may_fill(&self, post: u64) -> bool {
        !self.fills_none && self.others_have_read(post) && self.others_are_out()
    }

    /// The post by which members say that they have read every slot, results aside.
    fn slots_read_by(&self) -> u64 {
        self.read_by.iter().fold(self.all_read_by, |last, &post| last.max(post))
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
        // One that ended in an error may not be closed.
        self.close();
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
            let Announced { call: theirs, bytes, .. } = self.announced(rank)?;
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

    fn has_left(&self, rank: usize) -> bool {
        rank != self.memory.me && self.memory.member(rank).has_left(self.logs.number())
    }

    fn tell_closed(&mut self) {
        self.logs.tell_closed(&self.memory);
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
    fn note_filled(&mut self) {
        self.all_read_by = self.next_post();
    }

    #[inline]
    fn post(&mut self) {
        self.note_filled();
        self.count_post();
    }

    #[inline]
    fn step(&mut self) {
        self.count_post();
    }

    #[inline]
    fn step_together(&mut self) {
        self.tell_post();
        // One of those who post last sees that all have.
        fence(SeqCst);
        let me = self.memory.me;
        if (0..self.ranks()).all(|rank| rank == me || self.has_posted(rank, self.posts)) {
            self.backing.wake();
        }
    }

    #[inline]
    fn posted(&self) -> u64 {
        self.posts.max(self.logs.number() << POST_BITS)
    }

    #[inline]
    fn has_posted(&self, rank: usize, post: u64) -> bool {
        let last = self.memory.member(rank).posts.0.load(Acquire);
        last >= post && (last >> POST_BITS == post >> POST_BITS || self.has_finished(rank, post >> POST_BITS))
    }

    fn free_slot(&self) -> Option<usize> {
        if !self.may_fill(self.all_read_by.max(self.results_read_by)) {
            return None;
        }
        self.read_by.iter().position(|&post| self.others_have_read(post))
    }

    fn any_slot(&self, number: usize) -> Region {
        let slots = self.memory.measures.slots;
        self.slot(number / slots, number % slots)
    }

    fn announce(&mut self, number: usize) {
        let (call, bytes) = self.logs.call();
        let piece = self.next_piece();
        self.memory.slot_table().of(number).tell(piece, call, bytes);
        self.release(number);
    }

    fn announced(&self, rank: usize) -> Option<Announced> {
        let (number, piece) = self.next_piece();
        let has_posted = self.has_posted(rank, self.next_post());
        has_posted.then(|| self.memory.slot_table().find(number, piece)).flatten()
    }

    fn release(&mut self, number: usize) {
        self.read_by[number] = self.next_post();
        self.count_post();
    }

    fn slots_are_read(&self) -> bool {
        self.may_fill(self.slots_read_by())
    }

    fn all_is_read(&self) -> bool {
        self.may_fill(self.slots_read_by().max(self.results_read_by))
    }

    fn say_results_read(&mut self) {
        self.results_read_by = self.next_post();
        self.count_post();
    }

    fn abandon(&mut self) {
        self.memory.tell_abandoned(self.logs.number());
        self.fills_none = true;
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
