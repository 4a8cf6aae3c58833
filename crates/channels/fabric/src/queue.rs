//! A completion queue.

use crate::context::Contexts;
use crate::domain::{Domain, nothing};
use crate::explain::{check, fault};
use crate::object::Object;
use crate::raw::{self, fi_cq_attr, fi_cq_data_entry, fi_cq_err_entry, fid_cq};
use std::ffi::{CStr, c_int, c_void};
use std::os::fd::RawFd;
use std::ptr::null_mut;
use std::sync::Arc;
use verbena_fault::Fault;

/// The number of completions taken by one call.
const BATCH: usize = 16;

/// The queue. It holds the domain.
pub struct CompletionQueue {
    raw: Object<fid_cq>,
    domain: Arc<Domain>,
    descriptor: Option<RawFd>,
    batch: [fi_cq_data_entry; BATCH],
    sources: [u64; BATCH],
}

// SAFETY: the pointers of the batch are read only by the one who reads the queue.
unsafe impl Send for CompletionQueue {}

/// An operation that completed.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The operation's place ([`Contexts`]); null if it has none.
    pub context: *mut c_void,
    /// The name of the operation.
    pub name: u64,
    /// Flags: bits such as [`raw::FI_RECV`] and [`raw::FI_MULTI_RECV`].
    pub flags: u64,
    /// Bytes received.
    pub bytes: usize,
    /// The address of the bytes; only for a buffer for several messages.
    pub address: u64,
    /// The address that a received message came from, as
    /// [`AddressVector::insert`](crate::AddressVector::insert) returned it; `None` if the provider
    /// does not tell, or the address is unknown.
    pub source: Option<u64>,
}

/// The source of a message if the provider does not know or tell it (`FI_ADDR_NOTAVAIL`).
const NO_SOURCE: u64 = u64::MAX;

/// An operation that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The operation's place; null if the provider did not say which one failed.
    pub context: *mut c_void,
    /// The name of the operation, if it has a place.
    pub name: Option<u64>,
    /// Flags, as in [`Completion::flags`].
    pub flags: u64,
    /// The error number (positive).
    pub number: i32,
    /// The provider's own words for it.
    pub said: String,
}

impl CompletionQueue {
    /// Makes a queue for at least `size` completions; if `sleeps`, with a descriptor that tells of
    /// new ones where the provider has such a thing.
    ///
    /// # Errors
    /// The provider's.
    pub fn new(domain: &Arc<Domain>, size: usize, sleeps: bool) -> Result<CompletionQueue, Fault> {
        let (raw, descriptor) = match sleeps.then(|| Self::open(domain, size, raw::FI_WAIT_FD)) {
            Some(Ok(raw)) => {
                let descriptor = descriptor_of(&raw);
                (raw, descriptor)
            }
            _ => (Self::open(domain, size, raw::FI_WAIT_NONE)?, None),
        };
        let batch = [fi_cq_data_entry::zeroed(); BATCH];
        let (domain, sources) = (Arc::clone(domain), [NO_SOURCE; BATCH]);
        Ok(CompletionQueue { raw, domain, descriptor, batch, sources })
    }

    fn open(domain: &Arc<Domain>, size: usize, wait: u64) -> Result<Object<fid_cq>, Fault> {
        let mut attributes = fi_cq_attr::zeroed();
        attributes.size = size;
        attributes.format = raw::FI_CQ_FORMAT_DATA as u32;
        attributes.wait_obj = wait as u32;
        let mut made = null_mut();
        // SAFETY: the domain is open, and leads to its table; the attributes live until the call
        // returns.
        let code = unsafe {
            let open = (*(*domain.raw()).ops).cq_open.ok_or_else(|| nothing(domain.offer()))?;
            open(domain.raw(), &mut attributes, &mut made, null_mut())
        };
        check(code, "a completion queue cannot be made", || format!("{:?}", domain.offer()))?;
        // SAFETY: made just now.
        unsafe { Object::new(made) }.ok_or_else(|| nothing(domain.offer()))
    }

    pub(crate) fn fid(&self) -> *mut raw::fid {
        self.raw.fid()
    }

