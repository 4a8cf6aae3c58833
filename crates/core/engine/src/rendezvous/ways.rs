//! The way of a long message on a node, learnt from what messages took.
//!
//! Where the receiver can copy a message from the sender's memory by a system call, it can also ask
//! for it in packets through shared memory. Which is quicker depends on the length, on how far the
//! two cores lie apart (on a virtual machine that changes within seconds), on whether the sender
//! wrote the message just now, and on whether it looks into MPI meanwhile. So a [`Learner`] keeps
//! the times of each way, for each peer, apart for two sorts of traffic: a message that comes after
//! a long one went the other way (an answer), and one that does not (a stream). The cells that
//! carry an answer were touched by this process last.
//!
//! Of two processes that answer each other with messages of the same length, one leads: both go the
//! way that it has learnt, since what one does colours what the other's takes. The other measures
//! all the same, and goes its own way while the leader's takes it far longer than another one would
//! (its sender computes, say). It follows no way that was not learnt: the leader's buffer may be
//! scattered, or the channels may have failed.
//!
//! What is learnt of one peer counts for others until their own messages have told more.

use verbena_channel::learner::{Knowledge, Learned, Learner, class_of};

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
    /// The last long message to the peer, until one comes from it: its way, if the peer has learnt
    /// that, and its length.
    answered: Option<(Option<NodeWay>, u64)>,
}

/// The knowledge that the long messages of any peer of the node have taught, for those of others.
#[derive(Debug, Default)]
pub(crate) struct TaughtWays {
    /// The knowledge by sort and class.
    sorts: [Vec<Option<Knowledge<3>>>; 2],
}

impl TaughtWays {
    fn of(&self, sort: bool, bytes: u64) -> Option<&Knowledge<3>> {
        self.sorts[usize::from(sort)].get(class_of(bytes))?.as_ref()
    }

    fn note(&mut self, sort: bool, bytes: u64, known: Knowledge<3>) {
        let (classes, class) = (&mut self.sorts[usize::from(sort)], class_of(bytes));
        if classes.len() <= class {
            classes.resize(class + 1, None);
        }
        classes[class] = Some(known);
    }
}

/// The choice for one message, with its sort of traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeChoice {
    sort: bool,
    learned: Learned,
}

impl NodeChoice {
    /// The way of the message.
    pub(crate) fn way(&self) -> NodeWay {
        NodeWay::ALL[usize::from(self.learned.way)]
    }
}

impl NodeWays {
    /// Chooses the way of a message of `bytes` bytes that comes now. The choice is to be ended with
    /// the message. Of the two processes one `leads`.
    pub(crate) fn choose(
        &mut self,
        bytes: u64,
        leads: bool,
        estimate: NodeWay,
        taught: &TaughtWays,
        now_ns: u64,
    ) -> NodeChoice {
        let answered = self.answered.take();
        let sort = answered.is_some();
        let learner = &mut self.sorts[usize::from(sort)];
        if let Some(known) = taught.of(sort, bytes) {
            learner.adopt(bytes, known, now_ns);
        }
        let led = match answered {
            Some((Some(way), sent)) if !leads && class_of(sent) == class_of(bytes) => Some(way as usize),
            _ => None,
        };
        let learned = match led.filter(|way| !learner.is_dear(bytes, *way)) {
            Some(way) => learner.follow(bytes, way, now_ns),
            None => learner.choose(bytes, estimate as usize, now_ns),
        };
        NodeChoice { sort, learned }
    }

    /// Notes that a message that was chosen just now goes another way than that.
    pub(crate) fn divert(&mut self, choice: NodeChoice, way: NodeWay, now_ns: u64) -> NodeChoice {
        let learner = &mut self.sorts[usize::from(choice.sort)];
        NodeChoice { learned: learner.divert(choice.learned, way as usize, now_ns), ..choice }
    }

    /// Notes that this message has ended.
    pub(crate) fn end(&mut self, choice: NodeChoice, taught: &mut TaughtWays, now_ns: u64) {
        let NodeChoice { sort, learned } = choice;
        let learner = &mut self.sorts[usize::from(sort)];
        learner.end(learned, now_ns);
        if let Some(known) = learner.knowledge(learned.bytes) {
            taught.note(sort, learned.bytes, known);
        }
    }

    /// Notes that a long message to the peer has ended, and which way it went if the peer has
    /// learnt that.
    pub(crate) fn sent(&mut self, way: Option<NodeWay>, bytes: u64) {
        self.answered = Some((way, bytes));
    }

    /// The knowledge, for logs.
    pub(crate) fn known(&self) -> impl Iterator<Item = NodeKnowledge> {
        self.sorts.iter().zip(["stream", "answer"]).flat_map(|(learner, traffic)| {
            learner.known().map(move |(bytes_min, known)| NodeKnowledge {
                traffic,
                bytes_min,
                ns: known.ns,
                way: ["alone", "both", "packets"][known.kept],
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
    /// The nanoseconds that a message of `bytes_min` took if the receiver copied it alone, if both
    /// sides did, and if it came in packets; `None` where none did.
    pub ns: [Option<u64>; 3],
    /// The way that most messages go: `alone`, `both` or `packets`.
    pub way: &'static str,
}

#[cfg(test)]
#[path = "ways_tests.rs"]
mod tests;
