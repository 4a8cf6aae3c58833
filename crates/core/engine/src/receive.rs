//! Receiving messages that are there already, or will come.

use crate::arrived::{Arrived, Body};
use crate::control::Control;
use crate::matching::MatchKey;
use crate::request::{NOBODY, Request, State, not_done, received, unlike};
use crate::{ANY_SOURCE, Completion, Engine, Posted, ReceiveRequest, RequestId};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_channel::packet::Kind;
use verbena_channel::trace::{self, messages};
use verbena_memory::Buffer;

impl Engine {
    /// Takes the message that is there, or waits for it in the posted queue.
    #[inline(always)]
    pub(crate) fn receive_or_post(&mut self, receive: ReceiveRequest) -> Posted {
        let (peer, mark, key) = (receive.peer, receive.mark, receive.key());
        if let Some(node) = self.state.unexpected.find(&key) {
            let message = self.state.unexpected.key(node);
            let arrived = self.state.unexpected.remove(node);
            return self.consume(message, arrived, mark, receive.buffer);
        }
        let lost = match peer {
            None if receive.source != ANY_SOURCE => None,
            peer => self.loss_of_receive(receive.context, peer, receive.tag),
        };
        match lost {
            Some(failure) => Posted::Done(not_done(receive.source, receive.tag, Some(failure))),
            None => {
                let id = self.state.requests.post_marked(peer.unwrap_or(NOBODY), key, mark, receive.buffer);
                Posted::Pending(id.into())
            }
        }
    }

    /// Like [`Engine::receive`], but a receive that completes at once keeps its completion under a
    /// request too.
    #[inline(always)]
    pub fn post(&mut self, receive: ReceiveRequest) -> RequestId {
        if self.state.unexpected.is_empty() && !self.state.any_broken && receive.mark == Mark::NONE {
            let (peer, key) = (receive.peer.unwrap_or(NOBODY), receive.key());
            return self.state.requests.post(peer, key, receive.buffer).into();
        }
        self.receive_or_keep(receive)
    }

    #[inline(never)]
    fn receive_or_keep(&mut self, receive: ReceiveRequest) -> RequestId {
        let context = receive.context;
        match self.receive(receive) {
            Posted::Pending(id) => id,
            Posted::Done(completion) => self.keep(context, completion),
        }
    }

    /// A request that keeps this completion.
    #[inline]
    fn keep(&mut self, context: u64, completion: Completion) -> RequestId {
        let key = MatchKey { context, source: completion.source, tag: completion.tag };
        let state = match completion.is_plain() {
            true => State::Received(completion.bytes),
            false => State::Complete(completion),
        };
        self.state.add(Request::receive(NOBODY, key, Buffer::EMPTY, state)).into()
    }

    /// Receives a message that has been matched by a receive with this mark.
    pub(crate) fn consume(&mut self, key: MatchKey, arrived: Arrived, mark: Mark, buffer: Buffer) -> Posted {
        let peer = arrived.peer;
        let is_unlike = mark.is_unlike(arrived.mark);
        if trace::is_on() && !matches!(arrived.body, Body::Offer(_)) {
            messages::taken(peer, arrived.sequence);
        }
        match arrived.body {
            Body::Whole(data) if is_unlike => self.refuse(key, peer, data, (mark, arrived.mark)),
            Body::Whole(data) => self.consume_whole(key, peer, data, &buffer),
            Body::Synchronous(data, sender) => {
                self.state.post(peer, Control::new(Kind::Matched, sender));
                match is_unlike {
                    true => self.refuse(key, peer, data, (mark, arrived.mark)),
                    false => self.consume_whole(key, peer, data, &buffer),
                }
            }
            Body::Offer(offer) => {
                let mut request = Request { mark, ..Request::receive(peer, key, buffer, State::Posted) };
                request.refuse_unlike(arrived.mark);
                let id = self.state.add(request);
                if trace::is_on() {
                    messages::matched(peer, arrived.sequence, id.number());
                }
                self.state.accept(id, peer, &key, offer, arrived.bytes);
                self.begin(id);
                self.answer(peer);
                self.posted(id)
            }
        }
    }

    /// Drops a short message whose mark does not go with the receive's.
    #[cold]
    fn refuse(&mut self, key: MatchKey, peer: Peer, data: Vec<u8>, (mine, theirs): (Mark, Mark)) -> Posted {
        self.state.release(peer, data);
        self.answer(peer);
        Posted::Done(unlike(key.source, key.tag, mine, theirs))
    }

    fn consume_whole(&mut self, key: MatchKey, peer: u32, data: Vec<u8>, buffer: &Buffer) -> Posted {
        let (len, room) = (data.len(), buffer.len());
        buffer.copy_in(0, &data[..len.min(room)]);
        self.state.release(peer, data);
        self.answer(peer);
        Posted::Done(received(key.source, key.tag, len as u64, room as u64))
    }
}
