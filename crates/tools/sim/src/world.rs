//! The fabric: what is on its way between the ranks, and when it arrives.

use crate::Rank;
use crate::divisions::Divisions;
use crate::faults::{Canary, Faults};
use crate::random::{Random, mix};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use verbena_channel::packet::Header;
use verbena_channel::{Access, Division, End, Key};
use verbena_fault::Fault;
use verbena_memory::Region;

/// Percentage of packets that could go straight to a receive and do not.
const LEFT_PERCENT: u32 = 20;

/// Memory that other ranks may read or write.
#[derive(Clone, Copy, Debug)]
struct Exposed {
    owner: Rank,
    region: Region,
    access: Access,
}

/// Something that will happen at a rank.
#[derive(Debug)]
pub(crate) enum Event {
    Packet { from: Rank, header: Header, payload: Vec<u8> },
    Transfer(Moving),
}

/// A transfer of memory in the background: the bytes move when it ends.
#[derive(Debug)]
pub(crate) struct Moving {
    pub token: u64,
    pub key: u64,
    pub offset: u64,
    pub mine: Region,
    pub put: bool,
    pub fails: bool,
}

/// An event with its time; ordered by time, then by age.
#[derive(Debug)]
struct Timed {
    at_ns: u64,
    serial: u64,
    event: Event,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Timed) -> bool {
        self.serial == other.serial
    }
}
impl Eq for Timed {}
impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Timed) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timed {
    fn cmp(&self, other: &Timed) -> std::cmp::Ordering {
        (self.at_ns, self.serial).cmp(&(other.at_ns, other.serial))
    }
}

/// The reason why a packet was not taken.
pub(crate) enum Refusal {
    Full,
    Dead,
}

/// A channel's treatment of packets for a dead rank until its death is known.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// The channel takes and loses them.
    Swallows,
    /// The channel never has room.
    Jams,
    /// The channel says so.
    Tells,
}

/// The packets under way from one rank to another.
#[derive(Clone, Copy, Default)]
struct Line {
    under_way: usize,
    last_ns: u64,
}

/// The state of the fabric.
pub(crate) struct World {
    pub now_ns: u64,
    pub faults: Faults,
    pub random: Random,
    /// A hash of all that happened.
    pub trace: u64,
    /// Rules that the engines broke.
    pub violations: Vec<String>,
    /// Sends that found no room since somebody looked.
    pub refusals: u64,
    /// Packets that went straight to a receive.
    pub fronts: u64,
    ranks: Rank,
    /// Ranks that have died.
    dead: Vec<Option<Death>>,
    inboxes: Vec<BinaryHeap<Reverse<Timed>>>,
    wakes: BinaryHeap<Reverse<(u64, u64, Rank)>>,
    /// The time at which each rank runs next; `u64::MAX` if nothing is planned.
    armed: Vec<u64>,
    lines: Vec<Line>,
    exposed: HashMap<u64, Exposed>,
    divisions: Divisions,
    serial: u64,
    transfers: u64,
}

impl World {
    pub(crate) fn new(random: Random, ranks: Rank, faults: Faults) -> World {
        World {
            now_ns: 0,
            faults,
            random,
            trace: 0,
            violations: Vec::new(),
            refusals: 0,
            fronts: 0,
            ranks,
            dead: vec![None; ranks as usize],
            inboxes: (0..ranks).map(|_| BinaryHeap::new()).collect(),
            wakes: BinaryHeap::new(),
            armed: vec![u64::MAX; ranks as usize],
            lines: vec![Line::default(); (ranks * ranks) as usize],
            exposed: HashMap::new(),
            divisions: Divisions::default(),
            serial: 0,
            transfers: 0,
        }
    }

    /// Adds words to the trace.
    pub(crate) fn note(&mut self, words: &[u64]) {
        self.trace = words.iter().fold(self.trace, |trace, word| mix(trace ^ *word).wrapping_add(1));
    }

