//! The place and time of the measurements, and how ranks are started there.

use super::variant::{How, Peer, Place, Set, UcxTransport};
use crate::job::Launch;
use crate::place;
use crate::timing::Effort;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::time::Duration;

/// Makes UCX take a device whose address is in a network of its own, as with
/// `cargo xtask softroce`.
const UCX: &[(&str, &str)] = &[("UCX_IB_ROCE_REACHABILITY_MODE", "all")];

/// Nodes, devices and time.
#[derive(Clone, Debug)]
pub struct Between {
    /// The nodes; none: this machine alone.
    pub nodes: Vec<String>,
    /// The program that runs a command line on a node, as `ssh` does.
    pub launcher: String,
    /// The entry of the table of addresses that perftest uses.
    pub gid_index: u32,
    /// The device of each rank in comparisons with other libraries.
    pub devices: Vec<String>,
    /// The folder where the peers are installed.
    pub peers: PathBuf,
    /// The effort for a point, its window aside.
    pub effort: Effort,
    /// The longest that one point may take.
    pub limit: Duration,
}

impl Between {
    /// Returns whether there are nodes to measure between.
    pub fn has_nodes(&self) -> bool {
        self.nodes.len() >= 2
    }

    /// Returns how to start the ranks of a variant; none for the bare device.
    ///
    /// # Errors
    /// Our own launcher or library cannot be found, or there are no nodes to go between.
    pub fn launch(&self, how: &How, ranks: usize, window: usize) -> Result<Option<Launch>> {
        Ok(match how {
            How::Device(_) => None,
            How::Ours(place, settings) => Some(self.ours(*place, settings, ranks, window)?),
            How::Peer(peer, transport) => {
                Some(self.foreign(*peer, *transport, self.verbena(Vec::new(), Vec::new(), window)?))
            }
        })
    }

    fn ours(&self, place: Place, settings: &[Set], ranks: usize, window: usize) -> Result<Launch> {
        let variable = |(name, value): &Set| (format!("VERBENA_{name}"), value.clone());
        let environment: Vec<(String, String)> = settings.iter().map(variable).collect();
        let launcher_args = match (place, &self.nodes[..]) {
            (Place::Nodes, nodes) if self.has_nodes() => vec!["-hosts".into(), hosts(nodes, ranks)],
            (Place::Nodes, _) => bail!("there are no nodes to measure between; --hosts names them"),
            (Place::Node, [node, ..]) => vec!["-hosts".into(), format!("{node}:{ranks}")],
            (Place::Node, []) => Vec::new(),
            (Place::Devices, _) => Vec::new(),
        };
        let of_ranks = match place {
            Place::Devices => self.each_device(|device| ("VERBENA_RC_DEVICE".into(), device.into())),
            Place::Nodes | Place::Node => Vec::new(),
        };
        Ok(Launch { of_ranks, ..self.verbena(launcher_args, environment, window)? })
    }

    fn each_device(&self, of: impl Fn(&str) -> (String, String)) -> Vec<(String, String)> {
        self.devices.iter().map(|device| of(device)).collect()
    }

    fn verbena(
        &self,
        launcher_args: Vec<String>,
        environment: Vec<(String, String)>,
        window: usize,
    ) -> Result<Launch> {
        Ok(Launch {
            mpiexec: place::mpiexec()?,
            launcher_args,
            library: place::library()?,
            point_ms: self.effort.point.as_millis() as u64,
            repetitions: self.effort.repetitions,
            window,
            environment,
            unwritten: true,
            of_ranks: Vec::new(),
            limit: self.limit,
        })
    }

    /// Replaces our launcher, library and variables by those of another library.
    fn foreign(&self, peer: Peer, transport: UcxTransport, ours: Launch) -> Launch {
        let home = self.peers.join(peer.folder());
        let own = peer.environment().iter().chain(UCX).copied();
        let all = own.chain([("UCX_TLS", transport.of_ucx())]);
        Launch {
            mpiexec: home.join("bin/mpiexec"),
            launcher_args: peer.launcher_args().iter().map(ToString::to_string).collect(),
            library: home.join(peer.library()),
            environment: all.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            unwritten: true,
            of_ranks: self.each_device(|device| ("UCX_NET_DEVICES".into(), format!("{device}:1"))),
            ..ours
        }
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
