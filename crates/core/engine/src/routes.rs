//! The ways to the peers that were met, and what each channel could do for them: for logs.

use crate::{Engine, NodeKnowledge};
use verbena_channel::{Peer, Reach};
use verbena_fault::Fault;

/// The way to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteReport {
    /// The peer.
    pub peer: Peer,
    /// The channel for packets.
    pub packets: &'static str,
    /// The channel for memory, if one reaches the peer's.
    pub memory: Option<&'static str>,
    /// The longest message that is sent eagerly, in bytes.
    pub eager_bytes_max: usize,
    /// The knowledge of the ways of its long messages, where they are learnt.
    pub learned: Vec<NodeKnowledge>,
    /// Each open channel, and its reach; `None` if it does not reach the peer.
    pub channels: Vec<(&'static str, Option<Reach>)>,
}

impl Engine {
    /// The ways to the peers that were met.
    pub fn routes(&mut self) -> Vec<RouteReport> {
        let met = self.state.peers.numbered().filter_map(|(peer, state)| {
            let learned = state.ways.iter().flat_map(|ways| ways.known()).collect();
            Some((peer, state.route?, learned))
        });
        let met: Vec<_> = met.collect();
        let name = |channel: usize| self.state.tally[channel].name;
        let mut reports: Vec<RouteReport> = met
            .into_iter()
            .map(|(peer, route, learned)| RouteReport {
                peer,
                learned,
                packets: name(route.packets),
                memory: route.memory.map(name),
                eager_bytes_max: route.eager_bytes_max,
                channels: Vec::new(),
            })
            .collect();
        for report in &mut reports {
            let channels = self.channels.iter_mut().filter(|wire| wire.report().absence.is_none());
            report.channels = channels.map(|wire| (wire.name(), wire.reach(report.peer))).collect();
        }
        reports
    }

    /// The channels that the job may need and that are not open, each with the reason.
    pub fn absences(&self) -> Vec<(&'static str, Fault)> {
        self.channels.iter().filter_map(|wire| Some((wire.name(), wire.report().absence?))).collect()
    }
}
