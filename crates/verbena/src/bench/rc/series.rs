//! The measurements of one variant.

use super::device;
use super::experiment::Experiment;
use super::variant::{How, Peer, Variant};
use crate::bench::campaign::Campaign;
use crate::bench::job::Launch;
use crate::bench::metric::Point;
use crate::bench::report::{Entry, Report};
use crate::bench::timing::Effort;
use crate::place;
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

/// Where the measurements take place, and how much time they get.
#[derive(Clone, Debug)]
pub struct Between {
    /// The nodes.
    pub nodes: Vec<String>,
    /// What runs a command line on a node, as `ssh` does.
    pub launcher: String,
    /// The entry of the table of addresses that perftest uses.
    pub gid_index: u32,
    /// The one device where all ranks share one.
    pub device: String,
    /// Where the peers are installed.
    pub peers: PathBuf,
    /// Effort of a point, its window aside.
    pub effort: Effort,
    /// The longest that one point may take.
    pub limit: Duration,
}

/// One variant of an experiment and what was measured of it.
pub struct Series {
    /// Which.
    pub variant: Variant,
    /// The command that measures it, and the values.
    pub report: Report,
    campaign: Campaign,
}

impl Series {
    /// A variant of which nothing was measured yet.
    ///
    /// # Errors
    /// Our own launcher or library cannot be found.
    pub fn new(experiment: &Experiment, variant: Variant, between: &Between) -> Result<Series> {
        let effort = Effort { window: experiment.window, ..between.effort };
        let launch = launch(experiment, &variant.how, between)?;
        let points = match variant.how {
            // perftest has no message that waits for nothing but its latency or its bandwidth.
            How::Device(_) => experiment.points.iter().copied().filter(|point| point.bytes > 0).collect(),
            _ => experiment.points.clone(),
        };
        let command = match (&variant.how, &launch) {
            (How::Device(verb), _) => verb.command_line(between, points[0], experiment.window),
            (_, Some(launch)) => launch.command_line(experiment.ranks, &points)?,
            (_, None) => String::new(),
        };
        let campaign = Campaign { launch, points, ranks: vec![experiment.ranks], rounds: 1, effort };
        let report = Report { entries: campaign.entries(), ..Report::new(command) };
        Ok(Series { variant, report, campaign })
    }

    /// Measures once more.
    ///
    /// # Errors
    /// Our own launcher cannot be started. A point that fails is noted in its entry.
    pub fn round(&mut self, between: &Between, told: &mut dyn FnMut(&str)) -> Result<()> {
        let How::Device(verb) = self.variant.how else {
            let outcome = self.campaign.run(&mut self.report, told);
            // Another library that cannot be started leaves its own cells empty, and no others.
            return match (&self.variant.how, outcome) {
                (How::Peer(_), Err(error)) => {
                    self.report.entries.iter_mut().for_each(|entry| entry.fail(&format!("{error:#}")));
                    Ok(())
                }
                (_, outcome) => outcome,
            };
        };
        for entry in self.report.entries.iter_mut().filter(|entry| entry.failure.is_none()) {
            told(&format!("{}, {}", verb.name(), entry.point()));
            let (point, effort) = (entry.point(), self.campaign.effort);
            // As many runs as ours has repetitions: each one comes out quick or slow by where the kernel puts its work.
            let runs = (0..effort.repetitions)
                .map(|_| device::measure(verb, between, point, effort.window, between.limit));
            match runs.collect::<Result<Vec<f64>>>() {
                Ok(values) => entry.add(&values, 1),
                Err(error) => entry.fail(&format!("{error:#}")),
            }
        }
        Ok(())
    }

    /// The value of a point, if it was measured.
    pub fn value(&self, point: Point) -> Option<f64> {
        self.entry(point)?.value
    }

    /// What is known of a point.
    pub fn entry(&self, point: Point) -> Option<&Entry> {
        self.report.entries.iter().find(|entry| entry.point() == point)
    }
}

/// How ranks of a variant are started; none for the bare device.
fn launch(experiment: &Experiment, how: &How, between: &Between) -> Result<Option<Launch>> {
    let effort = between.effort;
    let verbena = |launcher_args, environment| -> Result<Launch> {
        Ok(Launch {
            mpiexec: place::mpiexec()?,
            launcher_args,
            library: place::library()?,
            point_ms: effort.point.as_millis() as u64,
            repetitions: effort.repetitions,
            window: experiment.window,
            environment,
            limit: between.limit,
        })
    };
    let rc = ("VERBENA_CHANNELS".to_string(), "rc".to_string());
    Ok(Some(match how {
        How::Device(_) => return Ok(None),
        How::Ours(settings) => {
            let settings = settings.iter().map(|(name, value)| (format!("VERBENA_{name}"), value.clone()));
            let hosts = hosts(&between.nodes, experiment.ranks);
            verbena(vec!["-hosts".into(), hosts], std::iter::once(rc).chain(settings).collect())?
        }
        How::OursOnOneDevice => {
            verbena(Vec::new(), vec![rc, ("VERBENA_RC_DEVICE".into(), between.device.clone())])?
        }
        How::Peer(peer) => {
            let ours = verbena(Vec::new(), Vec::new())?;
            foreign(*peer, between, ours)
        }
    }))
}

/// Another library's launcher, library and variables instead of ours.
fn foreign(peer: Peer, between: &Between, ours: Launch) -> Launch {
    let home = between.peers.join(peer.folder());
    let ucx = [
        ("UCX_NET_DEVICES", format!("{}:1", between.device)),
        ("UCX_TLS", "rc_verbs,ud_verbs:aux,self".into()),
    ];
    let own = peer.environment().iter().map(|&(name, value)| (name, value.to_string()));
    Launch {
        mpiexec: home.join("bin/mpiexec"),
        launcher_args: peer.launcher_args().iter().map(ToString::to_string).collect(),
        library: home.join(peer.library()),
        environment: own.chain(ucx).map(|(name, value)| (name.to_string(), value)).collect(),
        ..ours
    }
}

/// The nodes with their ranks, as `mpiexec -hosts` takes them: even blocks.
fn hosts(nodes: &[String], ranks: usize) -> String {
    let each = ranks.div_ceil(nodes.len());
    let on = |node: usize| ranks.saturating_sub(node * each).min(each);
    let named = |(number, node): (usize, &String)| (on(number) > 0).then(|| format!("{node}:{}", on(number)));
    nodes.iter().enumerate().filter_map(named).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_the_nodes_in_even_blocks() {
        let nodes = ["a", "b", "c"].map(String::from);
        assert_eq!(hosts(&nodes[..2], 2), "a:1,b:1");
        assert_eq!(hosts(&nodes, 4), "a:2,b:2");
        assert_eq!(hosts(&nodes, 9), "a:3,b:3,c:3");
    }
}
