//! Spawning (MPI-5.0, 11.8.2 and 11.8.3): handles count at the root only, and how many codes are
//! set only the standard face knows.

#![allow(clippy::too_many_arguments, reason = "as the standard has it")]

use crate::arrays::{Handles, Out};
use crate::generated::types::*;
use crate::handles::{Comm, Handle, Info};
use crate::table::entries;
use crate::values::{self, Rank, code};
use std::ffi::{c_char, c_int};

/// `MPI_Comm_spawn`.
pub unsafe fn comm_spawn(
    command: *const c_char,
    argv: *mut *mut c_char,
    maxprocs: c_int,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    intercomm: *mut MPI_Comm,
    array_of_errcodes: *mut c_int,
) -> c_int {
    let (comm, root) = (Comm::native(comm), Rank::native(root));
    let mut new = Out::<Comm>::new(intercomm);
    // SAFETY: the program's promise.
    unsafe {
        let info = Info::native(info);
        let codes = array_of_errcodes;
        let native = native!(MPI_Comm_spawn(command, argv, maxprocs, info, root, comm, new.native(), codes));
        new.store();
        translate(codes);
        code(native)
    }
}

/// `MPI_Comm_spawn_multiple`.
pub unsafe fn comm_spawn_multiple(
    count: c_int,
    array_of_commands: *mut *mut c_char,
    array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: *const c_int,
    array_of_info: *const MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    intercomm: *mut MPI_Comm,
    array_of_errcodes: *mut c_int,
) -> c_int {
    let (comm, root) = (Comm::native(comm), Rank::native(root));
    let mut new = Out::<Comm>::new(intercomm);
    // SAFETY: the program's promise; the infos are there at the root.
    unsafe {
        let infos = if is_root(comm, root) { i64::from(count) } else { 0 };
        let mut infos = Handles::<Info>::new(array_of_info, infos);
        let codes = array_of_errcodes;
        let native = native!(MPI_Comm_spawn_multiple(
            count,
            array_of_commands,
            array_of_argv,
            array_of_maxprocs,
            infos.native(),
            root,
            comm,
            new.native(),
            codes
        ));
        new.store();
        translate(codes);
        code(native)
    }
}

fn is_root(comm: usize, root: c_int) -> bool {
    let mut rank = -1;
    // SAFETY: a handle, and a place for the answer; a wrong handle is reported by the call itself.
    unsafe { native!(MPI_Comm_rank(comm, &mut rank)) == 0 && rank == root }
}

/// Translates the codes that this thread's last call has set.
///
/// # Safety
/// Null, or the array of that call.
unsafe fn translate(codes: *mut c_int) {
    let set = if codes.is_null() { 0 } else { (entries().services.spawned)() };
    for at in 0..usize::try_from(set).unwrap_or(0) {
        // SAFETY: the caller's promise; the call has set so many.
        unsafe { values::set(0, codes.wrapping_add(at), code) };
    }
}
