//! The manual: start-up, and a collective, step by step.
//!
//! How a single message travels is told in the manual of the crate `verbena-engine`.

#[doc = include_str!("manual/startup.md")]
pub mod startup {}

#[doc = include_str!("manual/allreduce.md")]
pub mod allreduce {}
