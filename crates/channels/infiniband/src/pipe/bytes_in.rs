//! The receiver's end of a pipe of bytes with pointers (paper 2, 4.2).
//!
//! Get is: compare the pointers, copy, write the tail pointer. It is written once the pipe is found
//! empty, or half of the ring was taken: so a message costs one such write, however many parts of
//! it the caller asks for.

use super::bytes_out::pointer;
use super::layout::Layout;
use super::line::Line;
use crate::rc::adapter::{Adapter, Remote};
use std::sync::atomic::Ordering;
use verbena_fault::Fault;
use verbena_memory::Region;

/// The receiver's end.
#[derive(Debug)]
pub(super) struct BytesIn {
    layout: Layout,
    /// The peer's inbox.
    to: Remote,
    /// The replica of the head pointer: bytes that have come.
    come: u64,
    /// The master copy of the tail pointer: bytes that were taken.
    taken: u64,
    /// The tail pointer that was written.
    told: u64,
}

impl BytesIn {
    pub(super) fn new(layout: Layout, to: Remote) -> BytesIn {
        BytesIn { layout, to, come: 0, taken: 0, told: 0 }
    }

    /// Returns the bytes that were taken.
    pub(super) fn tail(&self) -> u64 {
        self.taken
    }

    pub(super) fn get<A: Adapter>(&mut self, line: &mut Line<'_, A>, into: Region) -> Result<usize, Fault> {
        let word = u64::from_le(line.inbox.word(self.layout.head_at()).load(Ordering::Acquire));
        let ring = self.layout.ring_bytes as u64;
        // The sender never has more in the ring than fits.
        let ahead = self.taken + ring - self.come;
        self.come = pointer(word, self.come, ahead).unwrap_or(self.come);
        let mut got = 0;
        while got < into.len() && self.taken < self.come {
            let at = self.taken % ring;
            let bytes = (self.come - self.taken).min(ring - at).min((into.len() - got) as u64) as usize;
            into.put(got, line.inbox.region().part(at as usize, bytes));
            line.copied(bytes);
            got += bytes;
            self.taken += bytes as u64;
        }
        if got < into.len() || self.taken - self.told >= ring / 2 {
            self.tell(line)?;
        }
        Ok(got)
    }

    /// Writes the tail pointer, if the peer does not know it.
    fn tell<A: Adapter>(&mut self, line: &mut Line<'_, A>) -> Result<(), Fault> {
        if self.told < self.taken {
            let to = Remote { address: self.to.address + self.layout.tail_at() as u64, ..self.to };
            if line.write_word(self.taken, to)? {
                self.told = self.taken;
            }
        }
        Ok(())
    }
}
