//! The most frequent calls in the form of the MPICH face (`crates/mpich`): its entry points translate the handles of
//! communicator and datatype and jump here, where request and status are stored once and in that face's own form.
//!
//! Each call has a quick way ([`crate::calls::quick`]). What that does not take goes back to the face ([`Others`]), which translates all
//! and makes the standard call. Ranks and tags come as the program passed them: those below 0, which have other
//! values there, are never taken here.

use crate::calls::quick;
use crate::handles::{Kind, encode_request};
use crate::state::{process_alone, try_process};
use crate::status::Status;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use verbena_engine::RequestId;

/// The forms of requests on that face; the face compares them with its own when it is loaded.
#[repr(C)]
pub struct Forms {
    /// A send that was complete when it was started.
    sent: u32,
    /// `MPI_REQUEST_NULL`.
    null: u32,
    /// A receive of the engine at index 0 and of generation 0.
    receive: u32,
    /// Where the lowest bits of the generation lie: above the index, which ends there.
    generation_shift: u32,
    /// Which bits of the generation are known.
    generations: u32,
}

/// The forms.
pub const FORMS: Forms = Forms {
    sent: 0x6c00_0001,
    null: 0x2c00_0000,
    receive: 3 << 30 | (Kind::EngineReceive as u32) << 26,
    generation_shift: 22,
    generations: 15,
};

impl Forms {
    /// The form of a receive of the engine.
    #[inline(always)]
    fn of(&self, id: RequestId) -> i32 {
        if id.index >> self.generation_shift != 0 {
            (others().too_many)();
        }
        (self.receive | (id.generation & self.generations) << self.generation_shift | id.index) as i32
    }

    /// The index and the known bits of the generation in the form of a receive of the engine.
    #[inline(always)]
    fn receive_in(&self, form: i32) -> Option<(u32, u32)> {
        let inner = form as u32 ^ self.receive;
        let (index, generation) =
            (inner & ((1 << self.generation_shift) - 1), inner >> self.generation_shift);
        (generation <= self.generations).then_some((index, generation))
    }
}

/// A status on that face.
#[repr(C)]
#[allow(non_snake_case)]
pub struct FaceStatus {
    count_lo: c_int,
    count_hi_and_cancelled: c_int,
    MPI_SOURCE: c_int,
    MPI_TAG: c_int,
    MPI_ERROR: c_int,
}

impl FaceStatus {
    /// As [`Status::tell`]. The address 1 stands for `MPI_STATUS_IGNORE`.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn tell(place: *mut FaceStatus, source: i32, tag: i32, bytes: u64) {
        if place as usize > 1 {
            // SAFETY: the caller's promise.
            unsafe {
                (*place).count_lo = bytes as c_int;
                (*place).count_hi_and_cancelled = (bytes >> 31) as c_int & !1;
                ((*place).MPI_SOURCE, (*place).MPI_TAG) = (source, tag);
            }
        }
    }
}

/// `MPI_Send` in that face's form.
pub type Send = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize) -> c_int;
/// `MPI_Isend` in that face's form.
pub type Isend = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize, *mut i32) -> c_int;
/// `MPI_Irecv` in that face's form.
pub type Irecv = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut i32) -> c_int;
/// `MPI_Recv` in that face's form.
pub type Recv =
    unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut FaceStatus) -> c_int;
/// `MPI_Wait` in that face's form.
pub type Wait = unsafe extern "C" fn(*mut i32, *mut FaceStatus) -> c_int;
/// `MPI_Iprobe` in that face's form.
pub type Iprobe = unsafe extern "C" fn(c_int, c_int, usize, *mut c_int, *mut FaceStatus) -> c_int;

/// What the face does itself: whatever has no quick way here. The arguments are those of the functions below.
#[repr(C)]
pub struct Others {
    send: Send,
    isend: Isend,
    irecv: Irecv,
    recv: Recv,
    wait: Wait,
    iprobe: Iprobe,
    /// Ends a blocking receive that failed: index and generation of its request, communicator, status.
    end_recv: unsafe extern "C" fn(u32, u32, usize, *mut FaceStatus) -> c_int,
    /// Ends the program: an index does not fit into a handle.
    too_many: extern "C" fn() -> !,
}

static OTHERS: AtomicPtr<Others> = AtomicPtr::new(std::ptr::null_mut());

/// The face is loaded, and this is what it does itself.
///
/// # Safety
/// `others` leads to what is never changed and never goes away. No function below is called before.
pub unsafe extern "C" fn attach(others: *const Others) {
    OTHERS.store(others.cast_mut(), Ordering::Release);
}

#[inline(always)]
fn others() -> &'static Others {
    // SAFETY: the face calls `attach` before anything else.
    unsafe { &*OTHERS.load(Ordering::Acquire) }
}

