//! Sharing on one node: the copying of a long message, and the objects of a node that a channel
//! has.

use crate::Peer;
use crate::board::Boards;
use crate::heap::Heap;
use crate::neighbor::Neighbors;
use std::sync::Arc;
use verbena_waiting::{MakeWaiter, Waiter};

/// The objects of its node that a channel hands out, once, when the process starts.
#[derive(Default)]
pub struct Shared {
    /// The waiter that what arrives here wakes.
    pub waiter: Option<Arc<dyn Waiter>>,
    /// Makes others at the same bell.
    pub make_waiter: Option<Arc<dyn MakeWaiter>>,
    /// Memory that several processes can share as a [`board`](crate::board).
    pub boards: Option<Arc<dyn Boards>>,
    /// Access to the memory of other processes of the node.
    pub neighbors: Option<Arc<dyn Neighbors>>,
    /// Memory that all processes of the node have mapped.
    pub heap: Option<Arc<dyn Heap>>,
}

impl Shared {
    /// These objects, and the other's where there is none.
    #[must_use]
    pub fn or(self, other: Shared) -> Shared {
        Shared {
            waiter: self.waiter.or(other.waiter),
            make_waiter: self.make_waiter.or(other.make_waiter),
            boards: self.boards.or(other.boards),
            neighbors: self.neighbors.or(other.neighbors),
            heap: self.heap.or(other.heap),
        }
    }
}

/// Names a message whose parts are handed out to both sides ([`Sharing::divide`]). It travels in a
/// packet; only the channel that made it can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division(pub u64);

/// The largest number of parts of a [`Division`].
pub const PARTS_MAX: u32 = 1000;

/// The end of a message from which parts are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The receiver's.
    Front,
    /// The sender's.
    Back,
}

/// A channel whose both sides see one place at once, by which they share the copying of a message.
pub trait Sharing {
    /// Opens a division of a message from `peer` into `parts` (2 to [`PARTS_MAX`]), so that the
    /// sender shares the copying; the receiver has the first part already.
    /// [`take_part`](Sharing::take_part) hands the others out to both sides, each once. `None` if
    /// the peer sees no such place, or if two copiers are no quicker than one here.
    fn divide(&mut self, peer: Peer, parts: u32) -> Option<Division>;

    /// Takes the next part of a division with `peer` from one end and returns its number, counted
    /// from the front. `None` if all are taken or the division has ended.
    fn take_part(&mut self, peer: Peer, division: Division, from: End) -> Option<u32>;

    /// Ends the division for the receiver: no part is taken any more. Returns how many the sender
    /// took.
    fn end_division(&mut self, peer: Peer, division: Division) -> u32;

    /// Ends a division whose parts are all taken, as the receiver knows: unlike
    /// [`end_division`](Sharing::end_division) it needs no look at what the sender wrote.
    fn forget_division(&mut self, peer: Peer, division: Division);
}
