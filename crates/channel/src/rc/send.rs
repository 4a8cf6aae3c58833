//! Sending: which way a packet goes, and the send/receive path.

use super::Rc;
use super::adapter::{Adapter, Post, Refused};
use super::failure;
use super::frame::{DATA_BYTES, Frame, Kind, PREFIX_BYTES, write_words};
use super::peers::Connection;
use crate::memory::Region;
use crate::packet::{HEADER_BYTES, Header};
use crate::{Payload, Peer, SendError};

/// Bytes behind the prefix.
#[inline]
fn body_bytes(header: Option<&Header>, payload: &Payload<'_>) -> usize {
    payload.len() + header.map_or(0, |_| HEADER_BYTES)
}

/// Writes a whole packet to the front of the memory.
#[inline]
fn write_packet(into: Region, frame: &Frame, header: Option<&Header>, payload: &Payload<'_>) {
    let [first, second] = frame.words();
    let at = match header {
        Some(header) => {
            let [a, b, c, d] = header.words();
            write_words(into, [first, second, a, b, c, d]);
            DATA_BYTES
        }
        None => {
            write_words(into, [first, second]);
            PREFIX_BYTES
        }
    };
    match payload {
        Payload::Bytes(bytes) => into.write(at, bytes),
        Payload::Buffer { buffer, offset, len } => buffer.copy_out(*offset, into.part(at, *len).bytes_mut()),
    }
}

impl<A: Adapter> Rc<A> {
    /// The pair speaks for the first time: the connection is begun, and the packet has to wait for it.
    #[cold]
    pub(super) fn first_packet(&mut self, peer: Peer) -> Result<(), SendError> {
        match self.begin(peer) {
            Ok(()) => Err(SendError::Full),
            Err(fault) => Err(SendError::Broken(self.refuse_connection(peer, fault))),
        }
    }

    /// Sends a packet over a connection that is up; the engine's packets have a header.
    #[inline]
    pub(super) fn send_packet(
        &mut self,
        peer: Peer,
        kind: Kind,
        header: Option<&Header>,
        payload: Payload<'_>,
        signalled: bool,
    ) -> Result<(), SendError> {
        self.send_by_buffer(peer, kind, header, payload, signalled)
    }

    /// Sends it by send and receive (paper 1, 3.1).
    fn send_by_buffer(
        &mut self,
        peer: Peer,
        kind: Kind,
        header: Option<&Header>,
        payload: Payload<'_>,
        signalled: bool,
    ) -> Result<(), SendError> {
        let connection = self.peers.get(peer).expect("a connection that is up");
        let body = body_bytes(header, &payload);
        let bytes = PREFIX_BYTES + body;
        if bytes > self.settings.buffer_bytes
            || !connection.receives.may_send()
            || !connection.queue.has_room(1)
        {
            return Err(SendError::Full);
        }
        let buffer = match self.sends.take(&mut self.adapter) {
            Ok(Some(buffer)) => buffer,
            Ok(None) => return Err(SendError::Full),
            Err(fault) => return Err(self.refused(peer, Refused::Broken(fault))),
        };
        let (frame, undo) = connection.next_frame(self.me, kind, body);
        write_packet(self.sends.region(buffer), &frame, header, &payload);
        let inline = bytes <= self.settings.inline_bytes_max;
        let signalled = !inline || signalled || self.leaving || connection.queue.is_due();
        let pair = connection.pair.expect("a connection that is up");
        let descriptor = self.sends.hold(buffer, peer, signalled);
        match self.adapter.post(pair, descriptor, bytes, Post { signalled, inline }) {
            Ok(()) => {
                connection.queue.posted(signalled);
                if !signalled {
                    self.sends.give_back(buffer);
                }
                Ok(())
            }
            Err(refused) => {
                connection.take_back(undo);
                self.sends.give_back(buffer);
                Err(self.refused(peer, refused))
            }
        }
    }

    /// The device did not take a packet.
    #[cold]
    fn refused(&mut self, peer: Peer, refused: Refused) -> SendError {
        match refused {
            Refused::Full => SendError::Full,
            Refused::Broken(fault) => {
                let fault = failure::refused(&self.ends(peer), fault);
                self.break_connection(peer, fault.clone());
                SendError::Broken(fault)
            }
        }
    }
}

/// Credits that a packet would have carried.
pub(super) struct Undo {
    receive_credits: u16,
}

impl Connection {
    /// The prefix of the next packet by send and receive, with the credits that it carries, all of it accounted for.
    #[inline]
    fn next_frame(&mut self, me: Peer, kind: Kind, body: usize) -> (Frame, Undo) {
        let receive_credits = self.receives.spend();
        let psn = self.sequence.next;
        self.sequence.next = psn.wrapping_add(1);
        let frame = Frame { first: me, kind, body_bytes: body as u32, psn, ring_credits: 0, receive_credits };
        (frame, Undo { receive_credits })
    }

    /// The packet was not sent.
    #[cold]
    fn take_back(&mut self, undo: Undo) {
        self.sequence.next = self.sequence.next.wrapping_sub(1);
        self.receives.unspend(undo.receive_credits);
    }
}
