//! The shortest way of a message: it is the next packet in its channel, a receive waits for just it, and it goes straight
//! to that receive's memory. Everything that does not look like that takes the general way (`arrival.rs`).
//!
//! The two ways match alike. The next packet of a process is its earliest message that is not matched. It belongs to the
//! receive that is asked for now if none is posted before it and the unexpected queue holds nothing; and to the first
//! posted receive if that names it.

use crate::lookup::Plain;
use crate::matching::MatchKey;
use crate::peer::{PeerState, Peers};
use crate::request::State;
use crate::requests::Requests;
use crate::{ANY_TAG, Engine, RequestId};
use verbena_channel::memory::Region;
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
        (source, tag): (i32, i32),
        region: Region,
    ) -> Option<u64> {
        if self.core.has_entries() {
            return None;
        }
        let key = MatchKey { context, source, tag };
        let (wire, state, header) = self.front()?.of(peer, key)?;
        let bytes = wire.take_line(peer, &header, region)?;
        state.hear(bytes);
        Some(bytes as u64)
    }

    /// As [`Engine::receive_from`] for a receive into `region`, as far as it needs no call: nothing here matches, and the receive is
    /// posted. Its message may be there already: whoever waits for it looks.
    #[inline(always)]
    pub fn post_at_once(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        region: Region,
    ) -> Option<RequestId> {
        let usual = self.core.unexpected.is_empty() && !self.core.any_broken;
        if !usual || tag < 0 && tag != ANY_TAG {
            return None;
        }
        let key = MatchKey { context, source, tag };
        self.core.requests.post_at_once(peer, key, region).map(RequestId::from)
    }

    /// Ends the receive at this index, if its generation is `meant`, and if its message was delivered, or if it is posted first and its
    /// message is next and goes in one line of shared memory: source, tag and bytes. `None` says that nothing happened. Nothing is called.
    #[inline(always)]
    pub fn end_at_once(&mut self, index: u32, meant: impl Fn(u32) -> bool) -> Option<(i32, i32, u64)> {
        if let Some(ended) = self.core.requests.end_received(index, &meant) {
            return Some(ended);
        }
        let (requests, front) = self.requests_and_front()?;
        requests.end_first(index, meant, |peer, key, region| {
            let (wire, state, header) = front.of(peer, key)?;
            let bytes = wire.take_line(peer, &header, region)?;
            state.hear(bytes);
            Some(bytes)
        })
    }

    /// As [`Engine::take_plain`], for a receive that is posted, if its message is next.
    #[inline(always)]
    pub fn take_posted(&mut self, request: RequestId) -> Plain {
        match self.core.requests.get(request.into()) {
            None => return Plain::Unusual,
            Some(request) if !matches!(request.state, State::Posted) => return Plain::Pending,
            Some(_) => {}
        }
        let Some((requests, front)) = self.requests_and_front() else { return Plain::Pending };
        let RequestId { index, generation } = request;
        let ended = requests.end_first(
            index,
            |its| its == generation,
            |peer, key, region| {
                let (wire, state, header) = front.of(peer, key)?;
                let bytes = match wire.take_line(peer, &header, region) {
                    None => wire.take_front(peer, &header, region)?,
                    Some(bytes) => bytes,
                };
                state.hear(bytes);
                Some(bytes)
            },
        );
        match ended {
            Some((source, tag, bytes)) => Plain::Ended { source, tag, bytes },
            None => Plain::Pending,
        }
    }

    /// What is next in the channels; `None` if a message may not be taken from there now.
    #[inline(always)]
    fn front(&mut self) -> Option<Front<'_>> {
        self.requests_and_front().map(|(_, front)| front)
    }

    /// The same, and the requests.
    #[inline(always)]
    fn requests_and_front(&mut self) -> Option<(&mut Requests, Front<'_>)> {
        let core = &mut self.core;
        // What else is under way wants progress with each call.
        if core.under_way != 0 || core.turns == TURNS_MAX {
            return None;
        }
        core.turns += 1;
        Some((&mut core.requests, Front { peers: &mut core.peers, channels: &mut self.channels }))
    }
}

/// The packets that are next in the channels.
struct Front<'a> {
    peers: &'a mut Peers,
    channels: &'a mut [Wire],
}

impl<'a> Front<'a> {
    /// Where a message of this process comes from, and with what header if it is this one. `None` if it cannot go this way.
    #[inline(always)]
    fn of(self, peer: Peer, key: MatchKey) -> Option<(&'a mut Wire, &'a mut PeerState, Header)> {
        let state = self.peers.get(peer).filter(|state| state.in_turn)?;
        let MatchKey { context, source, tag } = key;
        let header = Header { context, source, tag, sequence: state.expected(), ..Header::new(Kind::Eager) };
        Some((self.channels.get_mut(state.heard_over)?, state, header))
    }
}
