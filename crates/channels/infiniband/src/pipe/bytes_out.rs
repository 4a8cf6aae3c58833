//! The sender's end of a pipe of bytes with pointers (paper 2, 4.2).
//!
//! Put is: copy into the own ring, write the data into the peer's ring, write the head pointer. If
//! the data goes past the end of the ring it takes two writes.

use super::layout::Layout;
use super::line::Line;
use super::sources::Sources;
use crate::rc::adapter::{Adapter, Remote};
use crate::rc::pinned::Pinned;
use std::sync::atomic::Ordering;
use verbena_channel::Payload;
use verbena_fault::Fault;

/// The sender's end. All counts are of bytes ever, so the place in the ring is the rest of a
/// division.
#[derive(Debug)]
pub(super) struct BytesOut {
    layout: Layout,
    to: Remote,
    /// The master copy of the head pointer: bytes that were put.
    put: u64,
    /// The bytes of these whose write is posted.
    posted: u64,
    /// The head pointer that was written.
    told: u64,
    /// The replica of the tail pointer: bytes that the peer has taken.
    taken: u64,
}

impl BytesOut {
    pub(super) fn new(layout: Layout, to: Remote) -> BytesOut {
        BytesOut { layout, to, put: 0, posted: 0, told: 0, taken: 0 }
    }

    /// Returns the bytes that the peer has taken, as far as is known.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns whether all that was put is posted, and the peer will know.
    pub(super) fn is_posted(&self) -> bool {
        self.told == self.put
    }

    /// Takes in the tail pointer. If it is being written byte by byte, only a part may be there:
    /// that is never ahead of the whole one (`rc/ring/incoming.rs`), so one that goes back, or
    /// beyond what was written, says nothing.
    pub(super) fn hear_tail(&mut self, inbox: &Pinned) {
        let word = inbox.word(self.layout.tail_at()).load(Ordering::Acquire);
        if let Some(taken) = pointer(u64::from_le(word), self.taken, self.posted - self.taken) {
            self.taken = taken;
        }
    }

    pub(super) fn put<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        from: &[Payload<'_>],
    ) -> Result<usize, Fault> {
        self.hear_tail(line.inbox);
        let mut sources = Sources::new(from);
        let before = self.put;
        while self.put - self.taken < self.layout.ring_bytes as u64 {
            let (at, room) = self.free_part();
            let copied = sources.copy_to(line.outbox.memory.region().part(at, room));
            line.copied(copied);
            self.put += copied as u64;
            if copied == 0 {
                break;
            }
        }
        self.post(line)?;
        Ok((self.put - before) as usize)
    }

    /// The offset of the first free byte, and how many lie behind each other there.
    fn free_part(&self) -> (usize, usize) {
        let ring = self.layout.ring_bytes as u64;
        let (at, free) = (self.put % ring, ring - (self.put - self.taken));
        (at as usize, free.min(ring - at) as usize)
    }

    /// Posts the data that was put, then the head pointer.
    pub(super) fn post<A: Adapter>(&mut self, line: &mut Line<'_, A>) -> Result<(), Fault> {
        let ring = self.layout.ring_bytes as u64;
        while self.posted < self.put {
            let at = self.posted % ring;
            let bytes = (self.put - self.posted).min(ring - at);
            let to = Remote { address: self.to.address + at, ..self.to };
            if !line.write(at as usize, bytes as usize, to)? {
                return Ok(());
            }
            self.posted += bytes;
        }
        if self.told < self.posted {
            let to = Remote { address: self.to.address + self.layout.head_at() as u64, ..self.to };
            if line.write_word(self.posted, to)? {
                self.told = self.posted;
            }
        }
        Ok(())
    }
}

/// Returns the pointer that a peer wrote, if it lies at most `most` ahead of the one that is known.
pub(super) fn pointer(written: u64, known: u64, most: u64) -> Option<u64> {
    (1..=most).contains(&written.wrapping_sub(known)).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_that_is_torn_or_wrong_says_nothing() {
        assert_eq!(pointer(0x0200, 0x01ff, 1), Some(0x0200));
        // Its low byte is new, the next one still old.
        assert_eq!(pointer(0x0100, 0x01ff, 1), None);
        assert_eq!(pointer(0x0201, 0x01ff, 1), None);
        assert_eq!(pointer(u64::MAX, 0, 5), None);
    }
}
