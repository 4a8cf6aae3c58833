//! The contents of a datatype: constants are among its integers, by combiner (MPI-5.0, 5.1.13).

use crate::arrays::Handles;
use crate::generated::types::{MPI_Aint, MPI_Count};
use crate::handles::{Datatype, Handle};
use crate::values::{self, combiner_face, darg_face, distribution_face, order_face};
use std::ffi::c_int;

// Combiners of this ABI (`api/mpich/constants.toml`).
const SUBARRAY: c_int = 13;
const DARRAY: c_int = 14;

/// The combiner of a datatype, and whether a large form made it: then some arguments are not
/// integers.
unsafe fn combiner(datatype: usize) -> (c_int, bool) {
    let (mut counts, mut combiner) = ([0i64; 4], 0);
    let [integers, addresses, large, datatypes] = counts.each_mut();
    // SAFETY: places of our own. The large form has no limit that a count could exceed.
    let code = unsafe {
        native!(MPI_Type_get_envelope_c(datatype, integers, addresses, large, datatypes, &mut combiner))
    };
    if code == 0 { (combiner_face(combiner), counts[2] > 0) } else { (0, false) }
}

/// Translates the constants among the integers that describe a datatype.
unsafe fn translate(datatype: usize, integers: *mut c_int, max: i64) {
    if integers.is_null() || max <= 0 {
        return;
    }
    // SAFETY: the program has room for `max`; only integers that the library set are looked at.
    let (integers, how) =
        unsafe { (std::slice::from_raw_parts_mut(integers, max as usize), combiner(datatype)) };
    match how {
        // ndims, sizes, subsizes, starts, order.
        (SUBARRAY, false) => change_at(integers, 1 + 3 * integers[0].max(0) as usize, 1, order_face),
        (SUBARRAY, true) => change_at(integers, 1, 1, order_face),
        // size, rank, ndims, gsizes (integers unless large), distribs, dargs, psizes, order.
        (DARRAY, large) => {
            let ndims = integers[2].max(0) as usize;
            let distribs = if large { 3 } else { 3 + ndims };
            change_at(integers, distribs, ndims, distribution_face);
            change_at(integers, distribs + ndims, ndims, darg_face);
            change_at(integers, distribs + 3 * ndims, 1, order_face);
        }
        _ => (),
    }
}

fn change_at(integers: &mut [c_int], from: usize, len: usize, face: fn(c_int) -> c_int) {
    integers.iter_mut().skip(from).take(len).for_each(|value| *value = face(*value));
}

/// `MPI_Type_get_contents`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn type_get_contents(
    datatype: i32,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: *mut c_int,
    addresses: *mut MPI_Aint,
    datatypes: *mut i32,
) -> c_int {
    let native = Datatype::native(datatype);
    let mut handles = Handles::<Datatype>::unset(datatypes, max_datatypes.into());
    // SAFETY: the program's promise.
    unsafe {
        let code = native!(MPI_Type_get_contents(
            native,
            max_integers,
            max_addresses,
            max_datatypes,
            integers,
            addresses,
            handles.native()
        ));
        if code == 0 {
            handles.store(datatypes);
            translate(native, integers, max_integers.into());
        }
        values::code(code)
    }
}

/// `MPI_Type_get_contents_c`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn type_get_contents_c(
    datatype: i32,
    max_integers: MPI_Count,
    max_addresses: MPI_Count,
    max_large_counts: MPI_Count,
    max_datatypes: MPI_Count,
    integers: *mut c_int,
    addresses: *mut MPI_Aint,
    large_counts: *mut MPI_Count,
    datatypes: *mut i32,
) -> c_int {
    let native = Datatype::native(datatype);
    let mut handles = Handles::<Datatype>::unset(datatypes, max_datatypes);
    // SAFETY: the program's promise.
    unsafe {
        let code = native!(MPI_Type_get_contents_c(
            native,
            max_integers,
            max_addresses,
            max_large_counts,
            max_datatypes,
            integers,
            addresses,
            large_counts,
            handles.native()
        ));
        if code == 0 {
            handles.store(datatypes);
            translate(native, integers, max_integers);
        }
        values::code(code)
    }
}
