//! A simulated verbs device: the [`Adapter`](verbena_infiniband::rc::adapter::Adapter) of many
//! ranks in one process, with virtual time, a model of costs, and faults by seed.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`adapter`] | a rank's device as the channel `rc` sees it |
//! | [`datagrams`] | the same as the channel `ud` sees it |
//! | [`subnet`] | what all devices share: time, events, the ranks that are to run |
//! | [`device`] | registrations, completions, datagrams and queue pairs of one rank |
//! | [`post_office`] | its datagrams of `ud`: what is to be sent, and where received |
//! | [`pair`] | a queue pair: what is posted, under way, and in error |
//! | [`launch`] | when posted work gets to the peer |
//! | [`transport`] | how it gets there: in pieces, order, retries, failures |
//! | [`costs`] | what everything costs |
//! | [`theory`] | where each of these numbers comes from |
//! | [`calibration`] | costs from what the bare device's program measured |
//! | [`counts`] | what they were asked to do, and what befell them |
//! | [`faults`] | limits and misdeeds of the devices |
//! | [`canary`] | how the devices play defects of the channel |
//!
//! The service is that of InfiniBand's Reliable Connection: in order for each queue pair; a send
//! uses up a receive buffer and waits for one; an RDMA write or read names memory by address and
//! key; after a failure everything is flushed. Bytes that are not inline are read from the sender's
//! memory when they reach the peer, as late as a device may, so a buffer that is touched before its
//! completion shows as wrong bytes at the receiver.

mod adapter;
pub mod calibration;
mod canary;
mod costs;
mod counts;
mod datagrams;
mod device;
mod faults;
mod launch;
mod pair;
mod post_office;
mod subnet;
pub mod theory;
mod transport;

pub use adapter::SimAdapter;
pub use costs::{Costs, Stage};
pub use counts::Counts;
pub use datagrams::SimDatagrams;
pub use faults::{Canary, DeviceFaults};
pub use subnet::{Cut, Subnet};
