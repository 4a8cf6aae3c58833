//! The checks of `verbena tune` before it measures: whether it may write its file, and whether the
//! machine is quiet enough for figures that are to last.

use crate::quiet::{BUSY_PERCENT_MAX, busy_percent};
use anyhow::{Result, ensure};
use std::path::Path;
use verbena_fault::Fault;

/// Refuses to overwrite a file, unless that was asked for.
///
/// # Errors
/// The file is there.
pub(super) fn may_write(path: &Path, force: bool) -> Result<()> {
    let is_there = path.symlink_metadata().is_ok();
    let fault = || {
        Fault::new(
            "verbena tune does not overwrite a file",
            path.display().to_string(),
            "an earlier profile, or another file of that name, is there",
            "name another one with --output FILE, or say --force; nothing was measured yet",
        )
    };
    ensure!(!is_there || force, fault());
    Ok(())
}

/// Refuses to measure beside other programs, unless that was asked for.
///
/// # Errors
/// Other programs take too much of the processors' time.
pub(super) fn is_quiet(busy_ok: bool) -> Result<()> {
    let Some(percent) = busy_percent() else { return Ok(()) };
    let fault = || {
        Fault::new(
            "verbena tune does not measure on a busy machine",
            format!("other programs take {percent}% of the processors' time"),
            "a build, another job or another user's program is running",
            "wait until they have ended, or say --busy-ok and expect settings that fit the noise",
        )
    };
    ensure!(busy_ok || percent <= BUSY_PERCENT_MAX, fault());
    Ok(())
}
