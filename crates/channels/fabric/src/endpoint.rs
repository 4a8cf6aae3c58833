//! An address vector and an endpoint on it: sending, receiving, reading and writing.

use crate::domain::{Domain, MemoryRegion, nothing};
use crate::explain::check;
use crate::object::Object;
use crate::queue::CompletionQueue;
use crate::raw::{self, fi_av_attr, fi_msg, fi_msg_rma, fi_rma_iov, fid_av, fid_ep};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use verbena_fault::Fault;

/// The reason why an operation was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No room, or not connected yet: try again after progress.
    Again,
    /// The error number (positive).
    Failed(i32),
}

fn outcome(code: isize) -> Result<(), Refused> {
    match code {
        0 => Ok(()),
        code if code == -(libc::EAGAIN as isize) => Err(Refused::Again),
        code => Err(Refused::Failed(-code as i32)),
    }
}

/// The longest address of an endpoint, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 256;

/// The addresses of other endpoints.
pub struct AddressVector {
    raw: Object<fid_av>,
    domain: Arc<Domain>,
}

impl AddressVector {
    /// Makes an empty vector for about `count` addresses.
    ///
    /// # Errors
    /// The provider's.
    pub fn new(domain: &Arc<Domain>, count: usize) -> Result<AddressVector, Fault> {
        let mut attributes = fi_av_attr::zeroed();
        attributes.type_ = raw::FI_AV_UNSPEC as u32;
        attributes.count = count;
        let mut made = null_mut();
        // SAFETY: the domain is open, and leads to its table; the attributes live until the call
        // returns.
        let code = unsafe {
            let open = (*(*domain.raw()).ops).av_open.ok_or_else(|| nothing(domain.offer()))?;
            open(domain.raw(), &mut attributes, &mut made, null_mut())
        };
        check(code, "an address vector cannot be made", || format!("{:?}", domain.offer()))?;
        // SAFETY: made just now.
        let raw = unsafe { Object::new(made) }.ok_or_else(|| nothing(domain.offer()))?;
        Ok(AddressVector { raw, domain: Arc::clone(domain) })
    }

    /// Adds the address that [`Endpoint::address`] gave on the other side; returns the name that
    /// operations use for it.
    ///
    /// # Errors
    /// The provider does not take it.
    pub fn insert(&mut self, address: &[u8]) -> Result<u64, Fault> {
        // The provider reads as much as its form of address has, whatever came in the card.
        let mut room = [0; ADDRESS_BYTES_MAX];
        room[..address.len()].copy_from_slice(address);
        let mut name = u64::MAX;
        let av = self.raw.raw();
        // SAFETY: the vector is open, and leads to its table; address and name live until the call
        // returns.
        let count = unsafe {
            let insert = (*(*av).ops).insert.ok_or_else(|| nothing(self.domain.offer()))?;
            insert(av, room.as_ptr().cast(), 1, &mut name, 0, null_mut())
        };
        let code = if count == 1 { 0 } else { count.min(-libc::EINVAL) };
        check(code, "an address is not taken", || format!("{:?}", self.domain.offer()))?;
        Ok(name)
    }
}

/// An endpoint that is enabled. Its queue, its vector and all memory that operations name must
/// outlive it: their owner drops this first.
pub struct Endpoint {
    raw: Object<fid_ep>,
    _domain: Arc<Domain>,
}

