//! Cancelling (MPI-5.0, 3.8.4): a receive while it is not matched, a send while its message is not.
//! The request completes either way.

use crate::Engine;
use crate::peer::Waiting;
use crate::request::{State, not_done};
use crate::slab::Id;
use crate::state::Core;
use crate::wire::Control;
use verbena_channel::packet::{Header, Kind};

impl Engine {
    pub(crate) fn cancel_request(&mut self, id: Id) {
        let Some(request) = self.core.requests.get(id) else { return };
        match request.state {
            State::Posted => {
                self.core.requests.unpost(id.index);
                self.core.complete_cancelled(id);
            }
            State::Queued => self.core.cancel_queued(id),
            State::AwaitMatch | State::Offered(_) => {
                let peer = request.peer;
                self.core.ask_to_cancel(id);
                self.answer(peer);
            }
            State::Incoming(_) | State::Received(_) | State::Complete(_) | State::Vacant => {}
        }
    }
}

impl Core {
    fn complete_cancelled(&mut self, id: Id) {
        let request = self.requests.get(id).expect("a request under way");
        let completion = not_done(request.source, request.tag, None);
        self.complete(id, completion);
    }

    /// The message has not left: takes it out of the outbox.
    fn cancel_queued(&mut self, id: Id) {
        let peer = self.requests.get(id).expect("a queued send").peer;
        if let Some(state) = self.peers.get(peer) {
            state.outbox.retain(|item| !matches!(item, Waiting::Message(other) if *other == id));
            state.update_at_once();
        }
        self.complete_cancelled(id);
    }

    /// The message has left: only the peer knows whether it was matched.
    fn ask_to_cancel(&mut self, id: Id) {
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
