//! The use of the machine by other programs, so that figures from it would be theirs as well.

use std::time::Duration;

/// The time for which the processors are watched.
const WATCH: Duration = Duration::from_millis(300);
/// The part of all processors' time, in percent, that other programs may take.
pub(crate) const BUSY_PERCENT_MAX: u64 = 10;

/// Returns the part of all processors' time, in percent, that is taken just now; `None` if the
/// system does not tell. Waits a while for it.
pub(crate) fn busy_percent() -> Option<u64> {
    let look = || std::fs::read_to_string("/proc/stat").ok().and_then(|text| times(&text));
    let before = look()?;
    std::thread::sleep(WATCH);
    Some(percent(before, look()?))
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
fn percent(before: (u64, u64), after: (u64, u64)) -> u64 {
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
        assert_eq!(percent(before, look("cpu  100 0 50 880 70 0 0 0 7 0")), 0);
        assert_eq!(percent(before, look("cpu  130 0 50 870 50 0 0 0 7 0")), 30);
        assert_eq!(percent(before, before), 0);
    }
}
