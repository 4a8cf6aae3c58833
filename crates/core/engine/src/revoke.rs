//! Communicators that were revoked: whatever is under way on them fails, here and on all their
//! members, and nothing begins on them any more.
//!
//! Each process that learns of it tells all members that it knows, once, before anything else. So
//! all that live learn of it as long as one that knows lives on.
//!
//! Messages with a tag from [`LASTING_TAG`] down go on: with them the members that are left agree.

use crate::control::Control;
use crate::request::{State, not_done};
use crate::revoked::TRAFFIC;
use crate::slab::Id;
use crate::state::EngineState;
use crate::work::PeerEvent;
use crate::{Engine, Failure, OnRevoke};
use verbena_channel::Peer;
use verbena_channel::packet::Kind;

/// Messages with this tag or a lower one are not concerned when their communicator is revoked. The
/// tags of programs and collectives are not negative.
pub const LASTING_TAG: i32 = i32::MIN / 2;

impl Engine {
    /// Calls `on_revoke` whenever a communicator was revoked, here or elsewhere.
    pub fn set_on_revoke(&mut self, on_revoke: OnRevoke) {
        self.state.revoked.on_revoke = Some(on_revoke);
    }

    /// Revokes the communicator with these contexts, and tells these processes and all others that
    /// may send to it.
    pub fn revoke(&mut self, context: u64, members: &[Peer]) {
        if !self.state.revoked.has(context) {
            self.state.revoke(context);
            members.iter().for_each(|peer| self.tell_revoked(*peer, context & !TRAFFIC));
        }
    }

    /// Notes that the communicator with this context was revoked, as another engine of this process
    /// says: that one tells the other members.
    pub fn note_revoked(&mut self, context: u64) {
        let context = context & !TRAFFIC;
        if self.state.revoked.contexts.insert(context) {
            self.state.end_all_in(context);
        }
    }

    /// Tells a process, which may be one that was never met.
    fn tell_revoked(&mut self, peer: Peer, context: u64) {
        if peer != self.state.me && self.route(peer).is_some() {
            self.state.post(peer, Control::new(Kind::Revoke, context));
        }
    }

    /// Returns whether this is a context of a communicator that was revoked.
    pub fn is_revoked(&self, context: u64) -> bool {
        self.state.revoked.has(context)
    }

    /// Treats the communicator with this context as revoked now if it was revoked before it was
    /// ready here.
    pub fn recall_revoked(&mut self, context: u64) {
        let context = context & !TRAFFIC;
        if self.state.revoked.contexts.remove(&context) {
            self.state.revoke(context);
        }
    }

    /// Tells the members of a communicator that was revoked.
    pub(crate) fn pass_on_revoked(&mut self, context: u64) {
        if let Some(may_send) = self.state.may_send {
            let members = (0..self.state.size).filter(|peer| may_send(context, *peer));
            members.for_each(|peer| self.tell_revoked(peer, context));
        }
    }
}

impl EngineState {
    /// Returns whether messages with this tag end since their communicator was revoked.
    #[cold]
    pub(crate) fn is_revoked(&self, context: u64, tag: i32) -> bool {
        tag > LASTING_TAG && self.revoked.has(context)
    }

    /// The communicator with this context was revoked.
    #[cold]
    pub(crate) fn revoke(&mut self, context: u64) {
        let context = context & !TRAFFIC;
        if self.revoked.has(context) {
            return;
        }
        self.revoked.contexts.insert(context);
        self.work.peer_events.push_back(PeerEvent::Revoked(context));
        let more = self.revoked.on_revoke.map_or_else(Vec::new, |on_revoke| on_revoke(context));
        self.revoked.contexts.extend(&more);
        for context in more.into_iter().chain([context]) {
            self.end_all_in(context);
        }
    }

    /// Fails what is under way in this context.
    fn end_all_in(&mut self, context: u64) {
        // From now on no receive is simply posted.
        self.any_broken = true;
        self.losses += 1;
        let concerned: Vec<Id> = (self.requests.iter())
            .filter(|(_, r)| r.context & !TRAFFIC == context && r.tag > LASTING_TAG && !r.is_over())
            .map(|(id, _)| id)
            .collect();
        for id in concerned {
            self.fail_revoked(id);
        }
    }

    /// Fails an operation of a communicator that was revoked. One that a transfer may still touch
    /// ends with it, or with its peer.
    fn fail_revoked(&mut self, id: Id) {
        let Some(request) = self.requests.get(id) else { return };
        let (peer, source, tag) = (request.peer, request.source, request.tag);
        match request.state {
            State::Posted => _ = self.requests.unpost(id.index),
            State::Queued => self.unqueue(peer, id),
            State::AwaitMatch => {}
            // The other side was told of memory here, which must be asked back.
            State::Offered(_) => return self.ask_to_cancel(id),
            _ => return,
        }
        self.complete(id, not_done(source, tag, Some(Failure::Revoked)));
    }
}
