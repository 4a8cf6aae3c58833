//! The channels between processes of one node, and what they share beside packets.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`shm`] | packets through rings in shared memory; the heap for windows |
//! | [`cma`] | memory of other processes, read and written by system calls |
//! | [`board`] | boards in mapped memory, for collectives without messages |
//! | `prefetch` | a hint before a line is written |

pub mod board;
pub mod cma;
mod prefetch;
pub mod shm;
