//! The two ends and the wire.

use crate::reliable::assembly::Spot;
use crate::reliable::{Ack, Link, NEVER, Piece, Rules, Shot, Turn, Verdict};
use std::collections::BTreeMap;

/// The wire's latency.
pub(super) const LATENCY_NS: u64 = 4000;
/// The first wait for an acknowledgement, by the rules of the tests.
pub(super) const FIRST_NS: u64 = 200_000;
/// Bytes of a fragment that is not the last of its group.
const FRAGMENT_BYTES: usize = 8;
/// Steps after which a run counts as hanging.
const STEPS_MAX: u32 = 200_000;

/// The behaviour of the wire.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire {
    /// The datagrams with these numbers, counted from 0, are lost.
    pub lost: Vec<u64>,
    /// All datagrams from this one on are lost.
    pub lost_from: Option<u64>,
    pub lost_percent: u64,
    pub doubled_percent: u64,
    pub late_ns_max: u64,
    pub seed: u64,
}

impl Wire {
    pub(super) fn clean() -> Wire {
        Wire { seed: 1, ..Wire::default() }
    }

    pub(super) fn losing(which: &[u64]) -> Wire {
        Wire { lost: which.to_vec(), ..Wire::clean() }
    }

    pub(super) fn losing_from(first: u64) -> Wire {
        Wire { lost_from: Some(first), ..Wire::clean() }
    }

    pub(super) fn dead() -> Wire {
        Wire::losing_from(0)
    }

    /// Makes a wire with up to 20% loss, half of all doubled, everything swapped.
    pub(super) fn random(seed: u64) -> Wire {
        let mut wire = Wire { seed: seed * 2 + 1, ..Wire::default() };
        wire.lost_percent = wire.below(21);
        wire.doubled_percent = wire.below(51);
        wire.late_ns_max = [0, LATENCY_NS, 20 * LATENCY_NS][wire.below(3) as usize];
        wire
    }

    /// Draws a number by SplitMix64.
    fn below(&mut self, most: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ self.seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % most.max(1)
    }
}

#[derive(Clone, Debug)]
struct Datagram {
    ack: Ack,
    /// The number, piece, body, and whether the sender waits.
    fragment: Option<(u32, Piece, Vec<u8>, bool)>,
}

/// Two ends.
pub(super) struct Pair {
    rules: Rules,
    pub links: [Link; 2],
    pub now_ns: u64,
    wire: Wire,
    /// The datagrams by time, then by age: the receiver, and the datagram.
    flying: BTreeMap<(u64, u64), (usize, Datagram)>,
    carried: u64,
    bodies: [Vec<Vec<u8>>; 2],
    groups: [u32; 2],
    delivered: [Vec<(u32, usize)>; 2],
    /// The fragments sent, and acknowledgements that went alone.
    pub transmissions: u32,
    pub acks: u32,
    pub gave_up: [bool; 2],
}

impl Pair {
    pub(super) fn new(rules: Rules, wire: Wire) -> Pair {
        Pair {
            links: [0, 1].map(|_| Link::new(&rules)),
            rules,
            now_ns: 0,
            wire,
            flying: BTreeMap::new(),
            carried: 0,
            bodies: [Vec::new(), Vec::new()],
            groups: [0; 2],
            delivered: [Vec::new(), Vec::new()],
            transmissions: 0,
            acks: 0,
            gave_up: [false; 2],
        }
    }

    /// Returns the groups that arrived at this end, with their fragments, in the order of arrival.
    pub(super) fn delivered(&self, at: usize) -> Vec<(u32, usize)> {
        self.delivered[at].clone()
    }

    /// Hands a group over whose bytes tell its number, then its length.
    pub(super) fn send(&mut self, from: usize, fragments: u8) {
        let group = self.groups[from];
        self.groups[from] += 1;
        for index in 0..fragments {
            let mut body = group.to_le_bytes().to_vec();
            body.extend((index as u32).to_le_bytes());
            self.bodies[from].push(body);
            let buffer = self.bodies[from].len() as u32 - 1;
            let piece = Piece { buffer, bytes: FRAGMENT_BYTES as u16, index, count: fragments };
            self.links[from].outgoing.push(piece);
        }
        self.pump(from);
    }

    /// Lets both ends send something as soon as they may.
    pub(super) fn exchange(&mut self) {
        for from in 0..2 {
            for _ in 0..STEPS_MAX {
                if self.links[from].outgoing.takes_group() {
                    break;
                }
                self.step();
            }
            let fragments = 1 + self.wire.below(9) as u8;
            self.send(from, fragments);
        }
    }

