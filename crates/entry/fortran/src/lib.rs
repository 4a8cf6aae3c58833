//! The companion library for Fortran, `libmpifort_abi.so.1` (MPI-5.0, 20.4).
//!
//! Every entry point ([`generated`], or hand-written in [`calls`]) converts its arguments from
//! Fortran for C's function of the standard ABI, calls that, and converts the results back. It
//! knows nothing of Verbena: any library of the ABI will do. `mpif.h`, the modules `mpi` and
//! `mpi_f08` and this library are made from one table. The modules hold interfaces and constants
//! only, so no Fortran compiler is needed to build the library.
//!
//! | symbols | who calls them |
//! | --- | --- |
//! | `mpi_send_` | `mpif.h`, `mpi`: everything by address, lengths of strings at the end |
//! | `mpi_send_f08ts_`, `mpi_comm_rank_f08_` | `mpi_f08`: choice buffers as descriptors; IERROR may be left out |
//! | `pmpi_...` | the same for tools: C's `PMPI_` functions are called, so that no tool sees a call twice |
//!
//! | module | what it converts |
//! | --- | --- |
//! | [`handle`], [`arrays`] | handles, which are INTEGERs |
//! | [`address`] | variables whose address means something, such as `MPI_IN_PLACE` |
//! | [`logical`], [`index`] | LOGICALs; positions in arrays, counted from 1 |
//! | [`text`] | strings padded with blanks |
//! | [`descriptor`], [`dimension`], [`section`] | choice buffers of `mpi_f08`, and sections of arrays |
//! | [`kept`] | copies of sections, until a collective's request is complete |
//! | [`slots`] | procedures to which C passes nothing of ours |
//! | [`team`] | lengths of arrays that the call itself does not say |
//!
//! What must never be here: the meaning of MPI.

#[macro_use]
mod entry;

pub mod address;
pub mod arrays;
pub mod calls;
pub mod descriptor;
pub mod dimension;
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
pub mod index;
pub mod kept;
pub mod logical;
pub mod section;
pub mod slots;
pub mod status;
pub mod team;
pub mod text;
