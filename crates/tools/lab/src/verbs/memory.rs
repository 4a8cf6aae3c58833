//! The registered memory of a rank: bytes to send, the place where those of the peer land, and a
//! word each way that points to them.

use anyhow::{Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use verbena_memory::{Owned, Region};
use verbena_verbs::domain::Access;
use verbena_verbs::explain::fault;
use verbena_verbs::{MemoryRegion, ProtectionDomain};

/// The longest message.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// The place of the bytes to send.
pub(super) const OUT: usize = 0;
/// The place where the peer's bytes land.
pub(super) const LANDING: usize = MESSAGE_BYTES_MAX;
/// The place of the pointer to send, and where that of the peer lands: in lines of their own.
pub(super) const POINTER_OUT: usize = 2 * MESSAGE_BYTES_MAX;
pub(super) const POINTER_LANDING: usize = POINTER_OUT + 64;
/// The bytes of a pointer.
pub(super) const POINTER_BYTES: usize = 8;
const ALL_BYTES: usize = POINTER_LANDING + 64;

/// Bytes of a message, from an offset of the memory on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The offset in the memory.
    pub offset: usize,
    /// The length.
    pub bytes: usize,
}

/// The address and key by which the peer names the memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Far {
    /// The address of the first byte.
    pub address: u64,
    /// The key.
    pub key: u32,
}

/// Registered memory.
pub(super) struct Memory {
    registered: MemoryRegion,
    region: Region,
    _owner: Owned,
}

/// Returns the byte at a place of the message with this seed.
fn pattern(at: usize, seed: u64) -> u8 {
    (at as u8).wrapping_mul(7).wrapping_add((seed as u8).wrapping_mul(31)).wrapping_add((at >> 8) as u8)
}

/// Returns the last byte of the message of a round: unlike that of the round before.
pub(super) fn mark(round: u64) -> u8 {
    (round % 255 + 1) as u8
}

impl Memory {
    /// Takes and registers memory.
    ///
    /// # Errors
    /// The limit on locked memory.
    pub(super) fn new(domain: &Arc<ProtectionDomain>) -> Result<Memory> {
        let owner = Owned::zeroed(ALL_BYTES);
        let region = owner.lend();
        let access =
            Access { local_write: true, remote_read: true, remote_write: true, remote_atomic: false };
        // SAFETY: memory of this rank alone, read and written by address only, that is never
        // unmapped.
        let registered = unsafe { MemoryRegion::new(domain, region.address(), ALL_BYTES, access) };
        let refused =
            |number| anyhow!(fault("memory cannot be registered", format!("{ALL_BYTES} bytes"), number));
        Ok(Memory { registered: registered.map_err(refused)?, region, _owner: owner })
    }

    /// Returns the address and key for the peer.
    pub(super) fn far(&self) -> Far {
        Far { address: self.region.address(), key: self.registered.remote_key() }
    }

    /// Returns the key for own work.
    pub(super) fn key(&self) -> u32 {
        self.registered.local_key()
    }

    /// Returns the address of a part.
    ///
    /// # Panics
    /// If it does not lie within the memory.
    pub(super) fn address(&self, part: Part) -> u64 {
        self.region.part(part.offset, part.bytes).address()
    }

    /// Lays a message of this seed into these parts.
    pub(super) fn lay(&self, parts: &[Part], seed: u64) {
        let mut at = 0;
        for part in parts {
            let bytes: Vec<u8> = (at..at + part.bytes).map(|at| pattern(at, seed)).collect();
            self.region.write(part.offset, &bytes);
            at += part.bytes;
        }
    }

    /// Clears the place where a message lands, so that what is found there later was sent.
    pub(super) fn clear(&self, bytes: usize) {
        self.region.part(LANDING, bytes).fill(0);
        self.region.part(POINTER_LANDING, POINTER_BYTES).fill(0);
    }

    /// Writes one byte of the memory that is sent.
    pub(super) fn set(&self, offset: usize, value: u8) {
        self.region.write(offset, &[value]);
    }

    /// Writes the pointer that is sent.
    pub(super) fn set_pointer(&self, value: u64) {
        self.region.write(POINTER_OUT, &value.to_ne_bytes());
    }

    /// Reads a byte that the device may write just now.
    #[inline]
    pub(super) fn landed(&self, at: usize) -> u8 {
        let byte = self.region.part(LANDING + at, 1).pointer();
        // SAFETY: a byte of memory that lives as long as this; the device alone writes it.
        unsafe { AtomicU8::from_ptr(byte) }.load(Ordering::Acquire)
    }

    /// Reads the pointer that the device may write just now.
    #[inline]
    pub(super) fn pointer_landed(&self) -> u64 {
        let word = self.region.part(POINTER_LANDING, POINTER_BYTES).pointer().cast();
        // SAFETY: a word at the begin of a line, in memory that lives as long as this.
        unsafe { AtomicU64::from_ptr(word) }.load(Ordering::Acquire)
    }

    /// Compares what landed with the message of this seed, whose last byte is `last` if given.
    /// Returns the number of bytes.
    ///
    /// # Errors
    /// A byte is another.
    pub(super) fn check(&self, bytes: usize, seed: u64, last: Option<u8>) -> Result<u64> {
        let landed = self.region.part(LANDING, bytes).to_vec();
        for (at, found) in landed.into_iter().enumerate() {
            let sent = last.filter(|_| at + 1 == bytes).unwrap_or_else(|| pattern(at, seed));
            ensure!(found == sent, "byte {at} of {bytes} arrived as {found:#04x}, not {sent:#04x}");
        }
        Ok(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_neighboring_rounds_differ_and_are_never_zero() {
        for round in 0..1000 {
            assert!(mark(round) != 0 && mark(round) != mark(round + 1));
        }
    }

    #[test]
    fn messages_of_other_seeds_differ() {
        let message = |seed| (0..64).map(|at| pattern(at, seed)).collect::<Vec<u8>>();
        assert_ne!(message(1), message(2));
    }
}
