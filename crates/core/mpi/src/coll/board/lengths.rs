//! The records by which the members of a reduction meet, and find out that their lengths differ, or
//! the pieces in which they reduce them.

use super::differing::of_other_pieces;
use super::direct::of_other_length;
use super::results::Results;
use super::short::Exchange;
use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_COUNT;
use verbena_memory::Region;

/// A record: the bytes of the vector, the elements of the longest share, a digest of the lengths of
/// all shares, and two measures of the pieces.
pub(super) struct Lengths {
    mine: [u64; WORDS],
}

/// The words of a record: not as many as other records that tell what is elsewhere have.
const WORDS: usize = 5;

impl Lengths {
    /// The record of a member that gets these results of a vector of `count` elements of `size`
    /// bytes, reduced in such pieces.
    pub(super) fn new(
        results: Results,
        ranks: usize,
        (count, size): (usize, usize),
        pieces: [usize; 2],
    ) -> Lengths {
        let lengths = || (0..ranks).map(|rank| results.share(count, ranks, rank).1);
        let longest = lengths().max().unwrap_or(0);
        let [piece, many] = pieces.map(|measure| measure as u64);
        Lengths { mine: [(count * size) as u64, longest as u64, digest(lengths()), piece, many] }
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
        Some(size_of::<[u64; WORDS]>())
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
        let theirs: [u64; WORDS] = std::array::from_fn(|at| {
            let mut bytes = [0; 8];
            record.read(8 * at, &mut bytes);
            u64::from_le_bytes(bytes)
        });
        let own = self.mine;
        match theirs.iter().zip(&own).position(|(theirs, own)| theirs != own) {
            None => Ok(()),
            Some(0) => Err(of_other_length(rank, theirs[0], own[0])),
            Some(1 | 2) => Err(of_other_blocks(rank, theirs[1], own[1])),
            Some(at) => Err(of_other_pieces(rank, theirs[at], own[at])),
        }
    }
}

#[cold]
fn of_other_blocks(rank: usize, theirs: u64, own: u64) -> Error {
    Error::new(
        MPI_ERR_COUNT,
        "the ranks of a communicator gave different block lengths to a reduction",
        format!(
            "a longest block of {} at rank {rank} of the communicator, {own} here",
            verbena_fault::count(theirs, "element")
        ),
        "the counts of the ranks do not match",
        "give the same counts on all ranks",
    )
}
