//! The objects behind predefined handles, made when first asked for (some are wanted before
//! `MPI_Init`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use verbena_mpi::errhandler::predefined;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Errhandler, Group, Info, Op};

/// The predefined group of this handle: `MPI_GROUP_EMPTY`, which has no members.
pub fn group(handle: usize) -> Option<Arc<Group>> {
    (handle == mpi::MPI_GROUP_EMPTY).then(|| Arc::new(Group::new(Vec::new(), 0)))
}

/// The predefined datatype of this handle.
pub fn datatype(handle: usize) -> Option<Arc<Datatype>> {
    Datatype::predefined(handle).cloned()
}

/// Bytes of an element of each predefined datatype whose elements lie one right after the other; 0
/// for the others, and for all before [`learn_element_bytes`]. So a small message need not look at
/// the datatype itself.
static ELEMENT_BYTES: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];

/// Fills the table of [`element_bytes`].
pub fn learn_element_bytes() {
    for (handle, bytes) in (mpi::MPI_DATATYPE_NULL..).zip(&ELEMENT_BYTES) {
        let datatype = Datatype::predefined(handle).filter(|datatype| datatype.is_committed());
        let solid = datatype.and_then(|datatype| u8::try_from(datatype.layout().solid()).ok());
        bytes.store(solid.unwrap_or(0), Relaxed);
    }
}

/// Bytes of an element if `handle` is a predefined datatype whose elements lie one right after the
/// other, else 0.
#[inline(always)]
pub fn element_bytes(handle: usize) -> u8 {
    ELEMENT_BYTES.get(handle.wrapping_sub(mpi::MPI_DATATYPE_NULL)).map_or(0, |bytes| bytes.load(Relaxed))
}

/// The predefined operation of this handle.
pub fn op(handle: usize) -> Option<Arc<Op>> {
    Op::predefined(handle).cloned()
}

/// The predefined error handler of this handle.
pub fn errhandler(handle: usize) -> Option<Arc<Errhandler>> {
    match handle {
        mpi::MPI_ERRORS_ARE_FATAL => Some(predefined::are_fatal()),
        mpi::MPI_ERRORS_ABORT => Some(predefined::abort()),
        mpi::MPI_ERRORS_RETURN => Some(predefined::returning()),
        _ => None,
    }
}

/// The predefined info object of this handle: `MPI_INFO_ENV` (MPI-5.0, 11.2.1).
pub fn info(handle: usize) -> Option<Arc<Info>> {
    (handle == mpi::MPI_INFO_ENV).then(|| Arc::new(Info::constant(crate::info_env::environment)))
}
