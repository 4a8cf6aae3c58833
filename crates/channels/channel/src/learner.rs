//! The way of a message among several, learnt from what messages took (paper 2, 6 and figure 15:
//! the quicker way depends on the device and on the length).
//!
//! Messages of about the same length (between two powers of two) form a class. Of each class a few
//! go each way at first, in short series that take turns; a way that takes far longer than the best
//! gets fewer. Then all go the way that took least, and now and then a series goes another way,
//! so that a change is noticed. The time of a message is
//! counted from when its receiver decides until all is in place, with all that its way needs:
//! handshake, report, and whatever the sender does meanwhile.
//!
//! Several messages are under way at once, and each then takes longer, whatever its way. So elapsed
//! time is shared out among those under way, by their lengths. The sum is the time in which
//! anything was under way, and a way that moves more bytes a second comes out as the cheaper one.
//!
//! One stall must not decide for long: the cost of a way is the median of its last three series.
//! Trials must not cost much: a way that takes a hundred times as long as the best is tried a
//! hundred times more rarely than one that takes as long.
//!
//! The clock is the caller's.

/// Messages of a series.
const SERIES: u32 = 8;
/// Messages of a series of long ones, whose times differ less.
const LONG_SERIES: u32 = 4;
/// The shortest of these, in bytes.
const LONG_BYTES_MIN: u64 = 1 << 20;
/// The number of series of each way that are remembered.
pub const REMEMBERED: usize = 3;
/// After this many messages of a class one series goes another way: 1.5% of all messages, and of
/// the time, since a dear way waits for as many times more.
const REVIEW_EVERY: u32 = 512;
/// Series of each way at first, of which the quicker one counts: the first of all pays for memory
/// that is touched for the first time. Only ways that may be the best get further ones.
const FIRST_SERIES: usize = 2;
/// The first such series comes after so many messages, and each later one after twice as many:
/// what the peer tried at the same time has coloured what is known.
const FIRST_REVIEW_AFTER: u32 = 64;
/// The most messages of a class between two such series.
const REVIEW_EVERY_MAX: u64 = 1 << 20;
/// Another way is taken if it takes less by more than one part in this number: noise moves nothing.
const HYSTERESIS: u64 = 8;
/// The number of classes: the last one holds all that is longer.
const CLASSES: usize = 24;
/// Messages shorter than two to this power are in the first class.
const SHORTEST_LOG: u32 = 10;

/// The knowledge of all classes, with this many ways.
#[derive(Debug)]
pub struct Learner<const WAYS: usize> {
    /// The classes that were met, and all shorter ones.
    classes: Vec<Class<WAYS>>,
    /// Bytes under way, by the classes' nominal lengths.
    under_way: u64,
    /// The time when that last changed.
    changed_ns: u64,
}

/// Returns the class of messages of this length.
pub fn class_of(bytes: u64) -> usize {
    (bytes.max(1).ilog2().saturating_sub(SHORTEST_LOG) as usize).min(CLASSES - 1)
}

/// The choice for one message, which its [`Learner`] is given back at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The way, by its number.
    pub way: u8,
    /// The class of the message.
    pub class: u8,
}

#[derive(Clone, Copy, Debug)]
struct Class<const WAYS: usize> {
    ways: [Way; WAYS],
    /// The series that goes on, and how many messages are left to it.
    series: usize,
    left: u32,
    /// Series begun.
    begun: u32,
    /// The way that most messages go, once all are known.
    kept: usize,
    /// The number of series begun when they were.
    known_since: Option<u32>,
    /// Messages of a series.
    series_messages: u32,
}

impl<const WAYS: usize> Class<WAYS> {
    /// The class with this number, of which nothing is known.
    fn new(number: usize) -> Class<WAYS> {
        let is_long = nominal_bytes(number) >= LONG_BYTES_MIN;
        Class {
            ways: [Way::default(); WAYS],
            series: 0,
            left: 0,
            begun: 0,
            kept: 0,
            known_since: None,
            series_messages: if is_long { LONG_SERIES } else { SERIES },
        }
    }
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
pub struct Recent([u64; REMEMBERED]);

impl Recent {
    /// Adds a series that has ended; each of its messages took `ns`.
    pub fn add(&mut self, ns: u64) {
        self.0.rotate_left(1);
        // Never 0, which means that nothing is known.
        self.0[REMEMBERED - 1] = ns.max(1);
    }

    /// Returns the time of the last series, for each of its messages; 0 if there was none.
    fn newest(&self) -> u64 {
        self.0[REMEMBERED - 1]
    }

    /// Returns how many series are remembered.
    fn count(&self) -> usize {
        self.0.iter().filter(|ns| **ns > 0).count()
    }

