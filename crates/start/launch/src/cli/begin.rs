//! `-initial-errhandler` and `-memory-alloc-kinds` (MPI-5.0, 11.5): the error handler that the
//! ranks of a program begin with, and the kinds of memory that it asks for. They read variables.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;

/// The setting of the ranks with the error handler.
const ERRHANDLER: &str = "VERBENA_INITIAL_ERRHANDLER";
/// The setting of the ranks with the kinds of memory.
const KINDS: &str = "VERBENA_MEMORY_KINDS";
/// The values of the option, and of the setting.
const NAMES: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];

/// The options.
pub(super) fn options() -> [Arg; 2] {
    [
        Arg::new("initial-errhandler")
            .long("initial-errhandler")
            .value_name("NAME")
            .ignore_case(true)
            .value_parser(PossibleValuesParser::new(NAMES))
            .help("Error handler that the ranks begin with [default: mpi_errors_are_fatal]"),
        Arg::new("memory-alloc-kinds").long("memory-alloc-kinds").value_name("KINDS").help(
            "Kinds of memory that the program asks for, by commas; MPI_INFO_ENV names those that are there",
        ),
    ]
}

/// The variables for a program, for those of the options that were given for it.
pub(super) fn variables(part: &ArgMatches) -> impl Iterator<Item = (OsString, OsString)> {
    let given = |option: &str| part.get_one::<String>(option);
    let handler = given("initial-errhandler").map(|name| (ERRHANDLER, name.to_ascii_lowercase()));
    let kinds = given("memory-alloc-kinds").map(|kinds| (KINDS, kinds.clone()));
    handler.into_iter().chain(kinds).map(|(name, value)| (name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    #[test]
    fn the_names_of_the_standard_are_known_in_any_case_and_no_others() {
        let value = |words: &[&str]| {
            let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).ok()?;
            Some(variables(&matches).next()?.1.into_string().unwrap())
        };
        for name in NAMES {
            assert_eq!(value(&["--initial-errhandler", name]).as_deref(), Some(name));
            assert_eq!(value(&["--initial-errhandler", &name.to_uppercase()]).as_deref(), Some(name));
        }
        assert_eq!(value(&[]), None);
        assert!(command().try_get_matches_from(["mpiexec", "--initial-errhandler", "none"]).is_err());
        assert_eq!(value(&["--memory-alloc-kinds", "mpi:alloc_mem"]).as_deref(), Some("mpi:alloc_mem"));
    }
}
