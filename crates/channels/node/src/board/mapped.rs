//! A member's side of a board in mapped memory.

use super::log::Logs;
use super::memory::{Measures, Memory};
use super::parts::{PartWords, Parts};
use super::words::Post;
use std::cell::Cell;
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

/// One member's side of a board.
#[derive(Debug)]
pub(crate) struct MappedBoard<K> {
    memory: Memory,
    logs: Logs,
    parts: Parts,
    /// This member's last post.
    last: Post,
    /// For each slot that any member may fill, the post by which members say that they have read
    /// it.
    read_by: Vec<Post>,
    /// The post by which members say that they have read every slot.
    all_read_by: Post,
    /// The post by which members say that they have read the last results.
    results_read_by: Post,
    /// The last collective in which this member filled its own slots.
    filled: Cell<u64>,
    /// The last collective in which this member was not to the end, where others may still be; 0 if
    /// there is none.
    absent: Cell<u64>,
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
        MappedBoard {
            memory,
            logs,
            parts,
            last: Post::default(),
            read_by: vec![Post::default(); measures.shared_slots()],
            all_read_by: Post::default(),
            results_read_by: Post::default(),
            filled: Cell::new(0),
            absent: Cell::new(0),
            way: Way::Messages,
            fills_none: false,
            backing,
        }
    }

    /// This member's next post.
    #[inline]
    fn next_post(&self) -> Post {
        self.post_of_this(self.posted() + 1)
    }

    /// The post of this number in the open collective.
    #[inline]
    fn post_of_this(&self, number: u64) -> Post {
        Post { collective: self.logs.number(), number }
    }

    /// Makes a post.
    #[inline]
    fn count_post(&mut self) {
        self.tell_post();
        self.backing.wake();
    }

    #[inline]
    fn tell_post(&mut self) {
        self.last = self.next_post();
        self.memory.member(self.memory.me).posts.tell(self.last);
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

    /// Returns whether all other members have made this post, by which they say that they have read
    /// something, or will not read it any more, since they have left its collective.
    fn others_have_read(&self, post: Post) -> bool {
        let has_read = |rank: usize| {
            let member = self.memory.member(rank);
            member.posts.has_or_is_beyond(post) || member.has_left(post.collective)
        };
        (0..self.ranks()).all(|rank| rank == self.memory.me || has_read(rank))
    }

    /// Returns whether nobody is in a collective any more in which this member was not to the end:
    /// it gave it up, or failed before. It does not know which slots are read there.
    fn others_are_out(&self) -> bool {
        let (me, absent) = (self.memory.me, self.absent.get());
        if absent == 0 {
            return true;
        }
        let are_out = (0..self.ranks()).all(|rank| rank == me || self.memory.member(rank).has_left(absent));
        if are_out {
            self.absent.set(0);
        }
        are_out
    }

    /// Returns whether this member may fill slots whose last readers make this post.
    fn may_fill(&self, post: Post) -> bool {
        !self.fills_none && self.others_have_read(post) && self.others_are_out()
    }

    /// Returns whether this member may fill its own slots, as the members' calls match so far: none
    /// has claimed one in a later collective. It says first that it does so, with a fence between,
    /// and who claims a slot looks for that ([`MappedBoard::owner_is_out`]). So one sees the other.
    fn fills_own(&self) -> bool {
        let (collective, me, slots) = (self.logs.number(), self.memory.me, self.memory.measures.slots);
        if self.filled.get() == collective {
            return true;
        }
        self.memory.member(me).posts.filling.store(collective, Relaxed);
        fence(SeqCst);
        let own = me * slots..((me + 1) * slots).min(self.read_by.len());
        let may_fill = own.into_iter().all(|slot| !self.memory.slot_table().of(slot).is_beyond(collective));
        if may_fill {
            self.filled.set(collective);
        }
        may_fill
    }

    /// Returns whether the owner of a slot that this member has claimed does not fill it in an
    /// earlier collective, in which this member took no part.
    fn owner_is_out(&self, slot: usize) -> bool {
        let owner = slot / self.memory.measures.slots;
        let member = self.memory.member(owner);
        let filling = member.posts.filling.load(Acquire);
        owner == self.memory.me || filling == self.filled.get() || member.has_left(filling)
    }

    /// The post by which members say that they have read every slot, results aside.
    fn slots_read_by(&self) -> Post {
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
        let before = self.logs.number();
        self.logs.open(number);
        if self.logs.number() > before + 1 {
            self.absent.set(self.logs.number() - 1);
        }
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
        self.absent.set(self.logs.number());
        self.memory.member(self.memory.me).given_up.store(self.logs.number(), Release);
        self.memory.tell_abandoned(self.logs.number());
        self.backing.wake();
    }

    fn skip(&mut self) {
        self.absent.set(self.logs.number());
        self.memory.member(self.memory.me).closed.skipped.store(self.logs.number(), Release);
        self.backing.wake();
    }

    fn has_skipped(&self, rank: usize) -> bool {
        self.memory.member(rank).closed.skipped.load(Acquire) == self.logs.number()
    }

    fn has_left(&self, rank: usize) -> bool {
        rank != self.memory.me && self.memory.member(rank).has_left(self.logs.number())
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
        let (me, last) = (self.memory.me, self.last.number);
        if (0..self.ranks()).all(|rank| rank == me || self.has_posted(rank, last)) {
            self.backing.wake();
        }
    }

    #[inline]
    fn posted(&self) -> u64 {
        if self.last.collective == self.logs.number() { self.last.number } else { 0 }
    }

    #[inline]
    fn has_posted(&self, rank: usize, post: u64) -> bool {
        self.memory.member(rank).posts.has(self.post_of_this(post))
    }

    fn free_slot(&self) -> Option<usize> {
        if !self.may_fill(self.all_read_by.max(self.results_read_by)) {
            return None;
        }
        let (collective, me) = (self.logs.number(), self.memory.me);
        let claims =
            |slot: usize| self.memory.slot_table().of(slot).claim(collective, me) && self.owner_is_out(slot);
        (0..)
            .zip(&self.read_by)
            .find(|&(slot, &post)| self.others_have_read(post) && claims(slot))
            .map(|free| free.0)
    }

    fn still_holds(&self, number: usize) -> bool {
        if !self.memory.slot_table().of(number).is_of(self.next_post()) {
            return false;
        }
        // Its owner may use it without the table, in another call.
        let (collective, (mine, _)) = (self.logs.number(), self.logs.call());
        let owner = number / self.memory.measures.slots;
        self.memory.told(owner, collective).of(collective).is_none_or(|(theirs, _)| !mine.is_unlike(theirs))
    }

    fn any_slot(&self, number: usize) -> Region {
        let slots = self.memory.measures.slots;
        self.slot(number / slots, number % slots)
    }

    fn announce(&mut self, number: usize) {
        let (call, bytes) = self.logs.call();
        self.memory.slot_table().of(number).tell(self.next_post(), call, bytes);
        self.release(number);
    }

    fn announced(&self, rank: usize) -> Option<Announced> {
        let post = self.next_post();
        // It may be ahead by several collectives. The table says of which one a slot is.
        let may_have = self.memory.member(rank).posts.has_or_is_beyond(post);
        may_have.then(|| self.memory.slot_table().find(post)).flatten()
    }

    fn release(&mut self, number: usize) {
        self.read_by[number] = self.next_post();
        self.count_post();
    }

    fn slots_are_read(&self) -> bool {
        self.may_fill(self.slots_read_by()) && self.fills_own()
    }

    fn all_is_read(&self) -> bool {
        self.may_fill(self.slots_read_by().max(self.results_read_by)) && self.fills_own()
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
