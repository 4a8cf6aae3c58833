//! `-soft`, `-arch`, `-path` and `-file`, which the standard has for one program of the command
//! line (MPI-5.0, 11.5), as the info keys of `MPI_Comm_spawn` (11.8.4).

use super::RANKS_MAX;
use clap::{Arg, ArgMatches, value_parser};
use std::env::consts::ARCH;
use std::ffi::OsString;
use std::path::PathBuf;
use verbena_boot::spawn::{SoftError, largest_allowed};
use verbena_fault::Fault;

/// Names of architectures that have several.
const ARCHITECTURES: [&[&str]; 2] = [&["x86_64", "amd64", "x86-64"], &["aarch64", "arm64"]];

/// The options.
pub(super) fn options() -> Vec<Arg> {
    let option = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    vec![
        option("soft", "NUMBERS").help(
            "Start the largest number of ranks, up to that of -n, that is in NUMBERS: 4, 1:8 or 2:8:2 for every \
             second, by commas",
        ),
        option("arch", "NAME").help("Start this program only if this machine is of the architecture NAME"),
        option("path", "DIRS")
            .value_parser(value_parser!(OsString))
            .help("Look for this program in DIRS, by colons, before PATH"),
        option("file", "FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Read more options of this program from FILE; those of the command line go before"),
    ]
}

/// The number of ranks of a part: that of `-n`, or `named`, the slots of the hosts that the user
/// names, or one; with `-soft`, the largest of its numbers that is no larger. Without a number and
/// hosts, the largest of its numbers.
///
/// # Errors
/// `-soft` makes no sense, or has no such number.
pub(super) fn count(part: &ArgMatches, named: Option<u32>) -> Result<u32, Fault> {
    let most = part.get_one::<u32>("count").copied().or(named);
    let Some(numbers) = part.get_one::<String>("soft") else { return Ok(most.unwrap_or(1)) };
    largest_allowed(numbers, most.unwrap_or(RANKS_MAX)).map_err(|error| match error {
        SoftError::Form => unreadable(numbers),
        SoftError::Nothing => none_allowed(numbers, most),
    })
}

/// Makes sure that the options of one part are no nonsense by themselves.
///
/// # Errors
/// They are, or name another architecture than this machine's.
pub(super) fn check(part: &ArgMatches) -> Result<(), Fault> {
    if let Some(numbers) = part.get_one::<String>("soft")
        && largest_allowed(numbers, 1) == Err(SoftError::Form)
    {
        return Err(unreadable(numbers));
    }
    match part.get_one::<String>("arch") {
        Some(name) if !is_own(name) => Err(another_architecture(name)),
        _ => Ok(()),
    }
}

/// Returns whether a name means this machine's architecture: `x86_64`, or as in `x86_64-linux-gnu`.
fn is_own(name: &str) -> bool {
    let name = name.to_lowercase();
    let own = ARCHITECTURES.iter().find(|names| names.contains(&ARCH)).copied().unwrap_or(&[ARCH]);
    let means =
        |own: &&str| name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    own.iter().any(means)
}

#[cold]
fn unreadable(numbers: &str) -> Fault {
    Fault::new(
        "The numbers of ranks that are allowed cannot be read.",
        format!("-soft {numbers}"),
        "a word is neither a number nor a range, or a range does not go where its stride does",
        "write numbers and ranges FIRST:LAST:STRIDE with commas between, as 1,2:16:2",
    )
}

#[cold]
fn none_allowed(numbers: &str, most: Option<u32>) -> Fault {
    let most = most.map_or_else(String::new, |most| format!("; at most {most} may be started"));
    Fault::new(
        "No number of ranks is allowed.",
        format!("-soft {numbers}{most}"),
        "its numbers are not above 0, or larger than that of -n or than the hosts have slots",
        "give -n a larger number, or -soft a smaller one",
    )
}

#[cold]
fn another_architecture(name: &str) -> Fault {
    Fault::new(
        "A program for another architecture cannot be started here.",
        format!("-arch {name}"),
        format!("this mpiexec, and the library that its ranks use, are for {ARCH}"),
        "leave it out, or use the mpiexec that was built for the other machines, there",
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn part(words: &[&str]) -> ArgMatches {
        command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap()
    }

    #[test]
    fn the_largest_allowed_number_is_started() {
        let counted = |words: &[&str], named| count(&part(words), named);
        assert_eq!(counted(&["-n", "7", "--soft", "1:16:4,2"], None), Ok(5));
        assert_eq!(counted(&["--soft", "2:4"], None), Ok(4), "nothing else limits it");
        assert_eq!(counted(&["--soft", "1:9"], Some(3)), Ok(3), "the slots of the hosts do");
        assert_eq!((counted(&["-n", "7"], Some(3)), counted(&[], None)), (Ok(7), Ok(1)));
        let told = counted(&["-n", "2", "--soft", "3:9"], None).unwrap_err();
        assert!(told.on == "-soft 3:9; at most 2 may be started", "{told}");
    }

    #[test]
    fn wrong_numbers_are_refused() {
        for wrong in ["x", "1:2:0", "1-3", "4:1:1", ""] {
            let fault = check(&part(&["--soft", wrong])).unwrap_err().to_string();
            assert_eq!((fault.lines().count(), fault.contains("on: -soft")), (4, true), "{fault}");
        }
        assert!(check(&part(&["--soft", "3:9"])).is_ok(), "a matter of -n");
    }

    #[test]
    fn another_architecture_is_refused_and_names_of_ours_are_taken() {
        let own = [ARCH.to_owned(), ARCH.to_uppercase(), format!("{ARCH}-linux-gnu")];
        assert!(own.iter().all(|name| check(&part(&["--arch", name])).is_ok()));
        for other in ["sparc", &format!("{ARCH}x"), "-"] {
            let fault = check(&part(&[&format!("--arch={other}")])).unwrap_err();
            assert!(fault.to_string().lines().count() == 4 && fault.cause.contains(ARCH), "{fault}");
        }
    }
}
