//! The messages that wait, as numbers: for reports of programs that hang.

use crate::request::{NOBODY, Request, State};
use crate::{ANY_TAG, Engine, RequestId};
use verbena_channel::Peer;

/// A message that waits, or the pattern of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingMessage {
    /// Matching context.
    pub context: u64,
    /// The process at the other end; `None` for any.
    pub peer: Option<Peer>,
    /// The tag; `None` for any.
    pub tag: Option<i32>,
    /// Length in bytes; of a receive, the room.
    pub bytes: u64,
}

/// An operation that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingOperation {
    /// A send.
    Send(PendingMessage),
    /// A short send that waits, as a long one does, since its receiver has no room for more
    /// messages without a receive.
    Held(PendingMessage),
    /// A receive.
    Receive(PendingMessage),
}

/// A queue of messages that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingQueue {
    /// Number of messages.
    pub total: usize,
    /// The first of them.
    pub first: Vec<PendingMessage>,
}

/// All messages that wait at a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingMessages {
    /// Receives that have not ended.
    pub receives: PendingQueue,
    /// Sends that have not ended.
    pub sends: PendingQueue,
    /// Messages that no receive asked for, in order of arrival.
    pub unexpected: PendingQueue,
}

impl PendingQueue {
    fn add(&mut self, message: PendingMessage, most: usize) {
        self.total += 1;
        if self.first.len() < most {
            self.first.push(message);
        }
    }

    fn append(&mut self, more: PendingQueue, most: usize) {
        self.total += more.total;
        let room = most.saturating_sub(self.first.len());
        self.first.extend(more.first.into_iter().take(room));
    }
}

impl PendingMessages {
    /// Adds those of another engine of the process; of each queue the first `most` are kept.
    pub fn append(&mut self, more: PendingMessages, most: usize) {
        self.receives.append(more.receives, most);
        self.sends.append(more.sends, most);
        self.unexpected.append(more.unexpected, most);
    }
}

impl Engine {
    /// The messages that wait, of each queue the first `most`.
    pub fn pending_messages(&self, most: usize) -> PendingMessages {
        let mut all = PendingMessages::default();
        for (_, request) in self.state.requests.iter() {
            match self.operation(request) {
                Some(PendingOperation::Send(message) | PendingOperation::Held(message)) => {
                    all.sends.add(message, most)
                }
                Some(PendingOperation::Receive(message)) => all.receives.add(message, most),
                None => {}
            }
        }
        for (key, arrived) in self.state.unexpected.iter() {
            let (peer, bytes) = (Some(arrived.peer), arrived.bytes);
            let message = PendingMessage { context: key.context, peer, tag: Some(key.tag), bytes };
            all.unexpected.add(message, most);
        }
        all
    }

    /// The operation of this request, while it has not ended.
    pub fn pending_operation(&self, request: RequestId) -> Option<PendingOperation> {
        self.state.requests.get(request.into()).and_then(|request| self.operation(request))
    }

    /// The bytes of messages that were moved so far, in both directions. As long as it grows, a
    /// long message is on its way.
    pub fn bytes_moved(&self) -> u64 {
        let counters = self.state.channel_counters();
        let of_one = counters.iter().map(|channel| {
            let packets = channel.bytes_sent.wrapping_add(channel.bytes_received);
            packets.wrapping_add(channel.get_bytes).wrapping_add(channel.put_bytes)
        });
        of_one.fold(0, u64::wrapping_add)
    }

    /// The memory that a peer's messages without a receive may take, in bytes.
    pub fn unexpected_bytes_max(&self) -> usize {
        self.state.settings.unexpected_bytes_max
    }

    fn operation(&self, request: &Request) -> Option<PendingOperation> {
        let message = PendingMessage {
            context: request.context,
            peer: (request.peer != NOBODY).then_some(request.peer),
            tag: (request.tag != ANY_TAG).then_some(request.tag),
            bytes: request.buffer.len() as u64,
        };
        let is_held = || {
            let peer = self.state.peers.look(request.peer);
            !request.synchronous && peer.is_some_and(|peer| peer.holds_back(request.buffer.len()))
        };
        match request.state {
            State::Queued | State::Offered(_) if is_held() => Some(PendingOperation::Held(message)),
            State::Queued | State::AwaitMatch | State::Offered(_) => Some(PendingOperation::Send(message)),
            State::Posted | State::Incoming(_) => Some(PendingOperation::Receive(message)),
            State::Received(_) | State::Complete(_) | State::Vacant => None,
        }
    }
}
