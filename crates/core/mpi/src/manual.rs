//! The manual: start-up, and a collective, step by step.
//!
//! The manual of the crate `verbena-engine` shows how a single message travels.

#[doc = include_str!("manual/startup.md")]
pub mod startup {}

#[doc = include_str!("manual/allreduce.md")]
pub mod allreduce {}
