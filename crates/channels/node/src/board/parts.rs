//! Parts of a long collective that any member may do: who takes which, and when all are done.
//!
//! Each member has some of the parts and takes them in order; a member that has done its own takes
//! those of others. So a collective does not wait for a member that has arrived but has no core at
//! the moment: the last one to arrive does what is left, and all may leave as soon as every part is
//! done.
//!
//! A member's word says of which collective its parts are and how many are taken. The number of the
//! collective keeps out a member that has not noticed yet that the previous collective is over. A
//! member that has done a part counts it in a word of its own, which names the collective too; the
//! sum over all members tells when everything is done. It cannot run ahead: no part of the next
//! collective can be taken before every member has shown that it is in it. And members that did
//! not do the same parts of a collective that failed count alike in the next one.
//!
//! Who does a part uses the memory of all members. So one that abandons the collective, since a
//! member was lost or has left, says so and then waits until nobody works. Who works says so before
//! it looks whether anybody has abandoned the collective, with a fence between, and looks again
//! before each part. So one of the two sees the other.

/// The words through which members speak.
pub(crate) trait PartWords {
    /// Number of members.
    fn ranks(&self) -> usize;
    /// The collective of the parts of `rank` in the high half, and how many are taken in the low
    /// one (acquire).
    fn offered(&self, rank: usize) -> u64;
    /// Offers this member's parts (release).
    fn offer(&self, word: u64);
    /// Replaces the word of `rank`; false if it is another one by now (acquire).
    fn replace_offered(&self, rank: usize, old: u64, new: u64) -> bool;
    /// The collective of which `rank` did parts last in the high half, and how many in the low one
    /// (acquire).
    fn finished(&self, rank: usize) -> u64;
    /// Tells the parts that this member has done, before its later reads (release, and a fence).
    fn tell_finished(&self, word: u64);
    /// The last collective in which `rank` could not do a part (acquire).
    fn failed(&self, rank: usize) -> u64;
    /// Tells the last collective in which this member could not do a part (release).
    fn tell_failed(&self, number: u64);
    /// The number of the collective whose parts `rank` is doing; 0 if it does none (acquire).
    fn working(&self, rank: usize) -> u64;
    /// Tells which collective's parts this member is doing; 0 for none. Its later reads come behind
    /// (release, and a fence if there is one).
    fn tell_working(&self, number: u64);
    /// The last collective that `rank` abandoned or gave up (acquire).
    fn abandoned(&self, rank: usize) -> u64;
    /// Tells the last collective that this member left so, before its later reads (release, and a
    /// fence).
    fn tell_abandoned(&self, number: u64);
}

/// One member's knowledge of the parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The collective whose parts this member offered last.
    number: u64,
    /// Parts of it that this member has done.
    finished: u64,
    /// Parts of it that all members will have done at its end.
    due: u64,
}

/// The word of collective `number` with this many parts taken or done.
fn word(number: u64, parts: u64) -> u64 {
    number << 32 | parts
}

impl Parts {
    /// Offers this member's parts of collective `number`, before it shows that it is there.
    pub(crate) fn offer(&mut self, words: &impl PartWords, number: u64) {
        if self.number != number {
            *self = Parts { number, finished: 0, due: 0 };
        }
        words.offer(word(number, 0));
    }

    /// Takes the next of the `parts` parts that `owner` has, unless a member has abandoned the
    /// collective or a later one.
    pub(crate) fn take(
        &self,
        words: &impl PartWords,
        number: u64,
        owner: usize,
        parts: usize,
    ) -> Option<usize> {
        if (0..words.ranks()).any(|rank| words.abandoned(rank) >= number) {
            return None;
        }
        loop {
            let seen = words.offered(owner);
            let taken = seen & u64::from(u32::MAX);
            if seen != word(number, taken) || taken >= parts as u64 {
                return None;
            }
            if words.replace_offered(owner, seen, seen + 1) {
                return Some(taken as usize);
            }
        }
    }

    /// Adds to the parts that all members together must do.
    pub(crate) fn owe(&mut self, parts: usize) {
        self.due += parts as u64;
    }

    /// Counts a part that this member has taken; true if it was the last one.
    pub(crate) fn finish(&mut self, words: &impl PartWords, number: u64, done: bool) -> bool {
        if !done {
            words.tell_failed(number);
        }
        self.finished += 1;
        words.tell_finished(word(number, self.finished));
        self.all_finished(words)
    }

