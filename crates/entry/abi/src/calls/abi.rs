//! Calls that ask and tell about the ABI (MPI-5.0, 20.2).

use crate::args::{Out, OutFlag, not_null};
use crate::generated::types::{MPI_Aint, MPI_Count, MPI_Info, MPI_Offset};
use crate::handles::INFOS;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Error, Info, Result};

/// `MPI_Abi_get_version`.
pub fn abi_get_version(abi_major: Out<'_, c_int>, abi_minor: Out<'_, c_int>) -> Result<()> {
    abi_major.set(mpi::MPI_ABI_VERSION);
    abi_minor.set(mpi::MPI_ABI_SUBVERSION);
    Ok(())
}

/// `MPI_Abi_get_info`: the sizes of the integer types in bytes.
pub fn abi_get_info(info: Out<'_, MPI_Info>) -> Result<()> {
    let sizes = [
        ("mpi_aint_size", size_of::<MPI_Aint>()),
        ("mpi_count_size", size_of::<MPI_Count>()),
        ("mpi_offset_size", size_of::<MPI_Offset>()),
    ];
    let answer = Info::new();
    for (key, size) in sizes {
        answer.set(key.as_bytes(), size.to_string().as_bytes())?;
    }
    info.set(INFOS.insert(Arc::new(answer)));
    Ok(())
}

/// The info that the Fortran side gave about its types; set at most once.
static FORTRAN: Mutex<Option<Info>> = Mutex::new(None);

/// `MPI_Abi_set_fortran_info`.
pub fn abi_set_fortran_info(info: Option<&Arc<Info>>) -> Result<()> {
    let mut known = FORTRAN.lock().unwrap();
    if known.is_some() {
        return Err(set_before("the info about Fortran"));
    }
    *known = info.map(|info| Info::clone(info));
    Ok(())
}

/// `MPI_Abi_get_fortran_info`: `MPI_INFO_NULL` if nothing was set.
pub fn abi_get_fortran_info(info: Out<'_, MPI_Info>) -> Result<()> {
    let known = FORTRAN.lock().unwrap();
    info.set(known.as_ref().map_or(mpi::MPI_INFO_NULL, |known| INFOS.insert(Arc::new(known.clone()))));
    Ok(())
}

/// The bytes of true and of false.
type Booleans = (Vec<u8>, Vec<u8>);

/// Fortran's `.TRUE.` and `.FALSE.`, by the size of the logical type in bytes.
static BOOLEANS: Mutex<BTreeMap<usize, Booleans>> = Mutex::new(BTreeMap::new());

/// `MPI_Abi_set_fortran_booleans`.
pub fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<()> {
    let size = check_size(logical_size)?;
    let (yes, no) = (not_null(logical_true)?, not_null(logical_false)?);
    let copy = |place: *mut c_void| {
        // SAFETY: the program passes variables of a logical type of this size.
        unsafe { std::slice::from_raw_parts(place.cast::<u8>(), size) }.to_vec()
    };
    let mut known = BOOLEANS.lock().unwrap();
    if known.contains_key(&size) {
        return Err(set_before("Fortran's logical values of this size"));
    }
    known.insert(size, (copy(yes.as_ptr()), copy(no.as_ptr())));
    Ok(())
}

/// `MPI_Abi_get_fortran_booleans`.
pub fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: OutFlag<'_>,
) -> Result<()> {
    let size = check_size(logical_size)?;
    let known = BOOLEANS.lock().unwrap();
    is_set.set(known.contains_key(&size));
    let Some((yes, no)) = known.get(&size) else { return Ok(()) };
    for (place, value) in [(not_null(logical_true)?, yes), (not_null(logical_false)?, no)] {
        // SAFETY: the program passes variables of a logical type of this size.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), place.as_ptr().cast(), size) };
    }
    Ok(())
}

fn check_size(size: c_int) -> Result<usize> {
    if [1, 2, 4, 8, 16].contains(&size) { Ok(size as usize) } else { Err(wrong_size(size)) }
}

#[cold]
fn wrong_size(size: c_int) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "Fortran has no logical type of this size",
        format!("{size} bytes"),
        "the size is given in bits, or was never set",
        "pass 1, 2, 4, 8 or 16",
    )
}

#[cold]
fn set_before(what: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_ABI,
        format!("{what} can be set only once"),
        "this process",
        "the Fortran bindings, or another library, set it before",
        "ask with the get call first",
    )
}
