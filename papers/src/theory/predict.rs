//! The ladder of designs by the model of a device that `verbena bench verbs` measured, beside the
//! ladder measured there.
//!
//! The bare program says nothing of the work of engine and channel for a packet. It is fitted to
//! one latency of the measured ladder, that of the piggybacked design; all other points are
//! predicted. Without a measured ladder nothing is fitted, and that work counts as none.

use super::device::measured;
use anyhow::{Result, anyhow};
use verbena_lab::metric::{Metric, Point};
use verbena_lab::verbs::outcome::Outcome;
use verbena_sim::figures::{Table, predicted_ladder};
use verbena_sim::verbs::calibration::{calibrate, fit_packet};
use verbena_sim::verbs::theory::Theory;

/// The designs: their names in the simulator, and those of the measured variants.
const DESIGNS: [(&str, &str); 5] = [
    ("basic", "basic"),
    (FITTED, FITTED),
    ("pipeline 16 KiB", "pipeline"),
    ("zero-copy read", "zero-copy read"),
    ("zero-copy write", "zero-copy write"),
];
/// The design to whose latency the model is fitted.
const FITTED: &str = "piggyback";
const SHORTEST: Point = Point { metric: Metric::Latency, bytes: 8 };
const LONG: [(&str, usize); 4] =
    [("64 KiB", 64 << 10), ("256 KiB", 256 << 10), ("1 MiB", 1 << 20), ("4 MiB", 4 << 20)];

/// One point of one design.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prediction {
    /// The design, as the measured variant is named.
    pub design: &'static str,
    /// The point.
    pub point: Point,
    /// The model's value: us for a latency, MB/s for a bandwidth.
    pub predicted: f64,
    /// The measured value in the same unit, if there is one.
    pub measured: Option<f64>,
    /// True if the model was fitted to this measurement, so that it is no prediction.
    pub is_input: bool,
}

impl Prediction {
    /// Returns the model's value to the measured one.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.predicted / self.measured?)
    }
}

/// Calibrates the model on the bare device and predicts the ladder; `seen` returns the measured
/// value of a variant at a point, in the unit of the metric.
///
/// # Errors
/// The result of the bare device lacks a row, or the simulator hung.
pub(crate) fn predict(
    bare: &Outcome,
    seen: &dyn Fn(&str, Point) -> Option<f64>,
) -> Result<(Theory, Vec<Prediction>)> {
    let mut theory = calibrate("the device of verbena bench verbs", &measured(bare)?);
    let fitted_us = seen(FITTED, SHORTEST);
    if let Some(latency_us) = fitted_us {
        let bare_us = ladder(&theory)?.value("8 B", FITTED);
        theory = fit_packet(&theory, bare_us * 1e3, latency_us * 1e3);
    }
    let table = ladder(&theory)?;
    let mut all = Vec::new();
    for (name, design) in DESIGNS {
        let is_input = design == FITTED && fitted_us.is_some();
        let (predicted, measured) = (table.value("8 B", name), seen(design, SHORTEST));
        all.push(Prediction { design, point: SHORTEST, predicted, measured, is_input });
        for (row, bytes) in LONG {
            let point = Point { metric: Metric::Bandwidth, bytes };
            // The metric's unit is GB/s.
            let measured = seen(design, point).map(|gb_s| gb_s * 1e3);
            let predicted = table.value(row, name);
            all.push(Prediction { design, point, predicted, measured, is_input: false });
        }
    }
    Ok((theory, all))
}

fn ladder(theory: &Theory) -> Result<Table> {
    predicted_ladder(theory.costs).map_err(|reason| anyhow!("the simulator: {reason}"))
}
