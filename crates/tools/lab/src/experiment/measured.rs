//! An experiment, as data, and what was measured of it.

use super::axis::Axis;
use super::between::Between;
use super::comparable::comparable;
use super::goal::Goal;
use super::series::Series;
use super::variant::{How, Variant};
use crate::metric::{Metric, Point};
use anyhow::Result;

/// A few points under several variants.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name on command lines and in result files.
    pub name: &'static str,
    /// The subject of the experiment, and where it comes from.
    pub title: &'static str,
    /// Numbers of ranks; points between two ranks are measured at two.
    pub ranks: Vec<usize>,
    /// Messages in flight in the window tests.
    pub window: usize,
    /// The points to measure.
    pub points: Vec<Point>,
    /// The variants to measure them with.
    pub variants: Vec<Variant>,
    /// The axis on which the variants that have a place differ.
    pub axis: Option<Axis>,
    /// The goals that must be met.
    pub goals: fn(&Measured) -> Vec<Goal>,
}

/// Points of one metric.
pub fn points(metric: Metric, sizes: &[usize]) -> Vec<Point> {
    sizes.iter().map(|&bytes| Point { metric, bytes }).collect()
}

/// Looks whether all settings of an experiment exist and take their values; for tests.
///
/// # Panics
/// If one does not.
pub fn check_settings(experiment: &Experiment) {
    for variant in &experiment.variants {
        let How::Ours(_, settings) = &variant.how else { continue };
        for (name, value) in settings {
            let named =
                |setting: &&verbena_settings::Setting| setting.about.name == format!("VERBENA_{name}");
            let setting = verbena_settings::all().find(named).expect(name);
            setting.set_text(value, verbena_settings::Origin::Environment).expect(name);
        }
    }
}

/// The choice of the variants of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The names of the variants; all if there is none.
    pub only: Vec<String>,
    /// True to leave out variants that hang where the wire loses packets.
    pub reliable: bool,
}

impl Wanted {
    fn has(&self, variant: &Variant, between: &Between) -> bool {
        (self.only.is_empty() || self.only.contains(&variant.name))
            && (between.has_nodes() || variant.is_local() || variant.is_on_devices())
            && !(self.reliable && variant.is_unreliable)
    }
}

/// An experiment and the measurements of its variants.
pub struct Measured {
    /// The experiment itself.
    pub experiment: Experiment,
    /// The measurements of each variant, in order.
    pub series: Vec<Series>,
}

impl Measured {
    /// Returns an experiment without measurements, with the variants that are wanted and can be
    /// measured here.
    ///
    /// # Errors
    /// Our own launcher or library cannot be found.
    pub fn new(experiment: Experiment, wanted: &Wanted, between: &Between) -> Result<Measured> {
        let variants = experiment.variants.iter().filter(|variant| wanted.has(variant, between));
        let Experiment { points, ranks, window, .. } = &experiment;
        let series = variants.map(|variant| Series::new(points, ranks, *window, variant.clone(), between));
        Ok(Measured { series: series.collect::<Result<_>>()?, experiment })
    }

    /// The measurements of a variant.
    pub fn of(&self, variant: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.variant.name == variant)
    }

    /// The value of a variant at a point; with the fewest ranks if with several.
    pub fn value(&self, variant: &str, point: Point) -> Option<f64> {
        self.of(variant)?.value(point)
    }

    /// Returns the value of a variant at a point with this many ranks.
    pub fn value_of(&self, variant: &str, point: Point, ranks: usize) -> Option<f64> {
        self.of(variant)?.entry_of(point, ranks)?.value
    }

    /// Returns the ratio of two variants at one point: the first one's value over the second one's.
    pub fn ratio(&self, point: Point, one: &str, other: &str) -> Option<f64> {
        Some(self.value(one, point)? / self.value(other, point)?)
    }

    /// The median of a variant's comparable samples at a point ([`comparable`]).
    pub fn comparable(&self, variant: &str, point: Point) -> Option<f64> {
        comparable(&self.of(variant)?.entry(point)?.samples).map(|(value, _)| value)
    }

    /// The points of a metric.
    pub fn points_of(&self, metric: Metric) -> impl Iterator<Item = Point> {
        self.experiment.points.iter().copied().filter(move |point| point.metric == metric)
    }

    /// Returns every point at every number of ranks that some variant has, in the order of the
    /// experiment.
    pub fn rows(&self) -> Vec<(Point, usize)> {
        let mut rows = Vec::new();
        for &point in &self.experiment.points {
            let entries = self.series.iter().flat_map(|series| &series.report.entries);
            let mut ranks: Vec<usize> =
                entries.filter(|entry| entry.point() == point).map(|entry| entry.ranks).collect();
            ranks.sort_unstable();
            ranks.dedup();
            rows.extend(ranks.into_iter().map(|ranks| (point, ranks)));
        }
        rows
    }

    /// Returns the goals of the experiment.
    pub fn goals(&self) -> Vec<Goal> {
        (self.experiment.goals)(self)
    }
}
