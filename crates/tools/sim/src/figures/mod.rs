//! The figures of papers 1, 2 and 5, by the cost model of their device with the real engine and the
//! real channels `rc` and `pipe` above.
//!
//! The code that runs is that of an installation: only the device below it ([`crate::verbs`]) and
//! the time that things take ([`Costs`](crate::verbs::Costs)) are a model. [`tables`] gives all
//! figures; `cargo run -p verbena-sim --example papers` prints them. [`polling`] has those of paper
//! 3, [`set`] paper 1's polling set, [`everyone`] those of paper 4 that need more processes than a
//! machine has. [`held_out`] compares the model with numbers of the papers that it was not fitted
//! to, [`collectives`] runs real schedules over several nodes, [`replay`] the messages of whole
//! programs.

mod bench;
pub mod collectives;
mod costed;
mod design;
pub mod everyone;
pub mod held_out;
mod pairs;
mod pipe;
pub mod polling;
mod rails;
pub mod replay;
pub mod set;
mod sizes;
mod table;
mod tables;

pub use design::Design;
pub use pairs::pairs;
pub use pipe::{Rung, pipe_bandwidth, pipe_chunks, pipe_latency, pipe_work};
pub use rails::{bandwidth_mb_s as rails_bandwidth_mb_s, rails};
pub use table::{Row, Table};
pub use tables::{
    chunks, device_work, directions, ladder_bandwidth, ladder_latency, latency, predicted_ladder,
    small_bandwidth, tables,
};