    /// Lets `rank` run at that time, or earlier if that was asked for before.
    pub(crate) fn wake(&mut self, rank: Rank, at_ns: u64) {
        if at_ns < self.armed[rank as usize] {
            self.armed[rank as usize] = at_ns;
            self.serial += 1;
            self.wakes.push(Reverse((at_ns, self.serial, rank)));
        }
    }

    /// Returns when the next rank runs; `u64::MAX` if nothing is planned.
    pub(crate) fn next_wake_ns(&mut self) -> u64 {
        while let Some(Reverse((at_ns, _, rank))) = self.wakes.peek().copied() {
            // An earlier wake has replaced this one if the time differs.
            if self.armed[rank as usize] == at_ns {
                return at_ns;
            }
            self.wakes.pop();
        }
        u64::MAX
    }

    /// The next rank to run, with the time.
    pub(crate) fn next_wake(&mut self) -> Option<(u64, Rank)> {
        self.next_wake_ns();
        let Reverse((at_ns, _, rank)) = self.wakes.pop()?;
        self.armed[rank as usize] = u64::MAX;
        Some((at_ns, rank))
    }

    /// Lets `rank` run when the next thing arrives for it.
    pub(crate) fn wake_on_arrival(&mut self, rank: Rank) {
        if let Some(Reverse(first)) = self.inboxes[rank as usize].peek() {
            let at_ns = first.at_ns.max(self.now_ns + 1);
            self.wake(rank, at_ns);
        }
    }

    /// The rank dies: nothing reaches it any more.
    pub(crate) fn kill(&mut self, rank: Rank) {
        self.note(&[self.now_ns, rank as u64]);
        let death = self.random.pick(&[Death::Swallows, Death::Jams, Death::Tells]);
        self.dead[rank as usize] = Some(death);
        self.inboxes[rank as usize].clear();
    }

    /// Returns whether the rank has died.
    pub(crate) fn is_dead(&self, rank: Rank) -> bool {
        self.dead[rank as usize].is_some()
    }

    /// Returns whether nothing is on its way.
    pub(crate) fn is_silent(&self) -> bool {
        self.inboxes.iter().all(BinaryHeap::is_empty)
    }

    fn schedule(&mut self, at: Rank, at_ns: u64, event: Event) {
        self.serial += 1;
        self.inboxes[at as usize].push(Reverse(Timed { at_ns, serial: self.serial, event }));
        self.wake(at, at_ns);
    }

    fn line(&mut self, from: Rank, to: Rank) -> &mut Line {
        &mut self.lines[(from * self.ranks + to) as usize]
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.random.below(many as u64) == 0
    }

    /// Takes a packet.
    pub(crate) fn send(
        &mut self,
        from: Rank,
        to: Rank,
        header: &Header,
        payload: impl Fn(&mut [u8]),
        len: usize,
    ) -> Result<(), Refusal> {
        match self.dead[to as usize] {
            Some(Death::Swallows) => return Ok(()),
            Some(Death::Jams) => return Err(self.full(from)),
            Some(Death::Tells) => return Err(Refusal::Dead),
            None => {}
        }
        let (full_percent, room) = (self.faults.full_percent, self.faults.room);
        if self.line(from, to).under_way >= room || self.random.percent(full_percent) {
            return Err(self.full(from));
        }
        let mut bytes = vec![0; len];
        payload(&mut bytes);
        self.note(&[
            self.now_ns,
            (from as u64) << 32 | to as u64,
            header.sequence as u64,
            header.kind as u64,
            len as u64,
        ]);
        self.carry(from, to, header, bytes);
        Ok(())
    }

    /// The sender will try again.
    fn full(&mut self, from: Rank) -> Refusal {
        self.refusals += 1;
        let later_ns = self.now_ns + self.random.between(10, 1000);
        self.wake(from, later_ns);
        Refusal::Full
    }

