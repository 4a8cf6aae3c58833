//! The figures of papers 1 and 2, by the cost model of their device with the real engine and the real channel `rc` above.

mod bench;
mod costed;
mod design;

pub use design::Design;
