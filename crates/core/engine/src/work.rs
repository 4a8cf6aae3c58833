//! Work that packets ask for, noted while a channel is polled and done by [`crate::Engine`] after
//! the poll.

use crate::slab::Id;
use std::collections::VecDeque;
use verbena_channel::{Choice, Division, Key, Peer};
use verbena_fault::Fault;

/// Work to be done when the channels are at hand again.
#[derive(Default)]
pub(crate) struct Work {
    /// Peers with a non-empty outbox.
    pub outboxes: VecDeque<Peer>,
    /// Changes of the routes to peers.
    pub peer_events: VecDeque<PeerEvent>,
    /// Receives whose rendezvous is to begin.
    pub begin: VecDeque<Id>,
    /// Receives that can read a piece of the sender's memory.
    pub pull: VecDeque<Id>,
    /// Sends that can write a piece or stream data.
    pub push: VecDeque<Id>,
    /// Exposures to end.
    pub conceal: Vec<(usize, Peer, Key)>,
    /// Ended messages, with their channel, which must hear of it.
    pub ended: Vec<(usize, Ended)>,
    /// Packets that came out of order.
    pub gaps: Vec<Gap>,
}

/// Something that concerns the way to a peer.
pub(crate) enum PeerEvent {
    /// A channel has lost it.
    Lost(Peer, Lost),
    /// The peer says something about giving back its connection on this channel.
    Leave(Peer, usize, Leave),
    /// The time has come to review which peers have connections and which should.
    Review,
    /// A communicator was revoked, by its first context.
    Revoked(u64),
    /// There is room for more transfers of one-sided operations on its memory.
    Room(Peer),
}

/// The news for a channel about a message that has ended.
pub(crate) enum Ended {
    /// The division is over; the flag says whether all parts are known to be taken.
    Division(Peer, Division, bool),
    /// The choice between reading and writing it.
    Choice(Choice),
}

impl Work {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let waiting = self.outboxes.len() | self.begin.len() | self.pull.len() | self.push.len();
        waiting | self.conceal.len() | self.ended.len() | self.gaps.len() | self.peer_events.len() == 0
    }
}

/// A packet that came out of order; whether that is a fault depends on its channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub peer: Peer,
    pub channel: usize,
    pub expected: u32,
    pub got: u32,
}

/// A channel that has lost a peer, and why.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    /// The channel's place in the engine's list.
    pub channel: usize,
    pub fault: Fault,
}

/// A word about giving back a connection, by the flags of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Ask = 1,
    Agree = 2,
    Refuse = 3,
    Done = 4,
}

impl Leave {
    pub(crate) fn of(flags: u8) -> Option<Leave> {
        [Leave::Ask, Leave::Agree, Leave::Refuse, Leave::Done].into_iter().find(|step| *step as u8 == flags)
    }
}
