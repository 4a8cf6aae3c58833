//! A deterministic cluster in one process: real engines over a simulated fabric with virtual time.
//!
//! One seed decides everything: delays, reordering, back-pressure, failing transfers of memory, and
//! the order in which ranks run. The same seed gives the same run, event by event, which
//! [`Cluster::trace`] proves; so a failure found among thousands of seeds is replayed at will.
//!
//! [`Cluster`] is the fabric with its engines, for any driver; [`traffic`] drives it with random
//! point-to-point traffic and checks the results.

mod channel;
mod cluster;
mod divisions;
mod faults;
pub mod figures;
pub mod large;
mod memory;
mod nodes;
pub mod over_hybrid;
pub mod over_pipe;
pub mod over_rails;
pub mod over_rc;
pub mod over_ud;
mod random;
pub mod seeds;
pub mod traffic;
pub mod verbs;
mod world;

pub use cluster::Cluster;
pub use faults::{Canary, Faults, Memory as MemoryFaults};
pub use memory::{Memory, Shape};
pub use nodes::Nodes;
pub use random::Random;
pub use seeds::seed_to_replay;

/// The index of a process of the cluster.
pub type Rank = u32;
