//! A point of a measurement, as words on a command line and for people.

use super::Metric;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A point: a metric and the message size in bytes (0 where the metric has none). Written
/// `latency:8`, `bcast:1M`, `barrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    /// The metric to measure.
    pub metric: Metric,
    /// Bytes a message, or bytes a rank (and pair of ranks, for alltoall) in a collective; the
    /// number of rings for [`Metric::PollingSet`], the messages of a burst for those of discovery.
    pub bytes: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.metric.has_size() {
            true => write!(f, "{}:{}", self.metric.name(), self.bytes),
            false => write!(f, "{}", self.metric.name()),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Point, String> {
        let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        let metric =
            metric.ok_or_else(|| format!("there is no metric named \"{name}\"; choose among {}", names()))?;
        let bytes = match (metric.has_size(), size) {
            (true, Some(size)) => parse_size(size)?,
            (true, None) => return Err(format!("{name} needs a size, as in {name}:1024")),
            (false, None) => 0,
            (false, Some(_)) => return Err(format!("{name} has no size")),
        };
        Point { metric, bytes }.checked()
    }
}

impl Point {
    /// The size for people: bytes, rings where the metric counts those, nothing where it has none.
    pub fn size_words(self) -> String {
        match self.metric {
            Metric::PollingSet if self.bytes == 1 => "1 ring".into(),
            Metric::PollingSet => format!("{} rings", self.bytes),
            Metric::DiscoveryNamed | Metric::DiscoveryAny => format!("bursts of {}", self.bytes),
            _ if self.metric.has_size() => format_size(self.bytes),
            _ => String::new(),
        }
    }

    /// Refuses sizes that the metric cannot have.
    pub fn checked(self) -> Result<Point, String> {
        if self.metric.adds_doubles() && (self.bytes == 0 || !self.bytes.is_multiple_of(size_of::<f64>())) {
            return Err(format!(
                "{} adds doubles: its size must be a multiple of 8, not {}",
                self.metric.name(),
                self.bytes
            ));
        }
        if self.bytes > i32::MAX as usize {
            return Err(format!("a message of {} bytes does not fit in an int", self.bytes));
        }
        Ok(self)
    }
}

fn names() -> String {
    Metric::ALL.map(Metric::name).join(", ")
}

/// Reads `8`, `64K`, `1M`, `1MiB`, `2G`: powers of 1024.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let number: usize = digits.parse().map_err(|_| format!("\"{text}\" is no size; write 8, 64K or 1M"))?;
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(format!("\"{suffix}\" is no unit of size; write K, M or G (powers of 1024)")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// Writes a size the way people say it: `8 B`, `64 KiB`, `1 MiB`.
pub fn format_size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_read_as_they_are_written() {
        for text in ["latency:8", "bcast:1048576", "barrier", "startup", "copy:65536"] {
            assert_eq!(text.parse::<Point>().expect(text).to_string(), text);
        }
        assert_eq!("alltoall:1KiB".parse(), Ok(Point { metric: Metric::Alltoall, bytes: 1024 }));
    }

    #[test]
    fn reports_and_command_lines_name_metrics_alike() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).expect("a name"), metric.name());
        }
    }

    #[test]
    fn senseless_points_are_refused_with_the_reason() {
        for (text, reason) in [
            ("warp:8", "no metric named \"warp\""),
            ("latency", "needs a size"),
            ("barrier:8", "has no size"),
            ("allreduce:12", "multiple of 8"),
            ("latency:3X", "no unit"),
            ("latency:4G", "does not fit"),
        ] {
            let refused = text.parse::<Point>().expect_err(text);
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }

    #[test]
    fn rings_are_no_bytes() {
        let words = |text: &str| text.parse::<Point>().expect(text).size_words();
        assert_eq!(["polling_set:128", "latency:65536", "barrier"].map(words), ["128 rings", "64 KiB", ""]);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!([8, 65536, 4 << 20, 1500].map(format_size), ["8 B", "64 KiB", "4 MiB", "1500 B"]);
    }
}
