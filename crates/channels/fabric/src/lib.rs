//! libfabric, opened at run time, so that a program linked with this crate loads where there is no
//! libfabric.
//!
//! Each type owns one object of the library and keeps alive what that depends on; dropping it
//! closes the object. Nothing here chooses, retries or waits: a failing call becomes a [`Fault`]
//! that explains its error number.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`raw`] | the library's binary interface, compared with its headers by a test |
//! | [`library`] | opening it |
//! | [`offer`] | the offers of its providers here (`fi_getinfo`) |
//! | [`domain`] | fabric, domain, registered memory |
//! | [`queue`] | completion queue |
//! | [`endpoint`] | address vector and endpoint: sending, receiving, reading, writing |
//! | [`context`] | the context of an operation, which carries its name |
//! | [`explain`] | error numbers in words |
//!
//! This crate never holds a protocol, a setting, or any knowledge of MPI or of packets.

pub mod context;
pub mod domain;
pub mod endpoint;
pub mod explain;
pub mod library;
mod object;
pub mod offer;
pub mod queue;
pub mod raw;

pub use context::Contexts;
pub use domain::{Domain, MemoryRegion};
pub use endpoint::{AddressVector, Endpoint, Refused};
pub use library::Library;
pub use offer::{Offer, Wanted};
pub use queue::{Completion, CompletionQueue, Failure};
pub use verbena_fault::Fault;
