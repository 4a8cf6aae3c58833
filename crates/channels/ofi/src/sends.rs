//! Buffers for sending. A packet stays in its buffer until the provider is done with it and the
//! peer has told that it took it: so packets that a lost peer may not have taken can be handed
//! back, and a process that leaves knows that all has arrived.

use super::net::{self, Net};
use std::ffi::c_void;
use verbena_channel::Peer;
use verbena_fabric::{MemoryRegion, raw};
use verbena_fault::Fault;
use verbena_memory::{Owned, Region};

/// The number of buffers that are made at a time.
const SLAB_SLOTS: usize = 16;

/// The number of a buffer.
pub(crate) type Slot = u32;

/// All buffers; they are made as needed.
pub(crate) struct Sends {
    slot_bytes: usize,
    slots_max: usize,
    slabs: Vec<Slab>,
    states: Vec<State>,
    free: Vec<Slot>,
}

struct Slab {
    region: Region,
    /// Keeps the region's memory.
    _owner: Owned,
    registered: Option<MemoryRegion>,
}

/// The holders of a buffer, and the peer it was for.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    peer: Peer,
    bytes: usize,
    is_flying: bool,
    is_kept: bool,
}

impl Sends {
    /// Begins without buffers; each will have `slot_bytes`.
    pub(crate) fn new(slot_bytes: usize, slots_max: usize) -> Sends {
        let slot_bytes = slot_bytes.next_multiple_of(64);
        Sends { slot_bytes, slots_max, slabs: Vec::new(), states: Vec::new(), free: Vec::new() }
    }

    /// A free buffer; `None` if all are in use.
    ///
    /// # Errors
    /// More cannot be registered.
    pub(crate) fn take(&mut self, net: &mut Net, peer: Peer, bytes: usize) -> Result<Option<Slot>, Fault> {
        if self.free.is_empty() && self.states.len() < self.slots_max {
            self.grow(net)?;
        }
        let Some(slot) = self.free.pop() else { return Ok(None) };
        self.states[slot as usize] = State { peer, bytes, is_flying: false, is_kept: false };
        Ok(Some(slot))
    }

    #[cold]
    fn grow(&mut self, net: &mut Net) -> Result<(), Fault> {
        let owner = Owned::zeroed(SLAB_SLOTS * self.slot_bytes);
        let region = owner.lend();
        let registered = net.register_local(region, raw::FI_SEND)?;
        self.slabs.push(Slab { region, _owner: owner, registered });
        let first = self.states.len();
        self.states.resize(first + SLAB_SLOTS, State::default());
        self.free.extend((first as Slot..self.states.len() as Slot).rev());
        Ok(())
    }

    /// The message in a buffer, with the length that was given when it was taken.
    #[inline]
    pub(crate) fn message(&self, slot: Slot) -> Region {
        let (slab, at) = (slot as usize / SLAB_SLOTS, slot as usize % SLAB_SLOTS);
        self.slabs[slab].region.part(at * self.slot_bytes, self.states[slot as usize].bytes)
    }

    /// The descriptor by which operations name the buffer's memory.
    pub(crate) fn descriptor(&self, slot: Slot) -> *mut c_void {
        net::descriptor(self.slabs[slot as usize / SLAB_SLOTS].registered.as_ref())
    }

    /// Notes that the message was handed to the provider, which uses the buffer until it lands if
    /// `is_flying`; it is kept until [`Sends::taken`].
    pub(crate) fn sent(&mut self, slot: Slot, is_flying: bool) {
        let state = &mut self.states[slot as usize];
        (state.is_flying, state.is_kept) = (is_flying, true);
    }

    /// Notes that the provider is done with the buffer. Returns for whom it was.
    pub(crate) fn landed(&mut self, slot: Slot) -> Peer {
        self.states[slot as usize].is_flying = false;
        self.give_back(slot)
    }

    /// Notes that the message need not be kept any more.
    pub(crate) fn taken(&mut self, slot: Slot) {
        self.states[slot as usize].is_kept = false;
        self.give_back(slot);
    }

    /// Returns the buffer if nothing holds it.
    pub(crate) fn give_back(&mut self, slot: Slot) -> Peer {
        let state = self.states[slot as usize];
        if !state.is_flying && !state.is_kept {
            self.free.push(slot);
        }
        state.peer
    }

    /// The number of buffers in use.
    pub(crate) fn in_use(&self) -> usize {
        self.states.len() - self.free.len()
    }

    /// Returns whether the provider has any of them.
    pub(crate) fn any_flying(&self) -> bool {
        self.states.iter().any(|state| state.is_flying)
    }
}
