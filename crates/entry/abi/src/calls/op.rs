//! Reduction operations (MPI-5.0, 6.9).

use super::datatype::lasting_handle;
use crate::args::{self, Address, Form, InOut, Out, OutFlag};
use crate::collectives::first_byte;
use crate::generated::types::{MPI_Count, MPI_Op, MPI_User_function, MPI_User_function_c};
use crate::handles::{DATATYPES, OPS};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use verbena_memory::Region;
use verbena_memory::elements::Elements;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::Function;
use verbena_mpi::{Datatype, Error, Op, Result};

/// `MPI_Op_create`.
pub fn op_create(
    user_fn: Form<MPI_User_function, MPI_User_function_c>,
    commute: bool,
    op: Out<'_, MPI_Op>,
) -> Result<()> {
    let function = match user_fn {
        Form::Int(function) => {
            let function = function.ok_or_else(no_function)?;
            // SAFETY: the program promises that its function reduces vectors of this datatype.
            int_function(move |input, inout, count, handle| unsafe { function(input, inout, count, handle) })
        }
        Form::Large(function) => {
            let function = function.ok_or_else(no_function)?;
            // SAFETY: as above.
            large_function(move |input, inout, count, handle| unsafe {
                function(input, inout, count, handle)
            })
        }
    };
    make_op(function, commute, op)
}

/// Gives the program an operation of its own.
pub(crate) fn make_op(function: Function, commute: bool, op: Out<'_, MPI_Op>) -> Result<()> {
    op.set(OPS.insert(Arc::new(Op::user(function, commute))));
    Ok(())
}

/// Wraps a function that takes an `int` count: longer vectors come in pieces. It is called with the
/// operands' addresses, and with places for the count and the datatype's handle.
pub(crate) fn int_function(
    call: impl Fn(*mut c_void, *mut c_void, *mut c_int, *mut usize) + Send + Sync + 'static,
) -> Function {
    Box::new(move |input, inout, count, datatype| {
        let mut done = 0;
        while done < count {
            let mut piece = (count - done).min(c_int::MAX.into()) as c_int;
            let offset = done as isize * datatype.extent();
            let [input, inout] =
                [input, inout].map(|r: Region| (r.address() as *mut u8).wrapping_offset(offset));
            with_handle(datatype, |mut handle| call(input.cast(), inout.cast(), &mut piece, &mut handle));
            done += i64::from(piece.max(1));
        }
    })
}

/// Wraps a function that takes an `MPI_Count`, as [`int_function`] does.
pub(crate) fn large_function(
    call: impl Fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut usize) + Send + Sync + 'static,
) -> Function {
    Box::new(move |input, inout, count, datatype| {
        let (input, inout) = (input.address() as *mut c_void, inout.address() as *mut c_void);
        let mut count: MPI_Count = count;
        with_handle(datatype, |mut handle| call(input, inout, &mut count, &mut handle));
    })
}

/// Calls `f` with a handle of the datatype: that of a predefined one, or one that lasts for the
/// call, since the program may have freed its own while the reduction was under way.
pub(crate) fn with_handle(datatype: &Arc<Datatype>, f: impl FnOnce(usize)) {
    if let Some(handle) = lasting_handle(datatype) {
        return f(handle);
    }
    let handle = DATATYPES.insert(datatype.clone());
    f(handle);
    // A function that freed its argument, against the rules, has done this already.
    let _ = DATATYPES.remove(handle);
}

/// `MPI_Op_free`. Operations under way keep it until they end.
pub fn op_free(op: InOut<'_, MPI_Op>) -> Result<()> {
    OPS.remove(op.get())?;
    op.set(mpi::MPI_OP_NULL);
    Ok(())
}

/// `MPI_Op_commutative`.
pub fn op_commutative(op: &Arc<Op>, commute: OutFlag<'_>) -> Result<()> {
    commute.set(op.is_commutative());
    Ok(())
}

/// `MPI_Reduce_local`.
pub fn reduce_local(
    inbuf: Address,
    inoutbuf: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
) -> Result<()> {
    op.check(datatype)?;
    let places = [inbuf, inoutbuf].map(|buffer| first_byte(buffer, 0, count, datatype));
    if places[0].is_some() && places[0] == places[1] || inbuf.is_in_place() || inoutbuf.is_in_place() {
        return Err(no_operands());
    }
    let (input, inout) = (origins(inbuf, count, datatype)?, origins(inoutbuf, count, datatype)?);
    op.apply(input, inout, count as usize, datatype)
}

/// The memory of the elements' origins, after the checks of a buffer.
fn origins(address: Address, count: i64, datatype: &Arc<Datatype>) -> Result<Region> {
    args::buffer(address, count, datatype)?;
    // SAFETY: the program promises these elements for the length of the call.
    let elements = unsafe { Elements::new(address.pointer().cast(), datatype.layout()) };
    Ok(elements.origins(count as usize))
}

#[cold]
fn no_operands() -> Error {
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "MPI_Reduce_local needs two buffers",
        "its first and second argument",
        "one of them is MPI_IN_PLACE, which has no meaning here, or both begin at the same address",
        "pass the operands in two buffers; the second one takes the result (MPI-5.0, 6.9.7)",
    )
}

#[cold]
pub(crate) fn no_function() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "an operation needs a function",
        "a null function pointer",
        "the variable was not set",
        "pass the address of a function of the type MPI_User_function",
    )
}
