//! Wrong arguments through the C entry points: each gives the standard's error class and does no
//! harm.

use mpi_abi::generated::{environment::MPI_Init_thread, point::*, request::*};
use mpi_abi::handles::{COMMS, DATATYPES, Kind, encode};
use mpi_abi::table::Place;
use mpi_abi::{MPI_Comm, MPI_Datatype, MPI_Request};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Once};
use verbena_mpi::Datatype;
use verbena_mpi::datatype::contents::Form;
use verbena_mpi::errhandler::predefined;
use verbena_mpi::generated::constants::*;

/// Initialises MPI as a program of one process, with error handlers that return.
fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (mut provided, required) = (-1, MPI_THREAD_MULTIPLE);
        // SAFETY: null is allowed for the arguments; the level lies in a variable.
        let code = unsafe { MPI_Init_thread(null_mut(), null_mut(), required, &mut provided) };
        assert_eq!(provided, MPI_THREAD_MULTIPLE);
        assert_eq!(code, MPI_SUCCESS);
        for handle in [MPI_COMM_WORLD, MPI_COMM_SELF] {
            COMMS.get(handle).unwrap().set_errhandler(predefined::returning()).unwrap();
        }
    });
}

/// A send of `count` elements from memory that has room for eight integers.
fn send(count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) -> c_int {
    begin();
    let data = [0i32; 8];
    // SAFETY: no test sends more than the array holds.
    unsafe { MPI_Send(data.as_ptr().cast(), count, datatype, dest, tag, comm) }
}

fn send_to_nobody(buffer: *const c_void, count: c_int, datatype: MPI_Datatype) -> c_int {
    begin();
    // SAFETY: nothing is read of a message to nobody.
    unsafe { MPI_Send(buffer, count, datatype, MPI_PROC_NULL, 0, MPI_COMM_WORLD) }
}

#[test]
fn wrong_communicators() {
    begin();
    let freed = COMMS.insert(COMMS.get(MPI_COMM_SELF).unwrap().clone());
    COMMS.remove(freed).unwrap();
    let never = encode(Kind::Comm, Place { index: 12345, generation: 1 });
    for comm in [0, MPI_COMM_NULL, MPI_INT, freed, never, usize::MAX, 0xdead_beef_dead_beef] {
        assert_eq!(send(1, MPI_INT, 0, 0, comm), MPI_ERR_COMM, "{comm:#x}");
    }
}

#[test]
fn wrong_datatypes() {
    begin();
    let old = Datatype::predefined(MPI_INT).unwrap();
    let uncommitted = DATATYPES.insert(Arc::new(Datatype::contiguous(Form::Int, 2, old).unwrap()));
    for datatype in [0, MPI_DATATYPE_NULL, MPI_COMM_WORLD, MPI_SUM, uncommitted, 0x2ff, usize::MAX] {
        assert_eq!(send(1, datatype, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "{datatype:#x}");
    }
    DATATYPES.get(uncommitted).unwrap().commit();
    assert_eq!(send(1, uncommitted, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    DATATYPES.remove(uncommitted).unwrap();
    assert_eq!(send(1, uncommitted, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
}

#[test]
fn wrong_ranks_tags_and_counts() {
    for dest in [1, 1000, -4, MPI_ANY_SOURCE, c_int::MIN] {
        assert_eq!(send(1, MPI_INT, dest, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "{dest}");
    }
    for tag in [-1, MPI_ANY_TAG, c_int::MIN] {
        assert_eq!(send(1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD), MPI_ERR_TAG, "{tag}");
    }
    assert_eq!(send(-1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    assert_eq!(send(1, MPI_INT, MPI_PROC_NULL, c_int::MAX, MPI_COMM_WORLD), MPI_SUCCESS);
}

#[test]
fn null_buffers() {
    begin();
    let mut request: MPI_Request = 0;
    for buffer in [0usize, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC] {
        // SAFETY: nothing is written to a buffer that is refused.
        let code = unsafe { MPI_Irecv(buffer as *mut c_void, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &mut request) };
        assert_eq!(code, MPI_ERR_BUFFER, "{buffer}");
    }
    assert_eq!(send_to_nobody(std::ptr::null(), 0, MPI_INT), MPI_SUCCESS);
    // SAFETY: the place for the request is null, which is refused.
    let code = unsafe { MPI_Irecv(null_mut(), 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, null_mut()) };
    assert_eq!(code, MPI_ERR_ARG);
}

#[test]
fn wrong_requests() {
    begin();
    for handle in [0, MPI_COMM_WORLD, usize::MAX, encode(Kind::Request, Place { index: 7, generation: 9 })] {
        let mut request: MPI_Request = handle;
        // SAFETY: the request lies in a variable, the status is ignored.
        let code = unsafe { MPI_Wait(&mut request, null_mut()) };
        assert_eq!(code, MPI_ERR_REQUEST, "{handle:#x}");
    }
    let mut null: MPI_Request = MPI_REQUEST_NULL;
    // SAFETY: as above.
    assert_eq!(unsafe { MPI_Wait(&mut null, null_mut()) }, MPI_SUCCESS);
    // SAFETY: a negative count is refused before the array is looked at.
    assert_eq!(unsafe { MPI_Waitall(-1, null_mut(), null_mut()) }, MPI_ERR_COUNT);
}

#[test]
fn wrong_windows() {
    begin();
    for handle in
        [0, MPI_WIN_NULL, MPI_COMM_WORLD, usize::MAX, encode(Kind::Win, Place { index: 7, generation: 9 })]
    {
        let mut win = handle;
        // SAFETY: no window is behind the handle, so nothing else is looked at.
        let codes = unsafe {
            use mpi_abi::generated::rma::*;
            [MPI_Win_fence(0, win), MPI_Win_free(&mut win), MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)]
        };
        assert_eq!(codes, [MPI_ERR_WIN; 3], "{handle:#x}");
        assert_eq!(win, handle);
    }
}