    /// Returns a descriptor that can be read when there may be something, if the provider has one.
    /// Sleep on it only after [`CompletionQueue::may_sleep`]; never read it.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.descriptor
    }

    /// Arms the descriptor (`fi_trywait`). Returns whether nothing is there now, so that a sleep on
    /// it will be woken.
    pub fn may_sleep(&self) -> bool {
        let fabric = self.domain.fabric();
        let mut fid = self.fid();
        // SAFETY: the fabric is open, and leads to its table; the queue belongs to it.
        unsafe { (*(*fabric).ops).trywait.is_some_and(|trywait| trywait(fabric, &mut fid, 1) == 0) }
    }

    /// Makes progress, and adds some completions to the list; returns how many.
    ///
    /// # Errors
    /// The failure of some operation; or that of the queue itself, with the error number in a
    /// [`Failure`] without a place.
    pub fn read(&mut self, into: &mut Vec<Completion>) -> Result<usize, Failure> {
        let count = self.read_batch();
        if count >= 0 {
            let entries = self.batch.iter().zip(&self.sources).take(count as usize);
            into.extend(entries.map(|(entry, source)| completion(entry, *source)));
            return Ok(count as usize);
        }
        match -count as i32 {
            libc::EAGAIN => Ok(0),
            number if number == raw::FI_EAVAIL as i32 => Err(self.failure()),
            number => Err(Failure { context: null_mut(), name: None, flags: 0, number, said: String::new() }),
        }
    }

    /// Fills the batch, and the sources if the provider tells them.
    fn read_batch(&mut self) -> isize {
        let (cq, batch) = (self.raw.raw(), self.batch.as_mut_ptr().cast());
        let tells_source = self.domain.offer().capabilities() & raw::FI_SOURCE != 0;
        self.sources = [NO_SOURCE; BATCH];
        // SAFETY: the queue is open, and leads to its table; the batch has that much room, in the
        // queue's format, and as many sources.
        unsafe {
            let table = &*(*cq).ops;
            match (table.read, table.readfrom.filter(|_| tells_source)) {
                (_, Some(readfrom)) => readfrom(cq, batch, BATCH, self.sources.as_mut_ptr()),
                (Some(read), None) => read(cq, batch, BATCH),
                (None, None) => -(libc::ENOSYS as isize),
            }
        }
    }

    /// Returns the failed operation at the head of the queue.
    #[cold]
    fn failure(&mut self) -> Failure {
        let cq = self.raw.raw();
        let mut entry = fi_cq_err_entry::zeroed();
        // SAFETY: as in `read`; there is a failed operation.
        let count = unsafe { (*(*cq).ops).readerr.map_or(0, |readerr| readerr(cq, &mut entry, 0)) };
        let number = if count > 0 { entry.err } else { libc::EAGAIN };
        // SAFETY: places of operations that have not completed until now.
        let name = (!entry.op_context.is_null()).then(|| unsafe { Contexts::name(entry.op_context) });
        Failure { context: entry.op_context, name, flags: entry.flags, number, said: self.words(&entry) }
    }

    fn words(&self, entry: &fi_cq_err_entry) -> String {
        let cq = self.raw.raw();
        let mut room = [0; 256];
        // SAFETY: as in `read`; the text is the provider's, or was written into our room, and is
        // terminated.
        unsafe {
            let Some(strerror) = (*(*cq).ops).strerror else { return String::new() };
            let text = strerror(cq, entry.prov_errno, entry.err_data, room.as_mut_ptr(), room.len());
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
    }
}

fn completion(entry: &fi_cq_data_entry, source: u64) -> Completion {
    let context = entry.op_context;
    // SAFETY: every operation that completes here was given a place.
    let name = if context.is_null() { u64::MAX } else { unsafe { Contexts::name(context) } };
    let address = entry.buf.expose_provenance() as u64;
    let source = Some(source).filter(|source| *source != NO_SOURCE);
    Completion { context, name, flags: entry.flags, bytes: entry.len, address, source }
}

fn descriptor_of(raw: &Object<fid_cq>) -> Option<RawFd> {
    let mut descriptor: c_int = -1;
    // SAFETY: the command fills in one int.
    let code = unsafe { raw.control(raw::FI_GETWAIT, (&raw mut descriptor).cast()) };
    (code == 0 && descriptor >= 0).then_some(descriptor)
}

impl Failure {
    /// Describes the failure in four parts.
    pub fn fault(&self, what: impl Into<String>, on: impl Into<String>) -> Fault {
        let mut fault = fault(what, on, self.number);
        if !self.said.is_empty() {
            fault.cause = format!("{}; the provider says: {}", fault.cause, self.said);
        }
        fault
    }
}
