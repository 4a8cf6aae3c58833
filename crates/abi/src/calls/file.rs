//! Files (MPI-5.0, chapter 14).

use crate::args::{InOut, Out, OutFlag};
use crate::generated::types::{MPI_File, MPI_Group, MPI_Info, MPI_Offset};
use crate::handles::{FILES, GROUPS};
use crate::process;
use crate::report::FILE_DEFAULT;
use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, File, Info, Result, file};

fn path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

/// `MPI_File_open` (14.2.1).
pub fn file_open(
    comm: &Arc<Comm>,
    filename: &CStr,
    amode: c_int,
    info: Option<&Arc<Info>>,
    fh: Out<'_, MPI_File>,
) -> Result<()> {
    let info = info.map(Arc::as_ref);
    let file = File::open(comm, path(filename), amode, info, FILE_DEFAULT.get(), process())?;
    let file = Arc::new(file);
    let handle = FILES.insert(file.clone());
    file.set_handle(handle);
    fh.set(handle);
    Ok(())
}

/// `MPI_File_close` (14.2.2). If it fails the file stays open.
pub fn file_close(fh: InOut<'_, MPI_File>) -> Result<()> {
    let file = FILES.get(fh.get())?.clone();
    file.close(process())?;
    FILES.remove(fh.get())?;
    fh.set(mpi::MPI_FILE_NULL);
    Ok(())
}

/// `MPI_File_delete` (14.2.3).
pub fn file_delete(filename: &CStr, _info: Option<&Arc<Info>>) -> Result<()> {
    file::delete(path(filename))
}

/// `MPI_File_set_size` (14.2.4).
pub fn file_set_size(fh: &Arc<File>, size: MPI_Offset) -> Result<()> {
    fh.set_size(size, process())
}

/// `MPI_File_preallocate` (14.2.5).
pub fn file_preallocate(fh: &Arc<File>, size: MPI_Offset) -> Result<()> {
    fh.preallocate(size, process())
}

/// `MPI_File_get_size` (14.2.6).
pub fn file_get_size(fh: &Arc<File>, size: Out<'_, MPI_Offset>) -> Result<()> {
    size.set(fh.size()? as MPI_Offset);
    Ok(())
}

/// `MPI_File_get_group` (14.2.7).
pub fn file_get_group(fh: &Arc<File>, group: Out<'_, MPI_Group>) -> Result<()> {
    group.set(GROUPS.insert(fh.group().clone()));
    Ok(())
}

/// `MPI_File_get_amode` (14.2.7).
pub fn file_get_amode(fh: &Arc<File>, amode: Out<'_, c_int>) -> Result<()> {
    amode.set(fh.mode().flags());
    Ok(())
}

/// `MPI_File_set_info` (14.2.8).
pub fn file_set_info(fh: &Arc<File>, info: &Arc<Info>) -> Result<()> {
    fh.hints().merge(info)
}

/// `MPI_File_get_info` (14.2.8).
pub fn file_get_info(fh: &Arc<File>, info_used: Out<'_, MPI_Info>) -> Result<()> {
    super::info::publish(fh.hints().clone(), info_used)
}

/// `MPI_File_set_atomicity` (14.6.1).
pub fn file_set_atomicity(fh: &Arc<File>, flag: bool) -> Result<()> {
    fh.set_atomic(flag, process())
}

/// `MPI_File_get_atomicity` (14.6.1).
pub fn file_get_atomicity(fh: &Arc<File>, flag: OutFlag<'_>) -> Result<()> {
    flag.set(fh.is_atomic());
    Ok(())
}

/// `MPI_File_sync` (14.6.1).
pub fn file_sync(fh: &Arc<File>) -> Result<()> {
    fh.sync(process())
}
