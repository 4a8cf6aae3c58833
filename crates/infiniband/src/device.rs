//! A verbs device as all channels here use it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`options`] | what the user may say |
//! | [`choose`] | which port and GID |
//! | [`survey`] | looking at all ports and opening the best that works; for `verbena info` too |
//! | `port` | the open port |
//! | `encoding` | addresses and endpoints as they travel |
//! | `completions` | completions in batches |
//! | `queue` | the account of a send queue: unsignalled work |
//! | `neighbours` | hosts whose Ethernet addresses are not known yet |
//! | `trouble` | asynchronous events |
//! | `clock` | a clock that is read in a few instructions |

pub mod choose;
pub(crate) mod clock;
pub(crate) mod completions;
pub(crate) mod encoding;
pub(crate) mod neighbours;
pub mod options;
pub(crate) mod port;
pub(crate) mod queue;
pub mod survey;
pub(crate) mod trouble;