    /// Returns the median, so that a single stall does not decide; `None` if there was no series
    /// yet.
    pub fn middle(&self) -> Option<u64> {
        let mut known = self.0;
        known.sort_unstable();
        let known = &known[known.iter().position(|ns| *ns > 0)?..];
        Some(known[(known.len() - 1) / 2])
    }
}

impl Way {
    fn end(&mut self, series_messages: u32) {
        self.under_way -= 1;
        self.ended += 1;
        if self.ended == series_messages {
            self.series.add(self.spent_ns / u64::from(series_messages));
            (self.spent_ns, self.ended) = (0, 0);
        }
    }
}

impl<const WAYS: usize> Class<WAYS> {
    /// Returns the way of the next message, given the one that counts until more is known.
    fn next(&mut self, estimate: usize) -> usize {
        if self.left == 0 {
            (self.series, self.left) = self.next_series(estimate);
            self.begun = self.begun.saturating_add(1);
        }
        self.left -= 1;
        self.series
    }

    fn next_series(&mut self, estimate: usize) -> (usize, u32) {
        if let Some(way) = self.next_unknown(estimate) {
            return (way, self.series_messages);
        }
        let costs = self.costs().expect("all ways are known");
        let best = (0..WAYS).min_by_key(|way| costs[*way]).unwrap_or(0);
        let since = *self.known_since.get_or_insert(self.begun);
        if self.begun == since || costs[best] + costs[best] / HYSTERESIS < costs[self.kept] {
            self.kept = best;
        }
        let newest = self.ways[self.series].series.newest();
        if self.series != self.kept && newest + newest / HYSTERESIS < costs[self.kept] {
            // It may have become the better one: a second series tells.
            return (self.series, self.series_messages);
        }
        let since = self.begun - since;
        let other = (self.kept + 1 + since as usize / 2 % (WAYS - 1)) % WAYS;
        if !since.is_multiple_of(2) {
            return (other, self.series_messages);
        }
        // The series of the best way are longer, the more so the more a trial costs.
        let every = FIRST_REVIEW_AFTER.checked_shl(since / 2).unwrap_or(REVIEW_EVERY);
        let every = u64::from(every.clamp(FIRST_REVIEW_AFTER, REVIEW_EVERY));
        let is_sure = self.ways[other].series.count() == REMEMBERED;
        let times = if is_sure { (costs[other] / costs[self.kept]).max(1) } else { 1 };
        (self.kept, every.saturating_mul(times).min(REVIEW_EVERY_MAX) as u32)
    }

    /// The way to be tried next, before the best is taken: the first of which too little is known,
    /// then any that may be the best and has not its share of series yet.
    fn next_unknown(&self, estimate: usize) -> Option<usize> {
        let turn = |at| (estimate + at) % WAYS;
        if self.known_since.is_some() {
            return None;
        }
        let series = |way: usize| self.ways[way].series;
        // So far messages may be decided quicker than they end.
        let begun = self.begun as usize;
        if begun < FIRST_SERIES * WAYS || (0..WAYS).any(|way| series(way).count() < FIRST_SERIES) {
            return Some(turn(begun));
        }
        let best_ns = (0..WAYS).filter_map(|way| series(way).middle()).min()?;
        let may_be = |way: &usize| series(*way).middle().is_some_and(|ns| ns <= best_ns + best_ns / 2);
        let lacks = |way: &usize| may_be(way) && series(*way).count() < REMEMBERED;
        (0..WAYS).map(|at| turn(begun + at)).find(lacks)
    }

    /// The time of a message by each way, once all are known.
    fn costs(&self) -> Option<[u64; WAYS]> {
        let costs = self.ways.map(|way| way.series.middle());
        (!costs.contains(&None)).then(|| costs.map(|ns| ns.unwrap_or(u64::MAX)))
    }
}

impl<const WAYS: usize> Default for Learner<WAYS> {
    fn default() -> Learner<WAYS> {
        Learner::new()
    }
}

impl<const WAYS: usize> Learner<WAYS> {
    /// Makes one that knows nothing.
    pub fn new() -> Learner<WAYS> {
        Learner { classes: Vec::new(), under_way: 0, changed_ns: 0 }
    }

    /// Chooses the way of a message of `bytes` bytes, which is under way from now on
    /// (nanoseconds). `estimate` is the way that counts until more is known.
    pub fn choose(&mut self, bytes: u64, estimate: usize, now_ns: u64) -> Learned {
        self.pass(now_ns);
        let number = class_of(bytes);
        self.classes.extend((self.classes.len()..=number).map(Class::new));
        let class = &mut self.classes[number];
        let way = class.next(estimate);
        class.ways[way].under_way += 1;
        self.under_way += nominal_bytes(number);
        Learned { way: way as u8, class: number as u8 }
    }

