//! The manual: how a message gets there, one walk a chapter.
//!
//! The chapters name crates and files, not functions of other crates, so that they stay true. The
//! terms are those of `docs/GLOSSARY.md`. Begin with [`eager`].

#[doc = include_str!("manual/eager.md")]
pub mod eager {}

#[doc = include_str!("manual/rendezvous.md")]
pub mod rendezvous {}

#[doc = include_str!("manual/progress.md")]
pub mod progress {}

#[doc = include_str!("manual/failover.md")]
pub mod failover {}

#[doc = include_str!("manual/infiniband.md")]
pub mod infiniband {}
