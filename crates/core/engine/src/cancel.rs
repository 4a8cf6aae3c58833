//! Cancelling (MPI-5.0, 3.8.4): a receive while it is not matched, a send while its message is not.
//! The request completes either way.

use crate::Engine;
use crate::control::Control;
use crate::peer::Waiting;
use crate::request::{Request, State, not_done};
use crate::slab::Id;
use crate::state::EngineState;
use crate::{RequestId, SendUnderWay};
use std::collections::BTreeSet;
use verbena_channel::Peer;
use verbena_channel::packet::{Header, Kind};
use verbena_fault::Fault;

impl Engine {
    /// The sends that have not ended and that nobody asked to cancel, in no particular order.
    pub fn sends_under_way(&self) -> Vec<SendUnderWay> {
        let its_send = |(id, request): (Id, &Request)| {
            let is_queued = matches!(request.state, State::Queued);
            let is_send = is_queued || matches!(request.state, State::AwaitMatch | State::Offered(_));
            let Request { peer, context, tag, ref buffer, cancelling, .. } = *request;
            let (request, bytes) = (id.into(), buffer.len() as u64);
            let send = SendUnderWay { request, peer, context, tag, bytes, is_queued };
            (is_send && !cancelling).then_some(send)
        };
        self.state.requests.iter().filter_map(its_send).collect()
    }

    /// Gives up all peers with which an operation is under way, with these faults.
    pub fn give_up_partners(&mut self, fault: impl Fn(Peer) -> Fault) {
        let requests = self.state.requests.iter();
        let under_way = requests.filter(|(_, request)| request.is_under_way());
        let partners: BTreeSet<Peer> = under_way.map(|(_, request)| request.peer).collect();
        partners.into_iter().for_each(|peer| self.give_up(peer, fault(peer)));
    }

    /// Asks to cancel a send whose request may be forgotten; the completion is kept all the same.
    pub fn take_back(&mut self, send: RequestId) {
        if let Some(request) = self.state.requests.get_mut(send.into()) {
            request.forgotten = false;
        }
        self.cancel(send);
    }

    pub(crate) fn cancel_request(&mut self, id: Id) {
        let Some(request) = self.state.requests.get(id) else { return };
        match request.state {
            State::Posted => {
                self.state.requests.unpost(id.index);
                self.state.complete_cancelled(id);
            }
            State::Queued => self.state.cancel_queued(id),
            State::AwaitMatch | State::Offered(_) => {
                let peer = request.peer;
                self.state.ask_to_cancel(id);
                self.answer(peer);
            }
            State::Incoming(_) | State::Received(_) | State::Complete(_) | State::Vacant => {}
        }
    }
}

impl EngineState {
    fn complete_cancelled(&mut self, id: Id) {
        let request = self.requests.get(id).expect("a request under way");
        let completion = not_done(request.source, request.tag, None);
        self.complete(id, completion);
    }

    /// The message has not left: takes it out of the outbox.
    fn cancel_queued(&mut self, id: Id) {
        let peer = self.requests.get(id).expect("a queued send").peer;
        self.unqueue(peer, id);
        self.complete_cancelled(id);
    }

    /// Takes a message that waits for room out of its peer's outbox.
    pub(crate) fn unqueue(&mut self, peer: Peer, id: Id) {
        if let Some(state) = self.peers.get(peer) {
            state.outbox.retain(|item| !matches!(item, Waiting::Message(other) if *other == id));
            state.update_at_once();
        }
    }

    /// The message has left: only the peer knows whether it was matched.
    pub(crate) fn ask_to_cancel(&mut self, id: Id) {
        let request = self.requests.get_mut(id).expect("a send");
        if std::mem::replace(&mut request.cancelling, true) {
            return;
        }
        let (peer, context, source, tag) = (request.peer, request.context, request.source, request.tag);
        let mut control = Control::new(Kind::Cancel, context).length(id.number());
        control.header = Header { source, tag, ..control.header };
        self.post(peer, control);
    }
}
