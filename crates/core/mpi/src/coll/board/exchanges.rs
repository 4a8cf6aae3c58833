//! The short collectives: the record that each member writes to its log, and how it reads those of
//! the others.

use super::short::Exchange;
use crate::coll::Blocks;
use crate::coll::execute::{Reduction, copy, too_short};
use crate::error::Result;
use std::ops::Range;
use verbena_channel::board::Packing;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};

/// Copies a packed record to its place; an error if it does not fit.
#[inline]
fn unpack(record: Region, to: &Buffer) -> Result<()> {
    copy(&Buffer::Contiguous(record), to)
}

/// `MPI_Barrier`: everybody says that it is there.
pub struct Barrier;

impl Exchange for Barrier {
    #[inline]
    fn bytes(&self, _: usize) -> Option<usize> {
        Some(0)
    }
    #[inline]
    fn write(&mut self, _: Region) -> Result<()> {
        Ok(())
    }
    #[inline]
    fn reads(&self, _: usize) -> bool {
        true
    }
    #[inline]
    fn read(&mut self, _: usize, _: Region) -> Result<()> {
        Ok(())
    }
}

/// `MPI_Bcast`: only the root writes.
pub struct Bcast<'a> {
    /// The message, from the root or to be filled.
    pub buffer: &'a Buffer,
    /// The rank that has it.
    pub root: usize,
    /// The caller.
    pub me: usize,
}

impl Exchange for Bcast<'_> {
    const PACKING: Packing = Packing::Tight;

    #[inline]
    fn bytes(&self, rank: usize) -> Option<usize> {
        (rank == self.root).then(|| self.buffer.len())
    }
    #[inline]
    fn write(&mut self, record: Region) -> Result<()> {
        self.buffer.pack(0, record);
        Ok(())
    }
    #[inline]
    fn reads(&self, rank: usize) -> bool {
        rank != self.me
    }
    #[inline]
    fn read(&mut self, _: usize, record: Region) -> Result<()> {
        unpack(record, self.buffer)
    }
}

/// Reductions: everybody writes its operand. A member with a result combines the operands that it
/// consists of, in rank order. So all members that compute the same result get the same bits.
pub struct Fold<'a> {
    /// This member's operand.
    pub send: Elements<'a>,
    /// The number of elements of an operand.
    pub count: usize,
    /// The members whose operands make this member's result.
    pub from: Range<usize>,
    /// The first element of the operands that this member combines, and the number of elements.
    pub part: (usize, usize),
    /// The place of the result; `None` if this member has none.
    pub recv: Option<Elements<'a>>,
    /// The reduction: a predefined operation on a predefined datatype.
    pub reduction: Reduction<'a>,
    /// The operand, or nothing if there is none yet or the result is in place already.
    pub first: Option<Region>,
}

impl Fold<'_> {
    fn operand(&self, record: Region) -> Region {
        let size = self.send.bytes(1);
        let (first, count) = self.part;
        record.part(first * size, count * size)
    }
}

impl Exchange for Fold<'_> {
    #[inline]
    fn bytes(&self, _: usize) -> Option<usize> {
        Some(self.send.bytes(self.count))
    }
    #[inline]
    fn write(&mut self, record: Region) -> Result<()> {
        self.send.buffer(0, self.count).pack(0, record);
        Ok(())
    }
    #[inline]
    fn reads(&self, rank: usize) -> bool {
        self.recv.is_some() && self.from.contains(&rank)
    }
    #[inline]
    fn read(&mut self, rank: usize, record: Region) -> Result<()> {
        let Some(recv) = self.recv else { return Ok(()) };
        let (count, operand) = (self.part.1, self.operand(record));
        if count == 0 {
            return Ok(());
        }
        if rank == self.from.start {
            self.first = Some(operand);
            return Ok(());
        }
        let (out, Reduction { op, datatype }) = (recv.origins(count), self.reduction);
        op.combine(self.first.take().unwrap_or(out), operand, out, count, datatype)
    }
    #[inline]
    fn finish(&mut self) -> Result<()> {
        match (self.first, self.recv) {
            (Some(only), Some(recv)) => unpack(only, &recv.buffer(0, self.part.1)),
            _ => Ok(()),
        }
    }
}

/// `MPI_Allgather` and `MPI_Allgatherv`: everybody writes its block and reads all others.
pub struct Allgather<'a> {
    /// This member's block.
    pub mine: Buffer,
    /// The place of all blocks.
    pub recv: Blocks<'a>,
    /// The caller.
    pub me: usize,
}

