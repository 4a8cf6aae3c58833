//! Collective communication (MPI-5.0, chapter 6).
//!
//! An algorithm (module [`algorithms`]) fills a [`schedule::Schedule`]: a list of sends, receives,
//! copies and reductions. One executor ([`execute`]) runs schedules, whether the call is blocking,
//! nonblocking or persistent. [`choose`] decides which algorithm; [`plan`] tells algorithms who
//! takes part; [`operations`] puts the three together, one function for each collective; [`forms`]
//! runs the result: blocking, in the background or repeatedly. Between processes of one node a
//! blocking call may go over a [`board`] without a schedule; [`choose`] decides that too. A new
//! algorithm is one function in [`algorithms`] and one line in [`choose`].

pub mod algorithms;
pub mod blocks;
pub mod board;
pub mod call;
pub mod choose;
pub mod exchange;
pub mod execute;
pub mod forms;
pub mod operands;
pub mod operations;
pub mod plan;
pub mod schedule;
mod tags;
pub mod unreceived;

pub use blocks::{Blocks, Counts};
pub use call::{Call, Kind};
pub use exchange::Making;
pub use execute::{Collective, Reduction};

/// Returns whether a wait looks in this round at what others call. It does so seldom, as that takes
/// their cache lines.
#[inline]
pub(crate) fn is_round_to_look(round: u32) -> bool {
    round >= 16 && (round.is_power_of_two() || round.is_multiple_of(256))
}
