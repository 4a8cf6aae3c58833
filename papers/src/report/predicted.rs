//! The ladder of designs as the simulator's model predicts it from the bare device: where one run
//! has measured both the device by itself and the ladder.

use super::record::Record;
use crate::theory::ladder::Ladder;
use crate::theory::predict::{Prediction, predict};
use anyhow::{Context, Result};
use verbena_lab::metric::{Metric, format_size};
use verbena_lab::verbs::outcome::Outcome;
use verbena_sim::figures::Table;

/// The experiments: those of latency in microseconds, and of bandwidth in GB/s.
pub(super) const EXPERIMENTS: [&str; 2] = ["sim predicted latency", "sim predicted bandwidth"];

/// Predicts the ladder from a result of `verbena bench verbs`.
///
/// # Errors
/// The file cannot be written. A prediction that is not possible is noted with its reason.
pub(super) fn run(bare: &Outcome, record: &mut Record) -> Result<()> {
    let [latency, bandwidth] = EXPERIMENTS;
    match tables(bare, record) {
        Ok([latencies, bandwidths]) => {
            record.table(latency, "latency", "us", &latencies)?;
            record.table(bandwidth, "bandwidth", "GB/s", &bandwidths)
        }
        Err(error) => {
            let reason = format!("{error:#}");
            EXPERIMENTS.iter().try_for_each(|experiment| record.skip(experiment, &reason))
        }
    }
}

fn tables(bare: &Outcome, record: &Record) -> Result<[Table; 2]> {
    let ladder = Ladder::of(&record.document()).context("this run has not measured rc ladder")?;
    let (_, all) = predict(bare, &|design, point| ladder.value(design, point))?;
    let of = |metric, title| table(all.iter().filter(|one| one.point.metric == metric), title);
    Ok([
        of(Metric::Latency, "The ladder's latency, predicted from the bare device"),
        of(Metric::Bandwidth, "The ladder's bandwidth, predicted from the bare device"),
    ])
}

/// A row for each design and size that was measured too: there is nothing else to compare with.
fn table<'a>(all: impl Iterator<Item = &'a Prediction>, title: &str) -> Table {
    let mut table = Table::new(title, ["design", "predicted"]);
    for one in all.filter(|one| one.measured.is_some()) {
        // The model gives MB/s, the measured metric is in GB/s.
        let value = if one.point.metric == Metric::Bandwidth { one.predicted / 1e3 } else { one.predicted };
        table.add(format!("{}, {}", one.design, format_size(one.point.bytes)), vec![value]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::metric::Point;

    #[test]
    fn bandwidth_is_in_the_unit_of_the_measurement_and_what_was_not_measured_is_left_out() {
        let one = |metric, bytes, predicted, measured| Prediction {
            design: "basic",
            point: Point { metric, bytes },
            predicted,
            measured,
            is_input: false,
        };
        let all = [one(Metric::Bandwidth, 1 << 20, 800.0, Some(700.0)), one(Metric::Bandwidth, 8, 5.0, None)];
        let table = table(all.iter(), "t");
        assert_eq!((table.rows.len(), table.value("basic, 1 MiB", "predicted")), (1, 0.8));
    }

    #[test]
    fn without_a_ladder_the_reason_is_noted() {
        let folder = std::env::temp_dir().join(format!("verbena-predicted-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut record = Record::new(folder.join("measured.json"));
        run(&Outcome::default(), &mut record).expect("noted");
        let text = record.document()["skipped"].to_string();
        assert!(text.contains(EXPERIMENTS[0]) && text.contains("rc ladder"), "{text}");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
