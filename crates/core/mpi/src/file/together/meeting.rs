//! A meeting: every process tells all others the same number of words.

use crate::coll::blocks::Blocks;
use crate::coll::{Collective, operations};
use crate::comm::Comm;
use crate::error::Result;
use crate::process::Access;
use std::sync::Arc;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Owned};

/// A meeting that was begun.
pub(super) struct Meeting {
    /// `None` once it has ended.
    collective: Option<Box<Collective>>,
    /// The words of this process; messages may read them until the end.
    _mine: Owned,
    all: Owned,
    words: usize,
}

impl Meeting {
    /// Begins a meeting of all members, with messages of this tag.
    pub(super) fn new(comm: &Comm, tag: i32, words: &[u64]) -> Meeting {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (mine, all) = (Owned::from(&bytes[..]), Owned::zeroed(bytes.len() * comm.size() as usize));
        let byte = Arc::new(Layout::contiguous(1));
        let elements = Elements::at_origins(all.lend(), &byte);
        let mut collective = Collective::of(comm, tag);
        let blocks = Blocks::Even { elements, count: bytes.len() };
        operations::allgather(collective.schedule(), comm, Some(Buffer::Contiguous(mine.lend())), blocks);
        Meeting { collective: Some(collective), _mine: mine, all, words: words.len() }
    }

    /// Goes on. Returns the words of each process, in the order of ranks, once all are there.
    pub(super) fn advance(&mut self, access: &mut impl Access) -> Result<Option<Vec<Vec<u64>>>> {
        if let Some(collective) = &mut self.collective {
            if !collective.advance(access, None)? {
                return Ok(None);
            }
            self.collective.take().into_iter().for_each(Collective::recycle);
        }
        let (region, words) = (self.all.lend(), self.words);
        let ranks = region.len() / (8 * words.max(1));
        let word = |rank: usize, i: usize| region.load(8 * (rank * words + i));
        Ok(Some((0..ranks).map(|rank| (0..words).map(|i| word(rank, i)).collect()).collect()))
    }
}
