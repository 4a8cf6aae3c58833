//! The polling scheduler: it chooses the channels that are polled in a round of a wait (paper 3,
//! section 3.2).
//!
//! Some channels show by a glance whether anything has come (one load; `Wire::is_silent`): they are
//! looked at in every round, with at least as much weight as any other (paper 3, 3.2.1). The others
//! are *scheduled*: each has a period, and is polled once in this many rounds. Periods are fixed by
//! what the channels measured when they were opened ([`PollCost`]), given by the user, or learnt
//! from where the last messages came from (3.2.2), wherever they were found (`glanced.rs`).
//! Channels that only move memory are outside all this, as the paper has its kernel module: they
//! are used when a message asks for it.
//!
//! *Bound*: no period is longer than [`PERIOD_MAX`], so a channel with something to deliver is
//! polled after at most `PERIOD_MAX` rounds of a wait. A direct receive makes no round, but one of
//! every 128 packets of a process goes the general way, and that takes a round (`TURNS` in
//! `direct_receive.rs`). A caller that does not wait, or is about to sleep, has every channel
//! polled ([`crate::Engine::progress`]).

use crate::glanced::Glanced;
use crate::peer::Peers;
use std::collections::VecDeque;
use verbena_channel::PollCost;

/// The longest period.
pub const PERIOD_MAX: u32 = 1000;
/// A look that costs no more than this many times the cheapest is as cheap: prices are measured,
/// and rails over like ports must not differ by what one happened to be measured at.
const ALIKE: u32 = 2;

/// The rule from which the periods follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The scheme that the engine's owner set ([`crate::Engine::poll_by_default`]); else
    /// [`Scheme::Dynamic`].
    Auto,
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
    /// Polls every channel in every round.
    pub const ALL: Polling = Polling { scheme: Scheme::All, ..Polling::AUTO };

    /// The policy without a setting; the table of settings has the same numbers.
    ///
    /// They follow from the model of paper 3 (`sim`, `figures/polling`, `defaults`): over bursts of
    /// 1 to 256 messages 50:1 by the last 4 messages finds one after 186 ns. The least is 185 ns,
    /// with 10:1 by the last message, but that leaves the latency within the node a quarter higher,
    /// and from 100:1 on the network's first message after a silence waits too long. An update here
    /// calculates only when the history has changed, so the rate that suits best is 1, and not the
    /// paper's 8 or 10, which the model gives where each update costs 50 to 200 ns.
    pub const AUTO: Polling = Polling { scheme: Scheme::Auto, ratio: 50, update_every: 1, history: 4 };

    /// Returns the policy that is set now.
    pub fn set() -> Polling {
        use Scheme::{All, Auto, Dynamic, Latency, Overhead, Ratio};
        use verbena_settings::{POLLING, POLLING_HISTORY, POLLING_RATIO, POLLING_UPDATE_EVERY};
        Polling {
            scheme: [Auto, All, Latency, Overhead, Ratio, Dynamic][POLLING.get()],
            ratio: POLLING_RATIO.get() as u32,
            update_every: POLLING_UPDATE_EVERY.get() as u32,
            history: POLLING_HISTORY.get() as u32,
        }
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
    /// True if a glance is enough.
    shows: bool,
    period: u32,
    /// Polls so far.
    looks: u64,
    /// Looks at others until it is polled.
    left: u32,
    /// The number of messages of the history that came over it.
    heard: u32,
}

/// The scheduler of one engine.
pub(crate) struct Scheduler {
    polling: Polling,
    /// The scheme of [`Scheme::Auto`].
    default: Scheme,
    entries: Vec<Entry>,
    /// The first scheduled channel.
    first: usize,
    /// Rounds that came to it.
    rounds: u64,
    /// The quickest channel that a glance shows, and the messages over it once they are to be
    /// noted.
    quickest_shown: Option<usize>,
    glanced: Option<Glanced>,
    /// The channels of the last messages, oldest first.
    history: VecDeque<u8>,
    since_update: u32,
    /// True if the history has changed since.
    stale: bool,
    /// True if the history changes anything.
    learns: bool,
    /// The number of times that the update rate had passed, and that something was calculated then.
    updates: u64,
    calculations: u64,
}

/// Messages for which the history has room from the beginning.
const HISTORY_ROOM: u32 = 4096;

