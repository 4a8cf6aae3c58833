//! The modelled hardware: shared memory of each node, and one network adapter for each.
//!
//! | what | by |
//! | --- | --- |
//! | the sender's and the receiver's processor | a time for each packet, and one for each byte that it copies |
//! | shared memory | a latency |
//! | the adapter, out and in | a least time between packets, and one for each byte; a latency between two of them |
//!
//! A look that finds nothing costs no time, nor does adding up.

use super::account::aside;
use crate::Rank;
use crate::figures::polling;
use crate::verbs;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use verbena_channel::packet::Header;

/// The costs of one sort of way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Road {
    /// The sender's processor, for each packet.
    pub send_ns: u64,
    /// The receiver's processor, for each packet.
    pub receive_ns: u64,
    /// The time of the first byte on its way.
    pub latency_ns: u64,
    /// The least time between two packets of an adapter, out or in.
    pub gap_ns: u64,
    /// A byte on the wire, in picoseconds.
    pub byte_ps: u64,
    /// A byte copied by a processor, in picoseconds.
    pub copy_byte_ps: u64,
    /// A look that finds nothing, as the channel tells the engine.
    pub empty_ns: u64,
}

/// The cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Within a node.
    pub near: Road,
    /// Between nodes.
    pub far: Road,
}

impl Costs {
    /// The network of paper 1 ([`verbs::Costs::PAPER_1`]), of which all ranks of a node share an
    /// adapter, and shared memory as in the figures of paper 3 ([`polling::SHARED`]).
    pub const PAPERS: Costs = Costs {
        near: Road {
            send_ns: polling::SHARED.packet_ns,
            receive_ns: polling::SHARED.packet_ns,
            latency_ns: polling::SHARED.latency_ns,
            gap_ns: 0,
            byte_ps: 0,
            copy_byte_ps: verbs::Costs::PAPER_1.copy_byte_ps,
            empty_ns: polling::SHARED.empty_ns,
        },
        far: Road {
            send_ns: verbs::Costs::PAPER_1.packet_ns + verbs::Costs::PAPER_1.post_ns,
            receive_ns: verbs::Costs::PAPER_1.packet_ns + verbs::Costs::PAPER_1.completion_ns,
            latency_ns: verbs::Costs::PAPER_1.send.latency_ns,
            gap_ns: verbs::Costs::PAPER_1.send.issue_ns / verbs::Costs::PAPER_1.pairs_at_once,
            byte_ps: verbs::Costs::PAPER_1.byte_ps,
            copy_byte_ps: verbs::Costs::PAPER_1.copy_byte_ps,
            empty_ns: verbs::Costs::PAPER_1.poll_ns,
        },
    };

    /// The costs of a way between nodes, or within one.
    pub(super) fn road(&self, far: bool) -> Road {
        if far { self.far } else { self.near }
    }
}

/// A packet on its way or waiting.
pub(super) struct Packet {
    pub from: Rank,
    pub header: Header,
    pub payload: Vec<u8>,
}

/// The packets for a rank by one sort of way, by time of arrival and then by age.
type Inbox = BTreeMap<(u64, u64), Packet>;

/// The state of the hardware.
pub(super) struct Fabric {
    costs: Costs,
    node_size: Rank,
    clocks_ns: Vec<u64>,
    /// The packets that come for each rank within its node, and from others.
    inboxes: Vec<[Inbox; 2]>,
    /// The times at which each node's adapter can send the next packet, and take the next one.
    out_free_ns: Vec<u64>,
    in_free_ns: Vec<u64>,
    wakes: BinaryHeap<Reverse<(u64, Rank)>>,
    /// The time at which each rank runs next; `u64::MAX` if nothing is planned.
    armed_ns: Vec<u64>,
    packets: [u64; 2],
    serial: u64,
}

/// Time of this many bytes.
fn bytes_ns(bytes: usize, byte_ps: u64) -> u64 {
    bytes as u64 * byte_ps / 1000
}

impl Fabric {
    pub(super) fn new(ranks: Rank, node_size: Rank, costs: Costs) -> Fabric {
        let nodes = ranks.div_ceil(node_size) as usize;
        Fabric {
            costs,
            node_size,
            clocks_ns: vec![0; ranks as usize],
            inboxes: (0..ranks).map(|_| Default::default()).collect(),
            out_free_ns: vec![0; nodes],
            in_free_ns: vec![0; nodes],
            wakes: BinaryHeap::new(),
            armed_ns: vec![u64::MAX; ranks as usize],
            packets: [0; 2],
            serial: 0,
        }
    }

    pub(super) fn costs(&self) -> Costs {
        self.costs
    }

    fn node(&self, rank: Rank) -> usize {
        (rank / self.node_size) as usize
    }

    pub(super) fn are_together(&self, one: Rank, other: Rank) -> bool {
        self.node(one) == self.node(other)
    }

    pub(super) fn ranks(&self) -> Rank {
        self.clocks_ns.len() as Rank
    }

    /// Lets all ranks begin a step at the same time, which it returns with the packets so far.
    pub(super) fn begin_step(&mut self) -> (u64, [u64; 2]) {
        let now_ns = self.clocks_ns.iter().copied().max().unwrap_or(0);
        self.clocks_ns.fill(now_ns);
        (now_ns, self.packets)
    }

    /// Packets so far, within nodes and between them.
    pub(super) fn packets(&self) -> [u64; 2] {
        self.packets
    }

