//! The content of a key of exposed memory.

use crate::Key;
use verbena_memory::Region;

/// Memory that a process exposed, as the key tells the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExposedMemory {
    /// The base of offsets, as the device takes it: an address, or 0.
    pub base: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// The device's key of the memory.
    pub key: u64,
    /// The number of the exposure in the process that made it.
    pub number: u32,
}

impl ExposedMemory {
    /// Memory that is found by its address alone.
    pub fn by_address(region: Region) -> ExposedMemory {
        ExposedMemory { base: region.address(), bytes: region.len() as u64, key: 0, number: 0 }
    }

    /// The key that travels.
    pub fn emit(&self) -> Key {
        let mut key = Key::default();
        key.0[..8].copy_from_slice(&self.base.to_le_bytes());
        key.0[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        key.0[16..24].copy_from_slice(&self.key.to_le_bytes());
        key.0[24..28].copy_from_slice(&self.number.to_le_bytes());
        key
    }

    /// Decodes a key.
    pub fn of(key: &Key) -> ExposedMemory {
        let word = |at: usize| u64::from_le_bytes(key.0[at..at + 8].try_into().expect("eight bytes"));
        let number = u32::from_le_bytes(key.0[24..28].try_into().expect("four bytes"));
        ExposedMemory { base: word(0), bytes: word(8), key: word(16), number }
    }

    /// The place of `bytes` bytes at `offset`; `None` if they do not lie within the memory.
    pub fn part(&self, offset: u64, bytes: usize) -> Option<u64> {
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= self.bytes)?;
        self.base.checked_add(end).map(|_| self.base + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_carries_what_was_exposed() {
        let exposed = ExposedMemory { base: 0x1234_5678_9abc, bytes: 1000, key: 1 << 40 | 7, number: 9 };
        assert_eq!(ExposedMemory::of(&exposed.emit()), exposed);
        assert_eq!(exposed.part(10, 990), Some(0x1234_5678_9ac6));
        assert_eq!((exposed.part(11, 990), exposed.part(u64::MAX, 2)), (None, None));
        let beyond = ExposedMemory { base: u64::MAX - 10, ..exposed };
        assert_eq!((beyond.part(0, 11), beyond.part(9, 1)), (None, Some(u64::MAX - 1)));
    }
}
