//! The shortest way of sending a short packet: one fragment, over a link on which nothing waits.
//! Other packets are left to [`send`](super::send), which also handles whatever goes wrong.

use super::UdChannel;
use super::adapter::{Datagram, Datagrams, Memory};
use super::frame::{Frame, PREFIX_BYTES};
use super::header::EncodedHeader;
use super::send::{account, copy_part};
use crate::device::Post;
use crate::reliable::{Piece, Shot};
use verbena_channel::packet::Header;
use verbena_channel::{Payload, Peer};

impl<A: Datagrams> UdChannel<A> {
    /// Sends the packet if it is such a one and the device takes it; else nothing has happened.
    #[inline]
    pub(super) fn send_one(&mut self, peer: Peer, header: &Header, payload: &Payload<'_>) -> Option<()> {
        let (card, partner) = self.peers.both(peer)?;
        let head = EncodedHeader::of(header, payload.len());
        let len = head.len() + payload.len();
        let serves = self.settings.reliable && self.device_fault.is_none();
        if len > usize::from(partner.fragment_bytes) || !serves || !partner.hears() {
            return None;
        }
        let (number, last) = partner.link.outgoing.room_for_one()?;
        let queue = self.queues.choose()?;
        let bytes = PREFIX_BYTES + len;
        let buffer = self.buffers.take_free(bytes)?;
        let memory = self.buffers.memory(buffer);
        let from = Memory { region: memory.region.part(0, bytes), ..memory };
        copy_part(from.region.part(PREFIX_BYTES, len), &head, payload, 0, len);
        let piece = Piece { buffer, bytes: bytes as u16, index: 0, count: 1 };
        let shot = Shot { piece, number, first: true, last };
        let now_ns = self.adapter.now_ns();
        let frame = Frame::fragment((self.me, peer), &shot, &partner.link.incoming, now_ns);
        // SAFETY: the buffer was taken just now, so nobody else has it.
        frame.emit(unsafe { from.region.bytes_mut() }, self.settings.checksum);
        let inline = bytes <= self.settings.inline_bytes_max;
        let how = Post { signalled: self.queues.is_due(queue, 1), inline };
        let batch = [Datagram { from, how }];
        // Taken apart, so that nothing is left to be dropped where all went well.
        match self.adapter.post(queue, &card.address, &mut partner.aim, &batch) {
            Ok(()) => {}
            Err(_) => {
                self.buffers.release(buffer);
                return None;
            }
        }
        partner.link.incoming.told_next();
        partner.link.outgoing.push(piece);
        partner.link.outgoing.sent(&self.settings.rules, number, now_ns);
        account(&mut self.queues, &mut self.buffers, (queue, buffer), how, now_ns);
        self.counts.sent += 1;
        self.arm(peer);
        Some(())
    }
}
