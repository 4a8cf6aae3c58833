//! Making and freeing datatypes (MPI-5.0, 5.1.2 to 5.1.10, 6.9.4 and 19.1.9).
//!
//! What `MPI_Type_get_contents` reports depends on the form of the call. If a call takes an array
//! of counts, its type tells the form; other calls have a body for each form.

use crate::args::{Counts, InOut, Out};
use crate::generated::types::{MPI_Aint, MPI_Count, MPI_Datatype};
use crate::handles::DATATYPES;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};
use verbena_mpi::datatype::array::Distribution;
use verbena_mpi::datatype::construct::Unit;
use verbena_mpi::datatype::{Contents, Form};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Error, Result};

type Old<'a> = &'a Arc<Datatype>;
type New<'a> = Out<'a, MPI_Datatype>;

/// Gives a new datatype a handle of its own.
pub(super) fn publish(datatype: Datatype) -> MPI_Datatype {
    let datatype = Arc::new(datatype);
    let handle = DATATYPES.insert(datatype.clone());
    datatype.set_known_as(handle);
    handle
}

fn form(counts: &Counts<'_>) -> Form {
    match counts {
        Counts::Int(_) => Form::Int,
        Counts::Large(_) => Form::Large,
    }
}

/// `MPI_Type_contiguous`.
pub fn type_contiguous(count: i64, oldtype: Old, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::contiguous(Form::Int, count, oldtype)?));
    Ok(())
}

/// `MPI_Type_contiguous_c`.
pub fn type_contiguous_c(count: i64, oldtype: Old, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::contiguous(Form::Large, count, oldtype)?));
    Ok(())
}

/// `MPI_Type_vector`.
pub fn type_vector(count: i64, blocklength: i64, stride: i64, oldtype: Old, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::vector(Form::Int, count, blocklength, stride, Unit::Extent, oldtype)?));
    Ok(())
}

/// `MPI_Type_vector_c`.
pub fn type_vector_c(count: i64, blocklength: i64, stride: i64, oldtype: Old, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::vector(Form::Large, count, blocklength, stride, Unit::Extent, oldtype)?));
    Ok(())
}

/// `MPI_Type_create_hvector`.
pub fn type_create_hvector(
    count: i64,
    blocklength: i64,
    stride: MPI_Aint,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    newtype.set(publish(Datatype::vector(Form::Int, count, blocklength, stride, Unit::Byte, oldtype)?));
    Ok(())
}

/// `MPI_Type_create_hvector_c`.
pub fn type_create_hvector_c(
    count: i64,
    blocklength: i64,
    stride: MPI_Count,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    newtype.set(publish(Datatype::vector(Form::Large, count, blocklength, stride, Unit::Byte, oldtype)?));
    Ok(())
}

fn indexed(lengths: Counts, displacements: Counts, unit: Unit, oldtype: Old, newtype: New) -> Result<()> {
    let form = form(&lengths);
    let (lengths, displacements) = (lengths.to_vec(), displacements.to_vec());
    newtype.set(publish(Datatype::indexed(form, &lengths, &displacements, unit, oldtype)?));
    Ok(())
}

/// `MPI_Type_indexed`.
pub fn type_indexed(
    _count: i64,
    array_of_blocklengths: Counts<'_>,
    array_of_displacements: Counts<'_>,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    indexed(array_of_blocklengths, array_of_displacements, Unit::Extent, oldtype, newtype)
}

/// `MPI_Type_create_hindexed`.
pub fn type_create_hindexed(
    _count: i64,
    array_of_blocklengths: Counts<'_>,
    array_of_displacements: Counts<'_>,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    indexed(array_of_blocklengths, array_of_displacements, Unit::Byte, oldtype, newtype)
}

/// `MPI_Type_create_indexed_block`.
pub fn type_create_indexed_block(
    _count: i64,
    blocklength: i64,
    array_of_displacements: Counts<'_>,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    let (form, displacements) = (form(&array_of_displacements), array_of_displacements.to_vec());
    newtype.set(publish(Datatype::indexed_block(form, blocklength, &displacements, Unit::Extent, oldtype)?));
    Ok(())
}

fn hindexed_block(form: Form, length: i64, displacements: Counts, oldtype: Old, newtype: New) -> Result<()> {
    let displacements = displacements.to_vec();
    newtype.set(publish(Datatype::indexed_block(form, length, &displacements, Unit::Byte, oldtype)?));
    Ok(())
}

/// `MPI_Type_create_hindexed_block`.
pub fn type_create_hindexed_block(
    _count: i64,
    blocklength: i64,
    array_of_displacements: Counts<'_>,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    hindexed_block(Form::Int, blocklength, array_of_displacements, oldtype, newtype)
}

/// `MPI_Type_create_hindexed_block_c`.
pub fn type_create_hindexed_block_c(
    _count: i64,
    blocklength: i64,
    array_of_displacements: Counts<'_>,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    hindexed_block(Form::Large, blocklength, array_of_displacements, oldtype, newtype)
}

/// `MPI_Type_create_struct`.
pub fn type_create_struct(
    _count: i64,
    array_of_blocklengths: Counts<'_>,
    array_of_displacements: Counts<'_>,
    array_of_types: &[Arc<Datatype>],
    newtype: New,
) -> Result<()> {
    let form = form(&array_of_blocklengths);
    let (lengths, displacements) = (array_of_blocklengths.to_vec(), array_of_displacements.to_vec());
    newtype.set(publish(Datatype::structure(form, &lengths, &displacements, array_of_types)?));
    Ok(())
}

