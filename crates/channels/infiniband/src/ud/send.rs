//! Sending: packets into fragments, fragments into buffers, buffers to the queue pairs in turn, a
//! batch at a time.

use super::UdChannel;
use super::adapter::{Datagrams, Memory};
use super::buffers::Buffers;
use super::farewell::Farewell;
use super::frame::{Frame, Kind, PREFIX_BYTES, write_bits};
use super::header::EncodedHeader;
use super::queues::Queues;
use crate::device::{Post, Refused};
use crate::reliable::{Ack, Piece, Shot};
use verbena_channel::packet::Header;
use verbena_channel::{Payload, Peer, SendError};
use verbena_memory::Region;

/// The time until an acknowledgement that found no room is tried again, in nanoseconds.
const AGAIN_NS: u64 = 50_000;

/// Copies a part of the packet: its header, then its payload.
#[inline(always)]
pub(super) fn copy_part(into: Region, head: &EncodedHeader, payload: &Payload<'_>, from: usize, len: usize) {
    let mut at = 0;
    if from < head.len() {
        // Every fragment holds a whole header.
        head.write(into);
        at = head.len();
    }
    let (offset, len) = (from + at - head.len(), len - at);
    match payload {
        Payload::Bytes(bytes) => into.write(at, &bytes[offset..offset + len]),
        Payload::Region(region) => into.put(at, region.part(offset, len)),
        Payload::Buffer { buffer, offset: start, .. } => {
            buffer.pack(start + offset, into.part(at, len));
        }
    }
}

/// Accounts for the datagram in this buffer, which a queue pair took; the device may read it later
/// if it was not posted inline.
#[inline]
pub(super) fn account(
    queues: &mut Queues,
    buffers: &mut Buffers,
    (queue, buffer): (usize, u32),
    how: Post,
    now_ns: u64,
) {
    let later = (!how.inline).then_some(buffer);
    queues.posted(queue, how.signalled, later, now_ns);
    later.into_iter().for_each(|buffer| buffers.posted(buffer));
}

impl<A: Datagrams> UdChannel<A> {
    /// Sends a packet of the engine.
    pub(super) fn send_packet(
        &mut self,
        peer: Peer,
        header: &Header,
        payload: &Payload<'_>,
    ) -> Result<(), SendError> {
        if self.send_one(peer, header, payload).is_some() {
            return Ok(());
        }
        if self.device_fault.is_some() {
            return Err(self.no_device(peer));
        }
        let most = self.limits.datagram_bytes_max;
        let reliable = self.settings.reliable;
        let Some(partner) = self.peers.meet(peer, most, &self.settings.rules) else {
            return Err(SendError::Full);
        };
        if let Some(broken) = &partner.broken {
            return Err(SendError::Broken(broken.fault.clone()));
        }
        if partner.farewell == Farewell::Gone {
            return Err(SendError::Broken(self.gone(peer)));
        }
        let head = EncodedHeader::of(header, payload.len());
        let (bytes, each) = (head.len() + payload.len(), usize::from(partner.fragment_bytes));
        let count = if bytes <= each { 1 } else { bytes.div_ceil(each) };
        let rest = bytes - (count - 1) * each;
        if !self.takes(peer, (count, each), rest)? {
            // Acknowledgements that were put by may make room.
            let unread = !self.unread.is_empty();
            self.read_acks();
            if !unread || !self.takes(peer, (count, each), rest)? {
                return Err(SendError::Full);
            }
        }
        let now_ns = self.adapter.now_ns();
        for index in 0..count {
            let len = if index + 1 == count { rest } else { each };
            let buffer = self.buffers.take(PREFIX_BYTES + len);
            let body = self.buffers.memory(buffer).region.part(PREFIX_BYTES, len);
            copy_part(body, &head, payload, index * each, len);
            let bytes = (PREFIX_BYTES + len) as u16;
            let piece = Piece { buffer, bytes, index: index as u8, count: count as u8 };
            match reliable {
                true => self.peers.get(peer).expect("met").link.outgoing.push(piece),
                false => self.bare.push(piece),
            }
        }
        match reliable {
            true => self.pump(peer, now_ns),
            false => self.send_bare(peer, now_ns),
        }
        Ok(())
    }

    /// Returns the error of a device that had failed before.
    #[cold]
    fn no_device(&mut self, peer: Peer) -> SendError {
        let fault = self.device_fault.clone().expect("asked before");
        SendError::Broken(self.refused(peer, &fault))
    }

