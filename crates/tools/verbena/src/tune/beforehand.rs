//! The checks of `verbena tune` before it measures: whether it may write its file, and whether the
//! machine is quiet enough for figures that are to last.

use anyhow::{Result, ensure};
use std::path::Path;
use std::time::Duration;
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

/// The time for which the processors are watched before anything is measured.
const WATCH: Duration = Duration::from_millis(300);
/// The part of all processors' time, in percent, that other programs may take.
const BUSY_PERCENT_MAX: u64 = 10;

/// Refuses to measure beside other programs, unless that was asked for.
///
/// # Errors
/// Other programs take too much of the processors' time.
pub(super) fn is_quiet(busy_ok: bool) -> Result<()> {
    let look = || std::fs::read_to_string("/proc/stat").ok().and_then(|text| times(&text));
    let before = look();
    std::thread::sleep(WATCH);
    let (Some(before), Some(after)) = (before, look()) else { return Ok(()) };
    let percent = busy_percent(before, after);
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

/// Returns all time and the idle part of it, in the kernel's ticks, from the first line of
/// `/proc/stat`.
fn times(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; what guests take is in user already.
    let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
    Some((ticks.iter().take(8).sum(), idle))
}

/// The part of the time between two looks in which processors were not idle.
fn busy_percent(before: (u64, u64), after: (u64, u64)) -> u64 {
    let (all, idle) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    (all.saturating_sub(idle) * 100).checked_div(all).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_machine_is_told_from_a_busy_one() {
        let look = |text: &str| times(text).expect("a line of processors");
        let before = look("cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 1 1 1\n");
        assert_eq!(before, (1000, 850));
        assert_eq!(busy_percent(before, look("cpu  100 0 50 880 70 0 0 0 7 0")), 0);
        assert_eq!(busy_percent(before, look("cpu  130 0 50 870 50 0 0 0 7 0")), 30);
        assert_eq!(busy_percent(before, before), 0);
    }
}
