//! What the members of a window tell each other when they make it.

use super::Flavor;
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
    pub(super) fn new(base: u64, size: u64, unit: i64, memory: Option<Ticket>, control: Option<Ticket>) -> Part {
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

    /// Returns whether its control words lie in the heap.
    pub(super) fn has_control(&self) -> bool {
        self.control_at != NONE
    }

    /// The part with memory at another place.
    pub(super) fn moved(self, base: u64, memory: Option<Ticket>) -> Part {
        Part { base, memory_at: memory.map_or(NONE, |ticket| ticket.offset), ..self }
    }
}

/// What a member says when a window is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// The context for the window's messages, if this is the first rank.
    pub context: u64,
    pub part: Part,
    /// What must be the same in all members: the call, and hints that matter to all.
    pub alike: u64,
}

impl Said {
    /// The number that all members say alike.
    pub(super) fn alike(flavor: Flavor, is_apart: bool) -> u64 {
        flavor as u64 | u64::from(is_apart) << 32
    }

    pub(super) fn pack(&self) -> Vec<u8> {
        let Part { base, size, unit, memory_at, control_at } = self.part;
        pack(&[self.context, self.alike, base, size, unit as u64, memory_at, control_at])
    }

    pub(super) fn unpack(bytes: &[u8]) -> Result<Said> {
        let [context, alike, base, size, unit, memory_at, control_at] = unpack(bytes)?;
        let part = Part { base, size, unit: unit as i64, memory_at, control_at };
        Ok(Said { context, part, alike })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let memory = Some(Ticket { offset: 0, bytes: 80 });
        for (memory, control) in [(memory, None), (None, memory)] {
            let part = Part::new(7, 80, 8, memory, control);
            let said = Said { context: 12, part, alike: Said::alike(Flavor::Shared, true) };
            assert_eq!(Said::unpack(&said.pack()).unwrap(), said);
            assert_eq!((part.memory(), part.control(80)), (memory, control));
        }
        assert!(Said::unpack(&[1, 2, 3]).is_err());
    }
}
