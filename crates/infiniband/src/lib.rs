//! The channels over InfiniBand and RoCE, by verbs.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`rc`] | the Reliable Connection service |
//! | [`ud`] | the Unreliable Datagram service |
//! | [`reliable`] | reliability in software, for `ud` |
//! | `clock` | a clock that is read in a few instructions, for devices |

mod clock;
pub mod rc;
pub mod reliable;
pub mod ud;
