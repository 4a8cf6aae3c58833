//! The environment: versions, names, memory (MPI-5.0, 9.1, 9.2).

use crate::args::{Out, OutString};
use crate::generated::types::MPI_Aint;
use crate::host::host_name;
use crate::state;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::process::Freed;
use verbena_mpi::{Error, Info, Result};

/// Alignment of allocated memory in bytes, if the program does not ask for more: a cache line.
const ALIGNMENT: usize = 64;

/// `MPI_Get_version` (9.1.1).
pub fn get_version(version: Out<'_, c_int>, subversion: Out<'_, c_int>) -> Result<()> {
    version.set(5);
    subversion.set(0);
    Ok(())
}

/// `MPI_Get_library_version` (9.1.1).
pub fn get_library_version(version: OutString<'_>, resultlen: Out<'_, c_int>) -> Result<()> {
    let text = concat!("Verbena ", env!("CARGO_PKG_VERSION"), ", MPI 5.0, standard ABI 1.0");
    resultlen.set(version.set(text) as c_int);
    Ok(())
}

/// `MPI_Get_processor_name` (9.1.2): the host's name.
pub fn get_processor_name(name: OutString<'_>, resultlen: Out<'_, c_int>) -> Result<()> {
    resultlen.set(name.set(host_name()) as c_int);
    Ok(())
}

/// `MPI_Alloc_mem` (9.2): memory of the node's heap, so that windows on it are reached by load and
/// store; else private memory, which is less to the system as long as it is not used.
pub fn alloc_mem(size: MPI_Aint, info: Option<&Arc<Info>>, baseptr: *mut c_void) -> Result<()> {
    let bytes = usize::try_from(size).map_err(|_| negative_size(size))?;
    if baseptr.is_null() {
        return Err(null_place());
    }
    let alignment = alignment(info)?;
    let memory = match state::process().allocate(bytes, alignment) {
        Some(Ok(region)) => region.pointer().cast(),
        Some(Err(fault)) => private_memory(bytes, alignment).ok_or_else(|| no_memory(bytes, Some(&fault)))?,
        None => private_memory(bytes, alignment).ok_or_else(|| no_memory(bytes, None))?,
    };
    // SAFETY: the program passes the address of a pointer as `void *` (MPI-5.0, 9.2).
    unsafe { baseptr.cast::<*mut c_void>().write_unaligned(memory) };
    Ok(())
}

fn private_memory(bytes: usize, alignment: usize) -> Option<*mut c_void> {
    let mut memory = std::ptr::null_mut();
    // SAFETY: the place for the address is ours; the alignment is a power of two and a multiple of
    // a pointer's.
    let failed = unsafe { libc::posix_memalign(&mut memory, alignment, bytes.max(1)) };
    (failed == 0).then_some(memory)
}

/// The alignment that the hint `mpi_minimum_memory_alignment` asks for, at least a cache line.
fn alignment(info: Option<&Arc<Info>>) -> Result<usize> {
    let hint = info.map(|info| info.get(b"mpi_minimum_memory_alignment")).transpose()?.flatten();
    let asked = hint.and_then(|hint| String::from_utf8(hint).ok()?.trim().parse::<usize>().ok());
    Ok(asked.filter(|asked| asked.is_power_of_two()).map_or(ALIGNMENT, |asked| asked.max(ALIGNMENT)))
}

/// `MPI_Free_mem` (9.2).
pub fn free_mem(base: *mut c_void) -> Result<()> {
    match state::try_process().map_or(Freed::Elsewhere, |process| process.free(base as u64)) {
        Freed::Block => Ok(()),
        Freed::NoBlock => Err(not_allocated(base)),
        Freed::Elsewhere => {
            // SAFETY: the program passes what `MPI_Alloc_mem` gave it, or null (MPI-5.0, 9.2).
            unsafe { libc::free(base) };
            Ok(())
        }
    }
}

#[cold]
fn negative_size(size: MPI_Aint) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the size of memory to allocate is negative",
        format!("{size} bytes"),
        "the size was computed in a type that is too small",
        "compute it as MPI_Aint",
    )
}

#[cold]
fn null_place() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no place for the address of the allocated memory",
        "the argument baseptr, which is null",
        "the pointer itself was passed instead of its address",
        "pass the address of a pointer",
    )
}

#[cold]
fn no_memory(bytes: usize, heap: Option<&Fault>) -> Error {
    Error::new(
        mpi::MPI_ERR_NO_MEM,
        format!("{bytes} bytes of memory cannot be allocated"),
        heap.map_or("this process".into(), |fault| format!("{} ({})", fault.on, fault.what)),
        "the memory of the machine or a limit (ulimit -v, a cgroup) is used up",
        "allocate less, or raise the limit",
    )
}

#[cold]
fn not_allocated(base: *mut c_void) -> Error {
    Error::new(
        mpi::MPI_ERR_BASE,
        "MPI_Free_mem was called for memory that is not there to be freed",
        format!("{base:p}, an address of the memory that the processes of the node share"),
        "it was freed before, is not the beginning of what MPI_Alloc_mem gave, or belongs to a window",
        "pass each address that MPI_Alloc_mem gave once; MPI_Win_free frees the memory of a window",
    )
}
