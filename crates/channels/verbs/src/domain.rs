//! A protection domain and what belongs to it besides queues: registered memory and address
//! handles.

use crate::device::Context;
use crate::explain::{errno, fault};
use crate::gid::Gid;
use crate::raw::{self, ibv_ah, ibv_ah_attr, ibv_mr, ibv_pd};
use std::ptr::NonNull;
use std::sync::Arc;
use verbena_fault::Fault;

/// A protection domain: queue pairs reach only memory of their own.
pub struct ProtectionDomain {
    context: Arc<Context>,
    raw: NonNull<ibv_pd>,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for ProtectionDomain {}
// SAFETY: as above.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// Makes a new one.
    ///
    /// # Errors
    /// The device has no more of them, or is gone.
    pub fn new(context: &Arc<Context>) -> Result<Arc<ProtectionDomain>, Fault> {
        // SAFETY: the context is open.
        let raw = unsafe { (context.functions().ibv_alloc_pd)(context.raw()) };
        let Some(raw) = NonNull::new(raw) else {
            return Err(fault("a protection domain cannot be made", context.name(), errno()));
        };
        Ok(Arc::new(ProtectionDomain { context: Arc::clone(context), raw }))
    }

    pub(crate) fn raw(&self) -> *mut ibv_pd {
        self.raw.as_ptr()
    }

    /// Returns the device.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: made once, ended once; what was made of it held it alive.
        unsafe { (self.context.functions().ibv_dealloc_pd)(self.raw.as_ptr()) };
    }
}

/// The rights to registered memory; the device may always read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// This process's own work may write it.
    pub local_write: bool,
    /// Peers may read it.
    pub remote_read: bool,
    /// Peers may write it; only where this process's own work may.
    pub remote_write: bool,
    /// Peers may carry out atomic operations there; only where this process's own work may write.
    pub remote_atomic: bool,
}

impl Access {
    /// The rights of own work alone, which may write.
    pub const LOCAL: Access =
        Access { local_write: true, remote_read: false, remote_write: false, remote_atomic: false };

    fn flags(self) -> u32 {
        let granted = [
            (self.local_write, raw::IBV_ACCESS_LOCAL_WRITE),
            (self.remote_read, raw::IBV_ACCESS_REMOTE_READ),
            (self.remote_write, raw::IBV_ACCESS_REMOTE_WRITE),
            (self.remote_atomic, raw::IBV_ACCESS_REMOTE_ATOMIC),
        ];
        granted.into_iter().filter(|(is_granted, _)| *is_granted).map(|(_, flag)| flag).sum()
    }
}

/// Registered memory.
pub struct MemoryRegion {
    domain: Arc<ProtectionDomain>,
    raw: NonNull<ibv_mr>,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for MemoryRegion {}
// SAFETY: as above.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    /// Registers `bytes` bytes at `address`: pins the pages, and lets the device access them.
    ///
    /// # Errors
    /// The error number: `ENOMEM` (limit on locked memory), `EFAULT` (not mapped, or not writable).
    ///
    /// # Safety
    /// While it is registered, anyone who knows the key may change the memory at any moment: it
    /// must be memory for which that is sound.
    pub unsafe fn new(
        domain: &Arc<ProtectionDomain>,
        address: u64,
        bytes: usize,
        access: Access,
    ) -> Result<MemoryRegion, i32> {
        let functions = domain.context.functions();
        let address = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the domain lives; the kernel checks address and length; changes are the caller's
        // promise.
        let raw = unsafe { (functions.ibv_reg_mr)(domain.raw(), address, bytes, access.flags() as i32) };
        let raw = NonNull::new(raw).ok_or_else(errno)?;
        Ok(MemoryRegion { domain: Arc::clone(domain), raw })
    }

    /// Returns the key by which local work names it.
    pub fn local_key(&self) -> u32 {
        // SAFETY: registered until this is dropped.
        unsafe { self.raw.as_ref().lkey }
    }

    /// Returns the key by which a peer names it.
    pub fn remote_key(&self) -> u32 {
        // SAFETY: registered until this is dropped.
        unsafe { self.raw.as_ref().rkey }
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: registered once, ended once. An error leaves nothing to be done.
        unsafe { (self.domain.context.functions().ibv_dereg_mr)(self.raw.as_ptr()) };
    }
}

/// The way to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The port here.
    pub port: u8,
    /// The LID there; 0 with RoCE.
    pub lid: u16,
    /// The GID there, with the index of the one here; `None` within an InfiniBand subnet.
    pub gid: Option<(Gid, u8)>,
    /// Service level (InfiniBand), which with RoCE becomes the priority.
    pub service_level: u8,
    /// Traffic class of the global header.
    pub traffic_class: u8,
}

/// The number of routers that a packet may pass.
const HOP_LIMIT: u8 = 64;

impl Path {
    pub(crate) fn attributes(&self) -> ibv_ah_attr {
        let mut attributes = ibv_ah_attr::zeroed();
        attributes.dlid = self.lid;
        attributes.sl = self.service_level;
        attributes.port_num = self.port;
        if let Some((gid, index)) = self.gid {
            attributes.is_global = 1;
            attributes.grh.dgid.raw = gid.0;
            attributes.grh.sgid_index = index;
            attributes.grh.hop_limit = HOP_LIMIT;
            attributes.grh.traffic_class = self.traffic_class;
        }
        attributes
    }

    /// Describes the far end in words.
    pub fn far_end(&self) -> String {
        match self.gid {
            Some((gid, _)) => format!("GID {gid}"),
            None => format!("LID {}", self.lid),
        }
    }
}

/// A destination of datagrams.
pub struct AddressHandle {
    domain: Arc<ProtectionDomain>,
    raw: NonNull<ibv_ah>,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for AddressHandle {}
// SAFETY: as above.
unsafe impl Sync for AddressHandle {}

impl AddressHandle {
    /// Asks the device for a handle of that path; with RoCE the kernel may look up the neighbour's
    /// address.
    ///
    /// # Errors
    /// The path leads nowhere, or the device has no more handles.
    pub fn new(domain: &Arc<ProtectionDomain>, path: &Path) -> Result<AddressHandle, Fault> {
        let mut attributes = path.attributes();
        // SAFETY: the domain lives and the structure is filled in.
        let raw = unsafe { (domain.context.functions().ibv_create_ah)(domain.raw(), &mut attributes) };
        let Some(raw) = NonNull::new(raw) else {
            let on = format!("{}:{} to {}", domain.context.name(), path.port, path.far_end());
            return Err(fault("no datagram can be addressed", on, errno()));
        };
        Ok(AddressHandle { domain: Arc::clone(domain), raw })
    }

    pub(crate) fn raw(&self) -> *mut ibv_ah {
        self.raw.as_ptr()
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: made once, ended once. An error leaves nothing to be done.
        unsafe { (self.domain.context.functions().ibv_destroy_ah)(self.raw.as_ptr()) };
    }
}
