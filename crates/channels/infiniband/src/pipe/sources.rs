//! The list of buffers that `put` is given, gone through from its front.

use verbena_channel::Payload;
use verbena_memory::Region;

/// The buffers, and how far they were put.
pub(super) struct Sources<'a> {
    list: &'a [Payload<'a>],
    /// The bytes of the first one that were put.
    offset: usize,
    /// The length from which a buffer is not copied.
    long_bytes_min: usize,
    /// The end of a buffer that is copied, however long it is.
    copied_end: Option<u64>,
}

impl<'a> Sources<'a> {
    /// Begins with the first buffer; all are to be copied.
    pub(super) fn new(list: &'a [Payload<'a>]) -> Sources<'a> {
        Sources { list, offset: 0, long_bytes_min: usize::MAX, copied_end: None }
    }

    /// Copies no buffer of this length, unless it ends there or is scattered.
    pub(super) fn spare_long(&mut self, bytes_min: usize, copied_end: Option<u64>) {
        (self.long_bytes_min, self.copied_end) = (bytes_min, copied_end);
    }

    /// Returns the buffer that comes next, if it is one that is not copied.
    pub(super) fn long(&mut self) -> Option<Region> {
        self.skip_empty();
        let first = self.list.first().filter(|_| self.offset == 0)?;
        let region = match first {
            Payload::Bytes(_) => return None,
            Payload::Region(region) => *region,
            Payload::Buffer { buffer, offset, len } => buffer.region()?.part(*offset, *len),
        };
        let is_spared = self.copied_end != Some(region.address() + region.len() as u64);
        (region.len() >= self.long_bytes_min && is_spared).then_some(region)
    }

    /// Notes that the first buffer was put as a whole.
    pub(super) fn pass(&mut self) {
        self.list = &self.list[1..];
        self.offset = 0;
    }

    /// Copies what comes next into this memory, up to a buffer that is not copied, and returns how
    /// many bytes that were.
    pub(super) fn copy_to(&mut self, into: Region) -> usize {
        let mut copied = 0;
        while copied < into.len() && self.long().is_none() {
            let Some(first) = self.list.first() else { break };
            let bytes = (first.len() - self.offset).min(into.len() - copied);
            copy_part(first, self.offset, into.part(copied, bytes));
            copied += bytes;
            self.offset += bytes;
        }
        copied
    }

    fn skip_empty(&mut self) {
        while self.list.first().is_some_and(|first| first.len() == self.offset) {
            self.pass();
        }
    }
}

/// Copies a part of a buffer.
fn copy_part(from: &Payload<'_>, offset: usize, into: Region) {
    match from {
        Payload::Bytes(bytes) => into.write(0, &bytes[offset..offset + into.len()]),
        Payload::Region(region) => into.copy_from(region.part(offset, into.len())),
        Payload::Buffer { buffer, offset: first, .. } => buffer.pack(first + offset, into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_memory::{Buffer, Owned};

    #[test]
    fn buffers_are_copied_in_order_up_to_a_long_one() {
        let (long, into) = (Owned::from(&[7; 100][..]), Owned::zeroed(64));
        let buffer = Buffer::Contiguous(long.lend());
        let list = [
            Payload::Bytes(&[1, 2, 3]),
            Payload::Bytes(&[]),
            Payload::Buffer { buffer: &buffer, offset: 10, len: 5 },
            Payload::Region(long.lend()),
        ];
        let mut sources = Sources::new(&list);
        sources.spare_long(50, None);
        assert_eq!(sources.copy_to(into.lend().part(0, 2)), 2);
        assert_eq!(sources.copy_to(into.lend().part(2, 62)), 6);
        assert_eq!(into.lend().to_vec()[..9], [1, 2, 3, 7, 7, 7, 7, 7, 0]);
        assert_eq!(sources.long().map(|region| region.len()), Some(100));
        sources.pass();
        assert_eq!((sources.long(), sources.copy_to(into.lend())), (None, 0));
    }

    #[test]
    fn a_long_buffer_that_could_not_be_registered_is_copied_to_its_end() {
        let (long, into) = (Owned::from(&[7; 100][..]), Owned::zeroed(64));
        let end = long.lend().address() + 100;
        for part in [long.lend(), long.lend().part(30, 70)] {
            let list = [Payload::Region(part)];
            let mut sources = Sources::new(&list);
            sources.spare_long(50, Some(end));
            assert_eq!(sources.copy_to(into.lend()), 64);
        }
    }
}
