//! The records by which the members of a reduction meet, and find out that their lengths differ.

use super::direct::of_other_length;
use super::results::Results;
use super::short::Exchange;
use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_COUNT;
use verbena_memory::Region;

/// A record: the bytes of the vector, the elements of the longest share, and a digest of the
/// lengths of all shares.
pub(super) struct Lengths {
    mine: [u64; 3],
}

impl Lengths {
    /// The record of a member that gets these results of a vector of `count` elements of `size`
    /// bytes.
    pub(super) fn new(results: Results, ranks: usize, (count, size): (usize, usize)) -> Lengths {
        let lengths = || (0..ranks).map(|rank| results.share(count, ranks, rank).1);
        let longest = lengths().max().unwrap_or(0);
        Lengths { mine: [(count * size) as u64, longest as u64, digest(lengths())] }
    }

    /// The elements of the longest share.
    pub(super) fn longest(&self) -> usize {
        self.mine[1] as usize
    }
}

/// A number that lengths in another order, or others, have not (FNV-1a).
fn digest(lengths: impl Iterator<Item = usize>) -> u64 {
    let add = |hash: u64, length: usize| (hash ^ length as u64).wrapping_mul(0x0100_0000_01b3);
    lengths.fold(0xcbf2_9ce4_8422_2325, add)
}

impl Exchange for Lengths {
    const MEETS: bool = true;

    fn bytes(&self, _: usize) -> Option<usize> {
        Some(size_of::<[u64; 3]>())
    }
    fn write(&mut self, record: Region) -> Result<()> {
        for (at, word) in self.mine.iter().enumerate() {
            record.write(8 * at, &word.to_le_bytes());
        }
        Ok(())
    }
    fn reads(&self, _: usize) -> bool {
        true
    }
    fn read(&mut self, rank: usize, record: Region) -> Result<()> {
        let word = |at: usize| {
            let mut bytes = [0; 8];
            record.read(at, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        let (theirs, own) = ([word(0), word(8), word(16)], self.mine);
        match theirs == own {
            true => Ok(()),
            false if theirs[0] == own[0] => Err(of_other_blocks(rank, theirs[1], own[1])),
            false => Err(of_other_length(rank, theirs[0], own[0])),
        }
    }
}

#[cold]
fn of_other_blocks(rank: usize, theirs: u64, own: u64) -> Error {
    Error::new(
        MPI_ERR_COUNT,
        "the ranks of a communicator gave different block lengths to a reduction",
        format!("a longest block of {theirs} elements at rank {rank} of the communicator, {own} here"),
        "the counts of the ranks do not match",
        "give the same counts on all ranks",
    )
}
