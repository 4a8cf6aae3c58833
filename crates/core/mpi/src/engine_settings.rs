//! The engine's settings in a program: those of this process, with a real clock.

use std::sync::OnceLock;
use std::time::Instant;
use verbena_engine::Settings;
use verbena_settings::NODE_LEARN;

/// Returns the current settings of the engine.
pub(crate) fn engine_settings() -> Settings {
    let node_clock = NODE_LEARN.get().then_some(elapsed_ns as fn() -> u64);
    Settings { node_clock, ..Settings::current() }
}

/// Nanoseconds since the first reading.
fn elapsed_ns() -> u64 {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    BEGINNING.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