    /// Returns whether a packet can be taken now, of `count` fragments of `each` bytes, the last of
    /// `rest` bytes.
    #[inline]
    fn takes(&mut self, peer: Peer, (count, each): (usize, usize), rest: usize) -> Result<bool, SendError> {
        let takes = match self.settings.reliable {
            // It may have been given up just now.
            true => self
                .peers
                .get(peer)
                .is_some_and(|partner| partner.broken.is_none() && partner.link.outgoing.takes_group()),
            // Lost packets stay lost, so nothing goes before the way is known.
            false => self.queues.has_room(count) && self.knows_way(peer)?,
        };
        let full = (count - 1, PREFIX_BYTES + each);
        Ok(takes && self.has_buffers(peer, full, PREFIX_BYTES + rest)?)
    }

    fn has_buffers(&mut self, peer: Peer, full: (usize, usize), rest: usize) -> Result<bool, SendError> {
        let has = self.buffers.has_room(full, rest, &mut self.adapter);
        has.map_err(|fault| SendError::Broken(self.refused(peer, &fault)))
    }

    fn knows_way(&mut self, peer: Peer) -> Result<bool, SendError> {
        let Some((card, partner)) = self.peers.both(peer) else { return Ok(false) };
        let known = match self.adapter.knows_way(&card.address, &mut partner.aim) {
            Ok(known) => known,
            Err(Refused::Full) => false,
            Err(Refused::Broken(fault)) => return Err(SendError::Broken(self.refused(peer, &fault))),
        };
        self.asks_way = !known;
        Ok(known)
    }

    /// Sends what is due to the peer, while window and queue pairs allow.
    pub(super) fn pump(&mut self, peer: Peer, now_ns: u64) {
        while let Some(partner) = self.peers.get(peer)
            && let Some(shot) = partner.link.outgoing.next(0)
        {
            if !self.transmit(peer, shot, now_ns) {
                self.stall(peer);
                break;
            }
        }
        self.arm(peer);
    }

    /// Makes the peer's transmissions wait until a queue pair has room.
    #[cold]
    fn stall(&mut self, peer: Peer) {
        if let Some(partner) = self.peers.get(peer)
            && !std::mem::replace(&mut partner.stalled, true)
        {
            self.stalled.push(peer);
        }
    }

    /// Makes this transmission, and those that follow in the same batch; `false` if no queue pair
    /// has room. A fragment that is sent again is sent as it was: the device may still read it, and
    /// an old acknowledgement does no harm.
    #[inline]
    fn transmit(&mut self, peer: Peer, first: Shot, now_ns: u64) -> bool {
        if !self.begin_run() {
            return false;
        }
        let mut next = Some(first);
        while let Some(shot) = next {
            self.add(peer, &shot, now_ns);
            if self.batch.room() == 0 {
                break;
            }
            let ahead = self.batch.len() as u32;
            next = self.peers.get(peer).and_then(|partner| partner.link.outgoing.next(ahead));
        }
        let taken = self.post(peer, now_ns);
        if let Some(partner) = self.peers.get(peer) {
            for at in 0..taken as u32 {
                partner.link.outgoing.sent(&self.settings.rules, first.number.wrapping_add(at), now_ns);
            }
            // A fragment that is sent again goes alone.
            if taken > 0 && first.first {
                partner.link.incoming.told_next();
            }
        }
        taken > 0
    }

    /// Begins a batch on the queue pair whose turn it is; `false` if none has room.
    #[inline]
    fn begin_run(&mut self) -> bool {
        let Some(queue) = self.queues.choose() else { return false };
        self.batch.begin(queue, self.queues.free(queue));
        true
    }

    /// Adds a transmission to the batch.
    #[inline]
    fn add(&mut self, peer: Peer, shot: &Shot, now_ns: u64) {
        let (buffer, bytes) = (shot.piece.buffer, usize::from(shot.piece.bytes));
        if shot.first {
            let incoming = &self.peers.get(peer).expect("asked for its next").link.incoming;
            let frame = Frame::fragment((self.me, peer), shot, incoming, now_ns);
            self.write(&frame, buffer, bytes);
        } else {
            self.counts.resent += 1;
        }
        self.add_buffer(buffer, bytes);
    }

    /// Adds the first bytes of a buffer to the batch.
    #[inline]
    fn add_buffer(&mut self, buffer: u32, bytes: usize) {
        let memory = self.buffers.memory(buffer);
        let from = Memory { region: memory.region.part(0, bytes), ..memory };
        self.batch.push(buffer, from, bytes <= self.settings.inline_bytes_max);
    }

