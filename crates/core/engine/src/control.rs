//! The contents of headers and control payloads of the engine. The header itself is laid out in
//! [`verbena_channel::packet`]; here is what each kind puts where.
//!
//! | kind | flags | context | length | payload |
//! | --- | --- | --- | --- | --- |
//! | `Eager` | | match | bytes | the message |
//! | `EagerSync` | | match | sender's request | the message |
//! | `Matched` | | sender's request | | |
//! | `RequestToSend` | [`MEMORY`]: can be read, [`WRITE`]: the sender can write | match | bytes | sender's request, memory if flagged (with [`WRITE`] alone only the channel counts), memory on further rails |
//! | `ClearToSend` | [`LEARNT`] if so | sender's request | first byte | receiver's request, bytes |
//! | `ClearToSend` | [`MEMORY`], [`LEARNT`] if so | sender's request | bytes | receiver's request, bytes a part, division, memory: an invitation to help |
//! | `ClearToSend` | [`MEMORY`], [`WRITE`] | sender's request | first byte | receiver's request, bytes, memory: the sender is to write them there; memory on further rails |
//! | `Data` | | receiver's request | first byte | the bytes |
//! | `Finish` | [`LEARNT`] if so | sender's request | bytes | |
//! | `Copied` | [`DONE`], [`FAILED`] | receiver's request | first byte | bytes: they are in place, or not; of a message that the sender writes all, or what is missing |
//! | `Throttle` | 1 or 0 | | | |
//! | `Cancel` | | match | sender's request | |
//! | `CancelAnswer` | [`CANCELLED`], or [`REFUSED`] also if nobody asked | sender's request | | |
//! | `Leave` | [`Leave`](crate::work::Leave) | a channel's name, hashed | | |
//! | `Revoke` | | the communicator's first | | |
//!
//! "match" means that context, source and tag are those of the message. "memory" is the name of the
//! memory channel (hashed) and the key that it made. On further rails (`rendezvous/rails.rs`) it
//! stands at the end of the payload, once for each: as many as fit a packet.

use verbena_channel::Key;
use verbena_channel::packet::{Header, Kind};

/// The payload ends with a description of memory.
pub(crate) const MEMORY: u8 = 1;
/// The sender moves the whole message by writing, or can.
pub(crate) const WRITE: u8 = 2;
/// The receiver has chosen the way by what messages took, among all that there are.
pub(crate) const LEARNT: u8 = 4;
/// The sender has copied this part.
pub(crate) const DONE: u8 = 1;
/// The sender could not copy this part.
pub(crate) const FAILED: u8 = 2;

/// The message was not matched, and never will be.
pub(crate) const CANCELLED: u8 = 1;
/// The receiver takes nothing any more.
pub(crate) const REFUSED: u8 = 2;

/// The longest control payload that the engine builds.
const PAYLOAD_MAX: usize = 60;
const _: () = assert!(PAYLOAD_MAX <= verbena_channel::CONTROL_BYTES_MAX);

/// Bytes of memory in a payload.
pub(crate) const MEMORY_BYTES: usize = 36;
/// Further rails that a packet may name; there are no more in any installation.
const RAILS_MAX: usize = 63;

/// Returns how many bytes of a payload that ends with memory on further rails fit a packet: some
/// rails are left out.
pub(crate) fn fitting_bytes(payload: usize, bytes_max: usize) -> usize {
    payload - payload.saturating_sub(bytes_max).div_ceil(MEMORY_BYTES) * MEMORY_BYTES
}

/// Memory that a peer exposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The name of the channel that made the key, hashed: the two ends may hold their channels in
    /// different places.
    pub channel: u32,
    pub key: Key,
}

/// A packet without message bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub header: Header,
    payload: [u8; PAYLOAD_MAX],
    len: u8,
}

