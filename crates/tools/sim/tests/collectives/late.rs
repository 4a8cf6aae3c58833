//! A board on which things are seen late, or wrongly.

use std::cell::Cell;
use verbena_channel::board::{ANY_BYTES, Announced, Board, Clash, Look, Shape, Way};
use verbena_channel::mark::Mark;
use verbena_memory::Region;
use verbena_sim::Random;

/// The defect of a board, to see that it is noticed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nothing,
    /// The board shows the record before, if it is long enough.
    Repeats,
    /// The board shows posts that were not made yet.
    Early,
}

/// A board on which things are seen late.
pub(crate) struct Late {
    inner: Box<dyn Board>,
    random: Random,
    hidden_percent: u32,
    wrong: Wrong,
    last: Vec<Option<Region>>,
    /// The collective that each member was last seen to have left: all that it did there is seen.
    left: Vec<Cell<u64>>,
}

impl Late {
    pub(crate) fn new(inner: Box<dyn Board>, random: Random, hidden_percent: u32, wrong: Wrong) -> Late {
        let (last, left) = (vec![None; inner.ranks()], vec![Cell::new(0); inner.ranks()]);
        Late { inner, random, hidden_percent, wrong, last, left }
    }
}

impl Board for Late {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }
    fn me(&self) -> usize {
        self.inner.me()
    }
    fn record_bytes_max(&self) -> usize {
        self.inner.record_bytes_max()
    }
    fn open(&mut self, number: u32) {
        self.inner.open(number);
    }
    fn number(&self) -> u64 {
        self.inner.number()
    }
    fn tell_call(&mut self, mark: Mark, bytes: u64, way: Way) {
        self.inner.tell_call(mark, bytes, way);
    }
    fn told_bytes(&self) -> u64 {
        self.inner.told_bytes()
    }
    fn clash(&self) -> Option<Clash> {
        self.inner.clash()
    }
    fn sign_of_other_way(&self) -> Option<Clash> {
        self.inner.sign_of_other_way()
    }
    fn give_up(&self) {
        self.inner.give_up();
    }
    fn skip(&mut self) {
        self.inner.skip();
    }
    fn has_skipped(&self, rank: usize) -> bool {
        self.inner.has_skipped(rank)
    }
    fn has_left(&self, rank: usize) -> bool {
        let has_left = self.inner.has_left(rank);
        if has_left {
            self.left[rank].set(self.inner.number());
        }
        has_left
    }
    fn seek(&mut self, rank: usize, shape: Shape) {
        self.inner.seek(rank, shape);
    }
    fn claim(&mut self, shape: Shape) -> Option<Region> {
        if self.random.percent(self.hidden_percent) { None } else { self.inner.claim(shape) }
    }
    fn publish(&mut self) {
        self.inner.publish();
    }
    fn look(&mut self, rank: usize, shape: Shape) -> Look {
        let may_hide = self.left[rank].get() != self.inner.number();
        if may_hide && self.random.percent(self.hidden_percent) {
            return Look::Nothing;
        }
        let found = self.inner.look(rank, shape);
        match (found, self.last[rank]) {
            (Look::Nothing, Some(last)) if self.wrong == Wrong::Repeats && last.len() >= shape.bytes => {
                Look::Record(last.part(0, shape.bytes))
            }
            (Look::Record(record), _) => {
                self.last[rank] = Some(record);
                found
            }
            _ => found,
        }
    }
    fn pass(&mut self, rank: usize, shape: Shape) {
        self.inner.pass(rank, shape);
    }
    fn close(&mut self) {
        self.inner.close();
    }
    fn slots(&self) -> usize {
        self.inner.slots()
    }
    fn slot_bytes(&self) -> usize {
        self.inner.slot_bytes()
    }
    fn slot(&self, rank: usize, index: usize) -> Region {
        self.inner.slot(rank, index)
    }
    fn post(&mut self) {
        self.inner.post();
    }
    fn note_filled(&mut self) {
        self.inner.note_filled();
    }
    fn step(&mut self) {
        self.inner.step();
    }
    fn step_together(&mut self) {
        self.inner.step_together();
    }
    fn posted(&self) -> u64 {
        self.inner.posted()
    }
    fn has_posted(&self, rank: usize, post: u64) -> bool {
        let early = u64::from(self.wrong == Wrong::Early);
        self.inner.has_posted(rank, post.saturating_sub(early))
    }
    fn free_slot(&self) -> Option<usize> {
        self.inner.free_slot()
    }
    fn any_slot(&self, number: usize) -> Region {
        self.inner.any_slot(number)
    }
    fn announce(&mut self, number: usize) {
        self.inner.announce(number);
    }
    fn announced(&self, rank: usize) -> Option<Announced> {
        let early = Announced { slot: 0, call: Mark::NONE, bytes: ANY_BYTES };
        self.inner.announced(rank).or((self.wrong == Wrong::Early).then_some(early))
    }
    fn still_holds(&self, number: usize) -> bool {
        self.wrong == Wrong::Early || self.inner.still_holds(number)
    }
    fn release(&mut self, number: usize) {
        self.inner.release(number);
    }
    fn slots_are_read(&self) -> bool {
        self.inner.slots_are_read()
    }
    fn all_is_read(&self) -> bool {
        self.inner.all_is_read()
    }
    fn say_results_read(&mut self) {
        self.inner.say_results_read();
    }
    fn abandon(&mut self) {
        self.inner.abandon();
    }
    fn begin_parts(&mut self) {
        self.inner.begin_parts();
    }
    fn end_parts(&mut self) {
        self.inner.end_parts();
    }
    fn does_parts(&self, rank: usize) -> bool {
        self.inner.does_parts(rank)
    }
    fn offer_parts(&mut self) {
        self.inner.offer_parts();
    }
    fn owe_parts(&mut self, parts: usize) {
        self.inner.owe_parts(parts);
    }
    fn take_part(&mut self, owner: usize, parts: usize) -> Option<usize> {
        self.inner.take_part(owner, parts)
    }
    fn finish_part(&mut self, done: bool) {
        self.inner.finish_part(done);
    }
    fn all_parts_finished(&self) -> bool {
        self.wrong == Wrong::Early || self.inner.all_parts_finished()
    }
    fn any_part_failed(&self) -> bool {
        self.inner.any_part_failed()
    }
}
