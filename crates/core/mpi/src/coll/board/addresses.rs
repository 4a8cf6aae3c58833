//! The addresses of all members' vectors: the records with which a direct collective begins.

use super::short::Exchange;
use crate::error::Result;
use verbena_memory::Region;

/// The record of a member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VectorAddress {
    /// The address of its operand.
    pub(super) from: u64,
    /// The address of its result.
    pub(super) to: u64,
    pub(super) bytes: u64,
    /// The flags [`VectorAddress::REACHES`] and [`VectorAddress::IN_PLACE`], and above them the
    /// bytes of a part.
    pub(super) flags: u64,
}

impl VectorAddress {
    const BYTES: usize = 32;
    /// Set if it can read and write the memory of all others.
    pub(super) const REACHES: u64 = 1;
    /// Set if its result takes the place of its operand.
    pub(super) const IN_PLACE: u64 = 2;
    /// The place of the bytes of a part in the flags.
    pub(super) const PIECE_AT: u32 = 2;

    fn emit(self) -> [u8; VectorAddress::BYTES] {
        let mut out = [0; VectorAddress::BYTES];
        for (i, word) in [self.from, self.to, self.bytes, self.flags].into_iter().enumerate() {
            out[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    fn parse(record: Region) -> VectorAddress {
        let word = |i: usize| {
            let mut bytes = [0; 8];
            record.read(8 * i, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        VectorAddress { from: word(0), to: word(1), bytes: word(2), flags: word(3) }
    }

    /// The bytes of a part.
    pub(super) fn piece(&self) -> u64 {
        self.flags >> VectorAddress::PIECE_AT
    }

    pub(super) fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

/// The records: every member shows its own and reads all.
pub(super) struct VectorAddresses {
    pub(super) mine: VectorAddress,
    pub(super) all: Vec<VectorAddress>,
}

impl Exchange for VectorAddresses {
    const MEETS: bool = true;

    fn bytes(&self, _: usize) -> Option<usize> {
        Some(VectorAddress::BYTES)
    }
    fn write(&mut self, record: Region) -> Result<()> {
        record.write(0, &self.mine.emit());
        Ok(())
    }
    fn reads(&self, _: usize) -> bool {
        true
    }
    fn read(&mut self, _: usize, record: Region) -> Result<()> {
        self.all.push(VectorAddress::parse(record));
        Ok(())
    }
}