impl Endpoint {
    /// Makes an endpoint and enables it: from now on others can reach it. A buffer for several
    /// messages is given back when fewer than `multi_bytes_min` bytes are left in it.
    ///
    /// # Errors
    /// The provider's.
    pub fn new(
        domain: &Arc<Domain>,
        queue: &CompletionQueue,
        addresses: &AddressVector,
        multi_bytes_min: Option<usize>,
    ) -> Result<Endpoint, Fault> {
        let on = || format!("{:?}", domain.offer());
        let mut made = null_mut();
        // SAFETY: the domain is open, and leads to its table.
        let code = unsafe {
            let open = (*(*domain.raw()).ops).endpoint.ok_or_else(|| nothing(domain.offer()))?;
            open(domain.raw(), domain.offer().raw(), &mut made, null_mut())
        };
        check(code, "an endpoint cannot be made", on)?;
        // SAFETY: made just now.
        let raw = unsafe { Object::new(made) }.ok_or_else(|| nothing(domain.offer()))?;
        let endpoint = Endpoint { raw, _domain: Arc::clone(domain) };
        // SAFETY: objects of one domain.
        check(unsafe { endpoint.raw.bind(addresses.raw.fid(), 0) }, "an endpoint takes no addresses", on)?;
        let flags = raw::FI_SEND | raw::FI_RECV;
        // SAFETY: objects of one domain.
        check(unsafe { endpoint.raw.bind(queue.fid(), flags) }, "an endpoint takes no queue", on)?;
        if let Some(bytes) = multi_bytes_min {
            check(endpoint.set_multi_bytes_min(bytes), "buffers for several messages are refused", on)?;
        }
        // SAFETY: the command takes nothing.
        let enabled = unsafe { endpoint.raw.control(raw::FI_ENABLE, null_mut()) };
        check(enabled, "an endpoint cannot be enabled", on)?;
        Ok(endpoint)
    }

    fn set_multi_bytes_min(&self, bytes: usize) -> i32 {
        // SAFETY: the endpoint is open, and leads to its table; the option is a `size_t`.
        unsafe {
            let Some(setopt) = (*(*self.raw.raw()).ops).setopt else { return -libc::ENOSYS };
            let (level, option) = (raw::FI_OPT_ENDPOINT as i32, raw::FI_OPT_MIN_MULTI_RECV as i32);
            setopt(self.raw.fid(), level, option, (&raw const bytes).cast(), size_of::<usize>())
        }
    }

    pub(crate) fn fid(&self) -> *mut raw::fid {
        self.raw.fid()
    }

    /// Returns the address of this endpoint, for [`AddressVector::insert`] on another side.
    ///
    /// # Errors
    /// The provider's.
    pub fn address(&self) -> Result<Vec<u8>, Fault> {
        let mut room = [0u8; ADDRESS_BYTES_MAX];
        let mut bytes = room.len();
        // SAFETY: the endpoint is open, and leads to its table; the room has this many bytes.
        let code = unsafe {
            let getname = (*(*self.raw.raw()).cm).getname;
            getname.map_or(-libc::ENOSYS, |get| get(self.raw.fid(), room.as_mut_ptr().cast(), &mut bytes))
        };
        check(code, "an endpoint has no address", || format!("{:?}", self._domain.offer()))?;
        Ok(room[..bytes.min(ADDRESS_BYTES_MAX)].to_vec())
    }

    /// Posts a buffer for messages from anyone: for one, or for several one after the other if
    /// `several`.
    ///
    /// # Errors
    /// Not posted.
    ///
    /// # Safety
    /// The memory is exclusive to this until the operation completes, is registered with that
    /// descriptor where the offer asks for it, and the context is one of
    /// [`Contexts`](crate::Contexts).
    pub unsafe fn receive(
        &self,
        buffer: *mut u8,
        bytes: usize,
        descriptor: *mut c_void,
        several: bool,
        context: *mut c_void,
    ) -> Result<(), Refused> {
        let ep = self.raw.raw();
        let part = libc::iovec { iov_base: buffer.cast(), iov_len: bytes };
        let mut descriptor = descriptor;
        let message =
            fi_msg { msg_iov: &part, desc: &mut descriptor, iov_count: 1, addr: u64::MAX, context, data: 0 };
        let flags = raw::FI_COMPLETION | if several { raw::FI_MULTI_RECV } else { 0 };
        // SAFETY: the endpoint is open, and leads to its table; the rest is the caller's promise.
        outcome(unsafe {
            let post = (*(*ep).msg).recvmsg.ok_or(Refused::Failed(libc::ENOSYS))?;
            post(ep, &message, flags)
        })
    }

