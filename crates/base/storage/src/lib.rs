//! Files as the operating system offers them: positioned reads and writes of regions, and threads
//! that do such work beside the program.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `disk` | the trait [`Disk`], and transfers that go on after short calls and interruptions |
//! | `open` | an open file of the system |
//! | `broken` | writes to a pipe whose reader is gone |
//! | `kind` | the file systems that are told apart |
//! | `ring` | many reads or writes by few calls (io_uring) |
//! | `mapped` | many small writes as stores to the file's pages |
//! | `pool` | a few threads that run jobs |
//! | `beside` | long jobs on another core than the program's |
//! | `lane` | one job after the other |
//! | [`faulty`] | disks in memory and disks that fail, for tests |
//!
//! Nothing here decides what a program wants, or knows of MPI.

mod beside;
mod broken;
mod disk;
pub mod faulty;
mod kind;
mod lane;
mod mapped;
mod open;
mod pool;
mod ring;
#[cfg(test)]
mod tests;

pub use beside::beside_program;
pub use disk::{Cut, Disk, Extent, Identity, ListCut, Lock, Piece, has_no_locks, read_all, write_all};
pub use kind::{FileSystem, file_system};
pub use lane::{Lane, Turn};
pub use mapped::pieces_by_mapping;
pub use open::OpenFile;
pub use pool::{Job, Pool, threads_started};
pub use ring::pieces_by_ring;
