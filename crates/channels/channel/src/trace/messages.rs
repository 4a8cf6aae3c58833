//! The messages of a trace from end to end: when each left, when it came, and when the receive that
//! took it ended.
//!
//! A message is named by sender, receiver and the number of its first packet: the whole message, or
//! its announcement. The receiver's engine tells which receive it was given to, and when that
//! receive's completion was taken: by then the program is in the call that receives it.

use super::{calls, clock, with};
use crate::Peer;
use crate::packet::{Header, Kind};
use serde::{Deserialize, Serialize};

/// A message that has left. Times are ticks of [`Log::tick_ns`](super::Log::tick_ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// The receiving process.
    pub peer: Peer,
    /// The number of its first packet, counted for each pair of sender and receiver (wrapping).
    pub sequence: u32,
    /// The matching context.
    pub context: u64,
    /// The tag.
    pub tag: i32,
    /// The message's length.
    pub bytes: u64,
    /// True if it was announced, and moves when its receive is there.
    pub announced: bool,
    /// The thread that sent it.
    pub thread: u32,
    /// The time at which its first packet was handed to the channel.
    pub at: u64,
}

/// A message that has come. Times as in [`Departure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The sending process.
    pub peer: Peer,
    /// The number of its first packet, as in [`Departure`].
    pub sequence: u32,
    /// The matching context.
    pub context: u64,
    /// The rank of the sender in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// The message's length.
    pub bytes: u64,
    /// True if a receive waited for it.
    pub expected: bool,
    /// The time at which its first packet came.
    pub at: u64,
    /// The time at which the program took the receive that got it; 0 if it has not.
    pub taken: u64,
    /// The thread that took it.
    pub thread: u32,
}

/// Returns whether a packet is a message or announces one.
pub fn is_message(kind: Kind) -> bool {
    matches!(kind, Kind::Eager | Kind::EagerSync | Kind::RequestToSend)
}

/// The length of the message whose first packet this is.
fn length(header: &Header, payload_bytes: usize) -> u64 {
    if header.kind == Kind::EagerSync { payload_bytes as u64 } else { header.length }
}

/// Records that the first packet of a message has left, handed to the channel at that time.
pub(super) fn departed(peer: Peer, header: &Header, payload_bytes: usize, at: u64) {
    let departure = Departure {
        peer,
        sequence: header.sequence,
        context: header.context,
        tag: header.tag,
        bytes: length(header, payload_bytes),
        announced: header.kind == Kind::RequestToSend,
        thread: calls::thread(),
        at,
    };
    with(|recorder| recorder.departed(departure));
}

/// Records that the first packet of a message has come, and the number of the receive that waits
/// for it.
pub(super) fn arrived(peer: Peer, header: &Header, payload_bytes: usize, receive: Option<u64>) {
    let arrival = Arrival {
        peer,
        sequence: header.sequence,
        context: header.context,
        source: header.source,
        tag: header.tag,
        bytes: length(header, payload_bytes),
        expected: receive.is_some(),
        at: clock::ticks(),
        taken: 0,
        thread: 0,
    };
    with(|recorder| recorder.arrived(arrival, receive));
}

/// Records that a message that had come before was given to the receive of this number.
#[cold]
pub fn matched(peer: Peer, sequence: u32, receive: u64) {
    with(|recorder| recorder.matched((peer, sequence), receive));
}

/// Records that the call under way takes a message that had come before.
#[cold]
pub fn taken(peer: Peer, sequence: u32) {
    let (at, thread) = (clock::ticks(), calls::thread());
    with(|recorder| recorder.taken((peer, sequence), at, thread));
}

/// Records that the program takes the completion of the request of this number, in the call under
/// way.
#[cold]
pub fn completed(request: u64) {
    let (at, thread) = (clock::ticks(), calls::thread());
    with(|recorder| recorder.completed(request, at, thread));
}
