//! A measured ladder of designs from the result file of `verbena-papers rc ladder --json` or of the
//! report, which name that experiment `ladder` and `rc ladder`.

use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use verbena_lab::experiment::comparable;
use verbena_lab::metric::{Metric, Point};
use verbena_lab::report::Report;

/// The measurements of each variant.
pub(crate) struct Ladder(Vec<(String, Report)>);

impl Ladder {
    /// Reads it from a file.
    ///
    /// # Errors
    /// The file cannot be read, or holds no ladder.
    pub(crate) fn read(path: &Path) -> Result<Ladder> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let all: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is no result", path.display()))?;
        Ladder::of(&all).with_context(|| format!("{} holds no measured ladder", path.display()))
    }

    /// Returns the ladder of such a result, if it has one.
    pub(crate) fn of(all: &Value) -> Option<Ladder> {
        let is_ladder = |value: &&Value| matches!(value["experiment"].as_str(), Some("ladder" | "rc ladder"));
        let series = all["experiments"].as_array()?.iter().find(is_ladder)?["series"].as_array()?;
        let of = |series: &Value| {
            Some((series["variant"].as_str()?.into(), serde_json::from_value(series["report"].clone()).ok()?))
        };
        Some(Ladder(series.iter().map(of).collect::<Option<_>>()?))
    }

    /// Returns the value of a variant at a point, in the unit of the metric; of a latency the
    /// median of the samples that may be compared ([`comparable`]).
    pub(crate) fn value(&self, variant: &str, point: Point) -> Option<f64> {
        let (_, report) = self.0.iter().find(|(name, _)| name == variant)?;
        let entry = report.entries.iter().find(|entry| entry.point() == point)?;
        let quick = comparable(&entry.samples).filter(|_| point.metric == Metric::Latency);
        quick.map(|(value, _)| value).or(entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use verbena_lab::report::Entry;

    #[test]
    fn the_ladder_is_found_among_other_experiments() {
        let point: Point = "latency:8".parse().expect("point");
        let mut entry = Entry::new(point, 2);
        entry.add(&[31.0], 1);
        let report = Report { entries: vec![entry], ..Report::new(String::new()) };
        let series = json!([{"variant": "basic", "report": report}]);
        let all = json!({"experiments": [{"experiment": "other", "series": []},
                                         {"experiment": "rc ladder", "series": series}]});
        let ladder = Ladder::of(&all).expect("a ladder");
        assert_eq!(ladder.value("basic", point), Some(31.0));
        assert_eq!(ladder.value("pipeline", point), None);
        assert!(Ladder::of(&json!({"experiments": []})).is_none());
    }
}
