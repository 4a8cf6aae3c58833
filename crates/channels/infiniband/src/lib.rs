//! The channels over InfiniBand and RoCE, by verbs.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`rc`] | the channel over the Reliable Connection service |
//! | [`ud`] | the channel over the Unreliable Datagram service |
//! | [`reliable`] | reliability in software, for `ud` |
//! | [`cache`] | registrations of the program's memory |
//! | [`device`] | the parts of a verbs device that both channels use |

pub mod cache;
pub mod device;
pub mod rc;
pub mod reliable;
pub mod ud;
