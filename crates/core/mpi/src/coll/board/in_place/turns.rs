//! The order of a member's turns in a reduction in place, and what each waits for.
//!
//! A vector goes through the members' slots in batches of chunks. In each batch a member puts its
//! operands into its own slots, reduces its share in the slots of the others, and takes the others'
//! results out of its own slots. So the bytes of a slot change hands twice in a batch: a turn that
//! reduces waits for what was put, and a turn that takes waits for what was reduced. Nobody touches
//! the slots of a member that has taken all results, until that member tells of its next ones.
//!
//! All members have the same turns in the same order, so the number of a post says what is ready.
//! The first batch is put before the members meet, by records: none has made a post if they find
//! that they are in different collectives.

use std::ops::Range;

/// A thing to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Puts the operands of a chunk into this member's slots.
    Put(usize),
    /// Meets the others.
    Meet,
    /// Reduces this member's share of a chunk in the slots of the others.
    Reduce(usize),
    /// Takes the others' results of a chunk out of this member's slots.
    Take(usize),
    /// Tells the others that this member has taken all results.
    Leave,
    /// Nothing: it has left.
    Gone,
}

/// The turns of one member.
#[derive(Debug)]
pub(super) struct Turns {
    chunks: usize,
    /// The chunks that the slots hold.
    window: usize,
    /// The chunks of this batch.
    batch: Range<usize>,
    /// The posts before those of this batch.
    before: u64,
    turn: Turn,
}

impl Turns {
    /// The turns for this many chunks, at least one, of which the slots hold `window`; each member
    /// has made `posted` posts before.
    pub(super) fn new(chunks: usize, window: usize, posted: u64) -> Turns {
        Turns { chunks, window, batch: 0..window.min(chunks), before: posted, turn: Turn::Put(0) }
    }

    /// The turn that is next.
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// The posts that all others must have made before it.
    pub(super) fn awaits(&self) -> u64 {
        match self.turn {
            // They were put before the members met.
            Turn::Reduce(_) if self.is_first() => 0,
            Turn::Reduce(chunk) => self.before + self.place(chunk),
            Turn::Take(chunk) => self.before + self.puts() + self.place(chunk),
            _ => 0,
        }
    }

    /// Returns whether it ends with a post.
    pub(super) fn is_told(&self) -> bool {
        match self.turn {
            Turn::Put(_) => !self.is_first(),
            Turn::Reduce(_) => true,
            _ => false,
        }
    }

    /// Goes on to the turn after it.
    pub(super) fn finish(&mut self) {
        let (first, end) = (self.batch.start, self.batch.end);
        self.turn = match self.turn {
            Turn::Put(chunk) if chunk + 1 < end => Turn::Put(chunk + 1),
            Turn::Put(_) if self.is_first() => Turn::Meet,
            Turn::Put(_) | Turn::Meet => Turn::Reduce(first),
            Turn::Reduce(chunk) if chunk + 1 < end => Turn::Reduce(chunk + 1),
            Turn::Reduce(_) => Turn::Take(first),
            Turn::Take(chunk) if chunk + 1 < end => Turn::Take(chunk + 1),
            Turn::Take(_) if end < self.chunks => {
                self.before += self.puts() + self.batch.len() as u64;
                self.batch = end..(end + self.window).min(self.chunks);
                Turn::Put(end)
            }
            Turn::Take(_) => Turn::Leave,
            Turn::Leave | Turn::Gone => Turn::Gone,
        }
    }

    fn is_first(&self) -> bool {
        self.batch.start == 0
    }

    /// The number of a chunk in its batch, from 1.
    fn place(&self, chunk: usize) -> u64 {
        (chunk - self.batch.start) as u64 + 1
    }

