//! The objects of libfabric that one end has, and how memory is registered with them.

use crate::Fault;
use crate::memory::Region;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use verbena_fabric::explain::fault;
use verbena_fabric::raw;
use verbena_fabric::{AddressVector, CompletionQueue, Contexts, Domain, Endpoint, MemoryRegion, Offer};

/// Completions that the queue has room for: more than can be under way.
const QUEUE_SIZE: usize = 4096;

/// The endpoint and what it needs. The fields are dropped in this order.
pub struct Net {
    /// Closing it ends all use of memory.
    pub endpoint: Endpoint,
    /// Where everything completes.
    pub queue: CompletionQueue,
    /// Those whom it speaks to.
    pub addresses: AddressVector,
    /// The names of operations under way.
    pub contexts: Contexts,
    domain: Arc<Domain>,
    /// The next key, where we choose them.
    next_key: u64,
}

impl Net {
    /// Opens what is offered, for about `peers` others and messages of up to `message_bytes`.
    ///
    /// # Errors
    /// The provider's.
    pub fn open(offer: &Offer, peers: usize, message_bytes: usize, sleeps: bool) -> Result<Net, Fault> {
        let domain = Domain::open(offer)?;
        let queue = CompletionQueue::new(&domain, QUEUE_SIZE, sleeps)?;
        let addresses = AddressVector::new(&domain, peers)?;
        let several = takes_several(offer).then_some(message_bytes);
        let endpoint = Endpoint::new(&domain, &queue, &addresses, several)?;
        Ok(Net { endpoint, queue, addresses, contexts: Contexts::default(), domain, next_key: 1 })
    }

    /// What was opened.
    pub fn offer(&self) -> &Offer {
        self.domain.offer()
    }

    /// Whether one buffer takes several messages.
    pub fn takes_several(&self) -> bool {
        takes_several(self.offer())
    }

    /// Whether it reads and writes remote memory.
    pub fn moves_memory(&self) -> bool {
        self.offer().capabilities() & raw::FI_RMA != 0
    }

    /// Registers memory for the peers to read and write.
    ///
    /// # Errors
    /// The provider's.
    pub fn register(&mut self, region: Region) -> Result<MemoryRegion, Fault> {
        self.register_for(region, raw::FI_REMOTE_READ | raw::FI_REMOTE_WRITE)
    }

    /// Registers memory for operations of this end, if the provider asks for that.
    ///
    /// # Errors
    /// The provider's.
    pub fn register_local(&mut self, region: Region, access: u64) -> Result<Option<MemoryRegion>, Fault> {
        match self.offer().memory_mode() & raw::FI_MR_LOCAL {
            0 => Ok(None),
            _ => self.register_for(region, access).map(Some),
        }
    }

    fn register_for(&mut self, region: Region, access: u64) -> Result<MemoryRegion, Fault> {
        let key = self.next_key;
        self.next_key += 1;
        // SAFETY: a region is memory that may be read and written as long as an operation holds it, and the owner of the
        // registration is that operation.
        let made = unsafe { MemoryRegion::new(&self.domain, region.address(), region.len(), access, key) };
        let bound = made.and_then(|made| match self.offer().memory_mode() & raw::FI_MR_ENDPOINT {
            0 => Ok(made),
            _ => made.bind(&self.endpoint).map(|()| made),
        });
        let on = || format!("{} bytes, {:?}", region.len(), self.offer());
        bound.map_err(|number| fault("memory cannot be registered", on(), number))
    }

    /// What peers add to offsets in exposed memory.
    pub fn remote_base(&self, region: &Region) -> u64 {
        match self.offer().memory_mode() & raw::FI_MR_VIRT_ADDR {
            0 => 0,
            _ => region.address(),
        }
    }
}

fn takes_several(offer: &Offer) -> bool {
    offer.capabilities() & raw::FI_MULTI_RECV != 0
}

/// What local operations name registered memory by; null where it needs no registration.
pub fn descriptor(registered: Option<&MemoryRegion>) -> *mut c_void {
    registered.map_or(null_mut(), MemoryRegion::descriptor)
}
