//! The channels over InfiniBand and RoCE, by verbs.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`rc`] | the channel over the Reliable Connection service |
//! | [`ud`] | the channel over the Unreliable Datagram service |
//! | [`reliable`] | reliability in software, for `ud` |
//! | [`cache`] | registrations of the program's memory |
//! | [`pipe`] | paper 2's RDMA Channel: byte pipes by RDMA, for comparison |
//! | `hello` | the datagrams by which two processes agree on a connection |
//! | [`device`] | the parts of a verbs device that all channels use |

pub mod cache;
pub mod device;
mod hello;
pub mod pipe;
pub mod rc;
pub mod reliable;
pub mod ud;
