//! The hang report: from what the ranks of a job say of themselves to who waits for whom, in words.
//!
//! A rank that waits in MPI for longer than a moment writes a [`Snapshot`] into memory that it
//! shares with its launcher: what it waits for, what lies in its queues, where it is in the
//! program. The launcher adds what the system tells ([`Rank`]), and [`explain`] finds the reason:
//! a circle of ranks that wait for each other, a message that nearly fits, a rank that is not in
//! the collective in which the others are, a lock that is held, a rank that is stopped or computes.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`snapshot`] | what a rank says of itself |
//! | [`rank`] | what its launcher knows of it beside that |
//! | [`waits`] | who waits for whom |
//! | [`circle`] | ranks that wait for each other |
//! | [`near_miss`] | messages that nearly fit a receive |
//! | [`reason`] | the reason why nothing moves |
//! | [`words`] | all of it in words |
//! | [`report`] | the whole text |
//! | [`traceback`] | lines of a program in Python |
//! | [`top`] | what `verbena top` is told |
//!
//! What must never be here: a system call, a clock, and how ranks talk to each other.

pub mod circle;
pub mod near_miss;
pub mod rank;
pub mod reason;
pub mod report;
pub mod snapshot;
#[cfg(test)]
mod testing;
pub mod top;
pub mod traceback;
pub mod waits;
pub mod words;

pub use rank::{Place, Rank, RunState, Stage};
pub use report::{Report, explain};
pub use snapshot::{
    Awaited, Collective, Communicator, HeldLock, Message, Operation, Queue, Snapshot, Traffic, Wait,
};