impl Exchange for Allgather<'_> {
    #[inline]
    fn bytes(&self, rank: usize) -> Option<usize> {
        Some(self.recv.bytes(rank))
    }
    #[inline]
    fn write(&mut self, record: Region) -> Result<()> {
        put(&self.mine, record)
    }
    #[inline]
    fn reads(&self, rank: usize) -> bool {
        rank != self.me
    }
    #[inline]
    fn read(&mut self, rank: usize, record: Region) -> Result<()> {
        unpack(record, &self.recv.buffer(rank))
    }
}

/// `MPI_Gather`: everybody but the root writes its block, and the root reads them.
pub struct Gather<'a> {
    /// This member's block; not used at the root.
    pub mine: Buffer,
    /// Bytes of a block.
    pub block: usize,
    /// The place of the blocks, at the root.
    pub recv: Option<Blocks<'a>>,
    /// The rank that gets them.
    pub root: usize,
}

impl Exchange for Gather<'_> {
    #[inline]
    fn bytes(&self, rank: usize) -> Option<usize> {
        (rank != self.root).then_some(self.block)
    }
    #[inline]
    fn write(&mut self, record: Region) -> Result<()> {
        copy(&self.mine, &Buffer::Contiguous(record))
    }
    #[inline]
    fn reads(&self, _: usize) -> bool {
        self.recv.is_some()
    }
    #[inline]
    fn read(&mut self, rank: usize, record: Region) -> Result<()> {
        self.recv.map_or(Ok(()), |recv| unpack(record, &recv.buffer(rank)))
    }
}

/// `MPI_Scatter`: the root writes all blocks, and everybody else reads its own.
pub struct Scatter<'a> {
    /// The blocks, at the root.
    pub send: Option<Blocks<'a>>,
    /// Bytes of a block.
    pub block: usize,
    /// The place of this member's block; not used at the root.
    pub mine: Buffer,
    /// Number of members.
    pub ranks: usize,
    /// The rank that has the blocks.
    pub root: usize,
    /// The caller.
    pub me: usize,
}

impl Exchange for Scatter<'_> {
    const PACKING: Packing = Packing::Tight;

    #[inline]
    fn bytes(&self, rank: usize) -> Option<usize> {
        (rank == self.root).then_some(self.block * self.ranks)
    }
    #[inline]
    fn write(&mut self, record: Region) -> Result<()> {
        match self.send {
            Some(send) => write_blocks(send, record, self.block, self.me, self.ranks),
            None => Ok(()),
        }
    }
    #[inline]
    fn reads(&self, _: usize) -> bool {
        self.me != self.root
    }
    #[inline]
    fn read(&mut self, _: usize, record: Region) -> Result<()> {
        unpack(record.part(self.me * self.block, self.block), &self.mine)
    }
}

/// `MPI_Alltoall`: everybody writes its blocks for all others and reads its own ones.
pub struct Alltoall<'a> {
    /// The blocks that go out.
    pub send: Blocks<'a>,
    /// The blocks that come in.
    pub recv: Blocks<'a>,
    /// Bytes of a block.
    pub block: usize,
    /// Number of members.
    pub ranks: usize,
    /// The caller.
    pub me: usize,
}

impl Alltoall<'_> {
    /// The place of the block from one member to another in a record, which lacks the writer's
    /// block to itself.
    #[inline]
    fn place(&self, record: Region, from: usize, to: usize) -> Region {
        record.part((to - usize::from(to > from)) * self.block, self.block)
    }
}

impl Exchange for Alltoall<'_> {
    #[inline]
    fn bytes(&self, _: usize) -> Option<usize> {
        Some(self.block * (self.ranks - 1))
    }
    #[inline]
    fn write(&mut self, record: Region) -> Result<()> {
        (0..self.ranks)
            .filter(|&rank| rank != self.me)
            .try_for_each(|rank| put(&self.send.buffer(rank), self.place(record, self.me, rank)))
    }
    #[inline]
    fn reads(&self, rank: usize) -> bool {
        rank != self.me
    }
    #[inline]
    fn read(&mut self, rank: usize, record: Region) -> Result<()> {
        unpack(self.place(record, rank, self.me), &self.recv.buffer(rank))
    }
}

/// Puts what this member gives into its place in a record; an error if it does not fill that.
#[inline]
fn put(given: &Buffer, record: Region) -> Result<()> {
    if given.len() < record.len() {
        return Err(too_short(given.len() as u64, record.len(), "within this rank"));
    }
    copy(given, &Buffer::Contiguous(record))
}

/// Packs all blocks but the caller's own, each at its place.
fn write_blocks(blocks: Blocks, record: Region, block: usize, me: usize, ranks: usize) -> Result<()> {
    (0..ranks).filter(|&rank| rank != me).try_for_each(|rank| {
        copy(&blocks.buffer(rank), &Buffer::Contiguous(record.part(rank * block, block)))
    })
}
