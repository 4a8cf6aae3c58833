//! Read or write, learnt from what messages took (paper 2, 6 and figure 15: the quicker way depends
//! on the device and on the length).
//!
//! Messages of about the same length (between two powers of two) form a class. Of each class a few
//! go either way at first, in short series that take turns. Then all go the way that took less, and
//! now and then a series goes the other way, so that a change is noticed. The time of a message is
//! counted from when its receiver decides until all is in place, with all that its way needs:
//! handshake, report, and whatever the sender does meanwhile.
//!
//! Several messages are under way at once, and each then takes longer, whatever its way. So elapsed
//! time is shared out among those under way, by their lengths. The sum is the time in which
//! anything was under way, and a way that moves more bytes a second comes out as the cheaper one.
//!
//! One stall must not decide for long: the cost of a way is the median of its last three series.
//!
//! The clock is the caller's.

use verbena_channel::{Choice, Direction};

/// Messages of a series.
const SERIES: u32 = 8;
/// The number of series of each way that are remembered, and that take turns at first.
pub(super) const REMEMBERED: usize = 3;
/// After this many messages of a class one series goes the other way: 1.5% of all.
const REVIEW_EVERY: u32 = 512;
/// The number of classes: the last one holds all that is longer.
const CLASSES: usize = 24;
/// Messages shorter than two to this power are in the first class.
const SHORTEST_LOG: u32 = 10;

/// The knowledge of all classes.
#[derive(Debug)]
pub(super) struct Learner {
    classes: [Class; CLASSES],
    /// Bytes under way, by the classes' nominal lengths.
    under_way: u64,
    /// The time when that last changed.
    changed_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    ways: [Way; 2],
    /// The series that goes on, and how many messages are left to it.
    series: usize,
    left: u32,
    /// Series begun.
    begun: u32,
}

/// The knowledge of one way in one class.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Messages under way.
    under_way: u32,
    /// This way's share of the time since the last series was counted, and the messages that ended
    /// in it.
    spent_ns: u64,
    ended: u32,
    /// The times of the last series, for each message.
    series: Recent,
}

/// The times of the last few series, for each of their messages, the newest last; 0 where there was
/// none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent([u64; REMEMBERED]);

impl Recent {
    /// Adds a series that has ended; each of its messages took `ns`.
    pub(super) fn add(&mut self, ns: u64) {
        self.0.rotate_left(1);
        // Never 0, which means that nothing is known.
        self.0[REMEMBERED - 1] = ns.max(1);
    }

    /// Returns the median, so that a single stall does not decide; `None` if there was no series
    /// yet.
    pub(super) fn middle(&self) -> Option<u64> {
        let mut known = self.0;
        known.sort_unstable();
        let known = &known[known.iter().position(|ns| *ns > 0)?..];
        Some(known[(known.len() - 1) / 2])
    }
}

impl Way {
    fn end(&mut self) {
        self.under_way -= 1;
        self.ended += 1;
        if self.ended == SERIES {
            self.series.add(self.spent_ns / u64::from(SERIES));
            (self.spent_ns, self.ended) = (0, 0);
        }
    }
}

impl Class {
    /// Returns the way of the next message, given what the settings' costs say.
    fn next(&mut self, estimate: usize) -> usize {
        if self.left == 0 {
            (self.series, self.left) = self.next_series(estimate);
            self.begun = self.begun.saturating_add(1);
        }
        self.left -= 1;
        self.series
    }

    fn next_series(&self, estimate: usize) -> (usize, u32) {
        let costs = self.ways.map(|way| way.series.middle());
        let [Some(read), Some(write)] = costs else {
            // So far messages are decided quicker than they end.
            return (if self.begun.is_multiple_of(2) { estimate } else { 1 - estimate }, SERIES);
        };
        let better = usize::from(write < read);
        match self.begun {
            begun if begun < 2 * REMEMBERED as u32 => ((estimate + begun as usize) % 2, SERIES),
            // The series of the better way are longer.
            begun if begun.is_multiple_of(2) => (better, REVIEW_EVERY),
            _ => (1 - better, SERIES),
        }
    }
}

impl Learner {
    /// Makes one that knows nothing.
    pub(super) fn new() -> Learner {
        Learner { classes: [Class::default(); CLASSES], under_way: 0, changed_ns: 0 }
    }

