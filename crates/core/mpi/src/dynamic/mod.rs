//! Processes that come while the program runs (MPI-5.0, chapter 11): spawning, ports, names.
//!
//! | file | what it does |
//! | --- | --- |
//! | `order` | what is to be spawned, from the arguments of the call |
//! | `spawn` | spawning, and finding the parent |
//! | `ports` | the ports that this process has open; accepting and connecting |
//! | `stream` | the other leader at the end of a socket |
//! | `names` | published names: at the launcher, and in a directory |
//! | `names/entry` | the file of a published name |
//! | `names/files` | its place: written, found and removed |
//!
//! How the processes of two groups come to know each other is told in `comm`, `introduce.rs`.

pub mod names;
pub mod order;
pub mod ports;
pub mod spawn;
mod stream;
