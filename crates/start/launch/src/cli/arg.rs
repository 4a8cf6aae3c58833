//! Kinds of options that several lists of options have.

use clap::{Arg, ArgAction, value_parser};
use std::ffi::OsString;

/// An option whose values may begin with a dash.
pub(super) fn hyphens(arg: Arg) -> Arg {
    arg.allow_hyphen_values(true).value_parser(value_parser!(OsString))
}

/// An option without a value.
pub(super) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
