//! Keeps the number of connections below the limit: gives some back and declines new ones. A
//! process has other ways to these peers.
//!
//! Both ends give a connection back when each has taken all that the other sent over it; the
//! engines see to that. The next connection gets what it had: its receive buffers, or its share of
//! the shared pool.
//!
//! A hello can arrive after its connection was given back. It is recognised by the end that it
//! names: the last one of each peer is remembered. A hello that is declined is answered by one that
//! names the declined end; from then on that end is of the past too, so that nobody accepts a later
//! copy of what was declined.

use super::RcChannel;
use super::adapter::Adapter;
use super::peers::Stage;
use crate::device::Endpoint;
use std::collections::BTreeMap;
use verbena_channel::Peer;

/// The memory of connections that are no more, or never were.
#[derive(Debug)]
pub(super) struct Past {
    /// The most connections that there may be.
    pub most: usize,
    /// The last end of each peer that is of no use any more.
    ends: BTreeMap<Peer, Endpoint>,
}

impl Past {
    /// Begins with nothing given back, and any number allowed.
    pub(super) fn new() -> Past {
        Past { most: usize::MAX, ends: BTreeMap::new() }
    }

    /// Returns whether the end is of the past.
    pub(super) fn has(&self, peer: Peer, end: &Endpoint) -> bool {
        self.ends.get(&peer) == Some(end)
    }

    /// Adds an end: from now on it is of the past.
    pub(super) fn add(&mut self, peer: Peer, end: Endpoint) {
        self.ends.insert(peer, end);
    }
}

impl<A: Adapter> RcChannel<A> {
    /// Returns whether a peer that asks for a connection can have none.
    pub(super) fn is_full(&self) -> bool {
        self.past.most < self.peers.len() && self.peers.connected() >= self.past.most
    }

    /// Gives the connection back, whatever has become of it.
    #[cold]
    pub(super) fn give_back_connection(&mut self, peer: Peer) {
        let Some(connection) = self.peers.get(peer) else { return };
        let (pair, theirs) = (connection.pair.take(), connection.theirs);
        if let Some(pair) = pair {
            self.adapter.close_pair(pair);
        }
        self.sends.give_back_all_of(peer);
        self.give_up_moves(peer);
        self.let_go(peer);
        self.peers.remove(peer);
        if !self.settings.shared_receives {
            self.receives.give_back_all_of(peer);
        }
        if let Some(theirs) = theirs {
            self.past.add(peer, theirs);
        }
        self.asking.retain(|asked| *asked != peer);
        self.duties.retain(|listed| *listed != peer);
        self.broken.retain(|(broken, _)| *broken != peer);
        self.wanted_back.remove(&peer);
    }

    /// Notes that the peer has declined the connection that this end of ours was for.
    #[cold]
    pub(super) fn connection_declined(&mut self, peer: Peer, end: &Endpoint) {
        let Some(connection) = self.peers.get(peer) else { return };
        if !matches!(connection.stage, Stage::Asking(_)) || connection.mine != *end {
            return;
        }
        // The peer may need one nevertheless, and then says so: its end is not of the past.
        connection.theirs = None;
        let needed = connection.needed;
        self.give_back_connection(peer);
        if needed {
            // It was declined before the peer could know that; a new end is not of the past.
            self.begin_beside(peer, true);
        }
    }
}