    /// Chooses who moves a message of `bytes` bytes; it is under way from now on. `estimate` counts
    /// until more is known.
    pub(super) fn choose(&mut self, bytes: u64, estimate: Direction, now_ns: u64) -> Choice {
        self.pass(now_ns);
        let number = class_of(bytes);
        let class = &mut self.classes[number];
        let way = class.next(estimate as usize);
        class.ways[way].under_way += 1;
        self.under_way += nominal_bytes(number);
        let direction = if way == Direction::Read as usize { Direction::Read } else { Direction::Write };
        Choice { direction, class: number as u8 }
    }

    /// Notes that this message has ended.
    pub(super) fn end(&mut self, choice: Choice, now_ns: u64) {
        self.pass(now_ns);
        let number = usize::from(choice.class);
        self.under_way -= nominal_bytes(number);
        self.classes[number].ways[choice.direction as usize].end();
    }

    /// Shares out the time since the last change.
    fn pass(&mut self, now_ns: u64) {
        let passed_ns = u128::from(now_ns.saturating_sub(self.changed_ns));
        self.changed_ns = now_ns;
        if self.under_way == 0 {
            return;
        }
        let all = u128::from(self.under_way);
        for (number, class) in self.classes.iter_mut().enumerate() {
            for way in class.ways.iter_mut().filter(|way| way.under_way > 0) {
                let part = u128::from(u64::from(way.under_way) * nominal_bytes(number));
                way.spent_ns += (passed_ns * part / all) as u64;
            }
        }
    }
}

fn class_of(bytes: u64) -> usize {
    (bytes.max(1).ilog2().saturating_sub(SHORTEST_LOG) as usize).min(CLASSES - 1)
}

fn nominal_bytes(class: usize) -> u64 {
    1 << (class as u32 + SHORTEST_LOG)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Read, Write};

    /// Runs windows of eight messages, each of which takes the given time of its way; returns how
    /// many of the last thousand were read.
    fn reads(
        learner: &mut Learner,
        now_ns: &mut u64,
        estimate: Direction,
        took: impl Fn(Direction, u64) -> u64,
    ) -> u64 {
        let mut reads = 0;
        for window in 0..250_u64 {
            let choices: Vec<Choice> = (0..8).map(|_| learner.choose(64 << 10, estimate, *now_ns)).collect();
            for choice in choices {
                *now_ns += took(choice.direction, window);
                learner.end(choice, *now_ns);
                reads += u64::from(window >= 125 && choice.direction == Read);
            }
            // The program works on what came, and nothing is under way.
            *now_ns += 1_000_000;
        }
        reads
    }

    #[test]
    fn the_quicker_way_is_taken_whatever_the_settings_say() {
        for estimate in [Read, Write] {
            let mut now_ns = 0;
            let quick_read = |way, _| if way == Read { 1000 } else { 1130 };
            let count = reads(&mut Learner::new(), &mut now_ns, estimate, quick_read);
            assert!(count >= 970, "{count} of 1000 read");
            let quick_write = |way, _| if way == Read { 1130 } else { 1000 };
            let count = reads(&mut Learner::new(), &mut now_ns, estimate, quick_write);
            assert!(count <= 30, "{count} of 1000 read");
        }
    }

    #[test]
    fn one_stall_does_not_decide() {
        // In the second window, which is all one way, the machine stood still.
        let took = |way, window| {
            if window == 1 {
                500_000
            } else if way == Read {
                1130
            } else {
                1000
            }
        };
        assert!(reads(&mut Learner::new(), &mut 0, Read, took) <= 30);
    }

    #[test]
    fn a_change_is_noticed() {
        let (mut learner, mut now_ns) = (Learner::new(), 0);
        let quick_read = |way, _| if way == Read { 1000 } else { 2000 };
        let quick_write = |way, _| if way == Read { 2000 } else { 1000 };
        assert!(reads(&mut learner, &mut now_ns, Write, quick_read) > 900);
        reads(&mut learner, &mut now_ns, Write, quick_write);
        assert!(reads(&mut learner, &mut now_ns, Write, quick_write) < 100);
    }

    #[test]
    fn time_is_shared_out_by_length() {
        let mut learner = Learner::new();
        let (long, short) = (learner.choose(3 << 20, Read, 100), learner.choose(1 << 20, Write, 100));
        learner.end(short, 1100);
        learner.end(long, 1100);
        let spent = |choice: Choice| {
            learner.classes[usize::from(choice.class)].ways[choice.direction as usize].spent_ns
        };
        assert_eq!((spent(long), spent(short)), (666, 333));
        assert_eq!(learner.under_way, 0);
    }

    #[test]
    fn every_length_has_a_class() {
        assert_eq!([0, 1, 1 << 10, 2047, 2048].map(class_of), [0, 0, 0, 0, 1]);
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }
}
