//! Windows: one-sided communication (MPI-5.0, chapter 12).
//!
//! | file | what it does |
//! | --- | --- |
//! | [`apply`] | accumulate calls on the memory of a target |
//! | [`stripe`] | locks of parts of that memory, for what no processor changes at once |
//! | [`lock`] | the lock of a whole target |
//! | [`service`] | operations by messages |

pub mod apply;
pub mod lock;
pub mod service;
pub mod stripe;

use crate::datatype::Datatype;
use std::sync::Arc;
use verbena_memory::Region;

/// Elements at a target: `count` of `datatype`, the first at this displacement in the target's
/// units (or at this address, in a dynamic window).
#[derive(Clone, Copy)]
pub struct Remote<'a> {
    /// The target's rank, or `MPI_PROC_NULL`.
    pub rank: i32,
    /// The displacement of the first element.
    pub displacement: i64,
    /// Number of elements.
    pub count: i64,
    /// The datatype of an element.
    pub datatype: &'a Arc<Datatype>,
}

/// The operands of `MPI_Compare_and_swap`: one element each.
#[derive(Clone, Copy)]
pub struct Swap {
    /// The new value.
    pub origin: Region,
    /// The value that the target must have.
    pub compare: Region,
    /// The place for the value that the target had.
    pub result: Region,
}
