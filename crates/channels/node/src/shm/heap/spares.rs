//! Single pages that are kept when their block is given back, for the next one: a window of a few
//! bytes is made and freed without a system call.

use super::{Slice, Taken};
use verbena_channel::heap::Ticket;
use verbena_memory::Region;

/// The most pages that a process keeps.
pub(super) const SPARES_MAX: usize = 64;

impl Slice {
    /// Makes a block of a page that was kept. `None` if there is none of this sort, or if the block
    /// is longer or must lie at a multiple of more than a page.
    pub(super) fn reuse(&self, bytes: u64, alignment: u64, is_guarded: bool) -> Option<(Region, Ticket)> {
        if bytes > self.page || alignment > self.page {
            return None;
        }
        let mut state = self.state();
        let at = state.spares.iter().rposition(|spare| spare.1 == is_guarded)?;
        let (offset, _) = state.spares.swap_remove(at);
        state.blocks.insert(offset, Taken { bytes, is_touched: true, is_guarded });
        drop(state);
        let ticket = Ticket { offset, bytes };
        Some((self.region(ticket).expect("a page lies in the heap"), ticket))
    }

    /// Notes that this process has touched all pages of a block.
    pub(super) fn note_allocated(&self, block: Ticket) {
        if let Some(taken) = self.state().blocks.get_mut(&block.offset) {
            taken.is_touched = true;
        }
    }

    /// Keeps the page of a block that is given back. False if there are enough.
    pub(super) fn spare(&self, offset: u64, is_guarded: bool) -> bool {
        if self.state().spares.len() >= SPARES_MAX {
            return false;
        }
        let page = self.region(Ticket { offset, bytes: self.page }).expect("a page lies in the heap");
        page.fill(0);
        self.state().spares.push((offset, is_guarded));
        true
    }

    /// Gives all pages that are kept back to the machine.
    pub(super) fn give_back_spares(&self) {
        let spares = std::mem::take(&mut self.state().spares);
        spares.into_iter().for_each(|(offset, is_guarded)| self.release(offset, self.page, is_guarded));
    }
}
