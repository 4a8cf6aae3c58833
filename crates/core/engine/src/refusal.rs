//! Messages from other jobs to a process that receives nothing any more (`MPI_Finalize`).
//!
//! A process leaves only when all that it has sent to other jobs is taken. So a process of another
//! job that will never take a message has to say so, also while it waits itself: it **refuses**
//! what is announced to it, and the sender's request fails. The message stays among those that were
//! not received, without its bytes, so that the owner can tell of it. Within a job the layer above
//! does without: there all processes meet before they leave.

use crate::arrived::{Arrived, Body};
use crate::control::{CANCELLED, Control, REFUSED};
use crate::matching::MatchKey;
use crate::request::{State, not_done};
use crate::slab::Id;
use crate::state::EngineState;
use crate::{Engine, Failure, fault};
use verbena_channel::Peer;
use verbena_channel::packet::{Header, Kind};

impl Engine {
    /// Refuses from now on, or no more, the messages from processes of other jobs for which there
    /// is no receive: those that are here and those that come.
    pub fn refuse_foreign(&mut self, refuses: bool) {
        self.state.refuses_foreign = refuses;
        if refuses {
            self.state.refuse_held();
        }
    }
}

impl EngineState {
    /// Refuses the message if its sender waits and is to be told so; a message that stays is
    /// returned as it was.
    #[inline]
    pub(crate) fn refused_if_due(&mut self, arrived: Arrived) -> Arrived {
        match self.refuses_foreign && self.is_refusable(&arrived) {
            true => self.refused(arrived),
            false => arrived,
        }
    }

    fn is_refusable(&self, arrived: &Arrived) -> bool {
        arrived.sender().is_some() && self.homes.is_foreign(arrived.peer)
    }

    fn refuse_held(&mut self) {
        let its = |(key, arrived): (MatchKey, &Arrived)| {
            self.is_refusable(arrived).then(|| (key, arrived.peer, arrived.sender()))
        };
        let held: Vec<_> = self.unexpected.iter().filter_map(its).collect();
        for (key, peer, sender) in held {
            let its = |arrived: &Arrived| arrived.peer == peer && arrived.sender() == sender;
            let Some(node) = self.unexpected.find_exact(&key, its) else { continue };
            let mut arrived = self.unexpected.remove(node);
            if let Body::Synchronous(data, _) = &mut arrived.body {
                let data = std::mem::take(data);
                self.release(peer, data);
            }
            let arrived = self.refused(arrived);
            self.unexpected.push(key, arrived);
        }
    }

    /// Tells the sender; returns what is left of the message.
    #[cold]
    fn refused(&mut self, arrived: Arrived) -> Arrived {
        if let Some(sender) = arrived.sender() {
            self.post(arrived.peer, Control::new(Kind::CancelAnswer, sender).flags(REFUSED));
        }
        Arrived { body: Body::Whole(Vec::new()), ..arrived }
    }

    /// The peer has cancelled a send as it was asked, or could not, or refuses the message.
    pub(crate) fn cancel_answered(&mut self, peer: Peer, header: &Header) {
        let id = Id::of(header.context);
        let Some(request) = self.requests.get(id).filter(|request| request.peer == peer) else { return };
        // Only what was asked is answered: a send that is still queued lies in the outbox.
        let failure = match header.flags {
            CANCELLED if request.cancelling => None,
            REFUSED => {
                let fault = fault::refused(self.me, peer);
                (!request.cancelling).then(|| Failure::Channel(peer, Box::new(fault)))
            }
            _ => return,
        };
        let failure = if self.revoked.has(request.context) { Some(Failure::Revoked) } else { failure };
        let completion = not_done(request.source, request.tag, failure);
        match request.state {
            State::Offered(outgoing) => self.end_outgoing(id, outgoing, completion),
            State::AwaitMatch => self.complete(id, completion),
            _ => {}
        }
    }
}
