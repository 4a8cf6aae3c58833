//! The hand-written half of the C interface: one module for each family of calls.
//!
//! A body has the name of its function in small letters without `mpi_` and `_c`, and one parameter
//! for each C parameter, in order, already checked and converted (see [`crate::args`]). It serves
//! both the `int` and the large-count form, unless a body with `_c` at the end of its name serves
//! the latter. The blocking, nonblocking and persistent form of a collective have one body, which
//! gets a [`crate::collectives::Run`] first. A body returns `verbena_mpi::Result<()>`, or
//! `Result<(), report::Failed>` where the error belongs to another object than the one that the API
//! table names. The generator finds bodies by scanning the files here for `pub fn name(`.

// A body takes raw pointers only from its entry point, under the promise that stands there.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

pub mod abi;
pub mod address;
pub mod buffered;
pub mod clock;
pub mod collective;
pub mod completion;
pub mod datarep;
pub mod datatype;
pub mod dynamic;
pub mod elements;
pub mod envelope;
pub mod extent;
pub mod get_status;
pub mod gpu_support;
pub mod handle;
pub mod hardware;
pub mod init;
pub mod neighbor;
pub mod op;
pub mod pack;
pub mod partitioned;
pub mod point;
pub mod reduction;
pub mod removed;
pub mod request;
pub mod status;

pub mod attribute;
pub mod comm;
pub mod environment;
pub mod errhandler;
pub mod error;
pub mod fault;
pub mod file;
pub mod file_access;
pub mod file_nonblocking;
pub mod file_split;
pub mod group;
pub mod info;
pub mod session;
pub mod tool;
pub mod tool_cvar;
pub mod tool_event;
pub mod tool_pvar;
pub mod topology;
pub mod window;
pub mod window_operate;
pub mod window_synchronize;
