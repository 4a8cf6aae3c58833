//! The table of peers and channels that belong together: those of the job, and those of each other
//! job that the process has met (`foreign.rs`).

use std::collections::HashMap;
use verbena_channel::Peer;

/// The home of the processes that the engine began with.
pub(crate) const OWN: u32 = 0;

/// The home of vacant places, which is no peer's.
pub(crate) const VACANT: u32 = u32::MAX;

/// The homes of channels and of peers.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    /// The home of each channel by its place; those beyond the end are the job's own.
    channels: Vec<u32>,
    /// Peers of other jobs.
    pub(crate) peers: HashMap<Peer, u32>,
}

impl Homes {
    /// The home of a peer.
    pub(crate) fn of_peer(&self, peer: Peer) -> u32 {
        match self.peers.is_empty() {
            true => OWN,
            false => self.peers.get(&peer).copied().unwrap_or(OWN),
        }
    }

    /// The home of a channel.
    pub(crate) fn of_channel(&self, channel: usize) -> u32 {
        self.channels.get(channel).copied().unwrap_or(OWN)
    }

    /// Returns whether a peer belongs to another job.
    pub(crate) fn is_foreign(&self, peer: Peer) -> bool {
        self.of_peer(peer) != OWN
    }

    /// Gives a channel a home.
    pub(crate) fn set_channel(&mut self, channel: usize, home: u32) {
        if self.channels.len() <= channel {
            self.channels.resize(channel + 1, OWN);
        }
        self.channels[channel] = home;
    }
}
