//! The libfabric objects of one end, and the registration of memory with them.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use verbena_channel::Access;
use verbena_fabric::explain::fault;
use verbena_fabric::raw;
use verbena_fabric::{AddressVector, CompletionQueue, Contexts, Domain, Endpoint, MemoryRegion, Offer};
use verbena_fault::Fault;
use verbena_machine::random;
use verbena_memory::Region;

/// The completions that the queue has room for. More operations may be under way at many peers: the
/// provider, which manages its resources (`FI_RM_ENABLED`), takes no other one then, and is asked
/// again later.
const QUEUE_SIZE: usize = 4096;

/// The endpoint and what it needs. The fields are dropped in this order.
pub(crate) struct Net {
    /// The endpoint. Closing it ends all use of memory.
    pub endpoint: Endpoint,
    /// The queue where everything completes.
    pub queue: CompletionQueue,
    /// The addresses of its peers.
    pub addresses: AddressVector,
    /// The names of operations under way.
    pub contexts: Contexts,
    domain: Arc<Domain>,
}

/// The most keys that are drawn for a registration while each is in use already.
const DRAWS_MAX: u32 = 16;

impl Net {
    /// Opens an offer, for about `peers` others and messages of up to `bytes_max`.
    ///
    /// # Errors
    /// Those of the provider.
    pub(crate) fn open(offer: &Offer, peers: usize, bytes_max: usize, sleeps: bool) -> Result<Net, Fault> {
        let domain = Domain::open(offer)?;
        let queue = CompletionQueue::new(&domain, QUEUE_SIZE, sleeps)?;
        let addresses = AddressVector::new(&domain, peers)?;
        let several = takes_several(offer).then_some(bytes_max);
        let endpoint = Endpoint::new(&domain, &queue, &addresses, several)?;
        Ok(Net { endpoint, queue, addresses, contexts: Contexts::default(), domain })
    }

    /// The offer that was opened.
    pub(crate) fn offer(&self) -> &Offer {
        self.domain.offer()
    }

    /// Returns whether one buffer takes several messages.
    pub(crate) fn takes_several(&self) -> bool {
        takes_several(self.offer())
    }

    /// Returns whether the endpoint reads and writes remote memory.
    pub(crate) fn moves_memory(&self) -> bool {
        self.offer().capabilities() & raw::FI_RMA != 0
    }

    /// Registers memory for these accesses by peers that know its key.
    ///
    /// # Errors
    /// Those of the provider.
    pub(crate) fn register(&mut self, region: Region, access: Access) -> Result<MemoryRegion, Fault> {
        let read = if access.read { raw::FI_REMOTE_READ } else { 0 };
        let write = if access.write { raw::FI_REMOTE_WRITE } else { 0 };
        self.register_for(region, read | write)
    }

    /// The guard of exposed memory, in words.
    pub(crate) fn guard(&self) -> String {
        match self.key_bits() {
            0 => "exposed memory is guarded by keys of the provider".into(),
            bits => format!("exposed memory is guarded by keys of {bits} random bits"),
        }
    }

    /// The bits of a key; 0 if the provider chooses keys.
    fn key_bits(&self) -> u32 {
        match self.offer().memory_mode() & raw::FI_MR_PROV_KEY {
            0 => self.offer().key_bytes().min(8) as u32 * 8,
            _ => 0,
        }
    }

    /// Draws a key that nobody foresees: many providers ask a caller for nothing but the key.
    fn draw_key(&self) -> Result<u64, Fault> {
        match self.key_bits() {
            0 => Ok(0),
            bits => random::secret().map(|word| word >> (64 - bits)),
        }
    }

    /// Registers memory for operations of this end, if the provider asks for that.
    ///
    /// # Errors
    /// Those of the provider.
    pub(crate) fn register_local(
        &mut self,
        region: Region,
        access: u64,
    ) -> Result<Option<MemoryRegion>, Fault> {
        match self.offer().memory_mode() & raw::FI_MR_LOCAL {
            0 => Ok(None),
            _ => self.register_for(region, access).map(Some),
        }
    }

    fn register_for(&mut self, region: Region, access: u64) -> Result<MemoryRegion, Fault> {
        let mut made = Err(raw::FI_ENOKEY as i32);
        for _ in 0..DRAWS_MAX {
            let key = self.draw_key()?;
            // SAFETY: a region is memory that may be read and written as long as an operation holds
            // it, and the owner of the registration is that operation.
            made = unsafe { MemoryRegion::new(&self.domain, region.address(), region.len(), access, key) };
            if !matches!(made, Err(number) if number == raw::FI_ENOKEY as i32) {
                break;
            }
        }
        let bound = made.and_then(|made| match self.offer().memory_mode() & raw::FI_MR_ENDPOINT {
            0 => Ok(made),
            _ => made.bind(&self.endpoint).map(|()| made),
        });
        let on = || format!("{} bytes, {:?}", region.len(), self.offer());
        bound.map_err(|number| fault("memory cannot be registered", on(), number))
    }

    /// The number that peers add to offsets in exposed memory.
    pub(crate) fn remote_base(&self, region: &Region) -> u64 {
        match self.offer().memory_mode() & raw::FI_MR_VIRT_ADDR {
            0 => 0,
            _ => region.address(),
        }
    }
}

fn takes_several(offer: &Offer) -> bool {
    offer.capabilities() & raw::FI_MULTI_RECV != 0
}

/// The descriptor of registered memory for local operations; null if it needs no registration.
pub(crate) fn descriptor(registered: Option<&MemoryRegion>) -> *mut c_void {
    registered.map_or(null_mut(), MemoryRegion::descriptor)
}
