//! The most frequent calls, for the MPICH face: what a call sets comes back in registers, so that it is written once and in
//! that face's own form.
//!
//! Each has a quick way ([`crate::calls::quick`]) and otherwise makes the standard call, so that it never differs from that.

use crate::calls::quick;
use crate::generated::point::{PMPI_Iprobe, PMPI_Irecv, PMPI_Isend, PMPI_Recv};
use crate::handles::{Kind, encode_request};
use crate::requests::SENT_HANDLE;
use crate::state::{process_alone, try_process};
use crate::status::Status;
use std::ffi::{c_int, c_void};
use verbena_engine::RequestId;

/// What a call that starts an operation returns.
#[repr(C)]
pub struct Started {
    /// The error code.
    code: i64,
    /// The request, as the call set it; `usize::MAX` if it did not.
    request: usize,
}

/// What a call that ends a receive, or looks for a message, returns.
#[repr(C)]
pub struct Told {
    /// Bytes of the message, or [`NOTHING`] or [`STANDARD`].
    bytes: i64,
    /// Source in the low half and tag in the high one; or the error code.
    ends: u64,
}

/// There is no message, or the request has not ended.
const NOTHING: i64 = -1;
/// The standard call was made: the rest of what it set is in the places that were passed for it.
const STANDARD: i64 = -2;

impl Told {
    #[inline(always)]
    fn ended(source: i32, tag: i32, bytes: u64) -> Told {
        Told { bytes: bytes as i64, ends: u64::from(source as u32) | u64::from(tag as u32) << 32 }
    }
}

/// `MPI_Isend`.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn isend(
    buf: *const c_void,
    count: c_int,
    datatype: usize,
    dest: c_int,
    tag: c_int,
    comm: usize,
) -> Started {
    #[inline(never)]
    unsafe extern "C" fn standard(
        buf: *const c_void,
        count: c_int,
        datatype: usize,
        dest: c_int,
        tag: c_int,
        comm: usize,
    ) -> Started {
        let mut request = usize::MAX;
        // SAFETY: the caller's promise, and a place of ours.
        let code = unsafe { PMPI_Isend(buf, count, datatype, dest, tag, comm, &mut request) };
        Started { code: code.into(), request }
    }
    // SAFETY: the caller's promise.
    match unsafe { quick::send(buf, count.into(), datatype, dest, tag, comm) } {
        Some(_) => Started { code: 0, request: SENT_HANDLE },
        // SAFETY: as above.
        None => unsafe { standard(buf, count, datatype, dest, tag, comm) },
    }
}

/// `MPI_Irecv`.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn irecv(
    buf: *mut c_void,
    count: c_int,
    datatype: usize,
    source: c_int,
    tag: c_int,
    comm: usize,
) -> Started {
    #[inline(never)]
    unsafe extern "C" fn standard(
        buf: *mut c_void,
        count: c_int,
        datatype: usize,
        source: c_int,
        tag: c_int,
        comm: usize,
    ) -> Started {
        let mut request = usize::MAX;
        // SAFETY: the caller's promise, and a place of ours.
        let code = unsafe { PMPI_Irecv(buf, count, datatype, source, tag, comm, &mut request) };
        Started { code: code.into(), request }
    }
    // SAFETY: the caller's promise.
    match unsafe { quick::started(buf, count.into(), datatype, source, tag, comm) } {
        Some(id) => Started { code: 0, request: encode_request(Kind::EngineReceive, id) },
        // SAFETY: as above.
        None => unsafe { standard(buf, count, datatype, source, tag, comm) },
    }
}

/// `MPI_Recv`, with a place for what is not told.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn recv(
    buf: *mut c_void,
    count: c_int,
    datatype: usize,
    source: c_int,
    tag: c_int,
    comm: usize,
    status: *mut Status,
) -> Told {
    #[inline(never)]
    unsafe extern "C" fn standard(
        buf: *mut c_void,
        count: c_int,
        datatype: usize,
        source: c_int,
        tag: c_int,
        comm: usize,
        status: *mut Status,
    ) -> Told {
        // SAFETY: the caller's promise.
        let code = unsafe { PMPI_Recv(buf, count, datatype, source, tag, comm, status) };
        Told { bytes: STANDARD, ends: code as u64 }
    }
    // SAFETY: the caller's promise.
    match unsafe { quick::received(buf, count.into(), datatype, source, tag, comm) } {
        Some(bytes) => Told::ended(source, tag, bytes),
        // SAFETY: as above.
        None => unsafe { standard(buf, count, datatype, source, tag, comm, status) },
    }
}

/// `MPI_Wait` for the receive of the engine that is at this place, if the low bits of its generation are these. [`NOTHING`]
/// says that it must be waited for as others are.
pub extern "C" fn wait(index: u32, generation: u32, mask: u32) -> Told {
    let waited = || {
        let (process, alone) = process_alone()?;
        let whole = process.engine_alone(alone).generation(index).filter(|g| g & mask == generation)?;
        process.finish_plain(alone, RequestId { index, generation: whole })
    };
    match waited() {
        Some((source, tag, bytes)) => Told::ended(source, tag, bytes),
        None => Told { bytes: NOTHING, ends: 0 },
    }
}

/// The handle of the receive of the engine that is at this place, if the low bits of its generation are these; else 0.
pub extern "C" fn receive(index: u32, generation: u32, mask: u32) -> usize {
    let whole = match process_alone() {
        Some((process, alone)) => process.engine_alone(alone).generation(index),
        None => try_process().and_then(|process| process.look(|engine| engine.generation(index))),
    };
    whole
        .filter(|whole| whole & mask == generation)
        .map_or(0, |generation| encode_request(Kind::EngineReceive, RequestId { index, generation }))
}

/// `MPI_Iprobe`, with places for what is not told.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn iprobe(
    source: c_int,
    tag: c_int,
    comm: usize,
    flag: *mut c_int,
    status: *mut Status,
) -> Told {
    #[inline(never)]
    unsafe extern "C" fn standard(
        source: c_int,
        tag: c_int,
        comm: usize,
        flag: *mut c_int,
        status: *mut Status,
    ) -> Told {
        // SAFETY: the caller's promise.
        let code = unsafe { PMPI_Iprobe(source, tag, comm, flag, status) };
        Told { bytes: STANDARD, ends: code as u64 }
    }
    // SAFETY: the caller's promise.
    match unsafe { quick::probed(source, tag, comm) } {
        Some(Some(found)) => Told::ended(found.source, found.tag, found.bytes),
        Some(None) => Told { bytes: NOTHING, ends: 0 },
        // SAFETY: as above.
        None => unsafe { standard(source, tag, comm, flag, status) },
    }
}
