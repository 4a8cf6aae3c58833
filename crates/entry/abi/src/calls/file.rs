//! Files (MPI-5.0, chapter 14).

use crate::args::{Checked, Hints, InOut, Out, OutFlag, OutString};
use crate::calls::comm::making;
use crate::calls::info::publish_with_kinds;
use crate::generated::types::{MPI_Datatype, MPI_File, MPI_Group, MPI_Info, MPI_Offset};
use crate::handles::{FILES, GROUPS};
use crate::report::FILE_DEFAULT;
use crate::{process, progress_thread};
use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use verbena_machine::node;
use verbena_mpi::coll::Kind;
use verbena_mpi::file::{LocalWord, NewView, Opening, View, WindowWord, Word};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::window::Means;
use verbena_mpi::{Comm, Datatype, File, Info, Result, file};

fn as_given(hints: &Hints) -> Result<Option<&Info>> {
    hints.as_ref().map(|info| info.as_deref().map(Arc::as_ref)).map_err(Clone::clone)
}

fn path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

/// `MPI_File_open` (14.2.1).
pub fn file_open(
    comm: &Arc<Comm>,
    filename: Result<&CStr>,
    amode: c_int,
    info: Hints,
    fh: Out<'_, MPI_File>,
) -> Result<()> {
    let exchange = making(Kind::FileOpen);
    let given = filename.map(path);
    let info = as_given(&info);
    let word = |comm: &Comm| -> Result<Box<dyn Word>> {
        match comm.size() {
            1 => Ok(Box::new(LocalWord::default())),
            _ => {
                let means = Means { exchange: &exchange, server: &progress_thread::Thread };
                Ok(Box::new(WindowWord::new(process(), comm, means)?))
            }
        }
    };
    let opening = Opening::new(&exchange, node::identity(), &word);
    let file = Arc::new(File::open(comm, given, amode, info, FILE_DEFAULT.get(), &opening)?);
    let handle = FILES.insert(file.clone());
    file.set_handle(handle);
    fh.set(handle);
    Ok(())
}

/// `MPI_File_close` (14.2.2). If it fails, because what was written cannot be synchronised or the
/// file cannot be deleted, it stays open; a second call then closes it.
pub fn file_close(fh: InOut<'_, MPI_File>) -> Result<()> {
    let file = FILES.get(fh.get())?.clone();
    file.close(process())?;
    FILES.remove(fh.get())?;
    fh.set(mpi::MPI_FILE_NULL);
    if file.needs_progress() {
        progress_thread::release();
    }
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
pub fn file_set_info(fh: &Arc<File>, info: Checked<Info>) -> Result<()> {
    fh.set_hints(as_given(&info.map(Some)), process())
}

/// `MPI_File_get_info` (14.2.8).
pub fn file_get_info(fh: &Arc<File>, info_used: Out<'_, MPI_Info>) -> Result<()> {
    publish_with_kinds(fh.hints()?, info_used)
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

/// `MPI_File_set_view` (14.3).
pub fn file_set_view(
    fh: &Arc<File>,
    disp: MPI_Offset,
    etype: Checked<Datatype>,
    filetype: Checked<Datatype>,
    datarep: Result<&CStr>,
    info: Hints,
) -> Result<()> {
    let made = |displacement| {
        let (etype, filetype, datarep) = (etype?, filetype?, datarep?);
        View::new(displacement, &etype, &filetype, datarep.to_bytes(), fh.mode().writes())
    };
    let view = match disp {
        mpi::MPI_DISPLACEMENT_CURRENT => NewView::AtShared(made(0)),
        displacement => NewView::At(made(displacement)),
    };
    fh.set_view(view, as_given(&info), process())
}

/// `MPI_File_get_view` (14.3). The program frees the handles of derived datatypes, so they are new
/// ones.
pub fn file_get_view(
    fh: &Arc<File>,
    disp: Out<'_, MPI_Offset>,
    etype: Out<'_, MPI_Datatype>,
    filetype: Out<'_, MPI_Datatype>,
    datarep: OutString<'_>,
) -> Result<()> {
    let view = fh.view();
    disp.set(view.displacement as MPI_Offset);
    etype.set(handle_of(&view.etype)?);
    filetype.set(handle_of(&view.filetype)?);
    datarep.set(view.representation.name());
    Ok(())
}

fn handle_of(datatype: &Arc<Datatype>) -> Result<MPI_Datatype> {
    match datatype.is_predefined() {
        true => Ok(datatype.known_as()),
        false => Ok(super::datatype::publish(Datatype::duplicate(datatype)?)),
    }
}

/// `MPI_File_get_type_extent` (14.5.1).
pub fn file_get_type_extent(fh: &Arc<File>, datatype: &Arc<Datatype>, extent: Out<'_, i64>) -> Result<()> {
    extent.set(fh.view().representation.extent(datatype)?);
    Ok(())
}

/// `MPI_File_get_byte_offset` (14.4.3).
pub fn file_get_byte_offset(fh: &Arc<File>, offset: MPI_Offset, disp: Out<'_, MPI_Offset>) -> Result<()> {
    disp.set(fh.byte_offset(offset)?);
    Ok(())
}

/// `MPI_File_seek` (14.4.3).
pub fn file_seek(fh: &Arc<File>, offset: MPI_Offset, whence: c_int) -> Result<()> {
    fh.seek(offset, whence)
}

/// `MPI_File_get_position` (14.4.3).
pub fn file_get_position(fh: &Arc<File>, offset: Out<'_, MPI_Offset>) -> Result<()> {
    offset.set(fh.position()?);
    Ok(())
}

/// `MPI_File_seek_shared` (14.4.4).
pub fn file_seek_shared(fh: &Arc<File>, offset: MPI_Offset, whence: c_int) -> Result<()> {
    fh.seek_shared(offset, whence, process())
}

/// `MPI_File_get_position_shared` (14.4.4).
pub fn file_get_position_shared(fh: &Arc<File>, offset: Out<'_, MPI_Offset>) -> Result<()> {
    offset.set(fh.position_shared()?);
    Ok(())
}
