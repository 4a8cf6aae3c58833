//! InfiniBand verbs: rdma-core's libibverbs, opened at run time, so that a program linked with this
//! crate loads where there is no libibverbs.
//!
//! Each type owns one object of the library and keeps alive what that depends on; dropping it
//! destroys the object. Nothing here chooses, retries or waits: a failing call becomes a [`Fault`]
//! that explains its error number.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`raw`] | the library's binary interface, compared with its header by a test |
//! | [`library`] | opening it; whether fork is safe |
//! | [`device`] | the list of devices; an open one ([`Context`]); its properties, ports and GIDs |
//! | [`gid`] | a GID and its sort |
//! | [`events`] | asynchronous events of a device |
//! | [`domain`] | protection domain, registered memory, address handles |
//! | [`queues`] | completion queue and shared receive queue |
//! | [`wake`] | events at completions, to sleep on |
//! | [`pair`] | queue pairs and their states |
//! | [`run`] | several datagrams posted at once |
//! | [`explain`] | error numbers in words |
//! | [`memlock`] | the memory that the process may lock |
//!
//! This crate never holds a protocol, a setting, or any knowledge of MPI or of packets.

pub mod device;
pub mod domain;
pub mod events;
pub mod explain;
pub mod gid;
pub mod library;
pub mod memlock;
pub mod pair;
pub mod queues;
pub mod raw;
pub mod run;
pub mod wake;

pub use device::{Context, Device, Port};
pub use domain::{AddressHandle, MemoryRegion, ProtectionDomain};
pub use events::Event;
pub use gid::{Gid, GidEntry, GidKind};
pub use library::{Fork, Library};
pub use pair::QueuePair;
pub use queues::{CompletionQueue, SharedReceiveQueue};
pub use run::DatagramRun;
pub use verbena_fault::Fault;
pub use wake::EventChannel;
