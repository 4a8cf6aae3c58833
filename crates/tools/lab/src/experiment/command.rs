//! The options that the command lines of all comparisons share: where to measure, and how long.

use super::between::Between;
use crate::timing::Effort;
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time to measure.
#[derive(Args, Clone, Debug)]
pub struct Timing {
    /// Repetitions of the whole
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Time for the repetitions of one point in a round, in milliseconds
    #[arg(long, default_value_t = 60)]
    pub point_ms: u64,
    /// Repetitions of one point in a round
    #[arg(long, default_value_t = 3)]
    pub repetitions: usize,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 30.0)]
    pub limit_s: f64,
    /// One round with 10 ms a point: a first impression
    #[arg(long)]
    pub quick: bool,
}

/// Milliseconds a point with `--quick`.
const QUICK_MS: u64 = 10;

impl Timing {
    /// Returns how often the whole is repeated.
    pub fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds }
    }

    /// Returns the effort and time limit of a point.
    ///
    /// # Errors
    /// A number is 0.
    fn effort(&self) -> Result<(Effort, Duration)> {
        ensure!(
            self.rounds > 0 && self.repetitions > 0 && self.point_ms > 0,
            "rounds, repetitions and milliseconds must be at least 1"
        );
        let ms = if self.quick { self.point_ms.min(QUICK_MS) } else { self.point_ms };
        let effort = Effort { point: Duration::from_millis(ms), repetitions: self.repetitions, window: 1 };
        let limit = Duration::try_from_secs_f64(self.limit_s);
        Ok((effort, limit.map_err(|_| anyhow!("--limit-s must be positive"))?))
    }
}

/// The places to measure.
#[derive(Args, Clone, Debug)]
pub struct Nodes {
    /// The nodes, as in node0,node1; what goes between nodes is measured only with them
    #[arg(long, value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// The program that runs a command line on a node: COMMAND NODE COMMAND-LINE [default:
    /// VERBENA_LAUNCHER, or ssh]
    #[arg(long)]
    launcher: Option<String>,
    /// The entry of the device's table of addresses that perftest uses
    #[arg(long, default_value_t = GID_INDEX)]
    gid_index: u32,
    /// The devices of the ranks in comparisons with other libraries, which all run on this node;
    /// messages take the wire between them
    #[arg(long, value_delimiter = ',', default_values = DEVICES)]
    devices: Vec<String>,
    /// The folder in which other libraries are installed, as `cargo xtask peers` does it
    #[arg(long, default_value = PEERS)]
    peers: PathBuf,
}

/// The devices of the first two nodes of `cargo xtask softroce`. Every node sees both.
const DEVICES: [&str; 2] = ["rxe0", "rxe1"];
/// The folder where `cargo xtask peers` installs other libraries.
const PEERS: &str = "target/peers";
/// The entry that has the IPv4 address on Soft-RoCE.
const GID_INDEX: u32 = 1;

impl Nodes {
    /// Creates the options for these nodes, the rest by default.
    pub fn of(hosts: &[String]) -> Nodes {
        let devices = DEVICES.map(String::from).to_vec();
        Nodes { hosts: hosts.to_vec(), launcher: None, gid_index: GID_INDEX, devices, peers: PEERS.into() }
    }

    /// The nodes with the time for a point.
    ///
    /// # Errors
    /// A number is 0, or a path is no path.
    pub fn between(&self, timing: &Timing) -> Result<Between> {
        let (effort, limit) = timing.effort()?;
        let own = || std::env::var("VERBENA_LAUNCHER").ok();
        Ok(Between {
            nodes: self.hosts.clone(),
            launcher: self.launcher.clone().or_else(own).unwrap_or_else(|| "ssh".into()),
            gid_index: self.gid_index,
            devices: self.devices.clone(),
            peers: absolute(&self.peers)?,
            effort,
            limit,
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}