    /// Notes that this message has ended; nothing if none like it is under way.
    pub fn end(&mut self, learned: Learned, now_ns: u64) {
        self.pass(now_ns);
        let number = usize::from(learned.class);
        let Some(class) = self.classes.get_mut(number) else { return };
        let way = class.ways.get_mut(usize::from(learned.way)).filter(|way| way.under_way > 0);
        if let Some(way) = way {
            way.end(class.series_messages);
            self.under_way -= nominal_bytes(number);
        }
    }

    /// The classes in which all ways are known: the length in bytes from which each begins, the
    /// nanoseconds that a message took by each way, and the way that most go.
    pub fn known(&self) -> impl Iterator<Item = (u64, [u64; WAYS], usize)> {
        let known = |(number, class): (usize, &Class<WAYS>)| {
            Some((nominal_bytes(number), class.costs()?, class.kept))
        };
        self.classes.iter().enumerate().filter_map(known)
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

fn nominal_bytes(class: usize) -> u64 {
    1 << (class as u32 + SHORTEST_LOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: usize = 0;
    const WRITE: usize = 1;

    /// Runs windows of eight messages, each of which takes the given time of its way; returns how
    /// many of the last thousand went each way.
    fn run<const WAYS: usize>(
        learner: &mut Learner<WAYS>,
        now_ns: &mut u64,
        estimate: usize,
        mut took: impl FnMut(usize, u64) -> u64,
    ) -> [u64; WAYS] {
        let mut counts = [0; WAYS];
        for window in 0..250_u64 {
            let all: Vec<Learned> = (0..8).map(|_| learner.choose(64 << 10, estimate, *now_ns)).collect();
            for learned in all {
                let way = usize::from(learned.way);
                *now_ns += took(way, window);
                learner.end(learned, *now_ns);
                counts[way] += u64::from(window >= 125);
            }
            // The program works on what came, and nothing is under way.
            *now_ns += 1_000_000;
        }
        counts
    }

    #[test]
    fn the_quicker_way_is_taken_whatever_the_settings_say() {
        for estimate in [READ, WRITE] {
            for quick in [READ, WRITE] {
                let took = |way, _| if way == quick { 1000 } else { 1130 };
                let counts = run(&mut Learner::<2>::new(), &mut 0, estimate, took);
                assert!(counts[quick] >= 970, "{counts:?}");
            }
        }
    }

    #[test]
    fn the_quickest_of_three_is_taken() {
        for quick in 0..3 {
            let took = |way, _| if way == quick { 1000 } else { 1200 + way as u64 };
            let counts = run(&mut Learner::<3>::new(), &mut 0, 0, took);
            assert!(counts[quick] >= 970, "{counts:?}");
        }
    }

    #[test]
    fn one_stall_does_not_decide() {
        // In the second window, which is all one way, the machine stood still.
        let took = |way, window| match (window, way) {
            (1, _) => 500_000,
            (_, READ) => 1130,
            _ => 1000,
        };
        assert!(run(&mut Learner::<2>::new(), &mut 0, READ, took)[READ] <= 30);
    }

    #[test]
    fn a_change_is_noticed() {
        let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
        let quick = |quick| move |way, _| if way == quick { 1000 } else { 2000 };
        assert!(run(&mut learner, &mut now_ns, WRITE, quick(READ))[READ] > 900);
        run(&mut learner, &mut now_ns, WRITE, quick(WRITE));
        assert!(run(&mut learner, &mut now_ns, WRITE, quick(WRITE))[READ] < 100);
    }

    #[test]
    fn noise_changes_nothing() {
        // Both ways take the same, give or take a third of it.
        let (mut learner, mut now_ns, mut state) = (Learner::<2>::new(), 0, 1_u64);
        let mut noisy = |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            700 + (state >> 33) % 600
        };
        let mut changes = 0;
        let mut before = None;
        for _ in 0..100 {
            run(&mut learner, &mut now_ns, READ, &mut noisy);
            let kept = learner.known().next().map(|(_, _, kept)| kept);
            changes += u32::from(before.is_some() && kept != before);
            before = kept;
        }
        // Some 380 series were tried the other way.
        assert!(changes <= 20, "{changes} changes in 200000 messages");
    }

    #[test]
    fn a_dear_way_is_tried_rarely() {
        let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
        let took = |way, _| if way == READ { 1000 } else { 200_000 };
        let mut dear = 0;
        for _ in 0..50 {
            dear += run(&mut learner, &mut now_ns, READ, took)[WRITE];
        }
        // Of 50,000 messages; at the usual rate they would be 780.
        assert!(dear <= 2 * u64::from(SERIES), "{dear}");
    }

    #[test]
    fn time_is_shared_out_by_length() {
        let mut learner = Learner::<2>::new();
        let (long, short) = (learner.choose(3 << 20, READ, 100), learner.choose(1 << 20, WRITE, 100));
        learner.end(short, 1100);
        learner.end(long, 1100);
        let spent = |learned: Learned| {
            learner.classes[usize::from(learned.class)].ways[usize::from(learned.way)].spent_ns
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
