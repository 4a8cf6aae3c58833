//! The way of a long message on a node, learnt from what messages took.
//!
//! Where the receiver can copy a message from the sender's memory by a system call, it can also ask
//! for it in packets through shared memory. Which is quicker depends on the length, on how far the
//! two cores lie apart (on a virtual machine that changes within seconds), on whether the sender
//! wrote the message just now, and on whether it looks into MPI meanwhile. So a [`Learner`] keeps
//! the times of each way, for each peer, apart for two sorts of traffic: a message that comes after
//! a long one went the other way (an answer), and one that does not (a stream). The cells that
//! carry an answer were touched by this process last.

use verbena_channel::learner::{Learned, Learner, class_of};

/// The way of a long message on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeWay {
    /// The receiver copies it, by system calls.
    #[default]
    Alone,
    /// Receiver and sender copy it, part by part, by system calls.
    Both,
    /// The sender sends it in packets.
    Packets,
}

impl NodeWay {
    const ALL: [NodeWay; 3] = [NodeWay::Alone, NodeWay::Both, NodeWay::Packets];
}

/// The knowledge of the ways of long messages from one peer.
#[derive(Debug, Default)]
pub(crate) struct NodeWays {
    /// That of streams, and that of answers.
    sorts: [Learner<3>; 2],
    /// The way of the last long message to the peer, and its length, until one comes from it.
    answered: Option<(NodeWay, u64)>,
}

/// The choice for one message, with its sort of traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeChoice {
    sort: bool,
    learned: Learned,
}

impl NodeWays {
    /// Chooses the way of a message of `bytes` bytes that comes now. The choice is to be ended with
    /// the message; there is none if the way follows from the peer's: of two processes that answer
    /// each other with messages of the same length, one `leads`, and both go its way. What one
    /// does colours what the other's takes.
    pub(crate) fn choose(
        &mut self,
        bytes: u64,
        leads: bool,
        estimate: NodeWay,
        now_ns: u64,
    ) -> (NodeWay, Option<NodeChoice>) {
        let answered = self.answered.take();
        match answered {
            Some((way, sent)) if !leads && class_of(sent) == class_of(bytes) => return (way, None),
            _ => {}
        }
        let sort = answered.is_some();
        let learned = self.sorts[usize::from(sort)].choose(bytes, estimate as usize, now_ns);
        (NodeWay::ALL[usize::from(learned.way)], Some(NodeChoice { sort, learned }))
    }

    /// Notes that this message has ended.
    pub(crate) fn end(&mut self, choice: NodeChoice, now_ns: u64) {
        self.sorts[usize::from(choice.sort)].end(choice.learned, now_ns);
    }

    /// Notes that a long message to the peer has ended, which went this way.
    pub(crate) fn sent(&mut self, way: NodeWay, bytes: u64) {
        self.answered = Some((way, bytes));
    }

    /// The knowledge, for logs.
    pub(crate) fn known(&self) -> impl Iterator<Item = NodeKnowledge> {
        self.sorts.iter().zip(["stream", "answer"]).flat_map(|(learner, traffic)| {
            learner.known().map(move |(bytes_min, ns, kept)| NodeKnowledge {
                traffic,
                bytes_min,
                ns,
                way: ["alone", "both", "packets"][kept],
            })
        })
    }
}

/// The knowledge of the long messages of a peer that are of about the same length: for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeKnowledge {
    /// `answer` for messages after which long ones went the other way, else `stream`.
    pub traffic: &'static str,
    /// The length in bytes from which they are; below twice that.
    pub bytes_min: u64,
    /// The nanoseconds that a message took if the receiver copied it alone, if both sides did, and
    /// if it came in packets.
    pub ns: [u64; 3],
    /// The way that most messages go: `alone`, `both` or `packets`.
    pub way: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u64 = 1 << 20;

    /// A stream of messages of which each takes so many nanoseconds by its way; returns how many of
    /// the last hundred went each way.
    fn stream(ways: &mut NodeWays, now_ns: &mut u64, took: [u64; 3]) -> [u32; 3] {
        let mut counts = [0; 3];
        for message in 0..2000 {
            let (way, choice) = ways.choose(LONG, true, NodeWay::Packets, *now_ns);
            *now_ns += took[way as usize];
            ways.end(choice.expect("no other leads"), *now_ns);
            counts[way as usize] += u32::from(message >= 1900);
        }
        counts
    }

    #[test]
    fn streams_and_answers_are_known_apart() {
        let (mut ways, mut now_ns) = (NodeWays::default(), 0);
        let counts = stream(&mut ways, &mut now_ns, [100, 50, 80]);
        assert!(counts[NodeWay::Both as usize] >= 90, "{counts:?}");
        for _ in 0..500 {
            ways.sent(NodeWay::Alone, LONG);
            let (way, choice) = ways.choose(LONG, true, NodeWay::Packets, now_ns);
            now_ns += if way == NodeWay::Packets { 10 } else { 100 };
            ways.end(choice.expect("this side leads"), now_ns);
        }
        let known: Vec<NodeKnowledge> = ways.known().collect();
        let told: Vec<_> = known.iter().map(|known| (known.traffic, known.bytes_min, known.way)).collect();
        assert_eq!(told, [("stream", LONG, "both"), ("answer", LONG, "packets")]);
    }

    #[test]
    fn the_mode_of_the_machine_may_change() {
        let (mut ways, mut now_ns) = (NodeWays::default(), 0);
        let [near, far] = [[80_000, 60_000, 45_000], [500_000, 240_000, 260_000]];
        assert!(stream(&mut ways, &mut now_ns, near)[NodeWay::Packets as usize] >= 90);
        // Alone is tried more rarely the more it takes, so a change for the better is seen late.
        for _ in 0..3 {
            stream(&mut ways, &mut now_ns, far);
        }
        // 8% apart: either will do.
        assert!(stream(&mut ways, &mut now_ns, far)[NodeWay::Alone as usize] <= 10);
        for _ in 0..3 {
            stream(&mut ways, &mut now_ns, [30_000, 60_000, 200_000]);
        }
        let counts = stream(&mut ways, &mut now_ns, [30_000, 60_000, 200_000]);
        assert!(counts[NodeWay::Alone as usize] >= 90, "{counts:?}");
    }

    #[test]
    fn who_does_not_lead_answers_by_the_same_way() {
        let mut ways = NodeWays::default();
        for way in NodeWay::ALL {
            ways.sent(way, LONG + 1);
            assert!(matches!(ways.choose(LONG, false, NodeWay::Packets, 0), (its, None) if its == way));
        }
        // A message of another length is no such answer, nor one that follows another.
        ways.sent(NodeWay::Both, 4 * LONG);
        assert!(ways.choose(LONG, false, NodeWay::Packets, 0).1.is_some());
        assert!(ways.choose(LONG, false, NodeWay::Packets, 0).1.is_some());
    }
}
