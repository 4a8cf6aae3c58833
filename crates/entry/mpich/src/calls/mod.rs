//! Entry points that a table of kinds cannot describe: each is a `pub unsafe fn` with the name in
//! lower case, called by the generated entry point. It is as unsafe as that: the program passes
//! what the MPI standard says.
#![allow(clippy::missing_safety_doc)]

pub mod attribute;
pub mod buffer;
pub mod callback;
pub mod contents;
pub mod environment;
pub mod file;
pub mod keyval;
pub mod rest;
pub mod spawn;
pub mod tool;