    /// The posts of a batch that tell what was put.
    fn puts(&self) -> u64 {
        if self.is_first() { 0 } else { self.batch.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering::*};

    /// Memory that two members share.
    struct Member {
        posts: AtomicU64,
        met: AtomicU64,
        /// Shows loom whether both touch the slot at once, and one of them writes.
        slot: UnsafeCell<()>,
        value: AtomicU64,
    }

    impl Member {
        fn new() -> Member {
            let [posts, met, value] = [0, 0, 0].map(AtomicU64::new);
            Member { posts, met, slot: UnsafeCell::new(()), value }
        }

        fn write(&self, value: u64) {
            self.slot.with_mut(|_| self.value.store(value, Relaxed));
        }

        fn read(&self) -> u64 {
            self.slot.with(|_| self.value.load(Relaxed))
        }
    }

    type Members = Arc<[Member; 2]>;

    fn wait(word: &AtomicU64, value: u64) {
        while word.load(Acquire) < value {
            loom::thread::yield_now();
        }
    }

    /// The operand of `member` for chunk `chunk` of collective `number`.
    fn operand(member: usize, number: u64, chunk: usize) -> u64 {
        100 * number + 10 * chunk as u64 + member as u64 + 1
    }

    /// Runs one member through collectives whose slots hold one chunk. Each member owns a half of
    /// each chunk; a slot holds the half that the other one owns.
    fn run(members: &Members, me: usize, collectives: u64, chunks: usize) {
        let (own, other) = (&members[me], &members[1 - me]);
        let mut posted = 0;
        let post = |posted: &mut u64| {
            *posted += 1;
            own.posts.store(*posted, Release);
        };
        for number in 1..=collectives {
            let mut turns = Turns::new(chunks, 1, posted);
            loop {
                wait(&other.posts, turns.awaits());
                match turns.turn() {
                    Turn::Put(chunk) => own.write(operand(me, number, chunk)),
                    Turn::Meet => {
                        own.met.store(number, Release);
                        wait(&other.met, number);
                    }
                    Turn::Reduce(chunk) => {
                        assert_eq!(other.read(), operand(1 - me, number, chunk));
                        other.write(operand(0, number, chunk) + operand(1, number, chunk));
                    }
                    Turn::Take(chunk) => {
                        assert_eq!(own.read(), operand(0, number, chunk) + operand(1, number, chunk));
                    }
                    Turn::Leave => post(&mut posted),
                    Turn::Gone => break,
                }
                if turns.is_told() {
                    post(&mut posted);
                }
                turns.finish();
            }
        }
    }

    fn check(collectives: u64, chunks: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || {
            let members: Members = Arc::new([Member::new(), Member::new()]);
            let there = members.clone();
            let other = loom::thread::spawn(move || run(&there, 1, collectives, chunks));
            run(&members, 0, collectives, chunks);
            other.join().expect("the other member");
        });
    }

    #[test]
    fn a_slot_has_one_owner_at_a_time_from_batch_to_batch() {
        check(1, 2);
    }

    #[test]
    fn a_slot_has_one_owner_at_a_time_from_collective_to_collective() {
        check(2, 1);
    }

    /// The posts before each turn that waits, and those made by it, on one member.
    #[test]
    fn members_wait_for_posts_that_are_made() {
        for (chunks, window) in [(1, 1), (1, 4), (4, 4), (5, 4), (9, 2), (9, 4)] {
            let mut turns = Turns::new(chunks, window, 7);
            let (mut made, mut seen) = (7, Vec::new());
            while turns.turn() != Turn::Gone {
                // Others that are as far have made what this one waits for.
                assert!(turns.awaits() <= made, "{:?} awaits {}, {made}", turns.turn(), turns.awaits());
                made += u64::from(turns.is_told());
                seen.push(turns.turn());
                turns.finish();
            }
            for turn in [Turn::Put as fn(usize) -> Turn, Turn::Reduce, Turn::Take] {
                let places = (0..chunks).map(|chunk| seen.iter().filter(|&&one| one == turn(chunk)).count());
                assert!(places.eq(std::iter::repeat_n(1, chunks)), "{seen:?}");
            }
            assert_eq!(seen.iter().filter(|&&turn| turn == Turn::Meet).count(), 1);
            assert_eq!(seen.last(), Some(&Turn::Leave));
        }
    }
}
