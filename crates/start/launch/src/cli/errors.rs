//! `-initial-errhandler` (MPI-5.0, 11.5): the error handler that the ranks of a program begin with.
//! They read a variable.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;

/// The setting of the ranks.
const VARIABLE: &str = "VERBENA_INITIAL_ERRHANDLER";
/// The values of the option, and of the setting.
const NAMES: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];

/// The option.
pub(super) fn option() -> Arg {
    Arg::new("initial-errhandler")
        .long("initial-errhandler")
        .value_name("NAME")
        .ignore_case(true)
        .value_parser(PossibleValuesParser::new(NAMES))
        .help("Error handler that the ranks begin with [default: mpi_errors_are_fatal]")
}

/// The variable for a program, if the option was given for it.
pub(super) fn variable(part: &ArgMatches) -> Option<(OsString, OsString)> {
    let given = part.get_one::<String>("initial-errhandler")?;
    Some((VARIABLE.into(), given.to_ascii_lowercase().into()))
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    #[test]
    fn the_names_of_the_standard_are_known_in_any_case_and_no_others() {
        let value = |words: &[&str]| {
            let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).ok()?;
            Some(variable(&matches)?.1.into_string().unwrap())
        };
        for name in NAMES {
            assert_eq!(value(&["--initial-errhandler", name]).as_deref(), Some(name));
            assert_eq!(value(&["--initial-errhandler", &name.to_uppercase()]).as_deref(), Some(name));
        }
        assert_eq!(value(&[]), None);
        assert!(command().try_get_matches_from(["mpiexec", "--initial-errhandler", "none"]).is_err());
    }
}
