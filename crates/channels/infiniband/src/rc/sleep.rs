//! A process sleeps on completion events although packets in its rings make none.
//!
//! Packets by send and receive, the ends of reads and of signalled work, and hellos complete
//! something, and a completion queue can be asked for an event at the next completion. An RDMA
//! write completes nothing at the receiver. So a receiver that goes to rest writes a word into the
//! memory of each peer that has a ring here (it lies behind the peer's copy of the ring, at an
//! address that its acceptance told). A sender looks at that word after each packet that it has put
//! into the ring: one load of its own memory. If the word is up, it lets an empty packet follow by
//! send and receive: the bell.
//!
//! ```text
//! receiver                                    sender
//!   word := 1 (RDMA write) →
//!   looks again, naps for GRACE_NS            puts a packet into the ring; sees the word
//!   asks for an event, looks again, sleeps  ← the bell
//! ```
//!
//! The bell needs a credit of the send/receive path. Without one the packet finds no room: its
//! sender has to look for credits first, and does not leave MPI with a message in the ring that
//! nobody hears of.
//!
//! A packet that its sender posted before the word was there has no bell. It is at most a flight
//! behind the word: for [`GRACE_NS`] after raising it the receiver only naps. A packet that the
//! wire lost and that is sent again still later is found when the sleep ends by itself
//! ([`verbena_waiting::SLEEP_MAX`]), so nothing ever waits for longer. The word stays up while a
//! peer says little, and costs it a bell for each packet; after more than [`HEARD_MAX`] packets
//! from the peer it is taken down.
//!
//! With [`Notify::Pointer`] the tail pointer comes by RDMA write too, and no word tells who waits
//! for it: such a process naps.

use super::RcChannel;
use super::adapter::Adapter;
use super::frame::Kind;
use super::ring::WORD_BYTES;
use super::ring::incoming::{Rest, Stage};
use super::settings::Notify;
use crate::device::Post;
use std::time::Duration;
use verbena_channel::{Payload, Peer};
use verbena_waiting::{NAP, SLEEP_MAX};

/// The time in nanoseconds after the word was raised in which packets may come without a bell: a
/// flight, and what delays the sender's processor between its post and its look.
const GRACE_NS: u64 = 2_000_000;
/// After this many packets from a peer its word is taken down: it talks too much to ring for each
/// packet.
const HEARD_MAX: u32 = 4;

impl<A: Adapter> RcChannel<A> {
    /// Makes sure that whatever comes from now on makes an event, and returns how long the process
    /// may sleep.
    pub(super) fn rest(&mut self) -> Duration {
        self.look_for_trouble();
        let busy = !(self.asking.is_empty()
            && self.duties.is_empty()
            && self.broken.is_empty()
            && self.memory.given_up.is_empty());
        if !self.adapter.arm() || self.settings.notify == Notify::Pointer || busy {
            return NAP;
        }
        // The last look before the sleep is for datagrams too.
        self.look_everywhere();
        let now_ns = self.adapter.now_ns();
        let peers: Vec<Peer> = self.set.peers().to_vec();
        let told = peers.into_iter().filter(|peer| self.tell_rest(*peer, now_ns)).count();
        if told == self.set.len() { SLEEP_MAX } else { NAP }
    }

    /// Makes the next poll look for datagrams too.
    pub(super) fn look_everywhere(&mut self) {
        self.rounds = self.rounds.next_multiple_of(super::DATAGRAMS_EVERY).wrapping_sub(1);
    }

    /// Returns whether this peer has known for long enough that it must ring; tells it if it does
    /// not know.
    fn tell_rest(&mut self, peer: Peer, now_ns: u64) -> bool {
        let Some(ring) = self.peers.get(peer).and_then(|connection| connection.ring_in.as_ref()) else {
            return true;
        };
        match ring.rest {
            Rest::Announced { since_ns, .. } => now_ns.saturating_sub(since_ns) >= GRACE_NS,
            Rest::Awake => {
                self.post_rest(peer, Rest::Announced { since_ns: now_ns, heard: 0 });
                false
            }
        }
    }

    /// Counts a packet that came through the peer's ring though its word is up: if that happens
    /// often, it is taken down.
    #[inline]
    pub(super) fn heard_at_rest(&mut self, peer: Peer) {
        let Some(ring) = self.peers.get(peer).and_then(|connection| connection.ring_in.as_mut()) else {
            return;
        };
        if let Rest::Announced { heard, .. } = &mut ring.rest {
            *heard += 1;
            if *heard > HEARD_MAX {
                self.post_rest(peer, Rest::Awake);
            }
        }
    }

    /// Writes the word. If there is no room now, it is tried again at the next occasion.
    #[cold]
    fn post_rest(&mut self, peer: Peer, rest: Rest) {
        let Some(connection) = self.peers.get(peer) else { return };
        let (Some(ring), Some(pair)) = (&mut connection.ring_in, connection.pair) else { return };
        if ring.stage != Stage::Open || !connection.queue.has_room(1) {
            return;
        }
        let inline = WORD_BYTES <= self.settings.inline_bytes_max;
        let signalled = self.leaving || connection.queue.is_due();
        let Some(descriptor) = ring.word(rest != Rest::Awake) else { return };
        match self.adapter.post(pair, descriptor, WORD_BYTES, Post { signalled, inline }) {
            Ok(()) => {
                connection.queue.posted(signalled);
                ring.rest = rest;
            }
            Err(refused) => _ = self.refused(peer, refused),
        }
    }

    /// Rings the bell. If there is no room now, a later poll sends it; `None` in that case.
    #[cold]
    pub(super) fn ring_bell(&mut self, peer: Peer) -> Option<()> {
        let sent = self.send_by_buffer(peer, Kind::Credits, None, Payload::Bytes(&[]), false).is_ok();
        if let Some(connection) = self.peers.get(peer).filter(|connection| connection.is_up()) {
            connection.news.bell = !sent;
            if !sent {
                self.enlist(peer);
            }
        }
        sent.then_some(())
    }
}
