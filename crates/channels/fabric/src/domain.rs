//! A fabric, a domain in it (an interface, a device), and registered memory.

use crate::explain::{check, fault};
use crate::object::Object;
use crate::offer::Offer;
use crate::raw::{self, fid_domain, fid_fabric, fid_mr};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use verbena_fault::Fault;

/// An open domain with its fabric. One thread at a time uses it and all that belongs to it, under a
/// lock of the owner.
pub struct Domain {
    // They are closed in this order.
    domain: Object<fid_domain>,
    fabric: Object<fid_fabric>,
    offer: Offer,
}

// SAFETY: opened for use by one thread at a time (`FI_THREAD_DOMAIN`), which the owner sees to.
unsafe impl Sync for Domain {}

impl Domain {
    /// Opens the domain of an offer.
    ///
    /// # Errors
    /// The provider's.
    pub fn open(offer: &Offer) -> Result<Arc<Domain>, Fault> {
        let functions = &offer.library().functions;
        let on = || format!("{offer:?}");
        let mut made = null_mut();
        // SAFETY: an offer has all its parts, and the call fills in the pointer.
        let code = unsafe { (functions.fi_fabric)((*offer.raw()).fabric_attr, &mut made, null_mut()) };
        check(code, "a network cannot be opened", on)?;
        // SAFETY: made just now.
        let fabric = unsafe { Object::new(made) }.ok_or_else(|| nothing(offer))?;
        let mut made = null_mut();
        // SAFETY: the fabric is open, and leads to its table.
        let code = unsafe {
            let open = (*(*fabric.raw()).ops).domain.ok_or_else(|| nothing(offer))?;
            open(fabric.raw(), offer.raw(), &mut made, null_mut())
        };
        check(code, "an interface cannot be opened", on)?;
        // SAFETY: made just now.
        let domain = unsafe { Object::new(made) }.ok_or_else(|| nothing(offer))?;
        Ok(Arc::new(Domain { domain, fabric, offer: offer.clone() }))
    }

    /// Returns the offer that this domain was opened from.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    pub(crate) fn raw(&self) -> *mut fid_domain {
        self.domain.raw()
    }

    pub(crate) fn fabric(&self) -> *mut fid_fabric {
        self.fabric.raw()
    }
}

pub(crate) fn nothing(offer: &Offer) -> Fault {
    fault("a provider made nothing", format!("{offer:?}"), libc::ENOSYS)
}

/// Registered memory.
pub struct MemoryRegion {
    raw: Object<fid_mr>,
    _domain: Arc<Domain>,
}

impl MemoryRegion {
    /// Registers `bytes` bytes at `address` with the rights in `access` (bits such as
    /// [`raw::FI_REMOTE_READ`]). `key` is the key we wish for, where the provider does not choose
    /// it.
    ///
    /// # Errors
    /// The error number (positive).
    ///
    /// # Safety
    /// While it is registered, anyone who knows the key may read the memory, and change it if
    /// `access` says so, at any moment. It must be memory for which that is sound.
    pub unsafe fn new(
        domain: &Arc<Domain>,
        address: u64,
        bytes: usize,
        access: u64,
        key: u64,
    ) -> Result<MemoryRegion, i32> {
        let buffer: *const c_void = std::ptr::with_exposed_provenance(address as usize);
        let mut made = null_mut();
        // SAFETY: the domain is open, and leads to its table; access to the memory is the caller's
        // promise.
        let code = unsafe {
            let register = (*(*domain.raw()).mr).reg.ok_or(libc::ENOSYS)?;
            let fid = domain.domain.fid();
            register(fid, buffer, bytes, access, 0, key, 0, &mut made, null_mut())
        };
        if code != 0 {
            return Err(-code);
        }
        // SAFETY: made just now.
        let raw = unsafe { Object::new(made) }.ok_or(libc::ENOMEM)?;
        Ok(MemoryRegion { raw, _domain: Arc::clone(domain) })
    }

    pub(crate) fn object(&self) -> &Object<raw::fid_mr> {
        &self.raw
    }

    /// Returns the descriptor by which local operations name this memory.
    pub fn descriptor(&self) -> *mut c_void {
        // SAFETY: registered until this is dropped.
        unsafe { (*self.raw.raw()).mem_desc }
    }

    /// Returns the key by which a peer names this memory.
    pub fn key(&self) -> u64 {
        // SAFETY: registered until this is dropped.
        unsafe { (*self.raw.raw()).key }
    }
}
