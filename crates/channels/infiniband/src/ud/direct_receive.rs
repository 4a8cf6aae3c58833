//! The shortest way of a short packet that is waited for: from the completion queue straight to the
//! memory of the receive ([`Channel::take_direct`](verbena_channel::Channel::take_direct)). Rare
//! cases, and those that can wait, are left to polling.

use super::adapter::{Datagrams, Ended, GLOBAL_BYTES};
use super::frame::{Frame, Kind, PREFIX_BYTES};
use super::header::EncodedHeader;
use super::{TENDED_EVERY, UdChannel};
use crate::reliable::Turn;
use verbena_channel::Peer;
use verbena_channel::packet::Header;
use verbena_memory::Region;

/// The number of looks at the completion queue in a row: a round of progress takes as long as
/// several, and what comes during it is found late.
const LOOKS: u32 = 32;

impl<A: Datagrams> UdChannel<A> {
    /// Takes the packet that comes next if it is this one of the peer's and fits. Returns the
    /// length of its payload.
    #[inline]
    pub(super) fn take_expected(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        // Polling does now and then what can wait; and a process about to sleep must not take what
        // would have woken it.
        let polls_next = self.rounds.wrapping_add(1).is_multiple_of(TENDED_EVERY);
        if polls_next || self.armed || self.waiting.is_some() || !self.settings.reliable {
            return None;
        }
        let EncodedHeader::Compact(wanted) = EncodedHeader::of(header, header.length as usize) else {
            return None;
        };
        let ended = (0..LOOKS).find_map(|_| self.adapter.poll())?;
        let taken = self.take_if(&ended, peer, &wanted, into);
        match taken {
            Some(_) => self.rounds = self.rounds.wrapping_add(1),
            None => self.waiting = Some(ended),
        }
        taken
    }

    /// Takes what has ended if it is the packet of this peer with this head.
    #[inline]
    fn take_if<const N: usize>(
        &mut self,
        ended: &Ended,
        peer: Peer,
        wanted: &[u8; N],
        into: Region,
    ) -> Option<usize> {
        let Ended::Received(id, bytes) = *ended else { return None };
        let len = (bytes as usize).checked_sub(GLOBAL_BYTES)?;
        let datagram = self.receive_buffer(id).region.part(GLOBAL_BYTES, len);
        // SAFETY: the device wrote it and is done with the buffer, until it is posted again below.
        let datagram = unsafe { datagram.bytes() };
        let frame = Frame::parse(datagram, self.settings.checksum)?;
        let (head, payload) = datagram[PREFIX_BYTES..].split_first_chunk()?;
        let partner = self.peers.get(peer).filter(|_| frame.from == peer && frame.is_for(self.me))?;
        let whole = frame.kind == Kind::Fragment && frame.count == 1 && frame.index == 0;
        if !whole || !partner.hears() || head != wanted || payload.len() > into.len() {
            return None;
        }
        let now_ns = self.adapter.now_ns();
        if partner.link.incoming.take(frame.number, now_ns) != Turn::Fresh {
            return None;
        }
        into.write(0, payload);
        partner.link.completed(&self.settings.rules, 1, frame.wanted, now_ns);
        partner.put_by(&frame, now_ns, &mut self.unread);
        self.emptied(id);
        Some(payload.len())
    }
}