    /// Returns whether all parts are done.
    pub(crate) fn all_finished(&self, words: &impl PartWords) -> bool {
        let (of, mask) = (word(self.number, 0), u64::from(u32::MAX));
        let done = |rank: usize| Some(words.finished(rank)).filter(|word| word & !mask == of);
        (0..words.ranks()).filter_map(done).map(|word| word & mask).sum::<u64>() >= self.due
    }

    /// Returns whether any member could not do a part of collective `number`.
    pub(crate) fn any_failed(&self, words: &impl PartWords, number: u64) -> bool {
        (0..words.ranks()).any(|rank| words.failed(rank) == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering::*};

    #[derive(Default)]
    struct MemberWords {
        offered: AtomicU64,
        finished: AtomicU64,
        failed: AtomicU64,
        working: AtomicU64,
        abandoned: AtomicU64,
        /// The collective in which the member is.
        arrived: AtomicU64,
    }

    struct View {
        members: Arc<[MemberWords; 2]>,
        me: usize,
    }

    impl PartWords for View {
        fn ranks(&self) -> usize {
            2
        }
        fn offered(&self, rank: usize) -> u64 {
            self.members[rank].offered.load(Acquire)
        }
        fn offer(&self, word: u64) {
            self.members[self.me].offered.store(word, Release);
        }
        fn replace_offered(&self, rank: usize, old: u64, new: u64) -> bool {
            self.members[rank].offered.compare_exchange(old, new, AcqRel, Acquire).is_ok()
        }
        fn finished(&self, rank: usize) -> u64 {
            self.members[rank].finished.load(Acquire)
        }
        fn tell_finished(&self, word: u64) {
            self.members[self.me].finished.store(word, Release);
            loom::sync::atomic::fence(SeqCst);
        }
        fn failed(&self, rank: usize) -> u64 {
            self.members[rank].failed.load(Acquire)
        }
        fn tell_failed(&self, number: u64) {
            self.members[self.me].failed.store(number, Release);
        }
        fn working(&self, rank: usize) -> u64 {
            self.members[rank].working.load(Acquire)
        }
        fn tell_working(&self, number: u64) {
            self.members[self.me].working.store(number, Release);
            loom::sync::atomic::fence(SeqCst);
        }
        fn abandoned(&self, rank: usize) -> u64 {
            self.members[rank].abandoned.load(Acquire)
        }
        fn tell_abandoned(&self, number: u64) {
            self.members[self.me].abandoned.store(number, Release);
            loom::sync::atomic::fence(SeqCst);
        }
    }

    /// Runs one member through collectives of one part each member; returns the owners of the parts
    /// it did in each.
    fn run(view: &View, collectives: u64) -> Vec<Vec<usize>> {
        let mut parts = Parts::default();
        (1..=collectives)
            .map(|number| {
                parts.offer(view, number);
                view.members[view.me].arrived.store(number, Release);
                while view.members[1 - view.me].arrived.load(Acquire) < number {
                    loom::thread::yield_now();
                }
                parts.owe(2);
                let mut did = Vec::new();
                for owner in [view.me, 1 - view.me] {
                    while parts.take(view, number, owner, 1).is_some() {
                        did.push(owner);
                        parts.finish(view, number, true);
                    }
                }
                while !parts.all_finished(view) {
                    loom::thread::yield_now();
                }
                assert!(!parts.any_failed(view, number));
                did
            })
            .collect()
    }

    #[test]
    fn every_part_of_every_collective_is_done_once() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let members = Arc::new([MemberWords::default(), MemberWords::default()]);
            let there = View { members: members.clone(), me: 1 };
            let other = loom::thread::spawn(move || run(&there, 2));
            let here = run(&View { members, me: 0 }, 2);
            for (mut did, theirs) in here.into_iter().zip(other.join().unwrap()) {
                did.extend(theirs);
                did.sort_unstable();
                assert_eq!(did, [0, 1]);
            }
        });
    }

    /// Shows loom whether a member's memory is used after that member has left.
    #[test]
    fn nobody_uses_the_memory_of_a_member_that_has_abandoned_the_collective() {
        loom::model(|| {
            let members = Arc::new([MemberWords::default(), MemberWords::default()]);
            let memory = Arc::new(loom::cell::UnsafeCell::new(()));
            let (there, used) = (View { members: members.clone(), me: 1 }, memory.clone());
            let here = View { members, me: 0 };
            Parts::default().offer(&here, 1);
            let other = loom::thread::spawn(move || {
                let mut parts = Parts::default();
                parts.offer(&there, 1);
                parts.owe(1);
                there.tell_working(1);
                while parts.take(&there, 1, 0, 1).is_some() {
                    used.with_mut(|_| ());
                    parts.finish(&there, 1, true);
                }
                there.tell_working(0);
            });
            here.tell_abandoned(1);
            while here.working(1) == 1 {
                loom::thread::yield_now();
            }
            memory.with_mut(|_| ());
            other.join().unwrap();
        });
    }

    /// Runs one member through the rounds of a collective: in each it writes its operand, and each
    /// member that has not left reads both when it does a part, and both results afterwards.
    fn run_rounds(view: &View, slots: &[[loom::cell::UnsafeCell<()>; 2]; 2], rounds: u64) {
        let (me, mut parts) = (view.me, Parts::default());
        let [operands, results] = slots;
        parts.offer(view, 1);
        for round in 1..=rounds {
            operands[me].with_mut(|_| ());
            view.members[me].arrived.store(round, Release);
            while view.members[1 - me].arrived.load(Acquire) < round {
                loom::thread::yield_now();
            }
            parts.owe(2);
            for owner in [me, 1 - me] {
                while let Some(taken) = parts.take(view, 1, owner, round as usize) {
                    assert_eq!(taken as u64 + 1, round);
                    operands.iter().for_each(|operand| operand.with(|_| ()));
                    results[owner].with_mut(|_| ());
                    parts.finish(view, 1, true);
                }
            }
            while !parts.all_finished(view) {
                loom::thread::yield_now();
            }
            results.iter().for_each(|result| result.with(|_| ()));
        }
    }

    /// Shows loom whether somebody uses an operand or a result that another one writes.
    #[test]
    fn the_parts_of_a_round_are_done_before_the_next_one_begins() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let members = Arc::new([MemberWords::default(), MemberWords::default()]);
            let cell = || loom::cell::UnsafeCell::new(());
            let slots = Arc::new([[cell(), cell()], [cell(), cell()]]);
            let (there, theirs) = (View { members: members.clone(), me: 1 }, slots.clone());
            let other = loom::thread::spawn(move || run_rounds(&there, &theirs, 2));
            run_rounds(&View { members, me: 0 }, &slots, 2);
            other.join().unwrap();
        });
    }

    /// One member left a collective in which the other one did a part.
    #[test]
    fn members_that_did_not_do_the_same_parts_count_alike_in_the_next_collective() {
        loom::model(|| {
            let members = Arc::new([MemberWords::default(), MemberWords::default()]);
            let [here, there] = [0, 1].map(|me| View { members: members.clone(), me });
            let mut parts = [Parts::default(), Parts::default()];
            parts[0].offer(&here, 1);
            parts[0].owe(2);
            assert_eq!(parts[0].take(&here, 1, 0, 1), Some(0));
            assert!(!parts[0].finish(&here, 1, true));
            for (parts, view) in parts.iter_mut().zip([&here, &there]) {
                parts.offer(view, 2);
                parts.owe(2);
                assert!(!parts.all_finished(view), "nobody has done any");
            }
            for (parts, (view, owner)) in parts.iter_mut().zip([(&here, 0), (&there, 1)]) {
                assert_eq!(parts.take(view, 2, owner, 1), Some(0));
                assert_eq!(parts.finish(view, 2, true), owner == 1);
            }
            assert!(parts[0].all_finished(&here));
        });
    }

    #[test]
    fn one_of_those_who_finish_last_sees_that_all_is_done() {
        loom::model(|| {
            let members = Arc::new([MemberWords::default(), MemberWords::default()]);
            let finish = |view: View| {
                let mut parts = Parts::default();
                parts.offer(&view, 1);
                parts.owe(2);
                parts.finish(&view, 1, view.me == 0)
            };
            let there = View { members: members.clone(), me: 1 };
            let other = loom::thread::spawn(move || finish(there));
            let saw = finish(View { members: members.clone(), me: 0 });
            assert!(other.join().unwrap() || saw);
            assert!(Parts::default().any_failed(&View { members, me: 0 }, 1));
        });
    }
}
