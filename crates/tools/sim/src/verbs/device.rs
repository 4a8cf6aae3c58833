//! The device of one rank: registrations, completions, datagrams and queue pairs.

use super::pair::{Pair, Receive, State};
use super::post_office::PostOffice;
use std::collections::{BTreeMap, HashMap, VecDeque};
use verbena_channel::Access;
use verbena_infiniband::device::{Completion, Failed, QueuePair, Trouble};
use verbena_memory::Region;

/// A completion in the queue, with the number of the work that it ends (`None` for a receive).
#[derive(Debug)]
pub(super) struct Queued {
    pub completion: Completion,
    pub retires: Option<u64>,
}

impl Queued {
    /// Returns whether it is still to be taken once `pair` is closed: if it belongs to another
    /// pair, or fills a buffer of the shared queue, which then ends as flushed.
    pub(super) fn survives_closing(&mut self, pair: QueuePair, shared: bool) -> bool {
        let concerned = self.completion.pair == pair;
        let filled = shared && self.retires.is_none() && self.completion.outcome.is_ok();
        if concerned && filled {
            self.completion.outcome = Err(Failed::Flushed);
        }
        !concerned || filled
    }
}

/// The state of a device.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// The time that the work of the rank's CPU has reached.
    pub clock_ns: u64,
    /// The device moves bytes this many times slower than [`Costs`](super::Costs) say; 0 counts as
    /// 1.
    pub slower: u64,
    /// The device may start the next work, of whatever queue pair.
    pub out_free_ns: u64,
    /// The device can take the next arrival.
    pub in_free_ns: u64,
    /// Spans of time in which the device moves bytes of this host, oldest first.
    pub busy: VecDeque<(u64, u64)>,
    /// True if its rank has died, or let go of the device.
    pub dead: bool,
    /// True if nothing completes any more, and its user was told.
    pub broken: bool,
    /// True if nothing completes any more, and nobody is told.
    pub hung: bool,
    /// True if nothing gets through.
    pub port_down: bool,
    /// The number of times it went down by chance.
    pub blinks: u32,
    /// True if nothing gets out.
    pub mute: bool,
    /// True if nothing gets in.
    pub deaf: bool,
    /// True if nothing that happens by chance makes it fail.
    pub safe: bool,
    pub by_local_key: HashMap<u32, Region>,
    pub by_remote_key: HashMap<u32, (Region, Access)>,
    pub registered_bytes: u64,
    pub registered_bytes_high: u64,
    pub pairs: BTreeMap<u32, Pair>,
    /// The most that there were at a time.
    pub pairs_most: usize,
    pub shared: VecDeque<Receive>,
    /// The rank wants to be told, once, when fewer buffers lie there; 0: no.
    pub shared_low: usize,
    /// The number of times that it was told.
    pub few_receives: u64,
    pub completions: VecDeque<Queued>,
    pub datagrams: VecDeque<Vec<u8>>,
    pub post: PostOffice,
    pub troubles: VecDeque<Trouble>,
    /// The rank asked for an event at the next completion or datagram.
    pub armed: bool,
    /// True if that event came.
    pub event: bool,
}

impl Device {
    /// Returns whether it takes part in anything.
    pub(super) fn is_up(&self) -> bool {
        !self.dead && !self.broken && !self.hung
    }

    /// Returns whether it holds anything that its rank has not seen.
    pub(super) fn has_unseen(&self) -> bool {
        let nothing = self.completions.is_empty() && self.datagrams.is_empty() && !self.post.has_unseen();
        !self.dead && !nothing
    }

    /// Returns whether it holds anything that its user has not been told; about its trouble a user
    /// asks only now and then.
    pub(super) fn has_untold(&self) -> bool {
        self.has_unseen() || !self.dead && !self.troubles.is_empty()
    }

    /// Returns whether that local memory is registered under this key.
    pub(super) fn may_use(&self, key: u32, region: Region) -> bool {
        region.is_empty()
            || self
                .by_local_key
                .get(&key)
                .is_some_and(|whole| lies_within(*whole, region.address(), region.len()))
    }

    /// The memory that a peer names by address and key, if it may do that there.
    pub(super) fn exposed(&self, address: u64, key: u32, len: usize, wanted: Access) -> Option<Region> {
        if len == 0 {
            return Some(Region::EMPTY);
        }
        let (whole, granted) = *self.by_remote_key.get(&key)?;
        let may = granted.read >= wanted.read && granted.write >= wanted.write;
        let may = may && granted.atomic >= wanted.atomic;
        let within = may && lies_within(whole, address, len);
        within.then(|| whole.part((address - whole.address()) as usize, len))
    }

    /// Puts a completion into the queue.
    pub(super) fn complete(&mut self, pair: u32, id: u64, result: Result<u32, Failed>, retires: Option<u64>) {
        let completion = Completion { id, pair: QueuePair(pair), outcome: result };
        self.completions.push_back(Queued { completion, retires });
        self.tell();
    }

    /// The rank asks for an event; what is there already makes none.
    pub(super) fn arm(&mut self) {
        (self.armed, self.event) = (true, false);
    }

    /// Notes that something is there to be taken: makes the event, if one was asked for.
    pub(super) fn tell(&mut self) {
        self.event |= std::mem::take(&mut self.armed);
    }

    /// Puts the pair into error: everything posted on it that has not ended is flushed.
    pub(super) fn break_pair(&mut self, number: u32) {
        let Some(pair) = self.pairs.get_mut(&number) else { return };
        pair.state = State::Error;
        let work: Vec<_> = pair.work.drain(..).collect();
        let receives: Vec<_> = pair.receives.drain(..).collect();
        for work in work {
            self.complete(number, work.id, Err(Failed::Flushed), Some(work.serial));
        }
        for receive in receives {
            self.complete(number, receive.id, Err(Failed::Flushed), None);
        }
    }

    /// The receive buffer for the next send to this pair.
    pub(super) fn next_receive(&mut self, pair: u32) -> Option<Receive> {
        let pair = self.pairs.get_mut(&pair)?;
        if !pair.shared {
            return pair.receives.pop_front();
        }
        let taken = self.shared.pop_front();
        if self.shared.len() < self.shared_low {
            self.shared_low = 0;
            self.troubles.push_back(Trouble::FewReceives);
            self.few_receives += 1;
        }
        taken
    }

    /// The device moves bytes of this host in that span.
    pub(super) fn note_busy(&mut self, from_ns: u64, until_ns: u64) {
        if until_ns > from_ns {
            self.busy.push_back((from_ns, until_ns));
        }
    }

    /// Nanoseconds of the span in which the device moves bytes of this host.
    pub(super) fn busy_within(&mut self, from_ns: u64, until_ns: u64) -> u64 {
        while self.busy.front().is_some_and(|(_, end)| *end <= from_ns) {
            self.busy.pop_front();
        }
        let overlap = |(start, end): &(u64, u64)| (*end).min(until_ns).saturating_sub((*start).max(from_ns));
        self.busy.iter().map(overlap).sum()
    }
}

/// Returns whether the bytes lie within the region.
fn lies_within(whole: Region, address: u64, len: usize) -> bool {
    let end = |start: u64, len: usize| start.checked_add(len as u64);
    let whole_end = end(whole.address(), whole.len());
    address >= whole.address() && end(address, len).is_some_and(|end| Some(end) <= whole_end)
}
