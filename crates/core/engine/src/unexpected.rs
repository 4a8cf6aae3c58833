//! The bound on the memory that messages without a receive take.

use crate::arrived::{Arrived, Body};
use crate::control::Control;
use crate::event::{Event, EventKind};
use crate::matching::MatchKey;
use crate::state::EngineState;
use verbena_channel::Peer;
use verbena_channel::packet::Kind;

impl EngineState {
    /// Holds a message until its receive comes.
    pub(crate) fn hold(&mut self, key: MatchKey, arrived: Arrived) {
        let arrived = self.refused_if_due(arrived);
        if let Body::Whole(data) | Body::Synchronous(data, _) = &arrived.body {
            self.add_held(arrived.peer, data.len());
        }
        self.tell(Event {
            kind: EventKind::Unexpected,
            peer: arrived.peer,
            source: key.source,
            tag: key.tag,
            bytes: arrived.bytes,
        });
        self.unexpected.push(key, arrived);
        self.held += 1;
        self.counts.unexpected_high = self.counts.unexpected_high.max(self.unexpected.len());
    }

    fn add_held(&mut self, peer: Peer, bytes: usize) {
        self.counts.unexpected_bytes += bytes;
        self.counts.unexpected_bytes_high =
            self.counts.unexpected_bytes_high.max(self.counts.unexpected_bytes);
        let limit = self.settings.unexpected_bytes_max;
        let Some(state) = self.peers.open(peer) else { return };
        state.held_bytes += bytes;
        if state.held_bytes > limit && !state.throttling {
            state.throttling = true;
            self.counts.throttles += 1;
            self.post(peer, Control::new(Kind::Throttle, 0).flags(1));
        }
    }

    /// Gives the memory of a held message back.
    pub(crate) fn release(&mut self, peer: Peer, data: Vec<u8>) {
        let bytes = data.len();
        self.pool.give_back(data);
        self.counts.unexpected_bytes -= bytes;
        let limit = self.settings.unexpected_bytes_max;
        let Some(state) = self.peers.open(peer) else { return };
        state.held_bytes -= bytes;
        if state.throttling && state.held_bytes <= limit / 2 {
            state.throttling = false;
            self.post(peer, Control::new(Kind::Throttle, 0).flags(0));
        }
    }
}
