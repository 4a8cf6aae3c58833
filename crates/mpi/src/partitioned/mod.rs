//! Partitioned communication (MPI-5.0, 4.2): a message whose parts travel as soon as each is ready.
//!
//! All of it is made of the engine's ordinary messages:
//!
//! 1. `MPI_Psend_init` takes a matching context of its own and sends an *announcement*: that context, the number
//!    of partitions and of bytes. It goes out in the communicator's context for
//!    [partitioned traffic](crate::comm::Traffic::Partitioned) with the program's tag; `MPI_Precv_init` posts a receive
//!    for it. So the two sides are matched once, in the order of their initialisations, by
//!    (communicator, rank, tag), and never with the program's other messages.
//! 2. `MPI_Pready` sends the partition as one message in the new context, its number as the tag. Nothing waits
//!    for the receiver or for other partitions.
//! 3. A started receiver that knows the announcement receives each of the *sender's* partitions straight
//!    into its place. A partition of its own has arrived when those that cover it have: as partitions of one side
//!    are all equally long, partition `j` of `r` is covered by those of `s` from `j*s/r` to `(j+1)*s/r`.
//!
//! A new round needs no talk: it begins when the old one is complete, and messages of one context and tag keep
//! their order.

mod error;
mod receive;
mod send;

pub use receive::{Handshake, Receiving};
pub use send::{Announcement, Sending};

use crate::error::Result;
use crate::process::{Access, Process};
use crate::request::Outcome;
use std::ops::Range;
use std::sync::Arc;
use verbena_channel::memory::Buffer;

/// One side's buffer, cut into equally long partitions.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// The whole buffer.
    pub buffer: Buffer,
    /// Number of partitions; the buffer's length is a multiple of it.
    pub count: usize,
}

impl Partitions {
    /// Bytes of all partitions.
    fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// A partition's number as an index. `MPI_ERR_ARG` if there is no such partition.
    fn index(&self, partition: i32) -> Result<usize> {
        let index = usize::try_from(partition).ok().filter(|&index| index < self.count);
        index.ok_or_else(|| error::no_partition(partition, self.count))
    }

    /// Partition `index`, counted among `count` ones of the same buffer.
    fn part(&self, index: usize, count: usize) -> Buffer {
        let len = self.bytes() / count;
        self.buffer.part(index * len, len)
    }
}

/// Those of `covering` equally long partitions that hold the bytes of partition `index` of `count`. Where there
/// are no bytes it is as if there were.
fn cover(index: usize, count: usize, covering: usize) -> Range<usize> {
    let scaled = |index: usize| index as u128 * covering as u128;
    let count = count as u128;
    (scaled(index) / count) as usize..scaled(index + 1).div_ceil(count) as usize
}

/// The operation behind a partitioned request.
#[derive(Clone)]
pub enum Partitioned {
    /// Of `MPI_Psend_init`.
    Send(Arc<Sending>),
    /// Of `MPI_Precv_init`.
    Receive(Arc<Receiving>),
}

impl Partitioned {
    /// Begins a round (`MPI_Start`); the one before has ended.
    pub fn start(&self, process: &Process) {
        match self {
            Partitioned::Send(sending) => sending.start(),
            Partitioned::Receive(receiving) => receiving.start(&mut { process }),
        }
    }

    /// How the round ended, if it has.
    pub fn poll(&self, process: &Process) -> Option<Outcome> {
        match self {
            Partitioned::Send(sending) => sending.poll(&mut { process }),
            Partitioned::Receive(receiving) => receiving.poll(&mut { process }),
        }
    }

    /// `MPI_ERR_ARG` if there is no partition of this number.
    pub fn check(&self, partition: i32) -> Result<()> {
        let partitions = match self {
            Partitioned::Send(sending) => sending.partitions(),
            Partitioned::Receive(receiving) => receiving.partitions(),
        };
        partitions.index(partition).map(|_| ())
    }

    /// Marks partitions as ready (`MPI_Pready` and its kin). `MPI_ERR_REQUEST` for a receive, `MPI_ERR_ARG` for a
    /// partition that does not exist or is ready already; then none is marked.
    pub fn ready(&self, access: &mut impl Access, partitions: &[i32]) -> Result<()> {
        match self {
            Partitioned::Send(sending) => sending.ready(access, partitions),
            Partitioned::Receive(_) => Err(error::wrong_side("partitions of a receive cannot be made ready")),
        }
    }

    /// The receive; `MPI_ERR_REQUEST` for a send.
    pub fn receiving(&self) -> Result<&Receiving> {
        match self {
            Partitioned::Receive(receiving) => Ok(receiving),
            Partitioned::Send(_) => Err(error::wrong_side("partitions of a send do not arrive")),
        }
    }

    /// The program gave the request up: what is under way ends by itself.
    pub fn release(&self, process: &Process) {
        match self {
            Partitioned::Send(sending) => sending.release(&mut { process }),
            Partitioned::Receive(receiving) => receiving.release(&mut { process }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition: the ranges of bytes overlap.
    #[test]
    fn partitions_are_covered_by_those_that_hold_their_bytes() {
        for (count, covering) in [(1, 1), (1, 5), (5, 1), (4, 6), (6, 4), (3, 7), (8, 2)] {
            let (own, other) = (covering, count); // bytes of a partition, of count * covering in all
            for index in 0..count {
                let bytes = index * own..(index + 1) * own;
                let overlaps = |i: &usize| i * other < bytes.end && (i + 1) * other > bytes.start;
                let expected: Vec<usize> = (0..covering).filter(overlaps).collect();
                assert_eq!(cover(index, count, covering).collect::<Vec<_>>(), expected);
            }
        }
        assert!(cover(1, 3, 0).is_empty());
    }
}
