//! Buffered sends (MPI-5.0, 3.6): finding the buffer of a send, attaching, detaching and flushing.

use crate::args::{Address, Out, OutCount};
use crate::generated::types::MPI_Request;
use crate::process;
use crate::requests::handle_of_object;
use std::ffi::c_void;
use std::sync::Arc;
use verbena_engine::Mode;
use verbena_memory::Region;
use verbena_mpi::bsend::{BufferedSends, no_buffer};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::point::Elements;
use verbena_mpi::request::{Active, Outcome};
use verbena_mpi::task::Task;
use verbena_mpi::{Comm, Error, Process, Result, Session, point};

/// The process's own buffer (`MPI_Buffer_attach`).
static OWN: BufferedSends = BufferedSends::new();

/// An object that can have a buffer for sends.
pub trait HasBuffer: Send + Sync + 'static {
    /// The object's place for buffered sends.
    fn buffered(&self) -> &BufferedSends;
}

impl HasBuffer for Comm {
    fn buffered(&self) -> &BufferedSends {
        self.buffered_sends()
    }
}

impl HasBuffer for Session {
    fn buffered(&self) -> &BufferedSends {
        self.buffered_sends()
    }
}

/// A buffered send: from the communicator's buffer, else from that of the session that it comes
/// from, else from the process's (3.6).
pub(super) fn send_from(comm: &Comm, (message, mark): Elements, dest: i32, tag: i32) -> Result<()> {
    if dest == mpi::MPI_PROC_NULL {
        return Ok(());
    }
    let of_session = comm.group().session().map(|session| session.buffered());
    let places = [Some(comm.buffered()), of_session, Some(&OWN)];
    for place in places.into_iter().flatten() {
        let send = |copy| point::send(process(), comm, (copy, mark), dest, tag, Mode::Standard);
        if place.send(process(), &message, send)? {
            return Ok(());
        }
    }
    Err(no_buffer(message.len()))
}

/// Attaches a buffer; its address may be `MPI_BUFFER_AUTOMATIC`.
fn attach(place: &BufferedSends, buffer: Address, size: i64) -> Result<()> {
    if buffer.pointer() as usize == mpi::MPI_BUFFER_AUTOMATIC {
        return place.attach(None);
    }
    if buffer.is_null() && size > 0 {
        return Err(null_buffer(size));
    }
    // SAFETY: the program promises that the buffer stays until it is detached (MPI-5.0, 3.6).
    let region = unsafe { Region::new(buffer.pointer().cast(), size as usize) };
    place.attach(Some((region, buffer.pointer() as usize)))
}

#[cold]
fn null_buffer(size: i64) -> Error {
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "the buffer for sends begins at the null pointer",
        format!("{size} bytes at the null pointer"),
        "the memory was not allocated",
        "pass the address of memory, or MPI_BUFFER_AUTOMATIC",
    )
}

/// Detaches a buffer and stores its address and size. The C binding takes the address of the
/// pointer as `void *`.
fn detach(place: &BufferedSends, address: *mut c_void, size: OutCount) -> Result<()> {
    let (pointer, len) = match place.detach(process()) {
        None => (0, 0),
        Some(None) => (mpi::MPI_BUFFER_AUTOMATIC, 0),
        Some(Some((address, bytes))) => (address, bytes as i64),
    };
    size.set(len);
    if !address.is_null() {
        // SAFETY: the program passes the address of a pointer (MPI-5.0, 3.6); it need not be
        // aligned.
        unsafe { address.cast::<usize>().write_unaligned(pointer) };
    }
    Ok(())
}

/// `MPI_Buffer_attach`.
pub fn buffer_attach(buffer: Address, size: i64) -> Result<()> {
    attach(&OWN, buffer, size)
}

/// `MPI_Buffer_detach`.
pub fn buffer_detach(buffer_addr: *mut c_void, size: OutCount) -> Result<()> {
    detach(&OWN, buffer_addr, size)
}

/// `MPI_Buffer_flush`.
pub fn buffer_flush() -> Result<()> {
    OWN.flush(process());
    Ok(())
}

/// `MPI_Comm_attach_buffer`.
pub fn comm_attach_buffer(comm: &Arc<Comm>, buffer: Address, size: i64) -> Result<()> {
    attach(comm.buffered(), buffer, size)
}

/// `MPI_Comm_detach_buffer`.
pub fn comm_detach_buffer(comm: &Arc<Comm>, buffer_addr: *mut c_void, size: OutCount) -> Result<()> {
    detach(comm.buffered(), buffer_addr, size)
}

/// `MPI_Comm_flush_buffer`.
pub fn comm_flush_buffer(comm: &Arc<Comm>) -> Result<()> {
    comm.buffered().flush(process());
    Ok(())
}

/// `MPI_Session_attach_buffer`.
pub fn session_attach_buffer(session: &Arc<Session>, buffer: Address, size: i64) -> Result<()> {
    attach(session.buffered(), buffer, size)
}

/// `MPI_Session_detach_buffer`.
pub fn session_detach_buffer(session: &Arc<Session>, buffer_addr: *mut c_void, size: OutCount) -> Result<()> {
    detach(session.buffered(), buffer_addr, size)
}

/// `MPI_Session_flush_buffer`.
pub fn session_flush_buffer(session: &Arc<Session>) -> Result<()> {
    session.buffered().flush(process());
    Ok(())
}

/// A buffer that is flushed.
enum Flushed {
    Own,
    Of(Arc<dyn HasBuffer>),
}

impl Flushed {
    fn place(&self) -> &BufferedSends {
        match self {
            Flushed::Own => &OWN,
            Flushed::Of(object) => object.buffered(),
        }
    }
}

/// A task that ends when those messages have left the buffer that were in it when the task began.
struct Flush {
    flushed: Flushed,
    sent: u64,
}

impl Task for Flush {
    fn advance(&mut self, process: &Process) -> Result<bool> {
        Ok(self.flushed.place().is_flushed(process, self.sent))
    }
}

fn iflush(flushed: Flushed, comm: Option<&Arc<Comm>>, request: Out<MPI_Request>) -> Result<()> {
    let flush = Flush { sent: flushed.place().sent(), flushed };
    let running = process().tasks().start(process(), Box::new(flush));
    let active = if running.is_done() { Active::Done(Outcome::EMPTY) } else { Active::Task(running) };
    request.set(handle_of_object(comm, active));
    Ok(())
}

/// `MPI_Buffer_iflush`.
pub fn buffer_iflush(request: Out<MPI_Request>) -> Result<()> {
    iflush(Flushed::Own, None, request)
}

/// `MPI_Comm_iflush_buffer`.
pub fn comm_iflush_buffer(comm: &Arc<Comm>, request: Out<MPI_Request>) -> Result<()> {
    iflush(Flushed::Of(comm.clone()), Some(comm), request)
}

/// `MPI_Session_iflush_buffer`.
pub fn session_iflush_buffer(session: &Arc<Session>, request: Out<MPI_Request>) -> Result<()> {
    iflush(Flushed::Of(session.clone()), None, request)
}