    /// Sends a message; its completion says that the memory may be used again.
    ///
    /// # Errors
    /// Not sent.
    ///
    /// # Safety
    /// The promise of [`Endpoint::receive`], except that the memory is only read.
    #[inline]
    pub unsafe fn send(
        &self,
        to: u64,
        buffer: *const u8,
        bytes: usize,
        descriptor: *mut c_void,
        context: *mut c_void,
    ) -> Result<(), Refused> {
        let ep = self.raw.raw();
        // SAFETY: the endpoint is open, and leads to its table; the rest is the caller's promise.
        outcome(unsafe {
            let send = (*(*ep).msg).send.ok_or(Refused::Failed(libc::ENOSYS))?;
            send(ep, buffer.cast(), bytes, descriptor, to, context)
        })
    }

    /// Sends a short message without a completion: the memory may be used again at once.
    ///
    /// # Errors
    /// Not sent.
    #[inline]
    pub fn inject(&self, to: u64, bytes: &[u8]) -> Result<(), Refused> {
        let ep = self.raw.raw();
        // SAFETY: the endpoint is open, and leads to its table; the bytes are read before the call
        // returns.
        outcome(unsafe {
            let inject = (*(*ep).msg).inject.ok_or(Refused::Failed(libc::ENOSYS))?;
            inject(ep, bytes.as_ptr().cast(), bytes.len(), to)
        })
    }

    /// Reads or writes memory of a peer. The completion of a write says that the bytes are in place
    /// there.
    ///
    /// # Errors
    /// Not begun.
    ///
    /// # Safety
    /// The promise of [`Endpoint::receive`], for as many bytes as `remote` has; a write only reads
    /// the memory.
    pub unsafe fn transfer(
        &self,
        is_read: bool,
        peer: u64,
        buffer: *mut u8,
        descriptor: *mut c_void,
        remote: &fi_rma_iov,
        context: *mut c_void,
    ) -> Result<(), Refused> {
        let ep = self.raw.raw();
        let local = libc::iovec { iov_base: buffer.cast(), iov_len: remote.len };
        let mut message = fi_msg_rma { addr: peer, context, ..fi_msg_rma::zeroed() };
        let mut descriptor = descriptor;
        (message.msg_iov, message.desc, message.iov_count) = (&local, &mut descriptor, 1);
        (message.rma_iov, message.rma_iov_count) = (remote, 1);
        // SAFETY: the endpoint is open, and leads to its table, which offers with `FI_RMA` have;
        // the rest is the caller's promise.
        outcome(unsafe {
            let table = &*(*ep).rma;
            let (post, flags) = match is_read {
                true => (table.readmsg, raw::FI_COMPLETION),
                false => (table.writemsg, raw::FI_COMPLETION | raw::FI_DELIVERY_COMPLETE),
            };
            post.ok_or(Refused::Failed(libc::ENOSYS))?(ep, &message, flags)
        })
    }
}

impl MemoryRegion {
    /// Binds it to an endpoint and enables it, which some providers ask for
    /// ([`raw::FI_MR_ENDPOINT`]).
    ///
    /// # Errors
    /// The error number (positive).
    pub fn bind(&self, endpoint: &Endpoint) -> Result<(), i32> {
        // SAFETY: objects of one domain, in the order that `FI_MR_ENDPOINT` asks for.
        let code = unsafe { self.object().bind(endpoint.fid(), 0) };
        if code != 0 {
            return Err(-code);
        }
        // SAFETY: the command takes nothing.
        match unsafe { self.object().control(raw::FI_ENABLE, null_mut()) } {
            0 => Ok(()),
            code => Err(-code),
        }
    }
}
