//! The C interface of Verbena: `libmpi_abi.so.1`, the standard ABI of MPI-5.0 (chapter 20).
//!
//! A generated entry point ([`generated`]) checks and converts its arguments ([`args`],
//! [`handles`]), calls the hand-written body in [`calls`], and turns a failure into a call of the
//! right error handler ([`report`]). No protocol and no algorithm lives here.

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("Verbena encodes handles and counts in 64-bit little-endian words");

#[macro_use]
mod entry;

mod alone;
pub mod args;
pub mod arguments;
mod call_site;
pub mod calls;
pub mod collectives;
mod crash;
pub mod entries;
#[rustfmt::skip]
pub mod generated;
pub mod fast_path;
mod frames;
mod gpu;
pub mod handles;
mod host;
mod info_env;
mod last_errors;
mod memory_kinds;
mod news;
mod owner;
mod panic;
pub mod predefined;
mod progress_thread;
mod python;
pub mod report;
pub mod requests;
pub mod startup;
pub mod state;
pub mod status;
mod survival;
pub mod table;
pub mod tool;
mod traced;
mod unreceived;
mod watch;
mod watched;
mod whereabouts;

pub use generated::types::*;
pub use state::process;
