//! Data representations of the program (MPI-5.0, 14.5.3).

use super::op::with_handle;
use crate::args::Form;
use crate::generated::types::{
    MPI_Count, MPI_Datarep_conversion_function, MPI_Datarep_conversion_function_c,
    MPI_Datarep_extent_function,
};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;
use verbena_memory::Region;
use verbena_mpi::file::{self, Conversion, Data, Direction};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Error, Result};

/// A conversion function in either form.
type Convert = Form<MPI_Datarep_conversion_function, MPI_Datarep_conversion_function_c>;

/// The program's functions and its state.
struct Functions {
    read: Convert,
    write: Convert,
    extent: MPI_Datarep_extent_function,
    state: *mut c_void,
}

// SAFETY: the state is the program's, which registers functions for all of its threads.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// `MPI_Register_datarep` (14.5.3).
pub fn register_datarep(
    datarep: &CStr,
    read_conversion_fn: Convert,
    write_conversion_fn: Convert,
    dtype_file_extent_fn: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
) -> Result<()> {
    if dtype_file_extent_fn.is_none() {
        return Err(no_extent());
    }
    let functions = Functions {
        read: read_conversion_fn,
        write: write_conversion_fn,
        extent: dtype_file_extent_fn,
        state: extra_state,
    };
    file::register(datarep.to_bytes(), Box::new(functions))
}

impl Conversion for Functions {
    fn extent(&self, datatype: &Arc<Datatype>) -> Result<i64> {
        let (Some(function), mut extent) = (self.extent, 0) else { return Err(no_extent()) };
        let mut code = mpi::MPI_SUCCESS;
        with_handle(datatype, |handle| {
            // SAFETY: the program's own function and state, and a place for the extent.
            code = unsafe { function(handle, &raw mut extent, self.state) };
        });
        checked(code)?;
        Ok(extent)
    }

    fn converts(&self, direction: Direction) -> bool {
        match self.of(direction) {
            Form::Int(function) => function.is_some(),
            Form::Large(function) => function.is_some(),
        }
    }

    fn convert(&self, direction: Direction, data: &Data, count: usize, file: Region) -> Result<()> {
        let mut code = mpi::MPI_SUCCESS;
        with_handle(&data.datatype, |handle| {
            code = match self.of(direction) {
                Form::Int(function) => self.by_ints(function, data, (handle, count), file),
                Form::Large(None) => mpi::MPI_SUCCESS,
                Form::Large(Some(function)) => {
                    let (user, file) = (data.address as *mut c_void, file.pointer().cast());
                    // SAFETY: the program's own function, state and memory; the file's bytes are as
                    // many as its extent function said.
                    unsafe { function(user, handle, count as MPI_Count, file, 0, self.state) }
                }
            };
        });
        checked(code)
    }
}

impl Functions {
    fn of(&self, direction: Direction) -> Convert {
        if direction == Direction::Read { self.read } else { self.write }
    }

    /// Calls a function that takes an `int` count, several times if need be.
    fn by_ints(
        &self,
        function: MPI_Datarep_conversion_function,
        data: &Data,
        (handle, count): (usize, usize),
        file: Region,
    ) -> c_int {
        let Some(function) = function else { return mpi::MPI_SUCCESS };
        let (mut done, each) = (0, file.len() / count.max(1));
        while done < count {
            let part = (count - done).min(c_int::MAX as usize);
            let user = (data.address as *mut u8).wrapping_offset(done as isize * data.datatype.extent());
            let bytes = file.part(done * each, part * each).pointer().cast();
            // SAFETY: as in `convert`.
            let code = unsafe { function(user.cast(), handle, part as c_int, bytes, 0, self.state) };
            if code != mpi::MPI_SUCCESS {
                return code;
            }
            done += part;
        }
        mpi::MPI_SUCCESS
    }
}

fn checked(code: c_int) -> Result<()> {
    if code == mpi::MPI_SUCCESS { Ok(()) } else { Err(refused(code)) }
}

#[cold]
fn refused(code: c_int) -> Error {
    Error::new(
        mpi::MPI_ERR_CONVERSION,
        "a function of the program for a data representation returned an error",
        format!("code {code}"),
        "the function cannot convert these elements, or does not return MPI_SUCCESS",
        "look into the function that was given to MPI_Register_datarep",
    )
}

#[cold]
fn no_extent() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a data representation needs an extent function",
        "the function argument, which is null",
        "the function's pointer was not set",
        "pass a function that tells the bytes of each predefined datatype in the file",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MPI-5.0, 14.7: the class says what failed, whatever the program's function returns.
    #[test]
    fn an_error_of_the_programs_function_is_one_of_conversion() {
        for code in [12345, mpi::MPI_ERR_OTHER, mpi::MPI_ERR_CONVERSION] {
            let error = checked(code).unwrap_err();
            assert_eq!(error.class, mpi::MPI_ERR_CONVERSION);
            assert!(error.to_string().contains(&code.to_string()), "{error}");
        }
        assert!(checked(mpi::MPI_SUCCESS).is_ok());
    }
}