impl Control {
    /// A packet of this kind that answers to `context`.
    pub(crate) fn new(kind: Kind, context: u64) -> Control {
        let header = Header { context, ..Header::new(kind) };
        Control { header, payload: [0; PAYLOAD_MAX], len: 0 }
    }

    pub(crate) fn flags(mut self, flags: u8) -> Control {
        self.header.flags = flags;
        self
    }

    /// Adds [`LEARNT`] if the way was.
    pub(crate) fn learnt(mut self, learnt: bool) -> Control {
        self.header.flags |= if learnt { LEARNT } else { 0 };
        self
    }

    pub(crate) fn length(mut self, length: u64) -> Control {
        self.header.length = length;
        self
    }

    pub(crate) fn word(self, word: u64) -> Control {
        self.append(&word.to_le_bytes())
    }

    /// Appends memory, and says by the flags what it is good for.
    pub(crate) fn memory(self, memory: &Memory, flags: u8) -> Control {
        self.append(&memory.channel.to_le_bytes()).append(&memory.key.0).flags(flags)
    }

    /// The payload with memory on further rails behind it.
    pub(crate) fn payload_with(&self, rails: impl Iterator<Item = Memory>) -> Vec<u8> {
        let mut payload = self.payload().to_vec();
        for memory in rails {
            payload.extend(memory.channel.to_le_bytes());
            payload.extend(memory.key.0);
        }
        payload
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload[..self.len as usize]
    }

    fn append(mut self, bytes: &[u8]) -> Control {
        let at = self.len as usize;
        self.payload[at..at + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len() as u8;
        self
    }
}

/// Reads a control payload; `None` where it is too short.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub(crate) fn word(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn memory(&mut self) -> Option<Memory> {
        let channel = u32::from_le_bytes(self.take()?);
        Some(Memory { channel, key: Key(self.take()?) })
    }

    /// Reads the descriptions of memory up to the end of the payload. `None` if the rest is no
    /// whole number of them, or more than there can be rails.
    pub(crate) fn all_memory(&mut self) -> Option<Vec<Memory>> {
        let bytes = self.0.len();
        if !bytes.is_multiple_of(MEMORY_BYTES) || bytes / MEMORY_BYTES > RAILS_MAX {
            return None;
        }
        Some(std::iter::from_fn(|| self.memory()).collect())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}

/// A channel's name as it travels (FNV-1a, 32 bits).
pub(crate) fn name_hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ byte as u32).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_packet_survives_the_wire() {
        let memory = Memory { channel: name_hash("cma"), key: Key([9; 32]) };
        let control = Control::new(Kind::ClearToSend, 1).word(2).word(3).memory(&memory, MEMORY);
        assert_eq!(control.header.flags, MEMORY);
        let mut reader = Reader(control.payload());
        assert_eq!((reader.word(), reader.word(), reader.memory()), (Some(2), Some(3), Some(memory)));
        assert_eq!(reader.word(), None);
    }

    #[test]
    fn keys_for_further_rails_follow_as_many_as_fit() {
        let memory = |rail: u8| Memory { channel: rail.into(), key: Key([rail; 32]) };
        let control = Control::new(Kind::ClearToSend, 1).word(2).word(3).memory(&memory(0), MEMORY | WRITE);
        let payload = control.payload_with((1..4).map(memory));
        for (bytes_max, rails) in [(160, 3), (159, 2), (128, 2), (123, 1), (88, 1), (87, 0), (52, 0)] {
            let mut reader = Reader(&payload[..fitting_bytes(payload.len(), bytes_max)]);
            assert_eq!((reader.word(), reader.word(), reader.memory()), (Some(2), Some(3), Some(memory(0))));
            assert_eq!(reader.all_memory(), Some((1..=rails).map(memory).collect()), "{bytes_max} bytes");
        }
        assert_eq!(Reader(&payload[16..52]).all_memory(), Some(vec![memory(0)]));
        assert_eq!(Reader(&payload[16..60]).all_memory(), None);
    }
}
