//! Memory of the library that the device may access: allocated, zeroed, registered, and given back.
//!
//! It is allocated page by page, so that nothing else shares a registered page. A peer's device
//! writes here without asking, so words that it may change are read as atomics.

use super::adapter::Adapter;
use crate::device::Registration;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::sync::atomic::AtomicU64;
use verbena_channel::Access;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Alignment of registered memory in bytes: a page.
const ALIGNMENT: usize = 4096;

/// Registered memory. [`Pinned::release`] ends the registration. Dropping only frees the memory,
/// which is right if the adapter, which ends all its registrations, went first.
#[derive(Debug)]
pub(crate) struct Pinned {
    registration: Registration,
    layout: Layout,
}

impl Pinned {
    /// Allocates `bytes` (more than 0) of zeroed memory, registered with the adapter, that peers
    /// may access as `access` says.
    ///
    /// # Errors
    /// The reason why registering failed.
    pub(crate) fn new<A: Adapter>(adapter: &mut A, bytes: usize, access: Access) -> Result<Pinned, Fault> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).expect("a size that settings allow");
        // SAFETY: the layout is not empty.
        let address = unsafe { alloc_zeroed(layout) };
        if address.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: just allocated; freed only when the registration, and with it every use, has
        // ended.
        let region = unsafe { Region::new(address, layout.size()) };
        match adapter.register(region, access) {
            Ok(registration) => Ok(Pinned { registration, layout }),
            Err(fault) => {
                // SAFETY: allocated above with this layout, and nobody else knows of it.
                unsafe { dealloc(address, layout) };
                Err(fault)
            }
        }
    }

    /// Ends the registration and frees the memory. No work on it may be under way.
    pub(crate) fn release<A: Adapter>(self, adapter: &mut A) {
        adapter.deregister(self.registration);
    }

    /// Returns all of it as a region.
    #[inline]
    pub(crate) fn region(&self) -> Region {
        self.registration.region
    }

    /// Returns the key by which work of this process names it.
    pub(crate) fn local_key(&self) -> u32 {
        self.registration.local_key
    }

    /// Returns the key by which a peer names it.
    pub(crate) fn remote_key(&self) -> u32 {
        self.registration.remote_key
    }

    /// Returns the word at this offset, which a peer's device may change at any time.
    ///
    /// # Panics
    /// If it is out of range or not aligned.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        let region = self.region();
        assert!(offset < region.len() && region.len() - offset >= 8 && offset.is_multiple_of(8));
        let at = region.address() + offset as u64;
        // SAFETY: within the memory, aligned as its front is, and alive as long as `self`; every
        // access of this process to words that a device may write meanwhile is atomic.
        unsafe { AtomicU64::from_ptr(at as *mut u64) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; the owner made sure that no device uses it
        // any more.
        unsafe { dealloc(self.registration.region.address() as *mut u8, self.layout) }
    }
}
