//! The channel `rc` over simulated devices: channel to channel, without an engine above.

mod paths;
mod pool;
mod rig;
mod rights;
mod rings;
mod seeds;
mod sleep;
