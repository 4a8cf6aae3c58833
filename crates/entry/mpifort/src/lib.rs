//! Fortran over the MPICH ABI: `libmpifort.so.12`, which programs ask for that were built with
//! MPICH's or Intel MPI's `mpif.h`, `mpi` or `mpi_f08`.
//!
//! The entry points and most of the code are those of the standard ABI's companion library
//! (`crates/entry/fortran`), compiled for the types and constants of the MPICH ABI: an INTEGER is
//! the handle itself there. They call `libmpi.so.12`. What is otherwise is here:
//!
//! | module | what |
//! | --- | --- |
//! | [`handle`] | handles, which are INTEGERs on both sides, except for files |
//! | [`address`] | the common blocks of MPICH's `mpif.h`, and the variables of its `mpi_f08` |
//! | [`status`] | the status of five INTEGERs |
//! | [`descriptor`] | choice buffers of `mpi_f08`: MPICH's procedures take gfortran's own descriptors |
//! | [`modules`] | procedures of MPICH's modules, under the names that gfortran gives them |
//!
//! `mpi_f08` of another compiler has other descriptors: its programs cannot pass choice buffers.

#[macro_use]
#[path = "../../fortran/src/entry.rs"]
mod entry;

pub mod address;
#[path = "../../fortran/src/arrays.rs"]
pub mod arrays;
#[path = "../../fortran/src/calls/mod.rs"]
pub mod calls;
pub mod descriptor;
#[path = "../../fortran/src/dimension.rs"]
pub mod dimension;
#[path = "../../fortran/src/extension.rs"]
mod extension;
/// The Fortran entry points, and C's functions, types and constants, which the build script makes
/// from the API table.
// Raw pointers are what Fortran passes: the safety of all entry points is MPI's own rules.
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, clippy::unnecessary_cast)]
#[allow(clippy::wildcard_imports, clippy::useless_conversion, clippy::let_and_return)]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated/mod.rs"));
}
pub mod handle;
#[path = "../../fortran/src/index.rs"]
pub mod index;
#[path = "../../fortran/src/kept.rs"]
pub mod kept;
#[path = "../../fortran/src/logical.rs"]
pub mod logical;
pub mod modules;
#[path = "../../fortran/src/section.rs"]
pub mod section;
#[path = "../../fortran/src/slots.rs"]
pub mod slots;
pub mod status;
#[path = "../../fortran/src/team.rs"]
pub mod team;
#[path = "../../fortran/src/text.rs"]
pub mod text;
