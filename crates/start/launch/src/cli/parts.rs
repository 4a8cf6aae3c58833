//! The parts of the command line, between two `:`, or the lines of a configuration file: each has
//! options, and a program with its own arguments.

use super::options::command;
use super::words::{Words, split_at_program, typed};
use super::{Stop, binding, debug, limit, output, placement, refused, standard, stop_at};
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::ffi::OsString;
use verbena_fault::Fault;

/// Options that hold for the whole job, and have one value.
const OF_THE_JOB: [&str; 15] = [
    "bind-to",
    "map-by",
    "rank-by",
    "ppn",
    "output",
    "output-filename",
    "outfile-pattern",
    "errfile-pattern",
    "timeout",
    "launcher",
    "launcher-exec",
    "prefix",
    "gdb",
    "terminal",
    "with-ft",
];

/// A part that has been read.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) options: ArgMatches,
    /// The words of the program to run.
    pub(super) run: &'a [OsString],
    words: &'a Words,
}

impl Part<'_> {
    /// Reads a part.
    ///
    /// # Errors
    /// An option that is not understood, or is refused, or a request for help.
    pub(super) fn read(words: &Words) -> Result<Part<'_>, Stop> {
        let (options, run) = split_at_program(&words.words);
        let options = std::iter::once(OsString::from("mpiexec")).chain(options);
        let read = command().try_get_matches_from(options);
        let options = read.map_err(|error| stop_at(&error, &words.words).at(words.place.as_deref()))?;
        let part = Part { options, run, words };
        match check(&part.options, &|name| part.typed(name)) {
            Ok(()) => Ok(part),
            Err(fault) => Err(part.wrong(fault)),
        }
    }

    /// A fault of this part, with its place.
    pub(super) fn wrong(&self, fault: Fault) -> Stop {
        Stop::wrong(fault).at(self.words.place.as_deref())
    }

    /// The option as it was typed.
    pub(super) fn typed(&self, name: &str) -> String {
        let words = &self.words.words;
        typed(name, &words[..words.len() - self.run.len()])
    }
}

/// Makes sure that the options of one part are no nonsense by themselves. `typed` gives them as
/// they were typed.
///
/// # Errors
/// They are, for the user.
pub(super) fn check(options: &ArgMatches, typed: &dyn Fn(&str) -> String) -> Result<(), Fault> {
    let alone = [options];
    refused::check(options, typed)?;
    standard::check(options)?;
    debug::read(&alone)?;
    binding::read(&alone)?;
    output::read(&alone)?;
    limit::read(&alone, &|_| None)?;
    placement::named(options).map(drop)
}

/// Makes sure that the parts agree where there is only one for all.
///
/// # Errors
/// They do not, for the user.
pub(super) fn check_agreement(parts: &[Part<'_>]) -> Result<(), Fault> {
    for name in OF_THE_JOB {
        let given = |part: &&Part<'_>| part.options.value_source(name) == Some(ValueSource::CommandLine);
        let values = |part: &Part<'_>| {
            let values: Vec<_> = part.options.get_raw(name).into_iter().flatten().collect();
            format!("{} {}", part.typed(name), values.join(" ".as_ref()).display())
        };
        let mut given = parts.iter().filter(given);
        let Some(first) = given.next() else { continue };
        let same = |part: &&Part<'_>| {
            let raw = |part: &Part<'_>| {
                part.options.get_raw(name).map(|values| values.map(ToOwned::to_owned).collect::<Vec<_>>())
            };
            raw(part) == raw(first)
        };
        if let Some(other) = given.find(|part| !same(part)) {
            return Err(Fault::new(
                "An option that holds for the whole job has two values.",
                format!("{}, and behind a ':' {}", values(first), values(other)),
                "it was meant for one program of the command line only, which this option cannot be",
                "write it once, or start the programs by two mpiexec",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Order, read};
    use super::*;

    fn order(line: &str) -> Result<Order, Stop> {
        read(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn an_option_of_the_job_has_one_value() {
        for line in [
            "--bind-to core a : -bind-to none b",
            "-outfile-pattern x a : -outfile-pattern y b",
            "-timeout 5 a : b : -timeout 6 c",
            "-ppn 1 a : -ppn 2 b",
        ] {
            let stop = order(line).unwrap_err();
            assert_eq!((stop.code, stop.text().lines().count()), (2, 4), "{line}");
        }
        let told = order("--bind-to core a : -bind-to none b").unwrap_err();
        assert!(told.text().contains("on: --bind-to core, and behind a ':' -bind-to none\n"), "{told:?}");
        for line in ["--bind-to core a : -bind-to core b", "a : -timeout 5 b", "-env A 1 a : -env A 2 b"] {
            assert!(order(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn an_option_is_named_as_it_was_typed() {
        for (line, name) in [
            ("-s all x", "on: -s\n"),
            ("--stdin=all x", "on: --stdin\n"),
            ("-cpu-bind 1 -n 2 prog -s all", "on: -cpu-bind\n"),
        ] {
            let stop = order(line).unwrap_err();
            assert!(stop.text().contains(name), "{line}: {}", stop.text());
        }
        let note = |line: &str| order(line).unwrap().note.unwrap().on;
        assert_eq!(note("-v --tune -iface=eth0 prog -print-rank-map"), "-iface, --tune, -v");
    }
}
