//! Where the measurements take place, how much time they get, and how ranks are started there.

use super::variant::{How, Peer, Place, Set, Transport};
use crate::bench::job::Launch;
use crate::bench::timing::Effort;
use crate::place;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::time::Duration;

/// Nodes, devices and time.
#[derive(Clone, Debug)]
pub struct Between {
    /// The nodes; none: this machine alone.
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

impl Between {
    /// Whether there are nodes to go between.
    pub fn has_nodes(&self) -> bool {
        self.nodes.len() >= 2
    }

    /// How ranks of a variant are started; none for the bare device.
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
        let mut environment: Vec<(String, String)> = settings.iter().map(variable).collect();
        let launcher_args = match (place, &self.nodes[..]) {
            (Place::Nodes, nodes) if self.has_nodes() => vec!["-hosts".into(), hosts(nodes, ranks)],
            (Place::Nodes, _) => bail!("there are no nodes to measure between; --hosts names them"),
            (Place::Node, [node, ..]) => vec!["-hosts".into(), format!("{node}:{ranks}")],
            (Place::Node, []) => Vec::new(),
            (Place::Device, _) => {
                environment.push(("VERBENA_RC_DEVICE".into(), self.device.clone()));
                Vec::new()
            }
        };
        self.verbena(launcher_args, environment, window)
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
            limit: self.limit,
        })
    }

    /// Another library's launcher, library and variables instead of ours.
    fn foreign(&self, peer: Peer, transport: Transport, ours: Launch) -> Launch {
        let home = self.peers.join(peer.folder());
        let ucx = [("UCX_NET_DEVICES", format!("{}:1", self.device)), ("UCX_TLS", transport.of_ucx().into())];
        let own = peer.environment().iter().map(|&(name, value)| (name, value.to_string()));
        Launch {
            mpiexec: home.join("bin/mpiexec"),
            launcher_args: peer.launcher_args().iter().map(ToString::to_string).collect(),
            library: home.join(peer.library()),
            environment: own.chain(ucx).map(|(name, value)| (name.to_string(), value)).collect(),
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
