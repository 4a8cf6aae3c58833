//! The polling scheduler: it chooses the channels that are polled in a round of a wait (paper 3,
//! section 3.2).
//!
//! Some channels show by a glance whether anything has come (one load; `Wire::is_silent`): they are
//! looked at in every round, with at least as much weight as any other (paper 3, 3.2.1). The others
//! are *scheduled*: each has a period, and is polled once in this many rounds. Periods are fixed by
//! what the channels say of themselves ([`PollCost`]), given by the user, or learnt from where the
//! last messages came from (3.2.2). Channels that only move memory are outside all this, as the
//! paper has its kernel module: they are used when a message asks for it.
//!
//! *Bound*: no period is longer than [`PERIOD_MAX`], so a channel with something to deliver is
//! polled after at most `PERIOD_MAX` rounds of a wait. A direct receive makes no round, but one of
//! every 128 packets of a process goes the general way, and that takes a round (`TURNS` in
//! `direct_receive.rs`). A caller that does not wait, or is about to sleep, has every channel
//! polled ([`crate::Engine::progress`]).

use std::collections::VecDeque;
use verbena_channel::PollCost;

/// The longest period.
pub const PERIOD_MAX: u32 = 1000;

/// The rule from which the periods follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Every channel in every round.
    All,
    /// The quicker a channel's messages, the more often it is polled (paper 3, 3.2.1, latency
    /// based).
    Latency,
    /// The cheaper a channel is to poll, the more often, so that each gets a similar share of the
    /// time (3.2.1, overhead based).
    Overhead,
    /// The cheapest channel is polled `ratio` times for each poll of another (3.3.1).
    Ratio,
    /// The periods follow from where the last messages came from (3.2.2).
    Dynamic,
}

/// The settings of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// The rule from which the periods follow.
    pub scheme: Scheme,
    /// The period by [`Scheme::Ratio`], and the longest one by [`Scheme::Dynamic`].
    pub ratio: u32,
    /// [`Scheme::Dynamic`]: the number of messages between two calculations of the periods.
    pub update_every: u32,
    /// [`Scheme::Dynamic`]: the number of last messages that count.
    pub history: u32,
}

impl Polling {
    /// Polls every channel in every round: for use where a round costs the core, or nothing can be
    /// won.
    pub const ALL: Polling = Polling { scheme: Scheme::All, ratio: 1, update_every: 1, history: 1 };

    /// The policy without a setting: best over both of paper 3's benchmarks by the model of its
    /// costs (`verbena-papers polling --model`). Where nothing came from, a look is worth less than
    /// by a fixed ratio (50:1 in the paper).
    pub const AUTO: Polling = Polling { scheme: Scheme::Dynamic, ratio: 100, update_every: 1, history: 8 };

    /// Returns the policy that is set now; `None` if it is left to the library.
    pub fn set() -> Option<Polling> {
        use verbena_settings::{POLLING, POLLING_HISTORY, POLLING_RATIO, POLLING_UPDATE_EVERY};
        let schemes = [Scheme::All, Scheme::Latency, Scheme::Overhead, Scheme::Ratio, Scheme::Dynamic];
        let scheme = *schemes.get(POLLING.get().checked_sub(1)?)?;
        Some(Polling {
            scheme,
            ratio: POLLING_RATIO.get() as u32,
            update_every: POLLING_UPDATE_EVERY.get() as u32,
            history: POLLING_HISTORY.get() as u32,
        })
    }

    /// Returns the policy within the bounds that the scheduler needs.
    pub(crate) fn sound(self) -> Polling {
        Polling {
            ratio: self.ratio.clamp(1, PERIOD_MAX),
            update_every: self.update_every.max(1),
            history: self.history.max(1),
            ..self
        }
    }
}

/// A channel, as the scheduler sees it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cost: Option<PollCost>,
    period: u32,
    /// Looks at others until it is polled.
    left: u32,
    /// The number of messages of the history that came over it.
    heard: u32,
}

/// The scheduler of one engine.
pub(crate) struct Scheduler {
    polling: Polling,
    /// The policy without a setting.
    default: Polling,
    entries: Vec<Entry>,
    /// The first scheduled channel, in whose turn the round's messages of the others are counted.
    first: usize,
    /// The channel for which the messages count that a glance showed: the quickest of them.
    glanced: Option<usize>,
    /// The channels of the last messages, oldest first.
    history: VecDeque<u8>,
    since_update: u32,
    /// True if the history has changed since.
    stale: bool,
    /// True if the history changes anything.
    learns: bool,
}

/// Messages for which the history has room from the beginning.
const HISTORY_ROOM: u32 = 4096;

impl Scheduler {
    /// Makes a scheduler for channels of these costs, in the engine's order; a channel without a
    /// cost is polled in each round. `shows` tells for which channels a glance is enough.
    pub(crate) fn new(
        channels: impl Iterator<Item = (Option<PollCost>, bool)>,
        polling: Option<Polling>,
    ) -> Scheduler {
        let all: Vec<(Option<PollCost>, bool)> = channels.collect();
        let entry = |cost| Entry { cost, period: 1, left: 1, heard: 0 };
        let quickness = |at: &usize| all[*at].0.map(|cost| cost.latency_ns);
        let glanced = (0..all.len()).filter(|at| all[*at].1 && all[*at].0.is_some()).min_by_key(quickness);
        let mut scheduler = Scheduler {
            polling: Polling::ALL,
            default: Polling::AUTO,
            entries: all.iter().map(|(cost, _)| entry(*cost)).collect(),
            first: all.iter().position(|(_, shows)| !shows).unwrap_or(all.len()),
            glanced,
            history: VecDeque::new(),
            since_update: 0,
            stale: false,
            learns: false,
        };
        scheduler.choose(polling);
        scheduler
    }

