//! The shortest way of a message: it is the next packet in its channel, a receive waits for just it, and it goes straight
//! to that receive's memory. Everything that does not look like that takes the general way (`arrival.rs`).
//!
//! The two ways match alike. The next packet of a process is its earliest message that is not matched. It belongs to the
//! receive that is asked for now if none is posted before it and the unexpected queue holds nothing; and to the first
//! posted receive if that names it.

use crate::lookup::Plain;
use crate::matching::MatchKey;
use crate::peer::PeerState;
use crate::request::{NOBODY, Request, State};
use crate::{ANY_TAG, Engine, Receive, RequestId};
use verbena_channel::memory::{Buffer, Region};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Peer, Wire};

/// So many messages may be looked for this way one after the other; then progress is made, for the sake of all else.
const TURNS_MAX: u32 = 200;

impl Engine {
    /// Receives a message from rank `source`, which is process `peer`, under `tag` into `region`, if it is next, goes in
    /// one line of shared memory, and nothing comes before it; returns its length. `None` says that nothing happened. Nothing
    /// is called, so nothing need be saved.
    #[inline(always)]
    pub fn receive_line(
        &mut self,
        peer: Peer,
        context: u64,
        ends: (i32, i32),
        region: Region,
    ) -> Option<u64> {
        if self.core.has_entries() {
            return None;
        }
        let (wire, state, header) = self.front(peer, context, ends)?;
        let bytes = wire.take_line(peer, &header, region)?;
        state.hear(bytes);
        Some(bytes as u64)
    }

    /// As [`Engine::receive_from`] for a receive into `region`, as far as it needs no call: the message goes in one line of shared
    /// memory and is next, or nothing here matches and the receive is posted.
    #[inline(always)]
    pub fn receive_or_post_at_once(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        region: Region,
    ) -> Option<RequestId> {
        if !self.core.requests.has_free() {
            return None;
        }
        if let Some(bytes) = self.receive_line(peer, context, (source, tag), region) {
            return Some(self.keep_received(context, (source, tag), bytes));
        }
        let usual = self.core.unexpected.is_empty() && !self.core.any_broken;
        if !usual || !self.core.posted.has_free() || tag < 0 && tag != ANY_TAG {
            return None;
        }
        let receive = Receive { context, source, tag, buffer: Buffer::Contiguous(region) };
        Some(self.post_receive(receive, peer).into())
    }

    /// A request that keeps the completion of a receive which was done at once.
    #[inline(always)]
    pub fn keep_received(&mut self, context: u64, (source, tag): (i32, i32), bytes: u64) -> RequestId {
        let key = MatchKey { context, source, tag };
        let received = Request::receive(NOBODY, key, Buffer::EMPTY, State::Received(bytes));
        let id = self.core.requests.vacant();
        self.core.requests.fill(id, received);
        id.into()
    }

    /// As [`Engine::take_plain`], for a receive that is posted, if its message is next.
    #[inline(always)]
    pub fn take_posted(&mut self, request: RequestId) -> Plain {
        let id = request.into();
        let Some(request) = self.core.requests.get(id) else { return Plain::Unusual };
        let (State::Posted(node), Buffer::Contiguous(region)) = (&request.state, &request.buffer) else {
            return Plain::Pending;
        };
        if request.peer == NOBODY || self.core.posted.first() != Some(*node) {
            return Plain::Pending;
        }
        let (peer, context, region, node) = (request.peer, request.context, *region, *node);
        let (source, tag) = (request.source, request.tag);
        let Some((wire, state, header)) = self.front(peer, context, (source, tag)) else {
            return Plain::Pending;
        };
        let taken = match wire.take_line(peer, &header, region) {
            None => wire.take_front(peer, &header, region),
            taken => taken,
        };
        let Some(bytes) = taken else { return Plain::Pending };
        state.hear(bytes);
        self.core.posted.remove_first(node);
        self.core.requests.forget_if(id, |_| Some(()));
        Plain::Ended { source, tag, bytes: bytes as u64 }
    }

    /// Where the message must come from to go this way, and with what header. `None` if none may now.
    #[inline(always)]
    fn front(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
    ) -> Option<(&mut Wire, &mut PeerState, Header)> {
        let core = &mut self.core;
        // What else is under way wants progress with each call.
        if core.under_way != 0 || core.turns == TURNS_MAX {
            return None;
        }
        core.turns += 1;
        let state = core.peers.get(peer).filter(|state| state.in_turn)?;
        let header = Header { context, source, tag, sequence: state.expected(), ..Header::new(Kind::Eager) };
        Some((self.channels.get_mut(state.heard_over)?, state, header))
    }
}
