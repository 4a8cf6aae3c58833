//! Copies of array sections that nonblocking and persistent collectives work on, until their
//! requests are complete.
//!
//! A collective reads and writes parts of a buffer for each process. No single datatype can
//! describe these in a section, so the collective gets a contiguous copy. It is copied back when
//! the program learns that the request is complete. Fortran's own procedures for requests look
//! here. A request that C code completes would be missed, so a program that gives one away should
//! pass contiguous buffers.
//!
//! An entry is out of the table during a call that may complete its request: from then on another
//! thread may get a request with the same handle.

use crate::generated::{c, constants as mpi};
use crate::handle::Handle;
use crate::section::Copied;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A copy and its request.
struct Entry {
    request: Handle,
    copy: Copied,
    /// True from the start of the request until it is seen complete.
    active: bool,
}

static TABLE: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// The number of entries in the table or held. While it is 0, no lock is taken.
static ENTRIES: AtomicUsize = AtomicUsize::new(0);

fn table() -> MutexGuard<'static, Vec<Entry>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the copy that a call works on, or (`persistent`) will work on when its request is started.
/// `code` is the call's return value.
pub fn keep(copy: Copied, code: c_int, request: Handle, persistent: bool) {
    if !copy.is_copy() || code != mpi::MPI_SUCCESS {
        return;
    }
    if request == mpi::MPI_REQUEST_NULL {
        return copy.give_back();
    }
    ENTRIES.fetch_add(1, Ordering::Relaxed);
    table().push(Entry { request, copy, active: !persistent });
}

/// Prepares for the start of persistent requests: their copies get the present contents of the
/// program's arrays.
pub fn start(requests: &[Handle]) {
    if ENTRIES.load(Ordering::Relaxed) == 0 {
        return;
    }
    for entry in table().iter_mut().filter(|entry| requests.contains(&entry.request)) {
        entry.copy.take_in();
        entry.active = true;
    }
}

/// The entries of one call's requests.
#[must_use]
pub struct Held(Vec<(usize, Entry)>);

/// Takes out the entries of these requests, before a call that may complete them.
pub fn take(requests: &[Handle]) -> Held {
    if ENTRIES.load(Ordering::Relaxed) == 0 {
        return Held(Vec::new());
    }
    let mut table = table();
    let place = |entry: &Entry| requests.iter().position(|&request| request == entry.request);
    let (mine, others): (Vec<_>, Vec<_>) = table.drain(..).partition(|entry| place(entry).is_some());
    *table = others;
    Held(mine.into_iter().filter_map(|entry| Some((place(&entry)?, entry))).collect())
}

impl Held {
    /// Settles the entries after the call: complete ones are copied back to the program; those that
    /// are not complete, or may be started again, are kept.
    pub fn settle(self, requests: &[Handle]) {
        for (place, mut entry) in self.0 {
            let gone = requests[place] != entry.request;
            if entry.active && (gone || is_complete(entry.request)) {
                entry.copy.give_back();
                entry.active = false;
            }
            match gone {
                true => drop(ENTRIES.fetch_sub(1, Ordering::Relaxed)),
                false => table().push(entry),
            }
        }
    }

    /// Drops the entries after `MPI_Request_free`. A program that frees an active request of a
    /// collective is wrong (MPI-5.0, 6.12), but the library may still use the copy: it is never
    /// freed.
    pub fn freed(self) {
        for (_, entry) in self.0 {
            ENTRIES.fetch_sub(1, Ordering::Relaxed);
            if entry.active {
                std::mem::forget(entry);
            }
        }
    }
}

/// Returns whether the request's operation is done; so is that of an inactive persistent one.
fn is_complete(request: Handle) -> bool {
    let mut flag = 0;
    // SAFETY: a request of the program's, a place for the answer, and MPI_STATUS_IGNORE.
    let code = unsafe { c::PMPI_Request_get_status(request, &mut flag, std::ptr::null_mut()) };
    code == mpi::MPI_SUCCESS && flag != 0
}
