//! Receives from any source, and probes, after a process was given up that might have sent their
//! message.
//!
//! MPI-5.0 leaves open what becomes of them (2.8, 9.1). They fail here: nobody can know that the
//! message was not the lost process's to send, and a receive that waits for ever says nothing. Only
//! the layer above knows which processes may send in a context.
//!
//! Where the owner goes on when peers die, a receive from any source does not fail because of a
//! dead one. It stays posted, and is in doubt until the layer above says no more that the dead
//! process may send to it. A channel may lose a peer before the owner hears that it is dead; until
//! then the peer is a suspect.

use crate::request::{NOBODY, Request, State, not_done};
use crate::slab::Id;
use crate::state::EngineState;
use crate::{ANY_SOURCE, Completion, Engine, Failure, MaySend};
use verbena_channel::Peer;
use verbena_fault::Fault;

impl Engine {
    /// Makes receives from any source fail from now on if one of the processes that may send to
    /// them is given up; without this they wait for the others.
    pub fn set_senders(&mut self, may_send: MaySend) {
        self.state.may_send = Some(may_send);
    }

    /// Makes a lost peer that is not dead count as one that has left properly, so that nobody waits
    /// for its messages, whenever this function says so of it.
    pub fn set_leaving(&mut self, may_have_left: fn(Peer) -> bool) {
        self.state.may_have_left = Some(may_have_left);
    }

    /// The reason why nothing may come any more in this context: from this process, or from anyone
    /// (`None`).
    #[inline]
    pub fn loss(&self, context: u64, peer: Option<Peer>) -> Option<Failure> {
        self.loss_under(context, peer, 0)
    }

    /// The reason why nothing may come any more from this process, in whatever context.
    pub fn loss_of(&self, peer: Peer) -> Option<Failure> {
        self.state.is_broken(peer).then(|| self.state.failure_of(peer))
    }

    /// Like [`Engine::loss`], for a message with this tag.
    #[inline]
    pub(crate) fn loss_under(&self, context: u64, peer: Option<Peer>, tag: i32) -> Option<Failure> {
        if !self.state.any_broken {
            return None;
        }
        if self.state.is_revoked(context, tag) {
            return Some(Failure::Revoked);
        }
        let lost = match peer {
            None => self.state.lost_sender(context, |_| true),
            Some(peer) => Some(peer).filter(|peer| self.state.is_broken(*peer)),
        };
        lost.map(|peer| self.state.failure_of(peer))
    }

    /// Like [`Engine::loss`], for a receive that is to be posted: one that will be in doubt is.
    #[inline]
    pub(crate) fn loss_of_receive(&self, context: u64, peer: Option<Peer>, tag: i32) -> Option<Failure> {
        if !self.state.any_broken {
            return None;
        }
        match peer {
            None if self.state.goes_on => self.loss_for_good(context, tag),
            peer => self.loss_under(context, peer, tag),
        }
    }

    #[cold]
    fn loss_for_good(&self, context: u64, tag: i32) -> Option<Failure> {
        if self.state.is_revoked(context, tag) {
            return Some(Failure::Revoked);
        }
        let EngineState { dead, suspects, .. } = &self.state;
        let is_for_good = |peer: Peer| !dead.contains(&peer) && !suspects.contains(&peer);
        let lost = self.state.lost_sender(context, is_for_good);
        lost.map(|peer| self.state.failure_of(peer))
    }

    /// Says whether the owner goes on when peers die. If it does from now on, the peers that were
    /// lost before are suspects too.
    pub fn set_goes_on(&mut self, goes_on: bool) {
        let did = std::mem::replace(&mut self.state.goes_on, goes_on);
        if goes_on && !did && self.state.any_broken {
            let lost: Vec<Peer> = (0..self.state.size).filter(|peer| self.state.is_broken(*peer)).collect();
            self.state.losses += lost.len() as u64;
            lost.into_iter().for_each(|peer| self.state.suspect(peer));
        }
        while let Some(peer) = self.suspect().filter(|_| !goes_on) {
            self.clear_suspect(peer);
        }
    }

    /// A peer that is lost, and may be dead. The owner finds out, and calls [`Engine::bury`] or
    /// [`Engine::clear_suspect`].
    #[inline]
    pub fn suspect(&self) -> Option<Peer> {
        self.state.suspects.first().copied()
    }

