//! A long message on its way out: its state.

use super::Piece;
use super::parts::Cut;
use super::stripe::Stripe;
use super::ways::NodeWay;
use verbena_channel::{Division, Key};

/// Parts of a division under way at once: the one that is copied and the next.
pub(super) const WRITES_MAX: u32 = 2;

/// The receiver's memory, and how to know which parts to write there while it reads others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) channel: usize,
    pub(super) key: Key,
    pub(super) cut: Cut,
    pub(super) division: Division,
}

/// A long message that waits for its receiver, or is being moved.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Own memory that the receiver may read, with its channel.
    pub(super) exposed: Option<(usize, Key)>,
    /// Own memory that the receiver may read over further rails, with their channels.
    pub(super) rails: Vec<(usize, Key)>,
    /// The receiver's request, once it answered.
    pub(super) receiver: u64,
    /// The receiver's memory, if it invited to help, while there may be parts to write.
    pub(super) target: Option<Target>,
    /// The receiver's memory, if this side writes all, until the receiver was told what it has.
    pub(super) push: Option<Box<Stripe>>,
    /// The way that it goes on a node, if the receiver has said that it was learnt.
    pub(super) way: Option<NodeWay>,
    /// Writes under way.
    pub(super) writes: u32,
    /// The rest that is still to be streamed.
    pub(super) stream: Option<Piece>,
    /// True if it is on the list of work.
    pub(super) listed: bool,
}

impl Outgoing {
    pub(crate) fn new(exposed: Option<(usize, Key)>, rails: Vec<(usize, Key)>) -> Outgoing {
        Outgoing { exposed, rails, ..Outgoing::default() }
    }

    /// Returns whether there is something to write or to send now.
    pub(super) fn has_work(&self) -> bool {
        self.stream.is_some()
            || (self.target.is_some() && self.writes < WRITES_MAX)
            || self.push.as_ref().is_some_and(|push| push.has_room())
    }
}
