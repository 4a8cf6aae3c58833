//! The quick ways of the most frequent calls: handles of communicator and datatype are translated, and the standard face does the rest in
//! our form (`crates/abi/src/told.rs`), which costs a jump; and what it leaves to us.
//!
//! An entry point with a quick way tries that first. `None` says that nothing happened, and the general way takes the call.

use crate::arrays;
use crate::handles::{COMM_WORLD, Comm, Datatype, Handle, REQUEST_NULL, Request, SENT, WORLD, too_many};
use crate::library::{Others, entries};
use crate::status::{Status, StatusOut};
use crate::values::{code, rank_native, tag_native};
use std::ffi::{c_int, c_void};

/// `MPI_Send`.
///
/// # Safety
/// As the call.
#[inline(always)]
pub unsafe fn send(
    buf: *const c_void,
    count: c_int,
    datatype: i32,
    dest: c_int,
    tag: c_int,
    comm: i32,
) -> Option<c_int> {
    let datatype = Datatype::quick(datatype)?;
    // SAFETY: the caller's promise.
    Some(unsafe {
        match comm {
            COMM_WORLD => (entries().extras.send)(buf, count, datatype, dest, tag, WORLD),
            _ => over_other::send(buf, count, datatype, dest, tag, comm),
        }
    })
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
    let datatype = Datatype::quick(datatype)?;
    // SAFETY: the caller's promise.
    Some(unsafe {
        match comm {
            COMM_WORLD => (entries().extras.isend)(buf, count, datatype, dest, tag, WORLD, request),
            _ => over_other::isend(buf, count, datatype, dest, tag, comm, request),
        }
    })
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
    let datatype = Datatype::quick(datatype)?;
    // SAFETY: the caller's promise.
    Some(unsafe {
        match comm {
            COMM_WORLD => (entries().extras.irecv)(buf, count, datatype, source, tag, WORLD, request),
            _ => over_other::irecv(buf, count, datatype, source, tag, comm, request),
        }
    })
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
    let datatype = Datatype::quick(datatype)?;
    // SAFETY: the caller's promise.
    Some(unsafe {
        match comm {
            COMM_WORLD => (entries().extras.recv)(buf, count, datatype, source, tag, WORLD, status),
            _ => over_other::recv(buf, count, datatype, source, tag, comm, status),
        }
    })
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
        Some((entries().extras.wait)(request, status))
    }
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
    // SAFETY: the caller's promise.
    Some(unsafe {
        match comm {
            COMM_WORLD => (entries().extras.iprobe)(source, tag, WORLD, flag, status),
            _ => over_other::iprobe(source, tag, comm, flag, status),
        }
    })
}

/// The same calls over another communicator than `MPI_COMM_WORLD`: in functions of their own, since to look it up takes more registers
/// than there are beside the arguments.
mod over_other {
    use super::*;

    macro_rules! over_other {
        ($name:ident($($argument:ident: $type:ty),*) over $comm:ident) => {
            #[inline(never)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                let $comm = Comm::native($comm);
                // SAFETY: the caller's promise.
                unsafe { (entries().extras.$name)($($argument),*) }
            }
        };
    }

    over_other! { send(buf: *const c_void, count: c_int, datatype: usize, dest: c_int, tag: c_int, comm: i32) over comm }
    over_other! { isend(buf: *const c_void, count: c_int, datatype: usize, dest: c_int, tag: c_int, comm: i32, request: *mut i32) over comm }
    over_other! { irecv(buf: *mut c_void, count: c_int, datatype: usize, source: c_int, tag: c_int, comm: i32, request: *mut i32) over comm }
    over_other! { recv(buf: *mut c_void, count: c_int, datatype: usize, source: c_int, tag: c_int, comm: i32, status: *mut Status) over comm }
    over_other! { iprobe(source: c_int, tag: c_int, comm: i32, flag: *mut c_int, status: *mut Status) over comm }
}

/// What the standard face leaves to this one. Communicator and datatype are translated already.
pub static OTHERS: Others = Others {
    send: other_send,
    isend: other_isend,
    irecv: other_irecv,
    recv: other_recv,
    wait: other_wait,
    iprobe: other_iprobe,
    end_recv,
    too_many,
};

unsafe extern "C" fn other_send(
    buf: *const c_void,
    count: c_int,
    datatype: usize,
    dest: c_int,
    tag: c_int,
    comm: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { native!(MPI_Send(buf, count, datatype, rank_native(dest), tag, comm)) })
}

unsafe extern "C" fn other_isend(
    buf: *const c_void,
    count: c_int,
    datatype: usize,
    dest: c_int,
    tag: c_int,
    comm: usize,
    request: *mut i32,
) -> c_int {
    let mut out = arrays::Out::<Request>::new(request);
    // SAFETY: the caller's promise.
    unsafe {
        let native = native!(MPI_Isend(buf, count, datatype, rank_native(dest), tag, comm, out.native()));
        out.store();
        code(native)
    }
}

unsafe extern "C" fn other_irecv(
    buf: *mut c_void,
    count: c_int,
    datatype: usize,
    source: c_int,
    tag: c_int,
    comm: usize,
    request: *mut i32,
) -> c_int {
    let (source, tag) = (rank_native(source), tag_native(tag));
    let mut out = arrays::Out::<Request>::new(request);
    // SAFETY: the caller's promise.
    unsafe {
        let native = native!(MPI_Irecv(buf, count, datatype, source, tag, comm, out.native()));
        out.store();
        code(native)
    }
}

unsafe extern "C" fn other_recv(
    buf: *mut c_void,
    count: c_int,
    datatype: usize,
    source: c_int,
    tag: c_int,
    comm: usize,
    status: *mut Status,
) -> c_int {
    let (source, tag) = (rank_native(source), tag_native(tag));
    let mut out = StatusOut::new(status);
    // SAFETY: the caller's promise.
    unsafe {
        let native = native!(MPI_Recv(buf, count, datatype, source, tag, comm, out.native()));
        out.store();
        code(native)
    }
}

unsafe extern "C" fn other_wait(request: *mut i32, status: *mut Status) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let (mut place, mut out) = (arrays::InOut::<Request>::new(request), StatusOut::new(status));
        let native = native!(MPI_Wait(place.native(), out.native()));
        place.store();
        out.store();
        code(native)
    }
}

unsafe extern "C" fn other_iprobe(
    source: c_int,
    tag: c_int,
    comm: usize,
    flag: *mut c_int,
    status: *mut Status,
) -> c_int {
    let (source, tag) = (rank_native(source), tag_native(tag));
    let mut out = StatusOut::new(status);
    // SAFETY: the caller's promise.
    unsafe {
        let native = native!(MPI_Iprobe(source, tag, comm, flag, out.native()));
        out.store();
        code(native)
    }
}

unsafe extern "C" fn end_recv(index: u32, generation: u32, comm: usize, status: *mut Status) -> c_int {
    let mut out = StatusOut::new(status);
    // SAFETY: the caller's promise.
    unsafe {
        let native = (entries().extras.end_recv)(index, generation, comm, out.native());
        out.store();
        code(native)
    }
}
