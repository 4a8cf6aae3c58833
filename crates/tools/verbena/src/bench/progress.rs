//! The progress of a measurement, on standard error: on a terminal one line that is overwritten,
//! elsewhere a line now and then.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The time from one line to the next where lines are not overwritten.
const PAUSE: Duration = Duration::from_secs(10);
/// The widest line on a terminal.
const COLUMNS: usize = 78;

/// The progress of a measurement.
pub(super) struct Progress {
    points: usize,
    done: usize,
    began: Instant,
    is_terminal: bool,
    told: Instant,
}

impl Progress {
    /// A measurement of this many points, which begins now; 0 if their number is not known.
    pub(super) fn new(points: usize) -> Progress {
        let now = Instant::now();
        Progress { points, done: 0, began: now, is_terminal: std::io::stderr().is_terminal(), told: now }
    }

    /// Tells what was measured just now: a text that names ranks is a point.
    pub(super) fn tell(&mut self, text: &str) {
        let first = text.lines().next().unwrap_or("");
        self.done += usize::from(is_point(first));
        let left = left(self.began.elapsed(), self.done, self.points);
        let line = match self.points {
            0 => first.to_owned(),
            points => format!("{} of {points} points{left}: {first}", self.done),
        };
        if self.is_terminal {
            let line: String = line.chars().take(COLUMNS).collect();
            eprint!("\r\x1b[2K{line}");
        } else if self.told.elapsed() >= PAUSE {
            self.told = Instant::now();
            eprintln!("{line}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            eprint!("\r\x1b[2K");
        }
    }
}

/// Returns whether a text of a campaign says that a point was measured, or failed.
fn is_point(text: &str) -> bool {
    let second = |ranks: &str| ranks.split(' ').nth(1).is_some_and(|word| word.starts_with("ranks"));
    text.split_once(", ").is_some_and(|(_, ranks)| second(ranks))
}

/// The time that is left, by what the points so far took.
fn left(elapsed: Duration, done: usize, points: usize) -> String {
    if done == 0 || done >= points {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * (points - done) as f64;
    match seconds {
        seconds if seconds >= 90.0 => format!(", about {:.0} min left", (seconds / 60.0).ceil()),
        seconds => format!(", about {:.0} s left", seconds.ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_points_so_far() {
        let left = |seconds, done| super::left(Duration::from_secs(seconds), done, 10);
        assert_eq!([left(5, 0), left(5, 10)], ["", ""]);
        assert_eq!(left(5, 5), ", about 5 s left");
        assert_eq!(left(100, 2), ", about 7 min left");
    }

    #[test]
    fn points_are_told_from_rounds() {
        assert!(is_point("latency:8, 2 ranks") && is_point("barrier, 4 ranks: timed out"));
        assert!(!is_point("round 1 of 2"));
    }
}
