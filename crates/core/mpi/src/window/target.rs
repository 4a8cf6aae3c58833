//! The way to a member of a window: chosen at the first access to it.

use super::control::{self, Words};
use super::part::Part;
use super::{Flavor, Win};
use crate::process::Process;
use std::sync::Arc;
use verbena_channel::neighbor::Neighbor;
use verbena_memory::Region;

/// A member as this process reaches it.
pub(super) struct Target {
    pub part: Part,
    pub way: Way,
    /// The control words, if they are mapped here.
    pub words: Option<Words>,
}

/// The way to a member's memory.
pub(super) enum Way {
    /// All its memory is mapped here.
    Mapped(Region),
    /// The kernel copies. In a dynamic window some of the memory may be mapped.
    Neighbor(Arc<dyn Neighbor>),
    /// Messages carry the operations. In a dynamic window some of the memory may be mapped.
    Messages,
}

impl Target {
    /// The memory, if all of it is mapped here.
    #[inline]
    pub(super) fn mapped(&self) -> Option<Region> {
        match self.way {
            Way::Mapped(region) => Some(region),
            _ => None,
        }
    }
}

impl Win {
    /// The way to a member.
    #[inline]
    pub(super) fn target(&self, process: &Process, rank: usize) -> &Target {
        match self.targets[rank].get() {
            Some(target) => target,
            None => self.targets[rank].get_or_init(|| Box::new(self.reach(process, rank))),
        }
    }

    #[cold]
    fn reach(&self, process: &Process, rank: usize) -> Target {
        if rank == self.rank() as usize {
            let (part, memory, control) = (self.local.part, &self.local.memory, &self.local.control);
            return Target { part, way: Way::Mapped(memory.region()), words: Some(control.words()) };
        }
        let (part, peer) = (self.local.parts.get(rank), self.group().peer(rank as i32));
        let heap = process.heap().filter(|heap| heap.unites(peer));
        let at = |ticket| heap.and_then(|heap| heap.at(ticket));
        let words = part.control(control::bytes(self.size())).and_then(at).map(Words::at);
        if self.flavor != Flavor::Dynamic
            && let Some(region) =
                if part.size == 0 { Some(Region::EMPTY) } else { part.memory().and_then(at) }
        {
            return Target { part, way: Way::Mapped(region), words };
        }
        // Without its control words, nobody here knows which memory is attached.
        let is_known = self.flavor != Flavor::Dynamic || words.is_some();
        let neighbor = process.neighbors().filter(|_| is_known).and_then(|all| all.neighbor(peer));
        Target { part, way: neighbor.map_or(Way::Messages, Way::Neighbor), words }
    }
}
