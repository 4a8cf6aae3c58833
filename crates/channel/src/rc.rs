//! The channel `rc`: InfiniBand's Reliable Connection service (papers 1 and 2).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`adapter`] | what is asked of a verbs device |
//! | [`cache`] | registrations of the program's memory |

pub mod adapter;
pub mod cache;