    /// Sends the fragments that nobody acknowledges; there is room for them.
    fn send_bare(&mut self, peer: Peer, now_ns: u64) {
        let mut pieces = std::mem::take(&mut self.bare);
        let mut rest = &pieces[..];
        while !rest.is_empty() && self.begin_run() {
            let (some, others) = rest.split_at(self.batch.room().min(rest.len()));
            some.iter().for_each(|piece| self.add_bare(peer, piece));
            rest = others;
            self.post(peer, now_ns);
        }
        pieces.drain(..).for_each(|piece| self.buffers.release(piece.buffer));
        self.bare = pieces;
    }

    /// Adds a fragment that nobody acknowledges to the batch.
    fn add_bare(&mut self, peer: Peer, piece: &Piece) {
        let partner = self.peers.get(peer).expect("met");
        let note = Frame::note(Kind::Bare, self.me, peer, &Ack::default());
        let frame = Frame { index: piece.index, count: piece.count, number: partner.number, ..note };
        partner.number = partner.number.wrapping_add(1);
        self.write(&frame, piece.buffer, usize::from(piece.bytes));
        self.add_buffer(piece.buffer, usize::from(piece.bytes));
    }

    #[inline]
    fn write(&self, frame: &Frame, buffer: u32, bytes: usize) {
        let region = self.buffers.memory(buffer).region;
        // SAFETY: the buffer is the caller's, and the device does not have it yet.
        frame.emit(unsafe { region.part(0, bytes).bytes_mut() }, self.settings.checksum);
    }

    /// Sends a note without a fragment: an acknowledgement, or farewell. Returns whether it went
    /// out.
    pub(super) fn say(&mut self, peer: Peer, kind: Kind, answer: bool, now_ns: u64) -> bool {
        let note = self.buffers.take_note(&mut self.adapter);
        let (Ok(Some(buffer)), Some(partner)) = (note, self.peers.get(peer)) else { return false };
        let ack = partner.link.incoming.ack(now_ns);
        let frame = Frame { answer, ..Frame::note(kind, self.me, peer, &ack) };
        let bits = if kind == Kind::Ack { ack.bits } else { Ack::default().bits };
        // SAFETY: the buffer was taken just now, so nobody else has it.
        let bytes = write_bits(unsafe { self.buffers.memory(buffer).region.bytes_mut() }, &bits);
        self.write(&frame, buffer, bytes);
        let has_room = self.begin_run();
        if has_room {
            self.add_buffer(buffer, bytes);
        }
        let sent = has_room && self.post(peer, now_ns) > 0;
        self.buffers.release(buffer);
        sent
    }

    /// Acknowledges what the peer sent, if that is due.
    pub(super) fn acknowledge(&mut self, peer: Peer, now_ns: u64) {
        let due = |partner: &mut super::peers::Partner| partner.link.incoming.due_ns() <= now_ns;
        if !self.peers.get(peer).is_some_and(due) {
            return;
        }
        let said = self.say(peer, Kind::Ack, false, now_ns);
        let Some(partner) = self.peers.get(peer) else { return };
        match said {
            true => partner.link.incoming.told(),
            false => partner.link.incoming.put_off(now_ns + AGAIN_NS),
        }
        self.counts.acks += u64::from(said);
    }

    /// Posts the batch; returns how many of its datagrams the queue pair took.
    #[inline]
    fn post(&mut self, peer: Peer, now_ns: u64) -> usize {
        let (queue, count) = (self.batch.queue(), self.batch.len());
        let signalled = self.queues.is_due(queue, count);
        let Some((card, partner)) = self.peers.both(peer) else { return 0 };
        let posted =
            self.adapter.post(queue, &card.address, &mut partner.aim, self.batch.datagrams(signalled));
        let taken = posted.as_ref().map_or_else(|(taken, _)| *taken, |()| count);
        for (buffer, how) in self.batch.posts().take(taken) {
            account(&mut self.queues, &mut self.buffers, (queue, buffer), how, now_ns);
        }
        self.counts.sent += taken as u64;
        // If it took some, it refuses the next batch as a whole.
        if let Err((0, Refused::Broken(fault))) = posted {
            self.queue_failed(queue, fault);
        }
        taken
    }

    /// Notes that a queue pair is of no use any more; the others go on.
    #[cold]
    pub(super) fn queue_failed(&mut self, queue: usize, fault: verbena_fault::Fault) {
        self.queues.dies(queue);
        if self.queues.all_fail() {
            self.break_all(fault);
        }
    }
}
