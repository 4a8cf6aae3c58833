//! Receives from any source, and probes, after a process was given up that might have sent their
//! message.
//!
//! MPI-5.0 leaves open what becomes of them (2.8, 9.1). They fail here: nobody can know that the
//! message was not the lost process's to send, and a receive that waits for ever says nothing. Only
//! the layer above knows which processes may send in a context.

use crate::request::{NOBODY, State};
use crate::revoke::LASTING_TAG;
use crate::slab::Id;
use crate::state::EngineState;
use crate::{ANY_SOURCE, Engine, Failure, MaySend};
use verbena_channel::Peer;
use verbena_fault::Fault;

impl Engine {
    /// Makes receives from any source fail from now on if one of the processes that may send to
    /// them is given up; without this they wait for the others.
    pub fn set_senders(&mut self, may_send: MaySend) {
        self.state.may_send = Some(may_send);
    }

    /// The reason why nothing may come any more in this context: from this process, or from anyone
    /// (`None`).
    #[inline]
    pub fn loss(&self, context: u64, peer: Option<Peer>) -> Option<Failure> {
        self.loss_under(context, peer, 0)
    }

    /// Like [`Engine::loss`], for a message with this tag.
    #[inline]
    pub(crate) fn loss_under(&self, context: u64, peer: Option<Peer>, tag: i32) -> Option<Failure> {
        if !self.state.any_broken {
            return None;
        }
        if tag > LASTING_TAG && self.state.revoked.has(context) {
            return Some(Failure::Revoked);
        }
        let lost = match peer {
            None => self.state.lost_sender(context),
            Some(peer) => Some(peer).filter(|peer| self.state.is_broken(*peer)),
        };
        lost.map(|peer| self.state.failure_of(peer))
    }
}

impl Engine {
    /// Gives up a peer that is dead, as [`Engine::give_up`] does: its failures say so.
    pub fn bury(&mut self, peer: Peer, fault: Fault) {
        if !self.state.dead.contains(&peer) {
            self.state.dead.push(peer);
        }
        self.give_up(peer, fault);
    }

    /// The peers that are dead, in the order of the news.
    pub fn dead(&self) -> &[Peer] {
        &self.state.dead
    }
}

impl EngineState {
    /// A process that was given up and may have been meant to send in this context.
    #[cold]
    pub(crate) fn lost_sender(&self, context: u64) -> Option<Peer> {
        let may_send = self.may_send?;
        (0..self.size).find(|peer| self.is_broken(*peer) && may_send(context, *peer))
    }

    /// The process is given up: fails the receives from any source that might have been its.
    #[cold]
    pub(crate) fn fail_awaiting(&mut self, peer: Peer) {
        let Some(may_send) = self.may_send else { return };
        let concerned: Vec<Id> = (self.requests.iter())
            .filter(|(_, r)| r.peer == NOBODY && r.source == ANY_SOURCE && matches!(r.state, State::Posted))
            .filter(|(_, r)| may_send(r.context, peer))
            .map(|(id, _)| id)
            .collect();
        for id in concerned {
            self.requests.get_mut(id).expect("listed just now").peer = peer;
            self.fail(id);
        }
    }
}
