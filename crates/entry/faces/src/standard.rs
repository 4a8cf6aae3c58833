//! Handles and statuses of the standard ABI, as `libmpi_abi.so.1` makes them.
//!
//! A predefined handle has the small value that the ABI gives it. Any other is
//! `generation << 32 | kind << 27 | index` (32, 4 and 27 bits).

use std::ffi::{c_int, c_void};

/// A function whose type the table does not tell.
pub type Function = *const c_void;

/// The lowest bit of the kind in a handle; the index lies below.
pub const KIND_SHIFT: u32 = 27;
/// The bits of the index in a handle.
pub const INDEX: u64 = (1 << KIND_SHIFT) - 1;

/// The kind of object that a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Comm = 1,
    Group = 2,
    Datatype = 3,
    Op = 4,
    Errhandler = 5,
    Info = 6,
    Session = 7,
    Win = 8,
    File = 9,
    Message = 10,
    /// A request with an object in a table.
    Request = 11,
    /// A send that the engine knows by its own id.
    EngineSend = 12,
    /// A receive that the engine knows by its own id.
    EngineReceive = 13,
    /// An object of the tool information interface.
    Tool = 14,
}

/// The handle of this kind with this index, which must fit into [`INDEX`], and this generation.
#[inline(always)]
pub const fn handle(kind: Kind, index: u32, generation: u32) -> usize {
    debug_assert!(index as u64 <= INDEX);
    ((generation as u64) << 32 | (kind as u64) << KIND_SHIFT | index as u64) as usize
}

/// The request of every send that was complete when it started: it has nothing to remember.
pub const SENT: usize = handle(Kind::EngineSend, INDEX as u32, 0);
/// The request of every operation on a window that was complete when it was called. It is none of a
/// [`Kind`], and the first number that is no predefined handle's.
pub const ACCESSED: usize = 0x1000;

/// A status of the standard ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct Status {
    /// Rank of the sender.
    pub MPI_SOURCE: c_int,
    /// Tag of the message.
    pub MPI_TAG: c_int,
    /// Error code, meaningful after calls that return several statuses.
    pub MPI_ERROR: c_int,
    /// The length in bytes (63 bits) and, at the top, the cancelled bit, in the first two words.
    pub internal: [c_int; 5],
}

const _: () = assert!(size_of::<Status>() == 32 && align_of::<Status>() == 4);
