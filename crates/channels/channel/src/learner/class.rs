//! The messages of about the same length: which way the next one goes.

use super::recent::{REMEMBERED, Recent};

/// Messages of a series.
const SERIES: u32 = 8;
/// Messages of a series of long ones, whose times differ less.
const LONG_SERIES: u32 = 4;
/// The shortest of these, in bytes.
const LONG_BYTES_MIN: u64 = 1 << 20;
/// Series of each way at first, of one message and of two: the first pays for memory that is
/// touched for the first time, and the quicker one counts. Only ways that may be the best get a
/// whole one.
const FIRST_SERIES: usize = 2;
/// After this many messages of a class one series goes another way: 1.5% of all messages, and of
/// the time, since a dear trial waits for as many times more.
const REVIEW_EVERY: u32 = FIRST_REVIEW_AFTER << REVIEW_DOUBLINGS;
/// Messages before the first such series. Each later one waits for twice as many: the trials that
/// the peer made at the same time have coloured the first times.
const FIRST_REVIEW_AFTER: u32 = 64;
const REVIEW_DOUBLINGS: u32 = 3;
/// The most messages of a class between two such series.
const REVIEW_EVERY_MAX: u64 = 1 << 20;
/// After this time a quarter of the messages suffices, since the machine may have changed.
const RUN_NS_MAX: u64 = 1_000_000_000;
/// Another way is taken if it takes less by more than one part in this number: noise moves nothing.
const HYSTERESIS: u64 = 8;
/// The kept way has become dear if it takes more, by one part in this number, than when it was
/// taken: then the others are tried before their time.
const SUSPICION: u64 = 4;
/// A series ends early once it has taken as many times what it would have by the best way.
const CUT: u64 = 2;
/// A way that takes as many times what the best does is tried with one message.
const PROBE: u64 = 4;

/// The messages that are under way at the same time as another one. If there are some, what a
/// single one takes says little: its share of the time depends on which ends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowd {
    /// None.
    Alone,
    /// Some.
    Others,
}

/// One class of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class<const WAYS: usize> {
    pub(super) ways: [Way; WAYS],
    /// The length to which times are scaled, in bytes.
    bytes: u64,
    /// Messages of a whole series.
    whole: u32,
    /// The way that counts until more is known: the estimate for the first message.
    first: Option<usize>,
    /// The way of the series that goes on, its number of messages, and how many are left to it.
    series: usize,
    length: u32,
    left: u32,
    /// The way that most messages go, once there is one.
    kept: Option<usize>,
    run: Run,
}

/// The messages of the kept way since another one was tried.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The number of messages, and the time when they began.
    messages: u32,
    began_ns: u64,
    /// The least time that a message took meanwhile.
    least_ns: u64,
    /// The kept way has become dear.
    is_suspect: bool,
    /// Another learner has chosen it: it may be otherwise here.
    is_borrowed: bool,
    /// Reviews of other ways so far.
    reviews: u32,
    /// Suspicions that came to nothing, less the reviews without one: how noisy the times are.
    false_alarms: u32,
}

/// The knowledge of a class, in a form that another learner can take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knowledge<const WAYS: usize> {
    /// The nanoseconds that a message of the class's shortest length took by each way, where that
    /// is known.
    pub ns: [Option<u64>; WAYS],
    /// The way that most messages go.
    pub kept: usize,
}

/// The knowledge of one way in one class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Messages under way, and their bytes.
    pub(super) under_way: u32,
    pub(super) bytes_under_way: u64,
    /// This way's share of the time since the last series was counted.
    pub(super) spent_ns: u64,
    /// The part of it that was spent when the last message ended, and the least that one took.
    counted_ns: u64,
    least_ns: u64,
    /// The messages that ended in that time, and their bytes.
    ended: u32,
    ended_bytes: u64,
    /// Others were under way at the same time as some of them.
    is_crowded: bool,
    /// The number of messages at which the series counts if each was alone.
    target: u32,
    /// Series begun.
    begun: usize,
    /// A series was counted, and nothing was decided since.
    has_news: bool,
    /// The series took clearly less than the best other way.
    is_promising: bool,
    /// The times of the last series.
    series: Recent,
}

