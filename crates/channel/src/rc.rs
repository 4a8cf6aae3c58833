//! The channel `rc`: InfiniBand's Reliable Connection service (papers 1 and 2).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`adapter`] | what is asked of a verbs device |
//! | [`verbs`] | the real device, over libibverbs |

pub mod adapter;
pub mod verbs;
