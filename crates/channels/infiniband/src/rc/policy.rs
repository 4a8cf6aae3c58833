//! The receiver's policies of who is in the polling set (paper 1, 4.7).

use super::RcChannel;
use super::adapter::Adapter;
use super::ring::Geometry;
use super::ring::incoming::{Incoming, Stage};
use super::settings::{Order, Policy};
use verbena_channel::Peer;

/// A peer outside the set takes the place of one inside only if it is heard this many times as
/// often: changes cost packets.
const REPLACE_FACTOR: u32 = 2;
/// A peer outside must also send at least one in this many of the packets between two reviews.
const REPLACE_SHARE: u32 = 64;

impl<A: Adapter> RcChannel<A> {
    /// Takes in that a connection is up.
    #[cold]
    pub(super) fn met(&mut self, peer: Peer) {
        let wanted = match self.settings.policy {
            Policy::All => true,
            Policy::Hinted => self.hinted.contains(&peer),
            Policy::None | Policy::First | Policy::Most => false,
        };
        if wanted {
            self.offer(peer);
        }
    }

    /// Takes in that a packet has come from a peer without a ring.
    #[inline]
    pub(super) fn consider(&mut self, peer: Peer) {
        if matches!(self.settings.policy, Policy::First | Policy::Most) && self.has_place() {
            self.offer(peer);
        }
    }

    fn has_place(&self) -> bool {
        self.settings.policy == Policy::All || self.rings_in < self.settings.set_max
    }

    /// Offers the peer a ring, unless it has one or wants none.
    #[cold]
    fn offer(&mut self, peer: Peer) {
        let Some(connection) = self.peers.get(peer).filter(|connection| connection.is_up()) else { return };
        if connection.ring_in.is_some() || connection.ringless {
            return;
        }
        match Incoming::new(&mut self.adapter, Geometry::of(&self.settings)) {
            Ok(ring) => {
                connection.ring_in = Some(Box::new(ring));
                self.rings_in += 1;
                self.tell_rings(peer);
            }
            Err(fault) => {
                connection.ringless = true;
                self.no_ring.get_or_insert(fault);
            }
        }
    }

    /// Takes the peer's ring back, if it is in use.
    #[cold]
    fn withdraw(&mut self, peer: Peer) {
        let ring = self.peers.get(peer).and_then(|connection| connection.ring_in.as_mut());
        if let Some(ring) = ring.filter(|ring| ring.stage == Stage::Open) {
            (ring.stage, ring.told) = (Stage::Withdrawing, false);
            self.tell_rings(peer);
        }
    }

    /// Gives a place that has become free to some peer.
    #[cold]
    pub(super) fn fill_set(&mut self) {
        if !self.has_place() {
            return;
        }
        let next = match self.settings.policy {
            Policy::Most => self.most_heard_outside().map(|(peer, _)| peer),
            Policy::Hinted => self.hinted.iter().copied().find(|peer| self.may_enter(*peer)),
            // The first that is heard from now on, or nobody.
            Policy::First | Policy::None | Policy::All => None,
        };
        if let Some(peer) = next {
            self.offer(peer);
        }
    }

    fn may_enter(&self, peer: Peer) -> bool {
        let fits =
            |c: &super::peers::Connection<A::Descriptor>| c.is_up() && c.ring_in.is_none() && !c.ringless;
        self.peers.look(peer).is_some_and(fits)
    }

    fn most_heard_outside(&self) -> Option<(Peer, u32)> {
        let outside =
            self.peers.iter().filter(|(peer, connection)| self.may_enter(*peer) && connection.heard > 0);
        outside.map(|(peer, connection)| (peer, connection.heard)).max_by_key(|(_, heard)| *heard)
    }

    fn least_heard_inside(&self) -> Option<(Peer, u32)> {
        let open = |ring: &Incoming<A::Descriptor>| ring.stage == Stage::Open;
        let inside =
            self.peers.iter().filter(|(_, connection)| connection.ring_in.as_deref().is_some_and(open));
        inside.map(|(peer, connection)| (peer, connection.heard)).min_by_key(|(_, heard)| *heard)
    }

    /// Reviews the set now and then: the peer that is heard most comes in, or first; packets heard
    /// long ago count less and less.
    #[cold]
    pub(super) fn review(&mut self) {
        self.heard = 0;
        if self.settings.policy == Policy::Most {
            self.replace_least();
        }
        if self.set.order == Order::Priority {
            let peers = &self.peers;
            self.set.sort_by(|peer| peers.look(peer).map_or(0, |connection| connection.heard));
        }
        self.peers.for_each(|connection| connection.heard /= 2);
    }

    fn replace_least(&mut self) {
        let Some((_, outside)) = self.most_heard_outside().filter(|_| !self.has_place()) else { return };
        let Some((least, inside)) = self.least_heard_inside() else { return };
        let heard_min = (self.settings.review_every / REPLACE_SHARE).max(1);
        if outside >= heard_min && outside > inside * REPLACE_FACTOR {
            // The one outside is offered the place when it is free.
            self.withdraw(least);
        }
    }

    /// Takes the program's hint which peers it will hear most from, in order. With
    /// [`Policy::Hinted`] these make up the polling set, up to its number of places.
    pub(super) fn take_hint(&mut self, peers: &[Peer]) {
        self.hinted = peers.to_vec();
        if self.settings.policy != Policy::Hinted {
            return;
        }
        let left: Vec<Peer> = (self.peers.iter())
            .filter(|(peer, connection)| connection.ring_in.is_some() && !peers.contains(peer))
            .map(|(peer, _)| peer)
            .collect();
        left.into_iter().for_each(|peer| self.withdraw(peer));
        for peer in peers {
            if self.has_place() && self.may_enter(*peer) {
                self.offer(*peer);
            }
        }
    }
}