    /// Returns whether this peer is lost, and may be dead.
    pub fn is_suspect(&self, peer: Peer) -> bool {
        self.state.suspects.contains(&peer)
    }

    /// Returns whether this peer is lost and does nothing any more, as far as this process will
    /// ever know: it is dead, or nobody will say whether it is.
    pub fn counts_as_dead(&self, peer: Peer) -> bool {
        let is_told = !self.state.goes_on || self.state.dead.contains(&peer);
        is_told && self.state.is_broken(peer)
    }

    /// Takes a lost peer for one that lives, as far as anyone knows.
    pub fn clear_suspect(&mut self, peer: Peer) {
        if self.state.is_suspect_no_more(peer) {
            self.state.losses += 1;
            self.state.fail_awaiting(peer);
        }
    }
}

impl Engine {
    /// Gives up a peer that is dead, as [`Engine::give_up`] does: its failures say so.
    pub fn bury(&mut self, peer: Peer, fault: Fault) {
        if !self.state.dead.contains(&peer) {
            self.state.dead.push(peer);
            self.state.losses += 1;
        }
        self.state.is_suspect_no_more(peer);
        self.give_up(peer, fault);
    }

    /// The peers that are dead, in the order of the news.
    pub fn dead(&self) -> &[Peer] {
        &self.state.dead
    }
}

impl EngineState {
    /// A process of this sort that was given up and may have been meant to send in this context.
    #[cold]
    pub(crate) fn lost_sender(&self, context: u64, is_meant: impl Fn(Peer) -> bool) -> Option<Peer> {
        let may_send = self.may_send?;
        let is_lost = |peer: &Peer| self.is_broken(*peer) && is_meant(*peer) && !self.has_left(*peer);
        (0..self.size).find(|peer| is_lost(peer) && may_send(context, *peer))
    }

    /// Returns whether a lost peer counts as one that has left properly.
    fn has_left(&self, peer: Peer) -> bool {
        !self.dead.contains(&peer) && self.may_have_left.is_some_and(|may_have_left| may_have_left(peer))
    }

    /// The process is given up: the receives from any source that might have been its fail, unless
    /// the owner goes on when it is dead.
    #[cold]
    pub(crate) fn suspect(&mut self, peer: Peer) {
        match self.goes_on {
            false => self.fail_awaiting(peer),
            true if self.dead.contains(&peer) || self.has_left(peer) => {}
            true => self.suspects.push(peer),
        }
    }

    /// Returns whether the peer was a suspect, which it is no more.
    fn is_suspect_no_more(&mut self, peer: Peer) -> bool {
        let before = self.suspects.len();
        self.suspects.retain(|suspect| *suspect != peer);
        self.suspects.len() < before
    }

    /// The completion of a receive that may wait for ever, if this is one.
    #[inline]
    pub(crate) fn doubt(&self, id: Id) -> Option<Completion> {
        if self.any_broken { self.find_doubt(id) } else { None }
    }

    #[cold]
    fn find_doubt(&self, id: Id) -> Option<Completion> {
        let may_send = self.may_send?;
        let request = self.requests.get(id).filter(|request| awaits_any(request))?;
        let dead = self.dead.iter().find(|peer| may_send(request.context, **peer))?;
        let fault = self.peers.look(*dead)?.broken.clone()?;
        Some(not_done(request.source, request.tag, Some(Failure::InDoubt(fault))))
    }

    /// Fails the receives from any source that might have been this process's.
    #[cold]
    fn fail_awaiting(&mut self, peer: Peer) {
        let Some(may_send) = self.may_send.filter(|_| !self.has_left(peer)) else { return };
        let concerned: Vec<Id> = (self.requests.iter())
            .filter(|(_, request)| awaits_any(request))
            .filter(|(_, r)| may_send(r.context, peer))
            .map(|(id, _)| id)
            .collect();
        for id in concerned {
            self.requests.get_mut(id).expect("listed just now").peer = peer;
            self.fail(id);
        }
    }
}

/// Returns whether this is a receive from any source that waits.
fn awaits_any(request: &Request) -> bool {
    request.peer == NOBODY && request.source == ANY_SOURCE && matches!(request.state, State::Posted)
}