    fn carry(&mut self, from: Rank, to: Rank, header: &Header, mut payload: Vec<u8>) {
        let canary = self.faults.canary;
        match canary {
            Canary::Loses(many) if self.one_in(many) => return,
            Canary::Garbles(many) if !payload.is_empty() && self.one_in(many) => payload[0] ^= 0x55,
            _ => {}
        }
        if self.random.percent(self.faults.duplicate_percent) {
            self.carry_copy(from, to, header, payload.clone());
        }
        self.carry_copy(from, to, header, payload);
    }

    fn carry_copy(&mut self, from: Rank, to: Rank, header: &Header, payload: Vec<u8>) {
        let mut at_ns = self.now_ns + self.random.between(1, self.faults.delay_ns_max);
        let canary = self.faults.canary;
        let swapped = matches!(canary, Canary::Swaps(many) if self.one_in(many));
        let ordered = self.faults.ordered;
        let line = self.line(from, to);
        line.under_way += 1;
        if swapped {
            at_ns = line.last_ns.saturating_sub(1);
        } else if ordered {
            at_ns = at_ns.max(line.last_ns + 2);
            line.last_ns = at_ns;
        }
        self.schedule(to, at_ns, Event::Packet { from, header: *header, payload });
    }

    /// Takes what has arrived at `rank`, one thing at a time.
    pub(crate) fn arrive(&mut self, rank: Rank) -> Option<Event> {
        let Reverse(first) = self.inboxes[rank as usize].peek()?;
        if first.at_ns > self.now_ns {
            return None;
        }
        let Reverse(timed) = self.inboxes[rank as usize].pop()?;
        if let Event::Packet { from, header, .. } = &timed.event {
            let (from, sequence) = (*from, header.sequence);
            self.line(from, rank).under_way -= 1;
            self.note(&[self.now_ns, rank as u64, from as u64, sequence as u64]);
        }
        Some(timed.event)
    }

    /// Takes the next packet from `from` that has arrived at `rank`, if it is `wanted` but for the
    /// length, and copies its payload to `into`, if it fits; returns its length. Now and then the
    /// fabric leaves even that to [`World::arrive`].
    pub(crate) fn take_direct(
        &mut self,
        rank: Rank,
        from: Rank,
        wanted: &Header,
        into: Region,
    ) -> Option<usize> {
        let inbox = &self.inboxes[rank as usize];
        let its =
            |timed: &&Timed| matches!(&timed.event, Event::Packet { from: sender, .. } if *sender == from);
        let first = inbox.iter().map(|Reverse(timed)| timed).filter(its).min()?;
        let Event::Packet { header, payload, .. } = &first.event else { return None };
        let is_wanted = Header { length: wanted.length, ..*header } == *wanted && payload.len() <= into.len();
        if first.at_ns > self.now_ns || !is_wanted || self.random.percent(LEFT_PERCENT) {
            return None;
        }
        let (serial, bytes) = (first.serial, payload.len());
        into.write(0, payload);
        self.inboxes[rank as usize].retain(|Reverse(timed)| timed.serial != serial);
        self.line(from, rank).under_way -= 1;
        self.note(&[self.now_ns, u64::from(rank), u64::from(from), u64::from(wanted.sequence), bytes as u64]);
        self.fronts += 1;
        Some(bytes)
    }

    pub(crate) fn expose(&mut self, owner: Rank, region: Region, access: Access) -> Key {
        self.serial += 1;
        self.exposed.insert(self.serial, Exposed { owner, region, access });
        let mut key = Key::default();
        key.0[..8].copy_from_slice(&self.serial.to_le_bytes());
        key
    }

    pub(crate) fn conceal(&mut self, owner: Rank, key: &Key) {
        if self.exposed.remove(&number(key)).is_none_or(|exposed| exposed.owner != owner) {
            self.violations.push(format!("rank {owner} conceals memory that it does not expose"));
        }
    }