impl Way {
    fn new() -> Way {
        Way {
            under_way: 0,
            bytes_under_way: 0,
            spent_ns: 0,
            counted_ns: 0,
            least_ns: u64::MAX,
            ended: 0,
            ended_bytes: 0,
            is_crowded: false,
            target: 1,
            begun: 0,
            has_news: false,
            is_promising: false,
            series: Recent::default(),
        }
    }

    /// Begins a series of this many messages. Those that are still under way belong to it.
    fn begin(&mut self, messages: u32) {
        self.begun = self.begun.saturating_add(1);
        if self.under_way == 0 {
            self.restart();
            self.target = messages;
        }
    }

    fn restart(&mut self) {
        (self.spent_ns, self.counted_ns, self.least_ns) = (0, 0, u64::MAX);
        (self.ended, self.ended_bytes, self.is_crowded) = (0, 0, false);
    }

    /// Returns the number of series so far, as far as it matters.
    fn had(&self) -> usize {
        self.begun.max(self.series.count())
    }
}

/// Returns whether `ns` is clearly less than `than`.
fn is_less(ns: u64, than: u64) -> bool {
    ns + ns / HYSTERESIS < than
}

impl<const WAYS: usize> Class<WAYS> {
    /// An empty class, for messages from this length on.
    pub(super) fn new(bytes: u64) -> Class<WAYS> {
        Class {
            ways: [Way::new(); WAYS],
            bytes,
            whole: if bytes >= LONG_BYTES_MIN { LONG_SERIES } else { SERIES },
            first: None,
            series: 0,
            length: 0,
            left: 0,
            kept: None,
            run: Run::default(),
        }
    }

    /// Returns the way of the next message, given the one that counts until more is known.
    pub(super) fn next(&mut self, estimate: usize, crowd: Crowd, now_ns: u64) -> usize {
        if self.left == 0 && crowd == Crowd::Others && self.is_short_first() {
            // The message was not to be alone: the others that come with it go the same way.
            self.left = self.whole - self.length;
            self.length = self.whole;
        }
        if self.left == 0 {
            let first = *self.first.get_or_insert(estimate);
            (self.series, self.left) = self.next_series(first, crowd, now_ns);
            self.length = self.left;
            self.ways[self.series].begin(self.left);
        }
        self.left -= 1;
        self.series
    }

    /// Returns whether a series of one or two messages goes on, as each way has them at first.
    fn is_short_first(&self) -> bool {
        let is_short = (1..self.whole).contains(&self.length);
        self.kept.is_none() && is_short && self.ways[self.series].under_way > 0
    }

    /// Notes that a message of `bytes` bytes has ended, which went this way.
    pub(super) fn end(&mut self, way: usize, bytes: u64, crowd: Crowd) {
        let usual_ns = match self.kept {
            Some(kept) if kept == way => Some(self.run.least_ns),
            _ => self.best_but(way).map(|(_, ns)| ns),
        };
        let state = &mut self.ways[way];
        state.under_way -= 1;
        state.bytes_under_way -= bytes;
        state.ended += 1;
        state.ended_bytes += bytes;
        let scaled =
            |ns: u64, bytes: u64| (u128::from(ns) * u128::from(self.bytes) / u128::from(bytes.max(1))) as u64;
        let mean_ns = scaled(state.spent_ns, state.ended_bytes);
        let last_ns = state.spent_ns - std::mem::replace(&mut state.counted_ns, state.spent_ns);
        state.least_ns = state.least_ns.min(scaled(last_ns, bytes));
        // If one message was held up and others were not, the way is not dear.
        let all_ns = state.least_ns.saturating_mul(state.ended.into());
        state.is_crowded |= crowd == Crowd::Others;
        let target = if state.is_crowded { self.whole } else { state.target };
        let most = CUT * u64::from(target);
        // Of the kept way whole series count, once it is known.
        let may_end = !state.is_crowded && (self.kept != Some(way) || state.series.count() < REMEMBERED);
        let is_dear = may_end && usual_ns.is_some_and(|ns| all_ns > ns.saturating_mul(most));
        if !is_dear && state.ended < target {
            return;
        }
        state.has_news = true;
        state.is_promising = usual_ns.is_some_and(|ns| is_less(mean_ns, ns));
        // A probe that promises something does not count beside whole series, which follow.
        let is_probe = target == 1 && state.series.count() >= FIRST_SERIES;
        if !is_probe || !state.is_promising {
            state.series.add(mean_ns);
        }
        state.restart();
        state.target = if state.series.count() < FIRST_SERIES { 2 } else { self.whole };
        if is_dear && self.series == way {
            self.left = 0;
        }
    }

