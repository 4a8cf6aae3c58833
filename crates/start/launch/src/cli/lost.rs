//! `--with-ft`, Open MPI's option about lost processes: whether ranks go on when others are killed.
//! The ranks read a variable.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;

/// The setting of the ranks.
const VARIABLE: &str = "VERBENA_LOST_RANKS";
/// The words of the option, and the values of the setting.
const WORDS: [(&str, &str); 5] =
    [("mpi", "survive"), ("ulfm", "survive"), ("no", "end"), ("none", "end"), ("auto", "auto")];

/// The option.
pub(super) fn option() -> Arg {
    Arg::new("with-ft")
        .long("with-ft")
        .value_name("WORD")
        .value_parser(PossibleValuesParser::new(WORDS.map(|(word, _)| word)))
        .hide_possible_values(true)
        .help("Go on when a rank is killed: mpi (always), no (never), auto (as the program asks) [default]")
}

/// The variable for all programs, if the option was given.
pub(super) fn variable(parts: &[&ArgMatches]) -> Option<(OsString, OsString)> {
    let given = parts.iter().find_map(|part| part.get_one::<String>("with-ft"))?;
    let (_, value) = WORDS.iter().find(|(word, _)| word == given)?;
    Some((VARIABLE.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn value(words: &[&str]) -> Option<String> {
        let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).ok()?;
        Some(variable(&[&matches])?.1.into_string().unwrap())
    }

    #[test]
    fn the_words_of_open_mpi_are_known_and_no_others() {
        assert_eq!(value(&["--with-ft", "mpi"]).as_deref(), Some("survive"));
        assert_eq!(value(&["--with-ft", "ulfm"]).as_deref(), Some("survive"));
        assert_eq!(value(&["--with-ft", "no"]).as_deref(), Some("end"));
        assert_eq!(value(&["--with-ft", "auto"]).as_deref(), Some("auto"));
        assert_eq!(value(&[]), None);
        assert!(command().try_get_matches_from(["mpiexec", "--with-ft", "perhaps"]).is_err());
    }
}
