//! The goals of the measurements: ratios within one run, with their bounds.

use serde::Serialize;

/// A ratio that must keep a bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// The two things that are compared.
    pub what: String,
    /// The ratio; none if a part of it was not measured.
    pub ratio: Option<f64>,
    /// The bound that the ratio must keep.
    pub bound: Bound,
    /// True if the ratio keeps its bound.
    pub met: bool,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The ratio is no more than this.
    AtMost(f64),
    /// The ratio is no less than this.
    AtLeast(f64),
}

impl Goal {
    /// A goal; without a ratio, or without a bound that is a number, it is not met.
    pub fn new(what: impl Into<String>, ratio: Option<f64>, bound: Bound) -> Goal {
        let met = ratio.is_some_and(|ratio| match bound {
            Bound::AtMost(most) => ratio <= most,
            Bound::AtLeast(least) => ratio >= least,
        });
        Goal { what: what.into(), ratio, bound, met }
    }
}

/// Experiments without goals have this, of whatever is measured.
pub fn none<Measured>(_: &Measured) -> Vec<Goal> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_within_its_bound_only_and_never_without_a_value() {
        assert!(Goal::new("", Some(1.1), Bound::AtMost(1.15)).met);
        assert!(!Goal::new("", Some(1.2), Bound::AtMost(1.15)).met);
        assert!(!Goal::new("", Some(0.9), Bound::AtLeast(0.985)).met);
        assert!(!Goal::new("", Some(0.9), Bound::AtLeast(f64::NAN)).met);
        assert!(!Goal::new("", None, Bound::AtMost(1.0)).met);
    }
}
