//! The experiments: which figure of paper 5 compares what with what, at which points.

use crate::threshold::ways;
use clap::ValueEnum;
use verbena_lab::experiment::axis::Axis;
use verbena_lab::experiment::goal::{self, Bound, Goal};
use verbena_lab::experiment::variant::{Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, Measured, points};
use verbena_lab::metric::{Metric, Point};

/// The experiment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Ping-pong: eager limits of 0 and 64 KiB, bulk transfer on and off
    PingPong,
    /// Ping-pong by two pairs of ranks at once
    Multi,
    /// One rail and two
    Rails,
    /// One array sent again and arrays that move, with the registration cache and without it
    Arrays,
    /// A computation beside a long transfer, with and without the progress thread
    Overlap,
}

/// The shortest message of a bulk transfer: `MP_BULK_MIN_MSG_SIZE` (section 5).
const BULK_BYTES_MIN: usize = 150 << 10;
/// The longer eager limit (section 5).
const EAGER_BYTES: usize = 64 << 10;
/// The size from which RDMA must be no slower than copying: the paper sees its gain "for large
/// enough messages".
const LARGE_BYTES: usize = 1 << 20;
const SIZES: [usize; 11] = [
    1 << 10,
    4 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    BULK_BYTES_MIN,
    256 << 10,
    512 << 10,
    1 << 20,
    4 << 20,
];

const RAILS: Axis = Axis { name: "rails", label: |rails| rails.to_string() };

impl Name {
    /// The experiment of that name.
    pub(crate) fn experiment(self) -> Experiment {
        match self {
            Name::PingPong => ping_pong(),
            Name::Multi => multi(),
            Name::Rails => rails(),
            Name::Arrays => arrays(),
            Name::Overlap => ways::overlap(),
        }
    }
}

/// Returns connections whose buffers hold a message of the longer eager limit, whatever the limit
/// is, so that nothing else differs.
fn variant(name: &str, eager_bytes: usize, bulk: bool) -> Variant {
    let room = EAGER_BYTES + 512;
    let mut settings: Vec<Set> = vec![
        set("CHANNELS", "rc"),
        set("EAGER_BYTES_MAX", eager_bytes),
        set("RC_EAGER_BYTES_MAX", EAGER_BYTES),
        set("RC_BUFFER_BYTES", room),
        set("RC_SEND_BUFFERS_MAX", 32),
        set("RC_SLOTS", 100),
    ];
    if bulk {
        settings.push(set("RC_MEMORY_BYTES_MIN", BULK_BYTES_MIN));
    } else {
        settings.push(set("LARGE", "pipeline"));
    }
    Variant::ours(name, Place::Nodes, settings)
}

fn variants() -> Vec<Variant> {
    vec![
        variant(NAMES[0], 0, false),
        variant(NAMES[1], EAGER_BYTES, false),
        variant(NAMES[2], 0, true),
        variant(NAMES[3], EAGER_BYTES, true),
    ]
}

const NAMES: [&str; 4] = ["eager 0", "eager 64 KiB", "eager 0 + bulk", "eager 64 KiB + bulk"];

fn ping_pong() -> Experiment {
    Experiment {
        name: "ping-pong",
        title: "Ping-pong by eager limit and bulk transfer (paper 5, figure 1)",
        ranks: vec![2],
        window: 1,
        points: points(Metric::PingPong, &SIZES),
        variants: variants(),
        axis: None,
        goals: bulk_goals,
    }
}

fn multi() -> Experiment {
    Experiment {
        name: "multi",
        title: "Two pairs at once, by eager limit and bulk transfer (paper 5, figure 2)",
        ranks: vec![4],
        points: points(Metric::MultiPingPong, &SIZES),
        ..ping_pong()
    }
}

/// Returns the goal that bulk transfer of large messages is no slower than copying.
fn bulk_goals(measured: &Measured) -> Vec<Goal> {
    let large = measured.experiment.points.iter().filter(|point| point.bytes >= LARGE_BYTES);
    let goal = |&point: &Point| {
        let what = format!("{point}, bulk transfer to copying");
        Goal::new(what, measured.ratio(point, NAMES[3], NAMES[1]), Bound::AtLeast(1.0))
    };
    large.map(goal).collect()
}

fn rails() -> Experiment {
    let of = |rails: usize| {
        let settings = vec![set("CHANNELS", "rc"), set("RC_RAILS", rails)];
        Variant::ours(format!("{rails} rails"), Place::Nodes, settings).at(rails)
    };
    let long = [256 << 10, 1 << 20, 4 << 20];
    Experiment {
        name: "rails",
        title: "One rail and two (paper 5, section 2)",
        ranks: vec![2],
        window: 4,
        points: [points(Metric::Bandwidth, &long), points(Metric::PingPong, &long)].concat(),
        variants: [1, 2].map(of).to_vec(),
        axis: Some(RAILS),
        goals: |measured| {
            let goal = |point: Point| {
                let what = format!("{point}, two rails to one");
                Goal::new(what, measured.ratio(point, "2 rails", "1 rails"), Bound::AtLeast(1.9))
            };
            measured
                .points_of(Metric::Bandwidth)
                .filter(|point| point.bytes >= LARGE_BYTES)
                .map(goal)
                .collect()
        },
    }
}

/// Returns the experiment about the cost of registration: it is paid once for an array that is sent
/// again, and each time for arrays that move (section 5).
fn arrays() -> Experiment {
    let of = |(name, cache): (&str, usize)| {
        Variant::ours(name, Place::Nodes, vec![set("CHANNELS", "rc"), set("RC_CACHE", cache)])
    };
    let long = [BULK_BYTES_MIN, 1 << 20, 4 << 20];
    Experiment {
        name: "arrays",
        title: "One array sent again and arrays that move, by registration cache (paper 5, section 5)",
        ranks: vec![2],
        window: 1,
        points: [points(Metric::PingPongStaying, &long), points(Metric::PingPongMoving, &long)].concat(),
        variants: [("cache", 1), ("no cache", 0)].map(of).to_vec(),
        axis: None,
        goals: goal::none,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::experiment::check_settings;

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        Name::value_variants().iter().for_each(|name| check_settings(&name.experiment()));
    }
}
