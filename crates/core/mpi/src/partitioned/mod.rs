//! Partitioned communication (MPI-5.0, 4.2): a message whose parts travel as soon as each is ready.
//!
//! It is made entirely of the engine's ordinary messages:
//!
//! 1. `MPI_Psend_init` takes a matching context of its own and sends an *announcement*: that
//!    context, the number of partitions and of bytes. It goes out in the communicator's context for
//!    [partitioned traffic](crate::comm::Traffic::Partitioned) with the program's tag;
//!    `MPI_Precv_init` posts a receive for it. So the two sides are matched once, in the order of
//!    their initialisations, by (communicator, rank, tag), and never with the program's other
//!    messages.
//! 2. `MPI_Pready` sends the partition as one message in the new context, its number as the tag.
//!    Nothing waits for the receiver or for other partitions.
//! 3. A started receiver that knows the announcement receives each of the *sender's* partitions
//!    straight into its place. A partition of its own has arrived when those that cover it have,
//!    which follows from the lengths: partitions of one side are all equally long. A receive may
//!    have more room than is sent, as with any other message; what lies behind the message has
//!    arrived with the whole.
//!
//! A new round needs no messages to begin: it begins when the old one is complete, and messages of
//! one context and tag keep their order.

mod error;
mod receive;
mod send;

pub use receive::{Handshake, Receiving};
pub use send::{Announcement, Sending};

use crate::error::Result;
use crate::outcome::Outcome;
use crate::process::{Access, Process};
use std::ops::Range;
use std::sync::Arc;
use verbena_memory::Buffer;

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

    /// Converts a partition's number to an index. `MPI_ERR_ARG` if there is no such partition.
    fn index(&self, partition: i32) -> Result<usize> {
        let index = usize::try_from(partition).ok().filter(|&index| index < self.count);
        index.ok_or_else(|| error::no_partition(partition, self.count))
    }

    /// Bytes of one partition.
    fn each(&self) -> usize {
        self.bytes() / self.count
    }
}

/// The contents of an announcement: the sender's partitions, all equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Announced {
    /// The context in which they are sent.
    context: u64,
    count: usize,
    /// Bytes of all partitions.
    bytes: usize,
}

impl Announced {
    /// Reads an announcement; `None` for words that no sender sends: it has a partition or
    /// more, all equally long.
    fn read([context, count, bytes]: [u64; 3]) -> Option<Announced> {
        let [count, bytes] = [count, bytes].map(usize::try_from);
        let announced = Announced { context, count: count.ok()?, bytes: bytes.ok()? };
        (1..=i32::MAX as usize).contains(&announced.count).then_some(())?;
        announced.bytes.is_multiple_of(announced.count).then_some(announced)
    }

    /// Bytes of one partition.
    fn each(&self) -> usize {
        self.bytes / self.count
    }

    /// The partitions of the sender that must arrive before the receiver's partition `index` has:
    /// those that share a byte with it, and all if it lies behind the message. If neither side has
    /// bytes, both are taken to have equally many.
    fn cover(&self, index: usize, own: &Partitions) -> Range<usize> {
        if own.bytes() == 0 {
            return self.cover_empty(index, own.count);
        }
        let first = index * own.each();
        if first >= self.bytes {
            return 0..self.count;
        }
        first / self.each()..(first + own.each()).min(self.bytes).div_ceil(self.each())
    }

    fn cover_empty(&self, index: usize, count: usize) -> Range<usize> {
        let scaled = |index: usize| index as u64 * self.count as u64;
        (scaled(index) / count as u64) as usize..scaled(index + 1).div_ceil(count as u64) as usize
    }
}

/// The operation behind a partitioned request.
#[derive(Clone)]
pub enum Partitioned {
    /// Made by `MPI_Psend_init`.
    Send(Arc<Sending>),
    /// Made by `MPI_Precv_init`.
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

    /// Returns how the round ended, if it has.
    pub fn poll(&self, process: &Process) -> Option<Outcome> {
        match self {
            Partitioned::Send(sending) => sending.poll(&mut { process }),
            Partitioned::Receive(receiving) => receiving.poll(&mut { process }),
        }
    }

    /// Returns `MPI_ERR_ARG` if there is no partition of this number.
    pub fn check(&self, partition: i32) -> Result<()> {
        let partitions = match self {
            Partitioned::Send(sending) => sending.partitions(),
            Partitioned::Receive(receiving) => receiving.partitions(),
        };
        partitions.index(partition).map(|_| ())
    }

    /// Marks partitions as ready (`MPI_Pready` and its kin). `MPI_ERR_REQUEST` for a receive.
    /// `MPI_ERR_ARG` for a partition that does not exist or is ready already; then none is marked.
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

    /// Notes that the program gave the request up: what is under way ends by itself.
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
    use verbena_memory::Owned;

    fn partitions(count: usize, each: usize) -> Partitions {
        let memory = Owned::zeroed(count * each);
        Partitions { buffer: Buffer::Contiguous(memory.lend()), count }
    }

    /// Checked against the definition: the ranges of bytes overlap.
    #[test]
    fn partitions_are_covered_by_those_that_hold_their_bytes() {
        for (count, each, theirs, each_of_theirs) in
            [(1, 1, 1, 1), (1, 5, 5, 1), (4, 6, 6, 4), (3, 7, 7, 3), (8, 2, 2, 8), (2, 3, 1, 3), (4, 5, 3, 4)]
        {
            let own = partitions(count, each);
            let announced = Announced { context: 0, count: theirs, bytes: theirs * each_of_theirs };
            for index in 0..count {
                let bytes = index * each..(index + 1) * each;
                let is_behind = bytes.start >= announced.bytes;
                let overlaps = |i: &usize| {
                    is_behind || i * each_of_theirs < bytes.end && (i + 1) * each_of_theirs > bytes.start
                };
                let expected: Vec<usize> = (0..theirs).filter(overlaps).collect();
                assert_eq!(announced.cover(index, &own).collect::<Vec<_>>(), expected);
            }
        }
        let nothing = Announced { context: 0, count: 3, bytes: 0 };
        assert_eq!(
            (0..2).map(|index| nothing.cover(index, &partitions(2, 0))).collect::<Vec<_>>(),
            [0..2, 1..3]
        );
        assert_eq!(nothing.cover(0, &partitions(2, 4)), 0..3);
    }

    #[test]
    fn words_that_no_sender_says_are_refused() {
        assert_eq!(Announced::read([7, 3, 12]), Some(Announced { context: 7, count: 3, bytes: 12 }));
        for words in [[7, 0, 0], [7, 3, 13], [7, u64::MAX, 0], [7, 1 << 31, 0]] {
            assert_eq!(Announced::read(words), None, "{words:?}");
        }
    }
}
