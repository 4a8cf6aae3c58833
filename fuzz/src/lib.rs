//! Fuzzing: rules for every text and packet that comes from outside, and drivers that look for one
//! that breaks them.
//!
//! A *target* is a function of bytes that panics if something does not hold: a parser that panics,
//! a message that does not survive its own encoding, a value out of bounds, or an answer other than
//! a naive computation's. The same function serves three drivers:
//!
//! - `tests/corpus.rs`, part of `make test`: replays the kept inputs (`fuzz/corpus/TARGET/`) and
//!   tries some thousand random and mutated ones, the same ones each time;
//! - the command `verbena-fuzz`: random and mutated inputs from a given seed, for a number of
//!   seconds; an input that breaks a target is made smaller and written into the corpus, where the
//!   test above replays it;
//! - `fuzz/libfuzzer`, outside the workspace: libFuzzer with coverage, by
//!   `cargo fuzz run --fuzz-dir fuzz/libfuzzer target`; `cargo xtask soak` calls it where
//!   cargo-fuzz is installed.
//!
//! | module | job |
//! | --- | --- |
//! | [`targets`] | the targets |
//! | [`corpus`] | the inputs that are kept |
//! | [`mutate`] | new inputs from those |
//! | [`driver`] | runs a target, catches what breaks it, makes that smaller |

pub mod corpus;
pub mod driver;
pub mod mutate;
pub mod targets;

pub use targets::{Target, all, find};
