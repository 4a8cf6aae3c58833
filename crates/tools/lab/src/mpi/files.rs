//! Files that all ranks open together. Every access is complete when its method returns.

use super::{Abi, Address, Handle, World, check};
use crate::buffer::Buffer;
use anyhow::{Context, Result};
use libloading::os::unix::Library;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

calls! { Calls:
    open = "MPI_File_open"(Handle, *const c_char, c_int, Handle, *mut Handle);
    close = "MPI_File_close"(*mut Handle);
    set_view = "MPI_File_set_view"(Handle, i64, Handle, Handle, *const c_char, Handle);
    write_at = "MPI_File_write_at"(Handle, i64, Address, c_int, Handle, Address);
    write_at_all = "MPI_File_write_at_all"(Handle, i64, Address, c_int, Handle, Address);
    read_at_all = "MPI_File_read_at_all"(Handle, i64, Address, c_int, Handle, Address);
    write_shared = "MPI_File_write_shared"(Handle, Address, c_int, Handle, Address);
    write_ordered = "MPI_File_write_ordered"(Handle, Address, c_int, Handle, Address);
    contiguous = "MPI_Type_contiguous"(c_int, Handle, *mut Handle);
    resized = "MPI_Type_create_resized"(Handle, isize, isize, *mut Handle);
    commit = "MPI_Type_commit"(*mut Handle);
    free = "MPI_Type_free"(*mut Handle);
}

/// The predefined values of files.
struct Values {
    no_info: Handle,
    /// Create if it is not there, read and write, delete when it is closed.
    mode: c_int,
}

impl Values {
    fn of(abi: Abi, library: &Library) -> Result<Values> {
        match abi {
            Abi::Standard => return Ok(Values { no_info: 0x130, mode: 2 | 32 | 4 }),
            Abi::Mpich => return Ok(Values { no_info: 0x1c00_0000, mode: 1 | 8 | 16 }),
            Abi::OpenMpi => {}
        }
        // SAFETY: only the symbol's address is taken; nothing is read through it.
        let symbol = unsafe { library.get::<*mut std::ffi::c_void>("ompi_mpi_info_null") };
        let no_info = symbol.context("Open MPI's library has no symbol ompi_mpi_info_null")?.into_raw();
        Ok(Values { no_info: no_info as Handle, mode: 1 | 8 | 16 })
    }
}

/// The functions of files, of one library.
pub struct Files<'w> {
    world: &'w World,
    calls: Calls,
    values: Values,
}

/// The calls that move bytes at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// `MPI_File_write_at`.
    Write,
    /// `MPI_File_write_at_all`.
    WriteAll,
    /// `MPI_File_read_at_all`.
    ReadAll,
}

impl<'w> Files<'w> {
    /// Looks the functions up.
    ///
    /// # Errors
    /// The library lacks one.
    pub fn of(world: &'w World) -> Result<Files<'w>> {
        let (calls, values) = (Calls::load(world.library)?, Values::of(world.abi, world.library)?);
        Ok(Files { world, calls, values })
    }

    /// Opens a file in all ranks, which is deleted when it is closed. Collective.
    ///
    /// # Errors
    /// The library's error code.
    pub fn open(&self, path: &Path) -> Result<OpenFile<'_>> {
        let (name, mut file) = (CString::new(path.as_os_str().as_bytes())?, 0);
        let (comm, no_info, mode) = (self.world.handles.world, self.values.no_info, self.values.mode);
        // SAFETY: a string with its end, and a place for the handle.
        let code = unsafe { (self.calls.open)(comm, name.as_ptr(), mode, no_info, &mut file) };
        check(code, "MPI_File_open")?;
        Ok(OpenFile { files: self, file })
    }
}

/// An open file of all ranks.
pub struct OpenFile<'w> {
    files: &'w Files<'w>,
    file: Handle,
}

impl OpenFile<'_> {
    /// `MPI_File_close`. Collective.
    ///
    /// # Errors
    /// The library's error code.
    pub fn close(mut self) -> Result<()> {
        // SAFETY: the handle is a file's, and nothing is under way on it.
        check(unsafe { (self.files.calls.close)(&mut self.file) }, "MPI_File_close")
    }

    /// Shows this rank its pieces of the file: `bytes` in each row of as many pieces as there are
    /// ranks. Collective.
    ///
    /// # Errors
    /// The library's error code.
    pub fn set_view(&self, bytes: usize) -> Result<()> {
        let (calls, world) = (&self.files.calls, self.files.world);
        let (mut piece, mut row, byte) = (0, 0, world.handles.byte);
        let (length, extent) = (c_int::try_from(bytes)?, (bytes * world.size as usize) as isize);
        let at = (bytes * world.rank as usize) as i64;
        // SAFETY: handles of datatypes, and places for new ones.
        unsafe {
            check((calls.contiguous)(length, byte, &mut piece), "MPI_Type_contiguous")?;
            check((calls.resized)(piece, 0, extent, &mut row), "MPI_Type_create_resized")?;
            check((calls.commit)(&mut row), "MPI_Type_commit")?;
            let info = self.files.values.no_info;
            let set = (calls.set_view)(self.file, at, byte, row, c"native".as_ptr(), info);
            check(set, "MPI_File_set_view")?;
            check((calls.free)(&mut row), "MPI_Type_free")?;
            check((calls.free)(&mut piece), "MPI_Type_free")
        }
    }

    /// Moves the first `bytes` of the buffer at an offset of the view.
    ///
    /// # Errors
    /// The library's error code.
    pub fn transfer(&self, way: Move, offset: usize, buffer: &Buffer, bytes: usize) -> Result<()> {
        let (calls, count) = (&self.files.calls, buffer.count(bytes, 1));
        let ignore = self.files.world.handles.ignored();
        let (call, name) = match way {
            Move::Write => (calls.write_at, "MPI_File_write_at"),
            Move::WriteAll => (calls.write_at_all, "MPI_File_write_at_all"),
            Move::ReadAll => (calls.read_at_all, "MPI_File_read_at_all"),
        };
        let byte = self.files.world.handles.byte;
        // SAFETY: the buffer has these bytes, and the call is complete when it returns.
        check(unsafe { call(self.file, offset as i64, buffer.address(), count, byte, ignore) }, name)
    }

    /// Writes the first `bytes` of the buffer at the shared file pointer: in the order of ranks, or
    /// as ranks come.
    ///
    /// # Errors
    /// The library's error code.
    pub fn write_shared(&self, is_ordered: bool, buffer: &Buffer, bytes: usize) -> Result<()> {
        let (calls, count) = (&self.files.calls, buffer.count(bytes, 1));
        let ignore = self.files.world.handles.ignored();
        let (call, name) = match is_ordered {
            true => (calls.write_ordered, "MPI_File_write_ordered"),
            false => (calls.write_shared, "MPI_File_write_shared"),
        };
        // SAFETY: as in `transfer`.
        check(
            unsafe { call(self.file, buffer.address(), count, self.files.world.handles.byte, ignore) },
            name,
        )
    }
}