    /// Returns whether messages clearly take far longer by this way than by another one.
    pub(super) fn is_dear(&self, way: usize) -> bool {
        let is_sure = self.ways[way].series.count() >= FIRST_SERIES;
        let cost = self.cost(way).filter(|_| is_sure);
        let least = self.best_but(way).map(|(_, ns)| ns);
        cost.zip(least).is_some_and(|(ns, least)| ns > CUT * least)
    }

    /// The knowledge, once there is a way that most messages go.
    pub(super) fn knowledge(&self) -> Option<Knowledge<WAYS>> {
        Some(Knowledge { ns: std::array::from_fn(|way| self.cost(way)), kept: self.kept? })
    }

    /// Takes over what another learner knows, if nothing was decided here yet.
    pub(super) fn adopt(&mut self, known: &Knowledge<WAYS>, now_ns: u64) {
        if self.kept.is_some() {
            return;
        }
        for (way, ns) in self.ways.iter_mut().zip(known.ns) {
            if let Some(ns) = ns.filter(|_| way.series.count() == 0) {
                way.series.add(ns);
            }
        }
        if self.cost(known.kept).is_some() {
            self.keep(known.kept, now_ns);
            (self.run.is_borrowed, self.left) = (true, 0);
        }
    }

    /// The next series: its way and its number of messages.
    fn next_series(&mut self, first: usize, crowd: Crowd, now_ns: u64) -> (usize, u32) {
        let Some(kept) = self.kept else { return self.first_series(first, crowd, now_ns) };
        self.look_at_kept(kept);
        for way in (0..WAYS).filter(|way| *way != kept) {
            if !std::mem::take(&mut self.ways[way].has_news) {
                continue;
            }
            // The kept way may just have been held up, above all if that is why another was tried.
            let kept_ns = self.ways[kept].series.lowest();
            if self.cost(way).is_some_and(|ns| is_less(ns, kept_ns)) {
                self.keep(way, now_ns);
                return self.go_on(way);
            }
            if self.ways[way].is_promising {
                // It may have become the better one: a second series tells.
                return (way, self.whole);
            }
        }
        match self.review(kept, crowd, now_ns) {
            Some((other, messages)) => {
                let Run { is_suspect, reviews, false_alarms, .. } = self.run;
                let false_alarms = match is_suspect {
                    true => REVIEW_DOUBLINGS.min(false_alarms + 1),
                    false => false_alarms.saturating_sub(1),
                };
                let reviews = reviews.saturating_add(1);
                self.run = Run { reviews, false_alarms, ..self.run_from(kept, now_ns) };
                (other, messages)
            }
            None => self.go_on(kept),
        }
    }

    /// Goes on with the kept way.
    fn go_on(&mut self, kept: usize) -> (usize, u32) {
        self.run.messages = self.run.messages.saturating_add(self.whole);
        (kept, self.whole)
    }

    /// A series before there is a way that most messages go.
    fn first_series(&mut self, first: usize, crowd: Crowd, now_ns: u64) -> (usize, u32) {
        if let Some(way) = self.first_trial(first) {
            let messages = match (crowd, self.ways[way].had()) {
                (Crowd::Alone, 0) => 1,
                (Crowd::Alone, 1) => 2,
                _ => self.whole,
            };
            return (way, messages);
        }
        // So far messages may be decided quicker than they end.
        let Some((best, _)) = self.best_of(0..WAYS) else { return (first, self.whole) };
        self.keep(best, now_ns);
        self.go_on(best)
    }