    pub(super) fn clock_ns(&self, rank: Rank) -> u64 {
        self.clocks_ns[rank as usize]
    }

    pub(super) fn set_clock_ns(&mut self, rank: Rank, ns: u64) {
        self.clocks_ns[rank as usize] = ns;
    }

    /// Lets a rank run at that time, or earlier if that was asked for before.
    pub(super) fn wake(&mut self, rank: Rank, at_ns: u64) {
        if at_ns < self.armed_ns[rank as usize] {
            self.armed_ns[rank as usize] = at_ns;
            self.wakes.push(Reverse((at_ns, rank)));
        }
    }

    /// The next rank to run. One that is at work still runs when that is done.
    pub(super) fn next(&mut self) -> Option<Rank> {
        while let Some(Reverse((at_ns, rank))) = self.wakes.pop() {
            // An earlier wake has replaced this one if the time differs.
            if self.armed_ns[rank as usize] != at_ns {
                continue;
            }
            self.armed_ns[rank as usize] = u64::MAX;
            let clock_ns = self.clocks_ns[rank as usize];
            if clock_ns <= at_ns {
                self.clocks_ns[rank as usize] = at_ns;
                return Some(rank);
            }
            self.wake(rank, clock_ns);
        }
        None
    }

    /// The rank has nothing more to do now: it runs when the next packet comes.
    pub(super) fn rest(&mut self, rank: Rank) {
        let firsts = self.inboxes[rank as usize].iter().filter_map(BTreeMap::first_key_value);
        if let Some(at_ns) = firsts.map(|((at_ns, _), _)| *at_ns).min() {
            self.wake(rank, at_ns);
        }
    }

    /// Takes a packet, which costs the sender's processor its time.
    pub(super) fn send(&mut self, from: Rank, to: Rank, header: &Header, payload: Vec<u8>) {
        let far = !self.are_together(from, to);
        let (road, bytes) = (self.costs.road(far), payload.len());
        let clock = &mut self.clocks_ns[from as usize];
        *clock += road.send_ns + bytes_ns(bytes, road.copy_byte_ps);
        let mut at_ns = *clock;
        if far {
            let wire_ns = road.gap_ns.max(bytes_ns(bytes, road.byte_ps));
            let (out, into) = (self.node(from), self.node(to));
            let begin_ns = at_ns.max(self.out_free_ns[out]);
            self.out_free_ns[out] = begin_ns + wire_ns;
            // The last byte is there when the wire has carried it and the adapter has taken all
            // that came before.
            let first_ns = (begin_ns + road.latency_ns).max(self.in_free_ns[into]);
            self.in_free_ns[into] = first_ns + wire_ns;
            at_ns = first_ns + bytes_ns(bytes, road.byte_ps);
        } else {
            at_ns += road.latency_ns;
        }
        self.serial += 1;
        self.packets[usize::from(far)] += 1;
        let packet = Packet { from, header: *header, payload };
        self.inboxes[to as usize][usize::from(far)].insert((at_ns, self.serial), packet);
        self.wake(to, at_ns);
    }

    /// Takes the next packet that has come for the rank by one sort of way, which costs its
    /// processor the time.
    pub(super) fn arrive(&mut self, rank: Rank, far: bool) -> Option<Packet> {
        let clock = &mut self.clocks_ns[rank as usize];
        let first = self.inboxes[rank as usize][usize::from(far)].first_entry();
        let packet = first.filter(|entry| entry.key().0 <= *clock)?.remove();
        let road = self.costs.road(far);
        *clock += road.receive_ns + bytes_ns(packet.payload.len(), road.copy_byte_ps);
        Some(packet)
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        aside(|| drop(std::mem::take(&mut self.payload)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_channel::packet::Kind;

    fn arrival_ns(fabric: &mut Fabric, to: Rank, far: bool) -> u64 {
        *fabric.inboxes[to as usize][usize::from(far)].first_key_value().map(|((at_ns, _), _)| at_ns).unwrap()
    }

    #[test]
    fn ranks_of_a_node_share_its_adapter_and_no_memory() {
        let costs = Costs::PAPERS;
        let mut fabric = Fabric::new(8, 4, costs);
        let header = Header::new(Kind::Eager);
        (0..4).for_each(|rank| fabric.send(rank, rank + 4, &header, vec![0; 8]));
        let times: Vec<u64> = (4..8).map(|to| arrival_ns(&mut fabric, to, true)).collect();
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [costs.far.gap_ns; 3]);
        let mut fabric = Fabric::new(8, 4, costs);
        (0..2).for_each(|rank| fabric.send(rank, rank + 2, &header, vec![0; 8]));
        assert_eq!(arrival_ns(&mut fabric, 2, false), arrival_ns(&mut fabric, 3, false));
        assert_eq!(fabric.packets(), [2, 0]);
    }

    #[test]
    fn a_packet_is_taken_when_it_has_come() {
        let mut fabric = Fabric::new(2, 2, Costs::PAPERS);
        fabric.send(0, 1, &Header::new(Kind::Eager), vec![7; 3]);
        assert!(fabric.arrive(1, false).is_none());
        assert_eq!(fabric.next(), Some(1));
        assert!(fabric.arrive(1, true).is_none());
        let packet = fabric.arrive(1, false).expect("it has come");
        assert_eq!((packet.from, &packet.payload[..]), (0, &[7, 7, 7][..]));
        assert!(fabric.clock_ns(1) > fabric.clock_ns(0));
        assert_eq!(fabric.next(), None);
    }
}
