//! Packets of the engine as bytes of a pipe: the length of the payload, the header, the payload.

use super::PipeChannel;
use super::layout::{RECORD_BYTES, record};
use super::rdma_channel::RdmaChannel;
use crate::rc::adapter::Adapter;
use verbena_channel::packet::Header;
use verbena_channel::{Payload, Peer, SendError};

/// A packet of which a part is in the pipe.
#[derive(Debug)]
pub(super) enum Begun {
    /// A long packet: the engine gives it again until all of it was put.
    Long(Long),
    /// A short packet that counts as sent: the rest of its bytes, and how many of them were put.
    Rest(Vec<u8>, usize),
}

/// A long packet that is begun.
#[derive(Debug)]
pub(super) struct Long {
    header: Header,
    bytes: usize,
    /// Bytes of record and payload that were put.
    put: usize,
}

impl<A: Adapter> PipeChannel<A> {
    /// Puts a packet into the pipe; see [`verbena_channel::Channel::send`] and
    /// [`verbena_channel::Streams::is_begun`].
    pub(super) fn write_packet(
        &mut self,
        peer: Peer,
        header: &Header,
        payload: Payload<'_>,
    ) -> Result<(), SendError> {
        if !self.pipes.knows(peer) {
            return Err(SendError::Full);
        }
        let is_long = payload.len() > self.pipes.settings().packet_bytes_max();
        match self.begun[peer as usize].take() {
            Some(Begun::Long(long)) if long.is(header, &payload) => self.write_long(peer, long, payload),
            None if is_long => {
                self.write_long(peer, Long { header: *header, bytes: payload.len(), put: 0 }, payload)
            }
            None => self.write_short(peer, header, payload),
            another => {
                self.begun[peer as usize] = another;
                Err(SendError::Full)
            }
        }
    }

    /// Puts a short packet. If there is room for a part of it, the rest is kept.
    fn write_short(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let record = record(header, payload.len());
        let put = self.pipes.put(peer, &[Payload::Bytes(&record), payload]).map_err(SendError::Broken)?;
        match put {
            0 => Err(SendError::Full),
            _ if put == RECORD_BYTES + payload.len() => Ok(()),
            _ => {
                let mut bytes = record.to_vec();
                bytes.resize(RECORD_BYTES + payload.len(), 0);
                payload.copy_to(&mut bytes[RECORD_BYTES..]);
                self.begun[peer as usize] = Some(Begun::Rest(bytes, put));
                Ok(())
            }
        }
    }

    /// Puts as much of a long packet as goes; it is taken when all of it was put.
    fn write_long(&mut self, peer: Peer, mut long: Long, payload: Payload<'_>) -> Result<(), SendError> {
        let record = record(&long.header, long.bytes);
        let all = RECORD_BYTES + long.bytes;
        while long.put < all {
            let head = &record[long.put.min(RECORD_BYTES)..];
            let body = part(&payload, long.put.saturating_sub(RECORD_BYTES));
            let put = self.pipes.put(peer, &[Payload::Bytes(head), body]).map_err(SendError::Broken)?;
            long.put += put;
            if put == 0 {
                break;
            }
        }
        if long.put == all {
            return Ok(());
        }
        // As long as nothing was put, nothing has happened.
        self.begun[peer as usize] = (long.put > 0).then_some(Begun::Long(long));
        Err(SendError::Full)
    }

    /// Puts what is left of short packets.
    pub(super) fn put_rests(&mut self) {
        for (peer, slot) in (0..).zip(&mut self.begun) {
            let Some(Begun::Rest(bytes, put)) = slot else { continue };
            // A failure breaks the connection, which is reported.
            *put += self.pipes.put(peer, &[Payload::Bytes(&bytes[*put..])]).unwrap_or(0);
            if *put == bytes.len() {
                *slot = None;
            }
        }
    }

    /// Returns whether nothing is left of short packets.
    pub(super) fn has_put_all(&self) -> bool {
        !self.begun.iter().any(|slot| matches!(slot, Some(Begun::Rest(..))))
    }
}

impl Long {
    /// Returns whether this is the packet that was begun.
    fn is(&self, header: &Header, payload: &Payload<'_>) -> bool {
        self.header == *header && self.bytes == payload.len()
    }
}

/// The rest of a payload.
fn part<'a>(payload: &Payload<'a>, from: usize) -> Payload<'a> {
    match payload {
        Payload::Bytes(bytes) => Payload::Bytes(&bytes[from..]),
        Payload::Region(region) => Payload::Region(region.part(from, region.len() - from)),
        Payload::Buffer { buffer, offset, len } => {
            Payload::Buffer { buffer, offset: offset + from, len: len - from }
        }
    }
}
