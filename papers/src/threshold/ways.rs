//! The channels, and the settings that make messages go each way at every size.

use verbena_lab::experiment::goal::{Bound, Goal};
use verbena_lab::experiment::variant::{Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, Measured, goal, points};
use verbena_lab::metric::{Metric, Point};

/// A channel, and a way over it.
struct Way {
    name: &'static str,
    place: Place,
    settings: Vec<Set>,
}

/// A size larger than any message.
const NEVER: u64 = 1 << 40;

fn ways() -> Vec<Way> {
    let node = |name, settings| Way { name, place: Place::Node, settings };
    let rc = |name, large: &str| {
        let settings = vec![set("CHANNELS", "rc"), set("LARGE", large), set("RC_MEMORY_BYTES_MIN", 1)];
        Way { name, place: Place::Nodes, settings }
    };
    let other = |name| Way { name, place: Place::Nodes, settings: vec![set("CHANNELS", name)] };
    vec![
        node("shm", vec![set("CHANNELS", "shm")]),
        node(
            "cma",
            vec![set("CHANNELS", "shm,cma"), set("CMA_BYTES_MIN", 1), set("COPY_BY_BOTH_BYTES_MIN", NEVER)],
        ),
        node(
            "cma by both",
            vec![set("CHANNELS", "shm,cma"), set("CMA_BYTES_MIN", 1), set("COPY_BY_BOTH_BYTES_MIN", 0)],
        ),
        rc("rc read", "read"),
        rc("rc write", "write"),
        rc("rc stream", "pipeline"),
        other("ud"),
        Way { settings: vec![set("CHANNELS", "ofi"), set("OFI", "always")], ..other("ofi") },
    ]
}

/// Latency and bandwidth of every channel by size.
pub(crate) fn sizes(bytes: &[usize]) -> Experiment {
    Experiment {
        name: "sizes",
        title: "Latency and bandwidth of each channel (paper 3, figure 5)",
        ranks: vec![2],
        window: 16,
        points: [points(Metric::Latency, bytes), points(Metric::Bandwidth, bytes)].concat(),
        variants: ways().into_iter().map(|way| Variant::ours(way.name, way.place, way.settings)).collect(),
        axis: None,
        goals: goal::none,
    }
}

/// The message of the figures about overlap (issue 5).
const LONG: usize = 4 << 20;

/// Returns the cost of a long transfer over each channel for a computation beside it, without the
/// progress thread and with it.
pub(crate) fn overlap() -> Experiment {
    let with = |way: &Way, on: bool| {
        let settings = [&way.settings[..], &[set("PROGRESS_THREAD", u8::from(on))]].concat();
        Variant::ours(beside(way.name, on), way.place, settings)
    };
    let both = |way: Way| [with(&way, false), with(&way, true)];
    Experiment {
        name: "overlap",
        title: "A transfer of 4 MiB beside a computation (paper 3, figure 4; paper 5)",
        ranks: vec![2],
        window: 1,
        points: OVERLAPS.to_vec(),
        variants: ways().into_iter().flat_map(both).collect(),
        axis: None,
        goals: overlap_goals,
    }
}

const LOSS: Point = Point { metric: Metric::OverlapLoss, bytes: LONG };
const OVERLAPS: [Point; 2] = [LOSS, Point { metric: Metric::Processor, bytes: LONG }];

fn beside(name: &str, on: bool) -> String {
    if on { format!("{name} + thread") } else { name.to_string() }
}

/// The loss is a percentage: it is compared with the ten percent that the issue allows.
fn overlap_goals(measured: &Measured) -> Vec<Goal> {
    let goal = |way: Way| {
        let name = beside(way.name, true);
        let series = measured.of(&name)?;
        let what = format!("loss of a computation beside 4 MiB over {name}, in parts of 10%");
        Some(Goal::new(what, series.value(LOSS).map(|percent| percent / 10.0), Bound::AtMost(1.0)))
    };
    ways().into_iter().filter_map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::experiment::check_settings;

    #[test]
    fn every_setting_exists_and_takes_its_value() {
        check_settings(&sizes(&[8]));
        check_settings(&overlap());
    }
}
