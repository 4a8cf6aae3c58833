//! The ways of one peer and of several, against times that are given.

use super::*;

const LONG: u64 = 1 << 20;

/// The ways of one peer, with a clock.
#[derive(Default)]
struct Pair {
    ways: NodeWays,
    taught: TaughtWays,
    now_ns: u64,
}

impl Pair {
    /// A message of a stream; returns its way.
    fn receive(&mut self, leads: bool, took: [u64; 3]) -> NodeWay {
        let choice = self.ways.choose(LONG, leads, NodeWay::Packets, &self.taught, self.now_ns);
        self.now_ns += took[choice.way() as usize];
        self.ways.end(choice, &mut self.taught, self.now_ns);
        choice.way()
    }

    /// A message that answers one that went this way.
    fn answer(&mut self, leads: bool, sent: Option<NodeWay>, took: [u64; 3]) -> NodeWay {
        self.ways.sent(sent, LONG);
        self.receive(leads, took)
    }

    /// A stream of messages; returns how many of the last hundred went each way.
    fn stream(&mut self, took: [u64; 3]) -> [u32; 3] {
        let mut counts = [0; 3];
        for message in 0..2000 {
            counts[self.receive(true, took) as usize] += u32::from(message >= 1900);
        }
        counts
    }
}

#[test]
fn streams_and_answers_are_known_apart() {
    let mut pair = Pair::default();
    let counts = pair.stream([100, 50, 80]);
    assert!(counts[NodeWay::Both as usize] >= 90, "{counts:?}");
    for _ in 0..500 {
        pair.answer(true, Some(NodeWay::Alone), [100, 100, 10]);
    }
    let known: Vec<NodeKnowledge> = pair.ways.known().collect();
    let told: Vec<_> = known.iter().map(|known| (known.traffic, known.bytes_min, known.way)).collect();
    assert_eq!(told, [("stream", LONG, "both"), ("answer", LONG, "packets")]);
}

#[test]
fn the_mode_of_the_machine_may_change() {
    let mut pair = Pair::default();
    let [near, far] = [[80_000, 60_000, 45_000], [500_000, 240_000, 260_000]];
    assert!(pair.stream(near)[NodeWay::Packets as usize] >= 90);
    // 8% apart: either will do.
    assert!(pair.stream(far)[NodeWay::Alone as usize] <= 10);
    let counts = pair.stream([30_000, 60_000, 200_000]);
    assert!(counts[NodeWay::Alone as usize] >= 90, "{counts:?}");
}

#[test]
fn who_does_not_lead_answers_by_the_same_way() {
    for way in NodeWay::ALL {
        let mut ways = NodeWays::default();
        let taught = TaughtWays::default();
        ways.sent(Some(way), LONG + 1);
        assert_eq!(ways.choose(LONG, false, NodeWay::Packets, &taught, 0).way(), way);
        // A message of another length is no such answer, nor one that follows another.
        let estimate = NodeWay::ALL[(way as usize + 1) % 3];
        ways.sent(Some(way), 4 * LONG);
        assert_eq!(ways.choose(LONG, false, estimate, &taught, 0).way(), estimate);
    }
}

#[test]
fn who_follows_leaves_a_way_that_is_dear_for_it() {
    // The leader settles on packets; here they wait for a sender that computes.
    let took = [90_000, 60_000, 10_000_000];
    let mut pair = Pair::default();
    for way in [2, 2, 0, 0, 1, 1, 2, 0, 1, 0, 1] {
        pair.answer(false, Some(NodeWay::ALL[way]), took);
    }
    let ways: Vec<NodeWay> = (0..1000).map(|_| pair.answer(false, Some(NodeWay::Packets), took)).collect();
    let count = |way| ways.iter().filter(|its| **its == way).count();
    assert!(count(NodeWay::Packets) <= 20, "{} of 1000", count(NodeWay::Packets));
    // When it is quick again, it follows again.
    let ways: Vec<NodeWay> =
        (0..8000).map(|_| pair.answer(false, Some(NodeWay::Packets), [90_000, 60_000, 55_000])).collect();
    let count = ways[7000..].iter().filter(|way| **way == NodeWay::Packets).count();
    assert!(count >= 980, "{count} of 1000");
}

#[test]
fn a_way_that_was_not_learnt_is_not_followed() {
    let mut pair = Pair::default();
    let took = [90_000, 60_000, 10_000_000];
    let ways: Vec<NodeWay> = (0..1000).map(|_| pair.answer(false, None, took)).collect();
    let count = ways.iter().filter(|way| **way == NodeWay::Both).count();
    assert!(count >= 950, "{count} of 1000");
}

#[test]
fn peers_learn_from_each_other() {
    let took = [900_000, 60_000, 10_000_000];
    let mut pair = Pair::default();
    pair.stream(took);
    let mut other = Pair { taught: pair.taught, ..Pair::default() };
    let count = (0..50).filter(|_| other.receive(true, took) == NodeWay::Both).count();
    assert_eq!(count, 50);
}

#[test]
fn what_goes_another_way_counts_for_that() {
    let (mut ways, mut taught) = (NodeWays::default(), TaughtWays::default());
    let mut now_ns = 0;
    // Both sides cannot copy: the receiver does it alone.
    for _ in 0..1000 {
        let mut choice = ways.choose(LONG, true, NodeWay::Packets, &taught, now_ns);
        if choice.way() == NodeWay::Both {
            choice = ways.divert(choice, NodeWay::Alone, now_ns);
        }
        now_ns += [90_000, 1, 60_000][choice.way() as usize];
        ways.end(choice, &mut taught, now_ns);
    }
    let known: Vec<NodeKnowledge> = ways.known().collect();
    assert_eq!((known[0].ns, known[0].way), ([Some(90_000), None, Some(60_000)], "packets"));
}