impl Scheduler {
    /// Makes a scheduler for channels of these costs, in the engine's order; a channel without a
    /// cost is polled in each round. `shows` tells for which channels a glance is enough.
    pub(crate) fn new(
        channels: impl Iterator<Item = (Option<PollCost>, bool)>,
        polling: Polling,
    ) -> Scheduler {
        let all: Vec<(Option<PollCost>, bool)> = channels.collect();
        let entry = |&(cost, shows)| Entry { cost, shows, period: 1, looks: 0, left: 1, heard: 0 };
        let quickness = |at: &usize| all[*at].0.map(|cost| cost.latency_ns);
        let shown = (0..all.len()).filter(|at| all[*at].1 && all[*at].0.is_some());
        let mut scheduler = Scheduler {
            polling: Polling::ALL,
            default: Scheme::Dynamic,
            entries: all.iter().map(entry).collect(),
            first: all.iter().position(|(_, shows)| !shows).unwrap_or(all.len()),
            rounds: 0,
            quickest_shown: shown.min_by_key(quickness),
            glanced: None,
            history: VecDeque::new(),
            since_update: 0,
            stale: false,
            learns: false,
            updates: 0,
            calculations: 0,
        };
        scheduler.choose(polling);
        scheduler
    }

    /// Takes other channels, in the engine's order. What was learnt of the old ones is forgotten.
    pub(crate) fn replace_channels(&mut self, channels: impl Iterator<Item = (Option<PollCost>, bool)>) {
        let new = Scheduler::new(channels, self.polling);
        let old = std::mem::replace(self, new);
        (self.default, self.rounds) = (old.default, old.rounds);
        (self.updates, self.calculations) = (old.updates, old.calculations);
        for (entry, old) in self.entries.iter_mut().zip(&old.entries) {
            entry.looks = old.looks;
        }
    }

    /// Takes other settings.
    fn configure(&mut self, polling: Polling) {
        self.polling = polling.sound();
        let several = self.entries.iter().filter(|entry| entry.cost.is_some()).count() > 1;
        self.learns = several && self.polling.scheme == Scheme::Dynamic;
        let room = if self.learns { self.polling.history.min(HISTORY_ROOM) } else { 0 };
        self.history = VecDeque::with_capacity(room as usize);
        self.since_update = 0;
        self.glanced = None;
        self.entries.iter_mut().for_each(|entry| entry.heard = 0);
        self.calculate();
    }

    /// Takes these settings; what was learnt stays if they are those of before.
    pub(crate) fn choose(&mut self, polling: Polling) {
        let scheme = if polling.scheme == Scheme::Auto { self.default } else { polling.scheme };
        let polling = Polling { scheme, ..polling }.sound();
        if polling != self.polling {
            self.configure(polling);
        }
    }

    /// Changes the scheme of [`Scheme::Auto`].
    pub(crate) fn set_default(&mut self, scheme: Scheme) {
        self.default = scheme;
    }

    /// Returns the channel whose messages are to be noted by their peers, if it is not known yet
    /// from whom they may come ([`Scheduler::note`]).
    pub(crate) fn lacks_peers(&self) -> Option<usize> {
        self.quickest_shown.filter(|_| self.learns && self.glanced.is_none())
    }

    /// Notes from now on the messages over the channel that a glance shows.
    pub(crate) fn note(&mut self, glanced: Glanced) {
        self.glanced = Some(glanced);
    }

    /// Returns the looks at a channel: polls, or, where a glance is enough, the rounds in which
    /// another was scheduled beside it.
    pub(crate) fn looks(&self, channel: usize) -> u64 {
        let entry = &self.entries[channel];
        if entry.shows && entry.cost.is_some() { self.rounds } else { entry.looks }
    }

    /// Returns the time of a look that finds nothing, in nanoseconds; 0 if that is not known.
    pub(crate) fn look_ns(&self, channel: usize) -> u64 {
        self.entries[channel].cost.map_or(0, |cost| u64::from(cost.empty_ns))
    }

    /// Returns how often the update rate had passed.
    pub(crate) fn updates(&self) -> u64 {
        self.updates
    }

    /// Returns how often something was calculated then.
    pub(crate) fn calculations(&self) -> u64 {
        self.calculations
    }

    /// The period of a channel, in looks at the others.
    #[cfg(test)]
    fn period(&self, channel: usize) -> u32 {
        self.entries[channel].period
    }

    /// A round has come to this channel: returns whether it is polled now.
    #[inline(always)]
    pub(crate) fn is_due(&mut self, channel: usize) -> bool {
        self.rounds += u64::from(channel == self.first);
        let entry = &mut self.entries[channel];
        entry.left = entry.left.saturating_sub(1);
        entry.left == 0
    }

