//! Events told to a listener while they happen (MPI-5.0, 15.3.8). Usually nobody listens: then each
//! place costs one branch that is never taken, and none lies on the way of a short message that is
//! expected.

use crate::Engine;
use verbena_channel::Peer;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A message came before its receive.
    Unexpected,
    /// A receive was tied to a long message that is announced, and begins to move it.
    Rendezvous,
    /// A channel has lost a peer, and another takes its place. Source, tag and bytes are 0.
    Failover,
    /// A peer was given up. Its source, tag and bytes are 0.
    Broken,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The other process.
    pub peer: Peer,
    /// Rank of the message's sender in its communicator.
    pub source: i32,
    /// The message's tag.
    pub tag: i32,
    /// The message's length.
    pub bytes: u64,
}

/// The receiver of events. Called while the engine works: it must not call back.
pub trait Listener: Send {
    /// Hears of an event that has just happened.
    fn hear(&mut self, event: Event);
}

impl Engine {
    /// Sets the listener that is told from now on; `None` for nobody.
    pub fn listen(&mut self, listener: Option<Box<dyn Listener>>) {
        self.state.listener = listener;
    }
}
