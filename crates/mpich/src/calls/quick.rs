//! The quick ways of the most frequent calls: what the standard face sets comes back in registers (`crates/abi/src/told.rs`)
//! and is stored once, in this face's form.
//!
//! An entry point with a quick way tries that first. `None` says that nothing happened, and the general way takes the call.

use crate::handles::{Comm, Datatype, Handle, REQUEST_NULL, Request, SENT};
use crate::library::{NOTHING, STANDARD, Started, Told, entries};
use crate::status::{Status, StatusOut};
use crate::values;
use std::ffi::{c_int, c_void};

/// Gives the program its request.
///
/// # Safety
/// The place is valid.
#[inline(always)]
unsafe fn keep(request: *mut i32, started: Started) -> c_int {
    if started.request != usize::MAX {
        // SAFETY: the caller's promise.
        unsafe { request.write(Request::face(started.request)) };
    }
    values::code(started.code as c_int)
}

/// `MPI_Isend`.
///
/// # Safety
/// As the call.
#[inline(always)]
pub unsafe fn isend(
    buf: *const c_void,
    count: c_int,
    datatype: i32,
    dest: c_int,
    tag: c_int,
    comm: i32,
    request: *mut i32,
) -> Option<c_int> {
    let (datatype, comm) = (Datatype::quick(datatype)?, Comm::quick(comm)?);
    if dest < 0 || request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { keep(request, (entries().extras.isend)(buf, count, datatype, dest, tag, comm)) })
}

/// `MPI_Irecv`.
///
/// # Safety
/// As the call.
#[inline(always)]
pub unsafe fn irecv(
    buf: *mut c_void,
    count: c_int,
    datatype: i32,
    source: c_int,
    tag: c_int,
    comm: i32,
    request: *mut i32,
) -> Option<c_int> {
    let (datatype, comm) = (Datatype::quick(datatype)?, Comm::quick(comm)?);
    // Wildcards have other values here.
    if source < 0 || tag < 0 || request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { keep(request, (entries().extras.irecv)(buf, count, datatype, source, tag, comm)) })
}

/// `MPI_Recv`.
///
/// # Safety
/// As the call.
#[inline(always)]
pub unsafe fn recv(
    buf: *mut c_void,
    count: c_int,
    datatype: i32,
    source: c_int,
    tag: c_int,
    comm: i32,
    status: *mut Status,
) -> Option<c_int> {
    let (datatype, comm) = (Datatype::quick(datatype)?, Comm::quick(comm)?);
    if source < 0 || tag < 0 {
        return None;
    }
    let mut out = StatusOut::new(status);
    // SAFETY: the caller's promise.
    unsafe {
        let told = (entries().extras.recv)(buf, count, datatype, source, tag, comm, out.native());
        if told.bytes == STANDARD {
            out.store();
            return Some(values::code(told.ends as c_int));
        }
        out.tell(&told);
    }
    Some(0)
}

/// `MPI_Wait`.
///
/// # Safety
/// As the call.
#[inline(always)]
pub unsafe fn wait(request: *mut i32, status: *mut Status) -> Option<c_int> {
    if request.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the request is not null.
    unsafe {
        if request.read() == SENT {
            request.write(REQUEST_NULL);
            StatusOut::new(status).tell_empty();
            return Some(0);
        }
        let (index, generation, mask) = Request::receive(request.read())?;
        let told = (entries().extras.wait)(index, generation, mask);
        if told.bytes == NOTHING {
            return None;
        }
        request.write(REQUEST_NULL);
        StatusOut::new(status).tell(&told);
    }
    Some(0)
}

/// `MPI_Iprobe`.
///
/// # Safety
/// As the call.
#[inline(always)]
pub unsafe fn iprobe(
    source: c_int,
    tag: c_int,
    comm: i32,
    flag: *mut c_int,
    status: *mut Status,
) -> Option<c_int> {
    let comm = Comm::quick(comm)?;
    if source < 0 || tag < 0 || flag.is_null() {
        return None;
    }
    let mut out = StatusOut::new(status);
    // SAFETY: the caller's promise; the flag is not null.
    unsafe {
        let told: Told = (entries().extras.iprobe)(source, tag, comm, flag, out.native());
        match told.bytes {
            STANDARD => {
                out.store();
                return Some(values::code(told.ends as c_int));
            }
            NOTHING => flag.write(0),
            _ => {
                flag.write(1);
                out.tell(&told);
            }
        }
    }
    Some(0)
}