    /// Notes the messages of the channel that a glance shows, before another one is polled: those
    /// too that receives took at the front of its rings.
    #[inline]
    pub(crate) fn catch_up(&mut self, peers: &Peers) {
        if let Some(glanced) = self.glanced.as_mut().filter(|_| self.learns) {
            let (channel, messages) = (glanced.channel(), glanced.catch_up(peers));
            if messages > 0 {
                self.heard(channel, messages);
            }
        }
    }

    /// Returns whether the channel is polled in each round.
    #[inline]
    pub(crate) fn is_in_each_round(&self, channel: usize) -> bool {
        self.entries[channel].period == 1
    }

    /// Notes a poll of the channel, with this many events.
    #[inline]
    pub(crate) fn polled(&mut self, channel: usize, events: usize) {
        self.entries[channel].looks += 1;
        self.came(channel, events);
    }

    /// Notes that this many messages came over the channel: the next poll is a period away.
    #[inline]
    pub(crate) fn came(&mut self, channel: usize, messages: usize) {
        self.entries[channel].left = self.entries[channel].period;
        if messages > 0 && self.learns {
            self.heard(channel, messages as u64);
        }
    }

    /// Notes messages in the history; of more than it holds, the last count. If they change
    /// nothing, as within a burst, nothing is calculated either.
    fn heard(&mut self, channel: usize, messages: u64) {
        for _ in 0..messages.min(u64::from(self.polling.history)) {
            self.push(channel);
        }
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        self.since_update = self.since_update.saturating_add(messages);
        if self.since_update >= self.polling.update_every {
            self.since_update = 0;
            self.updates += 1;
            if std::mem::take(&mut self.stale) {
                self.calculations += 1;
                self.calculate();
            }
        }
    }

    /// Puts a message of this channel into the history, and the oldest out.
    fn push(&mut self, channel: usize) {
        let full = self.history.len() == self.polling.history as usize;
        let oldest = if full { self.history.pop_front().map(usize::from) } else { None };
        self.history.push_back(channel as u8);
        if oldest == Some(channel) {
            return;
        }
        if let Some(oldest) = oldest {
            self.entries[oldest].heard -= 1;
        }
        self.entries[channel].heard += 1;
        self.stale = true;
    }

    /// Calculates all periods. A channel whose period has become shorter is not made to wait for
    /// the old one.
    fn calculate(&mut self) {
        let most_heard = self.entries.iter().map(|entry| entry.heard).max().unwrap_or(0);
        let costs = || self.entries.iter().filter_map(|entry| entry.cost);
        let quickest_ns = costs().map(|cost| cost.latency_ns).min().unwrap_or(0);
        let cheapest_ns = costs().map(|cost| cost.empty_ns).min().unwrap_or(0);
        let glances = self.entries.iter().any(|entry| entry.shows && entry.cost.is_some());
        // A channel that is alone has none to wait for.
        let alone = costs().count() < 2;
        let Polling { scheme, ratio, .. } = self.polling;
        for entry in &mut self.entries {
            let Some(cost) = entry.cost.filter(|_| !alone) else { continue };
            entry.period = match scheme {
                Scheme::All | Scheme::Auto => 1,
                Scheme::Latency => times(cost.latency_ns, quickest_ns),
                Scheme::Overhead => times(cost.empty_ns, cheapest_ns),
                // A look there costs least, so it has at least as much weight as any other (paper
                // 3, 3.2.1). Where one channel shows by a glance, that is the one, whatever was
                // measured.
                Scheme::Ratio | Scheme::Dynamic if entry.shows => 1,
                Scheme::Ratio | Scheme::Dynamic if !glances && is_cheap(cost.empty_ns, cheapest_ns) => 1,
                Scheme::Ratio => ratio,
                Scheme::Dynamic if most_heard == 0 => 1,
                Scheme::Dynamic if entry.heard == 0 => ratio,
                Scheme::Dynamic => times(most_heard, entry.heard).min(ratio),
            };
            entry.left = entry.left.min(entry.period);
        }
    }
}

/// Returns whether a look that takes so many nanoseconds is as cheap as the cheapest.
fn is_cheap(empty_ns: u32, cheapest_ns: u32) -> bool {
    empty_ns <= cheapest_ns.saturating_mul(ALIKE)
}

/// The number of times that one is larger than the other, as a period.
fn times(one: u32, other: u32) -> u32 {
    let (one, other) = (u64::from(one), u64::from(other.max(1)));
    ((one + other / 2) / other).clamp(1, u64::from(PERIOD_MAX)) as u32
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
