//! The distance between Verbena and the machine's own speed.
//!
//! The floor of a message is a cache line's way plus the time to copy its bytes by the fastest
//! known way. That is `memcpy` (two copies through shared memory, one hidden by the other), or a
//! system call with both sides copying a half. The floor of a bandwidth is the faster of the two
//! ways.

use super::contender::OURS;
use super::summary::{Floor, Row, Summary, median};

/// A line of the table.
#[derive(Debug, PartialEq)]
pub(super) struct Distance {
    /// The point, as in `latency:8`.
    pub point: String,
    /// The unit of the values.
    pub unit: String,
    /// The value that Verbena reached.
    pub ours: f64,
    /// The value that the machine can reach.
    pub floor: f64,
}

impl Distance {
    /// Returns how many times longer Verbena takes; 1 is the floor.
    pub(super) fn factor(&self) -> f64 {
        if self.unit.ends_with("/s") { self.floor / self.ours } else { self.ours / self.floor }
    }
}

/// The points between two ranks whose floor was measured.
pub(super) fn distances(summary: &Summary) -> Vec<Distance> {
    let quiet = summary.rows.iter().filter(|row| row.busy == 0);
    quiet.filter_map(|row| distance(row, &summary.floor)).collect()
}

fn distance(row: &Row, floor: &Floor) -> Option<Distance> {
    let (metric, bytes) = row.point.split_once(':').unwrap_or((&row.point, "0"));
    let floor = match metric {
        "latency" => cache_line_us(floor)? + bytes.parse::<f64>().ok()? / best_gb_s(floor, bytes)? / 1e3,
        "bandwidth" => best_gb_s(floor, bytes)?,
        "barrier" if row.ranks == 2 => cache_line_us(floor)?,
        _ => return None,
    };
    let ours = row.median(OURS)?;
    Some(Distance { point: row.point.clone(), unit: row.unit.clone(), ours, floor })
}

fn cache_line_us(floor: &Floor) -> Option<f64> {
    median(floor.0.get("cache_line (us)")?)
}

/// The fastest way to move that many bytes. A few bytes ride in the cache line itself.
fn best_gb_s(floor: &Floor, bytes: &str) -> Option<f64> {
    if bytes.parse::<usize>().ok()? <= 8 {
        return Some(f64::INFINITY);
    }
    let speed = |way: &str| median(floor.0.get(&format!("{way}:{bytes} (GB/s)"))?);
    ["copy", "read_both"].into_iter().filter_map(speed).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::summary::Cell;
    use std::collections::BTreeMap;

    fn floor() -> Floor {
        let values = [
            ("cache_line (us)", 0.1),
            ("copy:1000 (GB/s)", 5.0),
            ("read_both:1000 (GB/s)", 10.0),
            ("read:1000 (GB/s)", 99.0),
        ];
        Floor(values.iter().map(|(name, value)| (name.to_string(), vec![*value])).collect())
    }

    fn factor(point: &str, unit: &str, ours: f64) -> Option<f64> {
        let cells = BTreeMap::from([(OURS.to_string(), Cell { values: vec![ours], ..Cell::default() })]);
        let row = Row { point: point.into(), ranks: 2, busy: 0, unit: unit.into(), cells };
        distance(&row, &floor()).map(|distance| (distance.factor() * 1e6).round() / 1e6)
    }

    #[test]
    fn a_message_takes_a_line_and_the_faster_way() {
        assert_eq!(factor("latency:8", "us", 0.3), Some(3.0));
        assert_eq!(factor("latency:1000", "us", 0.3), Some(1.5));
        assert_eq!(factor("bandwidth:1000", "GB/s", 5.0), Some(2.0));
        assert_eq!(factor("barrier", "us", 0.2), Some(2.0));
    }

    #[test]
    fn what_has_no_floor_has_no_distance() {
        assert_eq!(factor("bandwidth:2000", "GB/s", 5.0), None);
        assert_eq!(factor("rate:8", "Mmsg/s", 5.0), None);
    }
}
