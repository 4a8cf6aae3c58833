//! Reliability in software over a service that loses, doubles, swaps and garbles datagrams (paper
//! 4, sections 3.1 and 4.2: the data reliability layer).
//!
//! A channel sends a *group* of fragments (there called VFRAG), each of which fits a datagram.
//! Fragments are numbered between a pair of processes. The receiver acknowledges groups, by the
//! number of the first fragment that it lacks and a bitmap of what it has beyond. The sender sends
//! again only what is missing: at once when later transmissions were acknowledged, else when the
//! acknowledgement's timer runs out, which follows the measured round trips. The amount under way
//! follows the losses.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`rules`] | the limits and times of one end |
//! | [`rtt`] | round trips, and the wait for an acknowledgement |
//! | [`window`] | the amount that may be under way |
//! | [`outgoing`] | fragments from the first transmission to the acknowledgement |
//! | [`incoming`] | records of what has arrived, and when to acknowledge it |
//! | [`assembly`] | groups with missing fragments |
//! | [`link`](mod@link) | both directions of a pair, and its next timer |
//!
//! This module never has a clock, memory of messages, or a datagram. Time is given with each call;
//! fragments are named by the numbers of the caller's buffers.

pub mod assembly;
pub mod incoming;
pub mod link;
pub mod outgoing;
pub mod rtt;
pub mod rules;
pub mod window;

#[cfg(test)]
mod tests;

pub use assembly::Assembly;
pub use incoming::{Ack, Incoming, Turn};
pub use link::Link;
pub use outgoing::{Outgoing, Piece, Shot, Verdict};
pub use rules::Rules;

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;

/// The fragments that may be under way or kept beyond a missing one: as many as an
/// acknowledgement's bitmap has bits.
pub const SPAN: u32 = 256;

/// Returns how far `number` is behind `base`, with numbers that wrap around; negative if it comes
/// before.
#[inline]
pub fn distance(base: u32, number: u32) -> i32 {
    number.wrapping_sub(base) as i32
}