    fn pump(&mut self, from: usize) {
        loop {
            // Now and then several are asked for before the first is made.
            let most = 1 + self.wire.below(3) as u32;
            let shots: Vec<Shot> =
                (0..most).map_while(|ahead| self.links[from].outgoing.next(ahead)).collect();
            if shots.is_empty() {
                return;
            }
            shots.into_iter().for_each(|shot| self.transmit(from, shot));
        }
    }

    fn transmit(&mut self, from: usize, shot: Shot) {
        let link = &mut self.links[from];
        let ack = Ack { bits: Default::default(), ..link.incoming.ack(self.now_ns) };
        link.incoming.told_next();
        let body = self.bodies[from][shot.piece.buffer as usize].clone();
        link.outgoing.sent(&self.rules, shot.number, self.now_ns);
        self.transmissions += 1;
        self.carry(1 - from, Datagram { ack, fragment: Some((shot.number, shot.piece, body, shot.last)) });
    }

    fn carry(&mut self, to: usize, datagram: Datagram) {
        let number = self.carried;
        self.carried += 1;
        let wire = &mut self.wire;
        let lost = wire.lost.contains(&number)
            || wire.lost_from.is_some_and(|first| number >= first)
            || wire.below(100) < wire.lost_percent;
        let copies = if lost { 0 } else { 1 + u64::from(wire.below(100) < wire.doubled_percent) };
        for copy in 0..copies {
            let at_ns = self.now_ns + LATENCY_NS + wire.below(wire.late_ns_max + 1);
            self.flying.insert((at_ns, 2 * number + copy), (to, datagram.clone()));
        }
    }

    fn arrive(&mut self, at: usize, datagram: Datagram) {
        let (rules, now_ns) = (self.rules, self.now_ns);
        let link = &mut self.links[at];
        link.outgoing.heard(now_ns);
        link.outgoing.acknowledged(&rules, &datagram.ack, now_ns, &mut Vec::new());
        if let Some((number, piece, body, wanted)) = datagram.fragment
            && link.incoming.take(number, now_ns) == Turn::Fresh
        {
            let (index, count) = (u32::from(piece.index), u32::from(piece.count));
            let first = number.wrapping_sub(index);
            let spot = Spot { first, index, count, fragment_bytes: FRAGMENT_BYTES };
            if let Some(group) = link.assembly.put(spot, &body) {
                link.completed(&rules, count, wanted, now_ns);
                let word = |at: usize| u32::from_le_bytes(group[at..at + 4].try_into().expect("four bytes"));
                assert!((0..count as usize).all(|i| word(8 * i) == word(0) && word(8 * i + 4) == i as u32));
                self.delivered[at].push((word(0), count as usize));
            }
        }
        self.pump(at);
    }

    /// Does the next thing: an arrival, or a timer.
    pub(super) fn step(&mut self) {
        let arrival_ns = self.flying.first_key_value().map_or(NEVER, |((at_ns, _), _)| *at_ns);
        let due_ns = self.links.iter().map(Link::due_ns).min().expect("two");
        if arrival_ns.min(due_ns) == NEVER {
            return;
        }
        self.now_ns = self.now_ns.max(arrival_ns.min(due_ns));
        if arrival_ns <= due_ns {
            let (_, (to, datagram)) = self.flying.pop_first().expect("looked at just now");
            self.arrive(to, datagram);
        }
        (0..2).for_each(|at| self.tick(at));
    }

    fn tick(&mut self, at: usize) {
        if self.links[at].outgoing.timed_out(&self.rules, false, self.now_ns) == Verdict::GiveUp {
            self.gave_up[at] = true;
            self.now_ns += 1;
            return;
        }
        self.pump(at);
        let link = &mut self.links[at];
        if link.incoming.due_ns() <= self.now_ns {
            let ack = link.incoming.ack(self.now_ns);
            link.incoming.told();
            self.acks += 1;
            self.carry(1 - at, Datagram { ack, fragment: None });
        }
    }

    /// Lets everything happen that is due until then.
    pub(super) fn run_until(&mut self, until_ns: u64) {
        loop {
            let arrival_ns = self.flying.first_key_value().map_or(NEVER, |((at_ns, _), _)| *at_ns);
            let due_ns = self.links.iter().map(Link::due_ns).min().expect("two");
            if arrival_ns.min(due_ns) > until_ns {
                self.now_ns = until_ns;
                return;
            }
            self.step();
        }
    }

    /// Lets everything happen until nothing is left to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..STEPS_MAX {
            if self.flying.is_empty() && self.is_quiet() {
                return;
            }
            self.step();
        }
        panic!("no end after {STEPS_MAX} steps: {:?}", self.links);
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.links.iter().all(Link::is_quiet)
    }
}
