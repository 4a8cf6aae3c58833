//! The variants: settings of the polling scheduler, and what is measured under them.

use crate::bench::candidate::{Candidate, Set, set};
use crate::bench::job::Launch;
use crate::bench::metric::{Metric, Point};
use anyhow::Result;
use verbena_sim::figures::polling::{RATIOS, UPDATES};

/// Ranks: two on each of two nodes.
pub const RANKS: usize = 4;

/// The points of the static schemes (figure 2).
pub const LATENCIES: [Point; 2] =
    [Point { metric: Metric::NodeLatency, bytes: 8 }, Point { metric: Metric::NetworkLatency, bytes: 8 }];
/// The points of the dynamic scheme (figure 3).
pub const DISCOVERIES: [Point; 2] =
    [Point { metric: Metric::Discovery100, bytes: 0 }, Point { metric: Metric::Discovery200, bytes: 0 }];

/// Which figure a variant belongs to, and its place on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Figure 2, at this ratio.
    Ratio(u32),
    /// Figure 3, at this update rate.
    Update(u32),
    /// Beside the axis, in both figures.
    Scheme,
}

/// A variant and what was measured of it.
pub struct Variant {
    /// Where it belongs.
    pub place: Place,
    /// What it is.
    pub candidate: Candidate,
}

impl Variant {
    fn new(name: &str, place: Place, settings: &[Set], launch: &Launch) -> Result<Variant> {
        let points = match place {
            Place::Ratio(_) => LATENCIES.to_vec(),
            Place::Update(_) => DISCOVERIES.to_vec(),
            Place::Scheme => [LATENCIES, DISCOVERIES].concat(),
        };
        Ok(Variant { place, candidate: Candidate::new(name, settings, &points, RANKS, launch)? })
    }
}

/// All variants.
///
/// # Errors
/// This program's own path cannot be found.
pub fn all(launch: &Launch) -> Result<Vec<Variant>> {
    let scheme = |name: &str| set("POLLING", name);
    let mut variants = Vec::new();
    for name in ["all", "latency", "overhead", "dynamic"] {
        variants.push(Variant::new(name, Place::Scheme, &[scheme(name)], launch)?);
    }
    for ratio in RATIOS {
        let settings = [scheme("ratio"), set("POLLING_RATIO", ratio)];
        variants.push(Variant::new(&format!("{ratio}:1"), Place::Ratio(ratio), &settings, launch)?);
    }
    for update in UPDATES {
        let settings = [scheme("dynamic"), set("POLLING_UPDATE_EVERY", update)];
        let name = format!("dynamic, update rate {update}");
        variants.push(Variant::new(&name, Place::Update(update), &settings, launch)?);
    }
    Ok(variants)
}
