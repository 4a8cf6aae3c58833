//! Address handles: made at first use, one for each port that a peer sits at, and not more than a
//! bound. One that is given up for another stays until the device is through with everything posted
//! by then.

use crate::device::encoding::Site;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use verbena_verbs::AddressHandle;

use super::super::adapter::Aim;

struct Slot {
    handle: Arc<AddressHandle>,
    site: Site,
    generation: u32,
}

/// The handles.
pub(super) struct Handles {
    slots: Vec<Slot>,
    by_site: HashMap<Site, u32>,
    most: usize,
    /// The slot that is given up next.
    oldest: usize,
    generations: u32,
    /// The handles given up, with the posts on each queue pair by then.
    retired: VecDeque<(Arc<AddressHandle>, Vec<u64>)>,
}

impl Handles {
    /// Makes none yet; at most `most` later.
    pub(super) fn new(most: usize) -> Handles {
        let (slots, by_site, retired) = (Vec::new(), HashMap::new(), VecDeque::new());
        Handles { slots, by_site, most: most.max(1), oldest: 0, generations: 0, retired }
    }

    /// Returns the handle that the aim leads to, if it is still there.
    #[inline]
    pub(super) fn get(&self, aim: Aim) -> Option<&AddressHandle> {
        let slot = self.slots.get(aim.place as usize)?;
        (slot.generation == aim.generation).then_some(&slot.handle)
    }

    /// Returns the aim at a port, if there is a handle for it.
    pub(super) fn find(&self, site: &Site) -> Option<Aim> {
        let place = *self.by_site.get(site)?;
        Some(Aim { place, generation: self.slots[place as usize].generation })
    }

    /// Keeps a new handle. `posted` counts what was posted so far on each queue pair.
    pub(super) fn keep(
        &mut self,
        site: Site,
        handle: AddressHandle,
        posted: impl FnOnce() -> Vec<u64>,
    ) -> Aim {
        self.generations += 1;
        let slot = Slot { handle: Arc::new(handle), site, generation: self.generations };
        let place = if self.slots.len() < self.most {
            self.slots.push(slot);
            self.slots.len() - 1
        } else {
            let place = self.oldest;
            self.oldest = (place + 1) % self.most;
            let old = std::mem::replace(&mut self.slots[place], slot);
            self.by_site.remove(&old.site);
            self.retired.push_back((old.handle, posted()));
            place
        };
        self.by_site.insert(site, place as u32);
        Aim { place: place as u32, generation: self.generations }
    }

    /// Returns whether handles wait to go.
    #[inline]
    pub(super) fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Frees handles that nothing needs any more, given how many posts of each queue pair are done.
    pub(super) fn tidy(&mut self, done: &[u64]) {
        while let Some((_, posted)) = self.retired.front()
            && posted.iter().zip(done).all(|(posted, done)| done >= posted)
        {
            self.retired.pop_front();
        }
    }
}
