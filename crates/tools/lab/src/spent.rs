//! The time that something takes, by the clock and of the processor.

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::time::Instant;

/// The time that something took.
pub(crate) struct Spent {
    /// The time by the clock, in seconds.
    pub wall_s: f64,
    /// The processor time of all threads of this process, in seconds (`getrusage`).
    pub processor_s: f64,
}

impl Spent {
    /// Runs a function, and returns the time that it took.
    ///
    /// # Errors
    /// The function fails, or the kernel does not report the time.
    pub(crate) fn by(what: impl FnOnce() -> Result<()>) -> Result<Spent> {
        let (start, before) = (Instant::now(), processor_s()?);
        what()?;
        Ok(Spent { wall_s: start.elapsed().as_secs_f64(), processor_s: processor_s()? - before })
    }
}

fn processor_s() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}
