//! Calls that tell how a datatype was made (MPI-5.0, 5.1.13).

use super::datatype::{lasting_handle, publish};
use crate::args::{Out, OutCount};
use crate::generated::types::{MPI_Aint, MPI_Count, MPI_Datatype};
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::datatype::{Contents, Form};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Error, Result};

/// `MPI_Type_get_envelope`. The `int` form has no place for the number of large counts.
pub fn type_get_envelope(
    datatype: &Arc<Datatype>,
    num_integers: OutCount<'_>,
    num_addresses: OutCount<'_>,
    num_large_counts: Option<OutCount<'_>>,
    num_datatypes: OutCount<'_>,
    combiner: Out<'_, c_int>,
) -> Result<()> {
    let named = Contents::new(mpi::MPI_COMBINER_NAMED);
    let contents = datatype.contents().unwrap_or(&named);
    contents.check_form(if num_large_counts.is_some() { Form::Large } else { Form::Int })?;
    num_integers.set(contents.integers.len() as i64);
    num_addresses.set(contents.addresses.len() as i64);
    num_datatypes.set(contents.datatypes.len() as i64);
    if let Some(out) = num_large_counts {
        out.set(contents.counts.len() as i64);
    }
    combiner.set(contents.combiner);
    Ok(())
}

/// `MPI_Type_get_contents`. Derived datatypes come back as new objects that the program frees.
#[allow(clippy::too_many_arguments)]
pub fn type_get_contents(
    datatype: &Arc<Datatype>,
    _max_integers: i64,
    _max_addresses: i64,
    max_large_counts: i64,
    _max_datatypes: i64,
    array_of_integers: &mut [c_int],
    array_of_addresses: &mut [MPI_Aint],
    array_of_large_counts: &mut [MPI_Count],
    array_of_datatypes: &mut [MPI_Datatype],
) -> Result<()> {
    let contents = datatype.contents().ok_or_else(|| has_no_contents(datatype))?;
    contents.check_form(if max_large_counts > 0 { Form::Large } else { Form::Int })?;
    let addresses: Vec<i64> = contents.addresses.iter().map(|&a| a as i64).collect();
    let room = |have: usize, want: usize| if have < want { Err(too_short(have, want)) } else { Ok(()) };
    room(array_of_datatypes.len(), contents.datatypes.len())?;
    room(array_of_integers.len(), contents.integers.len())?;
    room(array_of_addresses.len(), addresses.len())?;
    room(array_of_large_counts.len(), contents.counts.len())?;
    array_of_integers[..contents.integers.len()].copy_from_slice(&contents.integers);
    array_of_addresses[..addresses.len()].copy_from_slice(&addresses);
    array_of_large_counts[..contents.counts.len()].copy_from_slice(&contents.counts);
    for (out, inner) in array_of_datatypes.iter_mut().zip(&contents.datatypes) {
        *out = lasting_handle(inner).unwrap_or_else(|| publish(inner.remade()));
    }
    Ok(())
}

#[cold]
fn has_no_contents(datatype: &Datatype) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "a named datatype has no contents",
        format!("{datatype:?}"),
        "MPI_Type_get_envelope reports MPI_COMBINER_NAMED for it",
        "ask for the contents of derived datatypes only",
    )
}

#[cold]
fn too_short(have: usize, want: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "an array is too short for the contents of the datatype",
        format!("room for {have}, needed {want}"),
        "the maximum that was passed is less than what MPI_Type_get_envelope reports",
        "pass arrays of the lengths that MPI_Type_get_envelope reports",
    )
}