    /// Takes other settings.
    fn configure(&mut self, polling: Polling) {
        self.polling = polling.sound();
        let several = self.entries.iter().filter(|entry| entry.cost.is_some()).count() > 1;
        self.learns = several && self.polling.scheme == Scheme::Dynamic;
        let room = if self.learns { self.polling.history.min(HISTORY_ROOM) } else { 0 };
        self.history = VecDeque::with_capacity(room as usize);
        self.since_update = 0;
        self.entries.iter_mut().for_each(|entry| entry.heard = 0);
        self.calculate();
    }

    /// Takes these settings, or the default; what was learnt stays if they are those of before.
    pub(crate) fn choose(&mut self, polling: Option<Polling>) {
        let polling = polling.unwrap_or(self.default).sound();
        if polling != self.polling {
            self.configure(polling);
        }
    }

    /// Changes the default.
    pub(crate) fn set_default(&mut self, polling: Polling) {
        self.default = polling;
    }

    /// The period of a channel, in looks at the others.
    #[cfg(test)]
    fn period(&self, channel: usize) -> u32 {
        self.entries[channel].period
    }

    /// A round has come to this channel, after `events` of the others: whether it is polled now.
    #[inline(always)]
    pub(crate) fn is_due(&mut self, channel: usize, events: usize) -> bool {
        if channel == self.first && events > 0 {
            self.heard_elsewhere(events);
        }
        let entry = &mut self.entries[channel];
        entry.left = entry.left.saturating_sub(1);
        entry.left == 0
    }

    /// Returns whether the channel is polled in each round.
    #[inline]
    pub(crate) fn is_in_each_round(&self, channel: usize) -> bool {
        self.entries[channel].period == 1
    }

    /// Notes a poll of the channel, with this many events.
    #[inline]
    pub(crate) fn polled(&mut self, channel: usize, events: usize) {
        self.entries[channel].left = self.entries[channel].period;
        if events > 0 && self.learns {
            self.heard(channel, events as u32);
        }
    }

    /// Notes messages over a channel that shows them by a glance. Those taken by direct receives
    /// (`direct_receive.rs`) are not counted.
    #[cold]
    fn heard_elsewhere(&mut self, events: usize) {
        if let (true, Some(glanced)) = (self.learns, self.glanced) {
            self.heard(glanced, events as u32);
        }
    }

    /// Notes messages in the history; of more than it holds, the last count. If they change
    /// nothing, as within a burst, nothing is calculated either.
    fn heard(&mut self, channel: usize, messages: u32) {
        for _ in 0..messages.min(self.polling.history) {
            let full = self.history.len() == self.polling.history as usize;
            let oldest = if full { self.history.pop_front() } else { None };
            self.history.push_back(channel as u8);
            if oldest == Some(channel as u8) {
                continue;
            }
            if let Some(oldest) = oldest {
                self.entries[usize::from(oldest)].heard -= 1;
            }
            self.entries[channel].heard += 1;
            self.stale = true;
        }
        self.since_update += messages;
        if self.since_update >= self.polling.update_every {
            self.since_update = 0;
            if std::mem::take(&mut self.stale) {
                self.calculate();
            }
        }
    }

    /// Calculates all periods. A channel whose period has become shorter is not made to wait for
    /// the old one.
    fn calculate(&mut self) {
        let most_heard = self.entries.iter().map(|entry| entry.heard).max().unwrap_or(0);
        let costs = || self.entries.iter().filter_map(|entry| entry.cost);
        let quickest_ns = costs().map(|cost| cost.latency_ns).min().unwrap_or(0);
        let cheapest_ns = costs().map(|cost| cost.empty_ns).min().unwrap_or(0);
        // A channel that is alone has none to wait for.
        let alone = costs().count() < 2;
        let Polling { scheme, ratio, .. } = self.polling;
        for entry in &mut self.entries {
            let Some(cost) = entry.cost.filter(|_| !alone) else { continue };
            entry.period = match scheme {
                Scheme::All => 1,
                Scheme::Latency => times(cost.latency_ns, quickest_ns),
                Scheme::Overhead => times(cost.empty_ns, cheapest_ns),
                // A look there costs least, so it has at least as much weight as any other (paper
                // 3, 3.2.1).
                Scheme::Ratio | Scheme::Dynamic if cost.empty_ns == cheapest_ns => 1,
                Scheme::Ratio => ratio,
                Scheme::Dynamic if most_heard == 0 => 1,
                Scheme::Dynamic if entry.heard == 0 => ratio,
                Scheme::Dynamic => times(most_heard, entry.heard).min(ratio),
            };
            entry.left = entry.left.min(entry.period);
        }
    }
}

/// The number of times that one is larger than the other, as a period.
fn times(one: u32, other: u32) -> u32 {
    let (one, other) = (u64::from(one), u64::from(other.max(1)));
    ((one + other / 2) / other).clamp(1, u64::from(PERIOD_MAX)) as u32
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
