//! Every setting of Verbena, in one typed table.
//!
//! A setting has a name, a type with its default and its range, a unit, a help text, the section of
//! the standard or the paper that it follows, a scope and the time until which it may change. From
//! the one entry in [`table`] come the environment variable, the key in the file of settings, the
//! control variable of MPI's tool interface (MPI-5.0, 15.3.6) and the lines of
//! `verbena info --settings`.
//!
//! # How to add one
//! 1. An entry in [`table`]: `NAME: Type(default, range), Category, Unit, Scope, When, "source";`
//!    under a doc comment, which is the help text. Choose the type among [`Number`], [`Automatic`]
//!    (a number that the library finds by itself if it is not set), [`Flag`], [`Choice`], [`Names`]
//!    and [`Text`].
//! 2. Where it counts: `verbena_settings::NAME.get()`, one plain load. The engine takes its own
//!    from `verbena_engine::Settings`, which is filled from this table, so that a simulated rank
//!    can have others.
//!
//! That is all: the variable `VERBENA_NAME`, its check at `MPI_Init`, and the rest follow. A
//! setting that all ranks must have alike (one that decides how a collective runs) is
//! [`Scope::Job`]: start-up compares the ranks.
//!
//! What must never be here: any knowledge of what a setting does.
//!
//! | module | job |
//! | --- | --- |
//! | [`table`] | the settings |
//! | [`others`] | variables that begin as theirs and are none |
//! | [`kinds`] | their types |
//! | [`setting`] | what all types have in common: reading, checking, setting |
//! | [`load`] | the environment and the file |

mod kinds;
mod load;
pub mod others;
mod setting;
pub mod table;

pub use kinds::{Automatic, Choice, Flag, Names, Number, Text};
pub use load::{Loaded, card, load, load_from, unlike};
pub use others::{LAUNCHER_PID, OTHERS};
pub use setting::{AUTOMATIC, About, Category, Kind, Origin, Scope, Setting, Unit, When, freeze, is_frozen};
pub use table::*;

#[cfg(test)]
mod tests;
