//! All channels at once: the list of them, and the one type that holds any of them.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`registry`] | the list of channels, by which a process opens them and meets the others |
//! | [`foreign`] | a channel to processes of another job |
//! | `wire` | an open channel as the engine holds it: [`Wire`] |
//!
//! Nothing below this crate names every channel, and nothing above it need name one.

pub mod registry;
mod wire;

pub use verbena_node::shm::Lane;
pub use wire::{Wire, foreign};
