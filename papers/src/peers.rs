//! Our library against MPICH and Open MPI over UCX, each rank on a device of its own.

use verbena_lab::experiment::goal::{Bound, Goal};
use verbena_lab::experiment::variant::{Peer, Place, UcxTransport, Variant, set};
use verbena_lab::experiment::{Experiment, Measured, points};
use verbena_lab::metric::{Metric, Point};

/// Compares one channel of ours with UCX's transport of the same kind.
pub(crate) fn against(title: &'static str, channel: &str, transport: UcxTransport) -> Experiment {
    Experiment {
        name: "peers",
        title,
        ranks: vec![2],
        window: 16,
        points: [
            points(Metric::Latency, &[8, 1 << 10, 64 << 10]),
            points(Metric::Rate, &[8]),
            points(Metric::Bandwidth, &[64 << 10, 1 << 20]),
        ]
        .concat(),
        variants: vec![
            Variant::ours("Verbena", Place::Devices, vec![set("CHANNELS", channel)]),
            Variant::peer(Peer::Mpich, transport),
            Variant::peer(Peer::OpenMpi, transport),
        ],
        axis: None,
        goals,
    }
}

/// Returns the goals: at each point ours is no worse than the better of the two.
fn goals(measured: &Measured) -> Vec<Goal> {
    let goal = |&point: &Point| {
        let peers = [Peer::Mpich, Peer::OpenMpi].map(Peer::name);
        let values = peers.iter().filter_map(|peer| measured.value(peer, point));
        let shorter = point.metric == Metric::Latency;
        let better = values.reduce(if shorter { f64::min } else { f64::max });
        let ratio = measured.value("Verbena", point).zip(better).map(|(ours, theirs)| ours / theirs);
        let what = format!("{point}, ours to the better of MPICH and Open MPI");
        Goal::new(what, ratio, if shorter { Bound::AtMost(1.0) } else { Bound::AtLeast(1.0) })
    };
    measured.experiment.points.iter().map(goal).collect()
}