    /// The way to be tried next at first: the one that was tried least, in turn, then any that may
    /// be the best and has not its share of series yet.
    fn first_trial(&self, first: usize) -> Option<usize> {
        let in_turn = || (0..WAYS).map(|at| (first + at) % WAYS);
        let had = |way: usize| self.ways[way].had();
        let rarest = in_turn().min_by_key(|way| had(*way)).filter(|way| had(*way) < FIRST_SERIES);
        let (_, least_ns) = self.best_of(0..WAYS).unzip();
        let may_be = |ns: u64| least_ns.is_some_and(|least| ns <= least + least / 2);
        let lacks = |way: &usize| had(*way) < REMEMBERED && self.cost(*way).is_some_and(may_be);
        rarest.or_else(|| in_turn().find(lacks))
    }

    /// Notes what the kept way takes now.
    fn look_at_kept(&mut self, kept: usize) {
        let series = self.ways[kept].series;
        let kept_ns =
            if self.run.is_borrowed { series.middle().unwrap_or(u64::MAX) } else { series.lowest() };
        let is_behind = self.best_but(kept).is_some_and(|(_, ns)| is_less(ns, kept_ns));
        let run = &mut self.run;
        if kept_ns > run.least_ns.saturating_add(run.least_ns / SUSPICION) || is_behind {
            run.is_suspect = true;
        }
        run.least_ns = run.least_ns.min(self.ways[kept].series.highest());
    }

    /// Returns the other way that is to be tried now, and with how many messages, if it is time.
    fn review(&self, kept: usize, crowd: Crowd, now_ns: u64) -> Option<(usize, u32)> {
        let Run { messages, began_ns, is_suspect, is_borrowed, reviews, false_alarms, .. } = self.run;
        let in_turn = (kept + 1 + reviews as usize / 2 % (WAYS - 1)) % WAYS;
        let promising = self.best_but(kept).filter(|_| is_suspect && reviews.is_multiple_of(2));
        let other = promising.map_or(in_turn, |(way, _)| way);
        let is_sure = self.ways[other].series.count() >= FIRST_SERIES;
        let times = match (self.cost(other).filter(|_| is_sure), self.cost(kept)) {
            (Some(ns), Some(kept_ns)) => (ns / kept_ns).max(1),
            _ => 1,
        };
        let trial = if times >= PROBE && crowd == Crowd::Alone { 1 } else { self.whole };
        // The run is the longer, the more the trial costs.
        let price = times * u64::from(trial);
        let doublings = if is_suspect { reviews.min(false_alarms) } else { reviews };
        let every = u64::from(FIRST_REVIEW_AFTER << doublings.min(REVIEW_DOUBLINGS));
        let due = every.max(every.saturating_mul(price) / u64::from(self.whole)).min(REVIEW_EVERY_MAX);
        let is_old = now_ns.saturating_sub(began_ns) >= RUN_NS_MAX && every >= REVIEW_EVERY.into();
        let due = if is_old { due / 4 } else { due };
        (u64::from(messages) >= due || is_suspect && is_borrowed).then_some((other, trial))
    }

    /// From now on most messages go this way.
    fn keep(&mut self, way: usize, now_ns: u64) {
        self.kept = Some(way);
        self.ways.iter_mut().for_each(|way| way.has_news = false);
        let Run { reviews, false_alarms, .. } = self.run;
        self.run = Run { reviews, false_alarms, ..self.run_from(way, now_ns) };
    }

    fn run_from(&self, kept: usize, now_ns: u64) -> Run {
        Run { began_ns: now_ns, least_ns: self.cost(kept).unwrap_or(u64::MAX), ..Run::default() }
    }

    /// The time of a message by this way, once it is known.
    pub(super) fn cost(&self, way: usize) -> Option<u64> {
        self.ways[way].series.middle()
    }

    /// The best of these ways, with its time.
    fn best_of(&self, ways: impl Iterator<Item = usize>) -> Option<(usize, u64)> {
        ways.filter_map(|way| Some((way, self.cost(way)?))).min_by_key(|(_, ns)| *ns)
    }

    fn best_but(&self, other: usize) -> Option<(usize, u64)> {
        self.best_of((0..WAYS).filter(|way| *way != other))
    }
}
