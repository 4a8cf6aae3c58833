//! Windows: making and freeing them, and what they are (MPI-5.0, 12.2).

use crate::args::{Address, InOut, Out, OutCount, OutString};
use crate::calls::comm::making;
use crate::calls::info::publish_with_kinds;
use crate::generated::types::{MPI_Aint, MPI_Group, MPI_Info, MPI_Win};
use crate::handles::{GROUPS, WINS};
use crate::process;
use crate::progress_thread;
use crate::report::{Failed, Owner};
use std::ffi::{CStr, c_int};
use std::sync::Arc;
use verbena_memory::Region;
use verbena_mpi::coll::Kind;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::window::{Means, Wanted};
use verbena_mpi::{Comm, Error, Info, Result, Win};

/// Calls `make` with the means to make a window.
fn made(make: impl FnOnce(Means<'_>) -> Result<Win>) -> Result<Win> {
    make(Means { exchange: &making(Kind::WinCreate), server: &progress_thread::Thread })
}

/// Makes a handle of a window for the program.
fn publish(win: Win, handle: Out<'_, MPI_Win>) -> Arc<Win> {
    let win = Arc::new(win);
    let number = WINS.insert(win.clone());
    win.set_handle(number);
    handle.set(number);
    win
}

/// The memory of the program that a window exposes. `MPI_ERR_BUFFER` if it begins at the null
/// pointer. A negative size is refused with the other arguments.
fn exposed(base: Address, size: MPI_Aint) -> Result<Region> {
    if size <= 0 {
        return Ok(Region::EMPTY);
    }
    if base.is_null() {
        return Err(null_base(size));
    }
    // SAFETY: the program promises that the memory stays while it is exposed (MPI-5.0, 12.2.1 and
    // 12.2.5); others access it by the rules of 12.7.
    Ok(unsafe { Region::new(base.pointer().cast(), size as usize) })
}

/// Stores an address where the program wants it: `place` is the address of a pointer.
fn give_address(place: Address, address: usize) {
    // SAFETY: the program passes the address of a pointer as `void *` (MPI-5.0, 12.2); it is not
    // null.
    unsafe { place.pointer().cast::<usize>().write_unaligned(address) };
}

fn check_place(place: Address) -> Result<()> {
    if place.is_null() { Err(null_place()) } else { Ok(()) }
}

/// `MPI_Win_create` (12.2.1).
pub fn win_create(
    base: Address,
    size: MPI_Aint,
    unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    win: Out<'_, MPI_Win>,
) -> Result<()> {
    let wanted = Wanted { size, unit, info: info.map(Arc::as_ref) };
    let memory = (base.pointer() as usize, exposed(base, size));
    publish(made(|means| Win::create(process(), comm, memory, wanted, means))?, win);
    Ok(())
}

/// `MPI_Win_allocate` (12.2.2).
pub fn win_allocate(
    size: MPI_Aint,
    unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    baseptr: Address,
    win: Out<'_, MPI_Win>,
) -> Result<()> {
    let wanted = Wanted { size, unit, info: info.map(Arc::as_ref) };
    // The others must hear of it, too.
    let checked = check_place(baseptr);
    let new = made(|means| Win::allocate(process(), comm, checked, wanted, means))?;
    give_address(baseptr, publish(new, win).base());
    Ok(())
}

/// `MPI_Win_allocate_shared` (12.2.3).
pub fn win_allocate_shared(
    size: MPI_Aint,
    unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    baseptr: Address,
    win: Out<'_, MPI_Win>,
) -> Result<()> {
    let wanted = Wanted { size, unit, info: info.map(Arc::as_ref) };
    let checked = check_place(baseptr);
    let new = made(|means| Win::allocate_shared(process(), comm, checked, wanted, means))?;
    give_address(baseptr, publish(new, win).base());
    Ok(())
}

/// `MPI_Win_create_dynamic` (12.2.5).
pub fn win_create_dynamic(info: Option<&Arc<Info>>, comm: &Arc<Comm>, win: Out<'_, MPI_Win>) -> Result<()> {
    publish(made(|means| Win::dynamic(process(), comm, info.map(Arc::as_ref), means))?, win);
    Ok(())
}

/// `MPI_Win_attach` (12.2.5).
pub fn win_attach(win: &Arc<Win>, base: Address, size: MPI_Aint) -> Result<()> {
    if size < 0 {
        return Err(negative_size(size));
    }
    win.attach(process(), base.pointer() as u64, exposed(base, size)?)
}

/// `MPI_Win_detach` (12.2.5).
pub fn win_detach(win: &Arc<Win>, base: Address) -> Result<()> {
    win.detach(process(), base.pointer() as u64)
}

/// `MPI_Win_free` (12.2.6).
pub fn win_free(win: InOut<'_, MPI_Win>) -> Result<()> {
    let object = WINS.get(win.get())?.clone();
    let late = object.free(process(), &making(Kind::WinFree))?;
    WINS.remove(win.get())?;
    win.set(mpi::MPI_WIN_NULL);
    if object.needs_progress() {
        progress_thread::release();
    }
    // The window is gone whatever this says.
    late.map_or(Ok(()), Err)
}

/// `MPI_Win_shared_query` (12.2.4).
pub fn win_shared_query(
    win: &Arc<Win>,
    rank: c_int,
    size: Out<'_, MPI_Aint>,
    disp_unit: OutCount<'_>,
    baseptr: Address,
) -> Result<()> {
    check_place(baseptr)?;
    let (bytes, unit, address) = win.shared_query(process(), rank)?;
    size.set(bytes as MPI_Aint);
    disp_unit.set(unit);
    give_address(baseptr, address);
    Ok(())
}

/// `MPI_Win_get_group` (12.2.7).
pub fn win_get_group(win: &Arc<Win>, group: Out<'_, MPI_Group>) -> Result<()> {
    group.set(GROUPS.insert(win.group().clone()));
    Ok(())
}

/// `MPI_Win_set_info` (12.2.8).
pub fn win_set_info(win: &Arc<Win>, info: &Arc<Info>) -> Result<()> {
    win.set_hints(info)
}

/// `MPI_Win_get_info` (12.2.8).
pub fn win_get_info(win: &Arc<Win>, info_used: Out<'_, MPI_Info>) -> Result<()> {
    publish_with_kinds(win.hints().clone(), info_used)
}

/// `MPI_Win_set_name` (7.8).
pub fn win_set_name(win: &Arc<Win>, win_name: &CStr) -> Result<()> {
    win.set_name(win_name.to_bytes());
    Ok(())
}

/// `MPI_Win_get_name` (7.8): also of `MPI_WIN_NULL`.
pub fn win_get_name(
    win: MPI_Win,
    win_name: OutString<'_>,
    resultlen: Out<'_, c_int>,
) -> std::result::Result<(), Failed> {
    let name = match win {
        mpi::MPI_WIN_NULL => b"MPI_WIN_NULL".to_vec(),
        _ => {
            let win = WINS.get(win).map_err(|error| Failed::of(error, Some(Owner::Win(win))))?;
            win.name()
        }
    };
    resultlen.set(win_name.set(name) as c_int);
    Ok(())
}

#[cold]
fn null_base(size: MPI_Aint) -> Error {
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "the memory of a window begins at the null pointer",
        format!("{size} bytes at the null pointer"),
        "the memory was not allocated, or the arguments are in the wrong order",
        "pass the address of memory, or the size 0 for none",
    )
}

#[cold]
fn null_place() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no place for the address of a window's memory",
        "the argument baseptr, which is null",
        "the pointer itself was passed instead of its address",
        "pass the address of a pointer",
    )
}

#[cold]
fn negative_size(size: MPI_Aint) -> Error {
    Error::new(
        mpi::MPI_ERR_SIZE,
        "the size of memory to attach is negative",
        format!("{size} bytes"),
        "the value was never set, or an integer overflowed",
        "pass 0 or more",
    )
}