/// `MPI_Type_create_subarray`.
#[allow(clippy::too_many_arguments)]
pub fn type_create_subarray(
    _ndims: c_int,
    array_of_sizes: Counts<'_>,
    array_of_subsizes: Counts<'_>,
    array_of_starts: Counts<'_>,
    order: c_int,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    let form = form(&array_of_sizes);
    let [sizes, subsizes, starts] = [array_of_sizes, array_of_subsizes, array_of_starts].map(|a| a.to_vec());
    newtype.set(publish(Datatype::subarray(form, &sizes, &subsizes, &starts, order, oldtype)?));
    Ok(())
}

/// `MPI_Type_create_darray`.
#[allow(clippy::too_many_arguments)]
pub fn type_create_darray(
    size: c_int,
    rank: c_int,
    _ndims: c_int,
    array_of_gsizes: Counts<'_>,
    array_of_distribs: &[c_int],
    array_of_dargs: &[c_int],
    array_of_psizes: &[c_int],
    order: c_int,
    oldtype: Old,
    newtype: New,
) -> Result<()> {
    let distribution = Distribution {
        size,
        rank,
        global: &array_of_gsizes.to_vec(),
        how: array_of_distribs,
        arguments: array_of_dargs,
        grid: array_of_psizes,
        order,
    };
    newtype.set(publish(Datatype::distributed(form(&array_of_gsizes), &distribution, oldtype)?));
    Ok(())
}

/// `MPI_Type_create_resized`.
pub fn type_create_resized(oldtype: Old, lb: MPI_Aint, extent: MPI_Aint, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::resized(Form::Int, lb, extent, oldtype)?));
    Ok(())
}

/// `MPI_Type_create_resized_c`.
pub fn type_create_resized_c(oldtype: Old, lb: MPI_Count, extent: MPI_Count, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::resized(Form::Large, lb, extent, oldtype)?));
    Ok(())
}

/// `MPI_Type_dup`.
pub fn type_dup(oldtype: Old, newtype: New) -> Result<()> {
    newtype.set(publish(Datatype::duplicate(oldtype)?));
    Ok(())
}

/// `MPI_Type_commit`.
pub fn type_commit(datatype: InOut<'_, MPI_Datatype>) -> Result<()> {
    DATATYPES.get(datatype.get())?.commit();
    Ok(())
}

/// `MPI_Type_free`. Operations under way keep the datatype until they end.
pub fn type_free(datatype: InOut<'_, MPI_Datatype>) -> Result<()> {
    let handle = datatype.get();
    let object = DATATYPES.get(handle)?.clone();
    if object.is_predefined() {
        return Err(cannot_free(&object));
    }
    object.attributes().clear(handle)?;
    DATATYPES.remove(handle)?;
    datatype.set(mpi::MPI_DATATYPE_NULL);
    Ok(())
}

#[cold]
fn cannot_free(datatype: &Datatype) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "a predefined datatype cannot be freed",
        format!("{datatype:?}"),
        "the handle is not one that a constructor returned",
        "free only datatypes that the program made",
    )
}

/// Combiner and arguments of a datatype that is chosen by precision.
type ChosenKey = (i32, Vec<i32>);

/// The handles of datatypes chosen by precision, one for the same arguments (MPI-5.0, 19.1.9).
static CHOSEN: Mutex<Option<HashMap<ChosenKey, MPI_Datatype>>> = Mutex::new(None);

fn chosen_key(contents: &Contents) -> ChosenKey {
    (contents.combiner, contents.integers.clone())
}

/// The handle of a datatype that is chosen by precision, the same for the same arguments.
fn publish_chosen(datatype: Datatype) -> MPI_Datatype {
    let key = chosen_key(datatype.contents().expect("chosen datatypes have contents"));
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    *chosen.get_or_insert_default().entry(key).or_insert_with(|| publish(datatype))
}

/// The handle of an existing predefined datatype, named or chosen by precision; `None` for one that
/// the program made.
pub(super) fn lasting_handle(datatype: &Datatype) -> Option<MPI_Datatype> {
    let chosen = || {
        let contents = datatype.contents().filter(|_| datatype.is_predefined())?;
        CHOSEN.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&chosen_key(contents)).copied()
    };
    datatype.handle().or_else(chosen)
}

/// `MPI_Type_create_f90_real`.
pub fn type_create_f90_real(p: c_int, r: c_int, newtype: New) -> Result<()> {
    newtype.set(publish_chosen(Datatype::f90_real(p, r)?));
    Ok(())
}

/// `MPI_Type_create_f90_complex`.
pub fn type_create_f90_complex(p: c_int, r: c_int, newtype: New) -> Result<()> {
    newtype.set(publish_chosen(Datatype::f90_complex(p, r)?));
    Ok(())
}

/// `MPI_Type_create_f90_integer`.
pub fn type_create_f90_integer(r: c_int, newtype: New) -> Result<()> {
    newtype.set(publish_chosen(Datatype::f90_integer(r)?));
    Ok(())
}

/// `MPI_Type_match_size`.
pub fn type_match_size(typeclass: c_int, size: c_int, datatype: New) -> Result<()> {
    datatype.set(Datatype::match_size(typeclass, size)?.known_as());
    Ok(())
}

/// `MPI_Type_get_value_index`: `MPI_DATATYPE_NULL` if there is no such pair.
pub fn type_get_value_index(value_type: Old, index_type: Old, pair_type: New) -> Result<()> {
    let pair = Datatype::value_index(value_type, index_type);
    pair_type.set(pair.map_or(mpi::MPI_DATATYPE_NULL, |pair| pair.known_as()));
    Ok(())
}
