//! Entry points that a table of kinds cannot describe: `pub unsafe fn` with the name in lower case,
//! called by the generated entry of that name. Each is unsafe in the way of its entry point: the
//! program passes what the MPI standard says.
#![allow(clippy::missing_safety_doc)]

pub mod attribute;
pub mod buffer;
pub mod callback;
pub mod contents;
pub mod environment;
pub mod file;
pub mod keyval;
pub mod rest;
pub mod tool;
