//! The channel `rc` over simulated devices: channel to channel, without an engine above.

mod paths;
mod pool;
mod reads;
mod rig;
mod rights;
mod rings;
mod seeds;
mod sleep;