/// `MPI_Send`.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn send(
    buf: *const c_void,
    count: c_int,
    datatype: usize,
    dest: c_int,
    tag: c_int,
    comm: usize,
) -> c_int {
    #[inline(never)]
    unsafe extern "C" fn next(
        buf: *const c_void,
        count: c_int,
        datatype: usize,
        dest: c_int,
        tag: c_int,
        comm: usize,
    ) -> c_int {
        // SAFETY: the caller's promise.
        unsafe {
            quick::send_next(buf, count.into(), datatype, dest, tag, comm)
                .unwrap_or_else(|| (others().send)(buf, count, datatype, dest, tag, comm))
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        quick::send(buf, count.into(), datatype, dest, tag, comm)
            .unwrap_or_else(|| next(buf, count, datatype, dest, tag, comm))
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
    request: *mut i32,
) -> c_int {
    let sent = || {
        if request.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let code = quick::send(buf, count.into(), datatype, dest, tag, comm)?;
            request.write(FORMS.sent as i32);
            Some(code)
        }
    };
    // SAFETY: the caller's promise.
    sent().unwrap_or_else(|| unsafe { (others().isend)(buf, count, datatype, dest, tag, comm, request) })
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
    request: *mut i32,
) -> c_int {
    let started = || {
        if tag < 0 || request.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the request is not null.
        unsafe {
            let id = quick::started(buf, count.into(), datatype, source, tag, comm)?;
            request.write(FORMS.of(id));
        }
        Some(0)
    };
    // SAFETY: the caller's promise.
    started().unwrap_or_else(|| unsafe { (others().irecv)(buf, count, datatype, source, tag, comm, request) })
}

/// `MPI_Recv`.
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
    status: *mut FaceStatus,
) -> c_int {
    #[inline(never)]
    unsafe extern "C" fn next(
        buf: *mut c_void,
        count: c_int,
        datatype: usize,
        source: c_int,
        tag: c_int,
        comm: usize,
        status: *mut FaceStatus,
    ) -> c_int {
        let plain = source >= 0 && tag >= 0;
        // SAFETY: the caller's promise.
        unsafe {
            let waited_for = || quick::waited_for(buf, count.into(), datatype, source, tag, comm);
            match plain.then(waited_for).flatten() {
                Some(Ok((source, tag, bytes))) => FaceStatus::tell(status, source, tag, bytes),
                Some(Err(id)) => return (others().end_recv)(id.index, id.generation, comm, status),
                None => return (others().recv)(buf, count, datatype, source, tag, comm, status),
            }
        }
        0
    }
    // SAFETY: the caller's promise. No message has a tag below 0.
    unsafe {
        match quick::received(buf, count.into(), datatype, source, tag, comm) {
            Some(bytes) => FaceStatus::tell(status, source, tag, bytes),
            None => return next(buf, count, datatype, source, tag, comm, status),
        }
    }
    0
}

/// `MPI_Wait`; the place of the request is not null.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn wait(request: *mut i32, status: *mut FaceStatus) -> c_int {
    #[inline(never)]
    unsafe extern "C" fn next(request: *mut i32, status: *mut FaceStatus) -> c_int {
        let waited_for = |form| {
            let (index, known) = FORMS.receive_in(form)?;
            let (process, alone) = process_alone()?;
            let whole = process.engine_alone(alone).generation(index);
            let generation = whole.filter(|whole| whole & FORMS.generations == known)?;
            process.finish_plain(alone, RequestId { index, generation })
        };
        // SAFETY: the caller's promise.
        unsafe {
            let Some(ended) = waited_for(*request) else { return (others().wait)(request, status) };
            keep(request, status, ended)
        }
    }
    let ended = |form| {
        let (index, known) = FORMS.receive_in(form)?;
        let (process, alone) = process_alone()?;
        process.engine_alone(alone).try_end(index, |generation| generation & FORMS.generations == known)
    };
    // SAFETY: the caller's promise.
    unsafe {
        match ended(*request) {
            Some(ended) => keep(request, status, ended),
            None => next(request, status),
        }
    }
}

/// Gives the program what it is told of a receive that has ended.
///
/// # Safety
/// The places are valid, or the status is ignored.
#[inline(always)]
unsafe fn keep(request: *mut i32, status: *mut FaceStatus, (source, tag, bytes): (i32, i32, u64)) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        request.write(FORMS.null as i32);
        FaceStatus::tell(status, source, tag, bytes);
    }
    0
}

/// `MPI_Iprobe`.
///
/// # Safety
/// As that call.
pub unsafe extern "C" fn iprobe(
    source: c_int,
    tag: c_int,
    comm: usize,
    flag: *mut c_int,
    status: *mut FaceStatus,
) -> c_int {
    let probed = || {
        if source < 0 || tag < 0 || flag.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { quick::probed(source, tag, comm) }
    };
    // SAFETY: the caller's promise; the flag is not null if something was probed.
    unsafe {
        match probed() {
            Some(None) => flag.write(0),
            Some(Some(found)) => {
                flag.write(1);
                FaceStatus::tell(status, found.source, found.tag, found.bytes);
            }
            None => return (others().iprobe)(source, tag, comm, flag, status),
        }
    }
    0
}

/// The end of a blocking receive that failed, as a standard call tells it.
///
/// # Safety
/// As [`quick::end_receive`].
pub unsafe extern "C" fn end_recv(index: u32, generation: u32, comm: usize, status: *mut Status) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { quick::end_receive(RequestId { index, generation }, comm, status) }
}

/// The handle of the receive of the engine that is at this place, if the known bits of its generation are these; else 0.
pub extern "C" fn receive(index: u32, known: u32) -> usize {
    let whole = match process_alone() {
        Some((process, alone)) => process.engine_alone(alone).generation(index),
        None => try_process().and_then(|process| process.look(|engine| engine.generation(index))),
    };
    whole
        .filter(|whole| whole & FORMS.generations == known)
        .map_or(0, |generation| encode_request(Kind::EngineReceive, RequestId { index, generation }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_is_found_in_its_form() {
        for (index, generation) in [(1, 0), (77, 0xffff_fff3), ((1 << 22) - 1, 15)] {
            let form = FORMS.of(RequestId { index, generation });
            assert_eq!(FORMS.receive_in(form), Some((index, generation & 15)));
        }
    }

    #[test]
    fn no_other_form_is_a_receive() {
        let send = 3 << 30 | (Kind::EngineSend as u32) << 26;
        for form in [FORMS.sent, FORMS.null, 0, 1, u32::MAX, send, send | 5, 3 << 30 | 14 << 26] {
            assert_eq!(FORMS.receive_in(form as i32), None, "{form:#x}");
        }
    }
}
