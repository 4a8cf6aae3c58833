//! The manual: start-up, a collective, and processes that come later, step by step.
//!
//! The manual of the crate `verbena-engine` shows how a single message travels.

#[doc = include_str!("manual/startup.md")]
pub mod startup {}

#[doc = include_str!("manual/allreduce.md")]
pub mod allreduce {}

#[doc = include_str!("manual/dynamic.md")]
pub mod dynamic {}
