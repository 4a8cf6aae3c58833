//! Direct receives, the shortest way of a message: it is the next packet in its channel, a receive
//! waits for exactly it, and it goes straight to that receive's memory. Everything else takes the
//! general way (`arrival.rs`).
//!
//! The two ways match alike. The next packet of a process is its earliest message that is not
//! matched. It belongs to the receive that is asked for now if none is posted before it and the
//! unexpected queue holds nothing; and to the first posted receive if that names it.

use crate::matching::MatchKey;
use crate::peer::{PeerState, Peers};
use crate::requests::{Near, Requests};
use crate::scheduler::Scheduler;
use crate::take::Plain;
use crate::{Engine, RequestId};
use verbena_channel::Peer;
use verbena_channel::packet::{Header, Kind};
use verbena_memory::Region;
use verbena_wires::Wire;

/// Every `TURNS`th packet of a process (a power of two) goes the general way, so that everything
/// else makes progress too.
const TURNS: u32 = 128;

impl Engine {
    /// Receives a message from rank `source`, which is process `peer`, under `tag` into `region`,
    /// if it is next, goes in one line of shared memory, and nothing comes before it; returns its
    /// length. `None` says that nothing happened. Nothing is called, so nothing need be saved.
    #[inline(always)]
    pub fn try_receive_line(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        region: Region,
    ) -> Option<u64> {
        if self.state.has_entries() {
            return None;
        }
        let key = MatchKey { context, source, tag };
        let (_, direct) = self.requests_and_direct();
        direct?.take_line(peer, key, region)
    }

    /// Like [`Engine::post`] for a receive into `region`, if that needs no call: nothing here
    /// matches, and the receive is posted. Its message may be there already: the caller that waits
    /// for it looks.
    #[inline(always)]
    pub fn try_post(
        &mut self,
        peer: Peer,
        context: u64,
        (source, tag): (i32, i32),
        region: Region,
    ) -> Option<RequestId> {
        if !self.state.unexpected.is_empty() || self.state.any_broken || tag < 0 {
            return None;
        }
        let key = MatchKey { context, source, tag };
        self.state.requests.try_post(peer, key, region).map(RequestId::from)
    }

    /// Ends the receive at this index, if its generation is `meant`, and if its message was
    /// delivered, or if it is posted first and its message is next and goes in one line of shared
    /// memory; returns source, tag and bytes. `None` says that nothing happened. Nothing is called.
    #[inline(always)]
    pub fn try_end(&mut self, index: u32, meant: impl Fn(u32) -> bool) -> Option<(i32, i32, u64)> {
        let (requests, direct) = self.requests_and_direct();
        match requests.near(index, meant) {
            Near::Ended(source, tag, bytes) => Some((source, tag, bytes)),
            Near::First(first) => {
                let bytes = direct?.take_line(first.peer, first.key, first.region)?;
                let MatchKey { source, tag, .. } = first.key;
                first.end();
                Some((source, tag, bytes))
            }
            Near::Posted | Near::Other => None,
        }
    }

    /// Takes the completion of a receive that ended as usual, and forgets the receive; if it is
    /// posted first and its message is next, it ends now. [`Plain::Unusual`] if it is not posted
    /// and has not ended so.
    pub(crate) fn take_posted(&mut self, request: RequestId) -> Plain {
        let RequestId { index, generation } = request;
        let (requests, direct) = self.requests_and_direct();
        match requests.near(index, |its| its == generation) {
            Near::Ended(source, tag, bytes) => Plain::Ended { source, tag, bytes },
            Near::First(first) => {
                let (peer, key, region) = (first.peer, first.key, first.region);
                let Some(bytes) = direct.and_then(|direct| direct.take(peer, key, region)) else {
                    return Plain::Pending;
                };
                first.end();
                Plain::Ended { source: key.source, tag: key.tag, bytes }
            }
            Near::Posted => Plain::Pending,
            Near::Other => Plain::Unusual,
        }
    }

    /// Returns the requests, and what is next in the channels; `None` if a message may not be taken
    /// from there now.
    #[inline(always)]
    fn requests_and_direct(&mut self) -> (&mut Requests, Option<DirectReceive<'_>>) {
        let state = &mut self.state;
        // Anything else under way wants progress with each call.
        let may = state.under_way == 0;
        let direct = may.then_some(DirectReceive {
            peers: &mut state.peers,
            channels: &mut self.channels,
            schedule: &mut self.schedule,
            counts_packets: self.connections.is_some(),
        });
        (&mut state.requests, direct)
    }
}

/// The packets that are next in the channels.
struct DirectReceive<'a> {
    peers: &'a mut Peers,
    channels: &'a mut [Wire],
    schedule: &'a mut Scheduler,
    /// Every packet is to be counted where channels are polled.
    counts_packets: bool,
}

impl DirectReceive<'_> {
    /// Takes the next message of this process if it is this one, goes in one line of shared memory
    /// and fits; returns its length.
    #[inline(always)]
    fn take_line(self, peer: Peer, key: MatchKey, region: Region) -> Option<u64> {
        let (channel, state, header) = expected(self.peers, peer, key)?;
        let wire = self.channels.get_mut(channel)?;
        let bytes = wire.take_line(peer, &header, region)?;
        state.hear(bytes);
        Some(bytes as u64)
    }

    /// Like `take_line`, for any length. Also for channels that must be polled to know what came,
    /// if they are polled in every round.
    fn take(self, peer: Peer, key: MatchKey, region: Region) -> Option<u64> {
        let (channel, state, header) = expected(self.peers, peer, key)?;
        let wire = self.channels.get_mut(channel)?;
        let bytes = match wire.take_line(peer, &header, region) {
            Some(bytes) => bytes,
            None => {
                let shows = wire.shows();
                if !shows && (self.counts_packets || !self.schedule.is_in_each_round(channel)) {
                    return None;
                }
                let bytes = wire.take_direct(peer, &header, region)?;
                if !shows {
                    self.schedule.came(channel, 1);
                }
                bytes
            }
        };
        state.hear(bytes);
        Some(bytes as u64)
    }
}

/// Returns the channel over which a message of this process comes, and its header if it is this
/// one. `None` if it cannot go this way.
#[inline(always)]
fn expected(peers: &mut Peers, peer: Peer, key: MatchKey) -> Option<(usize, &mut PeerState, Header)> {
    let state = peers.get(peer).filter(|state| state.in_turn)?;
    let sequence = state.expected();
    if sequence.is_multiple_of(TURNS) {
        return None;
    }
    let MatchKey { context, source, tag } = key;
    let header = Header { context, source, tag, sequence, ..Header::new(Kind::Eager) };
    Some((state.heard_over, state, header))
}
