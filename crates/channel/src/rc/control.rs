//! What the channels say to each other, and when.
//!
//! A peer to whom there is something to say stands in a list, which every poll goes through; what finds no room now
//! is tried again at the next one.

use super::Rc;
use super::adapter::Adapter;
use super::frame::Kind;
use crate::memory::Region;
use crate::{Payload, Peer, SendError};

impl<A: Adapter> Rc<A> {
    /// Puts a peer on the list.
    #[inline]
    pub(super) fn enlist(&mut self, peer: Peer) {
        let connection = self.peers.get(peer).expect("a peer with a connection");
        if !connection.listed {
            connection.listed = true;
            self.duties.push(peer);
        }
    }

    /// Does what can be done now for the peers of the list.
    pub(super) fn do_duties(&mut self) {
        for at in (0..self.duties.len()).rev() {
            let peer = self.duties[at];
            if self.do_duty(peer) {
                self.duties.swap_remove(at);
                if let Some(connection) = self.peers.get(peer) {
                    connection.listed = false;
                }
            }
        }
    }

    /// Returns whether nothing is left to do for this peer.
    fn do_duty(&mut self, peer: Peer) -> bool {
        let Some(connection) = self.peers.get(peer).filter(|connection| connection.is_up()) else {
            return true;
        };
        // Whatever went that way since has carried the credits (paper 1, 4.4).
        if !connection.receives.is_worth_telling() {
            return true;
        }
        !matches!(self.tell(peer, Kind::Credits, &[], false), Err(SendError::Full))
    }

    /// Sends a packet of the channel's own.
    pub(super) fn tell(
        &mut self,
        peer: Peer,
        kind: Kind,
        body: &[u8],
        signalled: bool,
    ) -> Result<(), SendError> {
        self.send_packet(peer, kind, None, Payload::Bytes(body), signalled)
    }

    /// A packet of the peer's channel has come.
    #[cold]
    pub(super) fn control(&mut self, peer: Peer, kind: Kind, _body: Region) {
        match kind {
            Kind::Credits => {}
            _ => self.nonsense(peer, "a kind that has no place here"),
        }
    }

    /// Whether everything that was sent has arrived. From the first call on all work is signalled, so that this can
    /// be known; what went unsignalled before is followed by something signalled.
    pub(super) fn all_arrived(&mut self) -> bool {
        self.leaving = true;
        let unheard: Vec<Peer> = (self.peers.iter())
            .filter(|(_, connection)| connection.is_up() && connection.queue.is_unheard())
            .map(|(peer, _)| peer)
            .collect();
        for peer in unheard {
            // Full is tried again, since the caller asks again; broken is reported by the next poll.
            let _ = self.tell(peer, Kind::Credits, &[], true);
        }
        self.peers.iter().all(|(_, connection)| !connection.is_up() || connection.queue.is_idle())
    }
}
