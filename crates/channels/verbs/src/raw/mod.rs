//! The binary interface of libibverbs: the structures, constants and functions that are used, and
//! no others.
//!
//! Names, layouts and values are facts of rdma-core's `infiniband/verbs.h`. Each macro also writes
//! a table of what it declared, and `tests/layout.rs` compares these tables with the header through
//! a C compiler: nothing can be declared here without being compared. Fields that begin with `_`
//! only fill a place.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`structures`] | structures |
//! | [`constants`] | constants |
//! | [`functions`] | the exported functions, as a table filled by name at run time |

pub mod constants;
pub mod functions;
pub mod structures;

pub use constants::*;
pub use functions::Functions;
pub use structures::*;

/// The layout declared for one structure.
#[derive(Debug)]
pub struct Layout {
    /// The structure's type in C.
    pub c_type: &'static str,
    /// The structure's size in bytes; `None` if only its beginning is declared.
    pub size: Option<usize>,
    /// The structure's alignment in bytes.
    pub alignment: usize,
    /// The name, offset and size of each field.
    pub fields: &'static [(&'static str, usize, usize)],
}
