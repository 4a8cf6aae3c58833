//! The MPICH ABI of Verbena: `libmpi.so.12`, a second face of the same library.
//!
//! Every entry point ([`generated`], or hand-written in [`calls`]) translates its arguments into
//! those of the standard ABI, calls `libmpi_abi.so.1`, and translates the results back. All state
//! is there. Nothing here knows what MPI means, only how the two faces write it.
//!
//! | module | what it translates |
//! | --- | --- |
//! | [`library`], [`table`] | nothing: they find `libmpi_abi.so.1`, and keep the table of its functions |
//! | [`handles`], [`arrays`] | handles, which are 32-bit integers here |
//! | [`status`] | the 20-byte status |
//! | [`values`] | constants, flags, error codes |
//! | [`addresses`] | addresses that mean something, such as `MPI_IN_PLACE` |
//! | [`text`] | strings for which the program has less room here |
//! | [`fortran`], [`data`] | integers of handles, and variables that this ABI exports |
//! | [`gpu`] | nothing: MPICH's questions about GPUs |

#[macro_use]
mod entry;

pub mod addresses;
pub mod arrays;
pub mod calls;
pub mod data;
pub mod fortran;
/// The C entry points, types and constants, which the build script makes from the API table.
// Raw pointers are what C passes: the safety of all entry points is MPI's own rules. What is
// translated on some parameters is not on others; calls have as many arguments as MPI gives them.
#[allow(clippy::missing_safety_doc, clippy::useless_conversion, clippy::too_many_arguments)]
#[allow(clippy::wildcard_imports, clippy::unnecessary_cast, clippy::match_single_binding, unused_imports)]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated/mod.rs"));
}
pub mod gpu;
pub mod handles;
pub mod library;
pub mod status;
pub mod table;
pub mod text;
pub mod values;
