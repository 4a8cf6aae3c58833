//! MPI's objects: groups, communicators, datatypes, operations, requests, collectives, info,
//! attributes, error handlers. The engine moves the messages; `abi` is what C sees.

pub mod active;
pub mod agreement;
pub mod attribute;
pub mod beside;
pub mod bsend;
pub mod codes;
pub mod coll;
pub mod comm;
pub mod datatype;
pub mod dynamic;
mod engine_settings;
pub mod errhandler;
pub mod error;
pub mod file;
pub mod generated;
pub mod group;
pub mod info;
pub mod log;
#[cfg(doc)]
pub mod manual;
pub mod op;
pub mod outcome;
pub mod partitioned;
pub mod point;
pub mod process;
pub mod process_sets;
pub mod request;
pub mod session;
pub mod startup;
mod threads;
pub mod tie;
pub mod tool;
pub mod topology;
pub mod unreceived;
pub mod window;

pub use comm::Comm;
pub use datatype::Datatype;
pub use errhandler::Errhandler;
pub use error::{Class, Error, Result};
pub use file::File;
pub use group::Group;
pub use info::Info;
pub use op::Op;
pub use process::{Process, task};
pub use session::Session;
pub use window::Win;
