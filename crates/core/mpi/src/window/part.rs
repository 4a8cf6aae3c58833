//! The words that members of a window tell each other when they make it.

use super::Flavor;
use super::apply::Domain;
use crate::comm::words::{pack, unpack};
use crate::error::Result;
use verbena_channel::heap::Ticket;

/// A ticket's offset that stands for no ticket.
const NONE: u64 = u64::MAX;

/// The part of a member: its memory, and where that and its control words lie in the node's heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The address of the memory in its process.
    pub base: u64,
    /// Bytes of the memory.
    pub size: u64,
    /// Bytes of a unit of displacement.
    pub unit: i64,
    /// The offset of the memory's ticket.
    memory_at: u64,
    /// The offset of the control words' ticket.
    control_at: u64,
}

impl Part {
    /// The part with this memory; tickets stand for memory in the heap.
    pub(super) fn new(
        base: u64,
        size: u64,
        unit: i64,
        memory: Option<Ticket>,
        control: Option<Ticket>,
    ) -> Part {
        let offset = |ticket: Option<Ticket>| ticket.map_or(NONE, |ticket| ticket.offset);
        Part { base, size, unit, memory_at: offset(memory), control_at: offset(control) }
    }

    /// The ticket of the memory, if that lies in the heap.
    pub(super) fn memory(&self) -> Option<Ticket> {
        (self.memory_at != NONE).then_some(Ticket { offset: self.memory_at, bytes: self.size })
    }

    /// The ticket of the control words, which are `bytes` long, if they lie in the heap.
    pub(super) fn control(&self, bytes: usize) -> Option<Ticket> {
        (self.control_at != NONE).then_some(Ticket { offset: self.control_at, bytes: bytes as u64 })
    }

    /// Returns whether all its memory lies in the heap.
    pub(super) fn is_mapped(&self) -> bool {
        self.memory_at != NONE || self.size == 0
    }

    /// The way in which elements of the memory change at once; all members see it alike. Memory
    /// that processors change is mapped wherever it is changed: in the heap, or, without a heap, in
    /// its own process.
    pub(super) fn domain(&self, flavor: Flavor) -> Domain {
        let is_mapped = self.memory_at != NONE || !self.has_control();
        if is_mapped && flavor != Flavor::Dynamic { Domain::Processor } else { Domain::Locked }
    }

    /// The bytes from the beginning to a displacement; `None` if bytes within `span` of it are
    /// outside of the memory.
    #[inline]
    pub(super) fn offset(&self, displacement: i64, (low, high): (i64, i64)) -> Option<i64> {
        let at = displacement.checked_mul(self.unit)?;
        let is_inside = at.checked_add(low)? >= 0 && at.checked_add(high)? as u64 <= self.size;
        is_inside.then_some(at)
    }

    /// Returns whether its control words lie in the heap.
    pub(super) fn has_control(&self) -> bool {
        self.control_at != NONE
    }

    /// The offsets of the tickets of its memory and its control words.
    pub(super) fn places(&self) -> [Option<u64>; 2] {
        [self.memory_at, self.control_at].map(|offset| (offset != NONE).then_some(offset))
    }

    /// The part with memory at another place.
    pub(super) fn moved(self, base: u64, memory: Option<Ticket>) -> Part {
        Part { base, memory_at: memory.map_or(NONE, |ticket| ticket.offset), ..self }
    }
}

/// The words of a member when a window is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// The context for the window's messages, if this is the first rank.
    pub context: u64,
    pub part: Part,
    /// A number that must be the same in all members: the call, and hints that matter to all.
    pub alike: u64,
    /// Set if the kernel copies between this process and all other members.
    pub copies: bool,
}

impl Said {
    /// The number that all members say alike.
    pub(super) fn alike(flavor: Flavor, is_apart: bool) -> u64 {
        flavor as u64 | u64::from(is_apart) << 32
    }

    pub(super) fn pack(&self) -> Vec<u8> {
        let Part { base, size, unit, memory_at, control_at } = self.part;
        let copies = u64::from(self.copies);
        pack(&[self.context, self.alike, copies, base, size, unit as u64, memory_at, control_at])
    }

    pub(super) fn unpack(bytes: &[u8]) -> Result<Said> {
        let [context, alike, copies, base, size, unit, memory_at, control_at] = unpack(bytes)?;
        let part = Part { base, size, unit: unit as i64, memory_at, control_at };
        Ok(Said { context, part, alike, copies: copies == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_memory_has_an_offset() {
        let part = Part::new(4096, 80, 8, None, None);
        let inside = [(0, (0, 80)), (9, (0, 8)), (1, (-8, 0)), (10, (0, 0)), (2, (-16, 64))];
        assert!(inside.into_iter().all(|(at, span)| part.offset(at, span) == Some(8 * at)));
        let outside = [(0, (0, 81)), (9, (0, 9)), (1, (-9, 0)), (-1, (0, 8)), (11, (-9, 0))];
        assert!(outside.into_iter().all(|(at, span)| part.offset(at, span).is_none()));
        assert!([i64::MAX, i64::MIN, 1 << 60].into_iter().all(|at| part.offset(at, (0, 8)).is_none()));
        assert_eq!(part.offset(1, (i64::MIN, 0)), None);
    }

    #[test]
    fn what_is_said_is_heard() {
        let memory = Some(Ticket { offset: 0, bytes: 80 });
        for (memory, control) in [(memory, None), (None, memory)] {
            let part = Part::new(7, 80, 8, memory, control);
            let said = Said { context: 12, part, alike: Said::alike(Flavor::Shared, true), copies: true };
            assert_eq!(Said::unpack(&said.pack()).unwrap(), said);
            assert_eq!((part.memory(), part.control(80)), (memory, control));
        }
        assert!(Said::unpack(&[1, 2, 3]).is_err());
    }
}