    /// Exposures and divisions of living ranks that were not ended.
    pub(crate) fn exposures(&self) -> usize {
        let exposed = self.exposed.values().filter(|exposed| !self.is_dead(exposed.owner)).count();
        exposed + self.divisions.count(|rank| !self.is_dead(rank))
    }

    /// Opens a division; now and then the fabric has none to give.
    pub(crate) fn divide(&mut self, me: Rank, peer: Rank, parts: u32) -> Option<Division> {
        let given = !self.random.percent(self.faults.undivided_percent);
        given.then(|| self.divisions.open(me, peer, parts))
    }

    pub(crate) fn take_part(&mut self, me: Rank, peer: Rank, division: Division, from: End) -> Option<u32> {
        let taken = self.divisions.take(me, peer, division, from);
        self.note(&[self.now_ns, u64::from(me), division.0, from as u64]);
        taken.unwrap_or_else(|violation| {
            self.violations.push(violation);
            None
        })
    }

    /// Ends a division; returns how many parts the sender took, and how many nobody took.
    pub(crate) fn end_division(&mut self, me: Rank, division: Division) -> (u32, u32) {
        self.divisions.end(me, division).unwrap_or_else(|violation| {
            self.violations.push(violation);
            (0, 0)
        })
    }

    /// Begins a transfer: `Some(true)` if it is done, `Some(false)` if it is under way, `None` if
    /// refused.
    pub(crate) fn transfer(&mut self, rank: Rank, mut moving: Moving) -> Option<bool> {
        let memory = self.faults.memory;
        self.transfers += 1;
        if self.transfers > memory.refused_after
            || self.is_of_dead(moving.key)
            || self.random.percent(memory.refused_percent)
        {
            return None;
        }
        self.note(&[self.now_ns, rank as u64, moving.offset, moving.mine.len() as u64, moving.put as u64]);
        if !self.random.percent(memory.later_percent) {
            self.move_bytes(rank, &moving);
            return Some(true);
        }
        moving.fails = self.random.percent(memory.failing_percent);
        let at_ns = self.now_ns + self.random.between(1, self.faults.delay_ns_max * 4);
        self.schedule(rank, at_ns, Event::Transfer(moving));
        Some(false)
    }

    /// Ends a transfer in the background.
    pub(crate) fn end_transfer(&mut self, rank: Rank, moving: &Moving) -> Result<(), Fault> {
        if moving.fails || self.is_of_dead(moving.key) {
            return Err(fault("the simulated fabric failed to move memory", rank));
        }
        self.move_bytes(rank, moving);
        Ok(())
    }

    fn is_of_dead(&self, key: u64) -> bool {
        self.exposed.get(&key).is_some_and(|exposed| self.is_dead(exposed.owner))
    }

    fn move_bytes(&mut self, rank: Rank, moving: &Moving) {
        let allowed = |exposed: &&Exposed| {
            let Access { read, write, .. } = exposed.access;
            if moving.put { write } else { read }
        };
        let Some(&Exposed { region, .. }) = self.exposed.get(&moving.key).filter(allowed) else {
            let verb = if moving.put { "writes into" } else { "reads" };
            return self.violations.push(format!("rank {rank} {verb} memory that is not exposed for that"));
        };
        let canary = self.faults.canary;
        if matches!(canary, Canary::Lies(many) if self.one_in(many)) {
            return;
        }
        let theirs = region.part(moving.offset as usize, moving.mine.len());
        if moving.put { theirs.copy_from(moving.mine) } else { moving.mine.copy_from(theirs) }
    }
}

/// The number in a key of this fabric.
pub(crate) fn number(key: &Key) -> u64 {
    u64::from_le_bytes(key.0[..8].try_into().expect("eight bytes"))
}

/// A failure of the fabric.
pub(crate) fn fault(what: &str, rank: Rank) -> Fault {
    Fault {
        what: what.into(),
        on: format!("rank {rank}"),
        cause: "the simulator's faults".into(),
        remedy: "none is needed".into(),
    }
}
