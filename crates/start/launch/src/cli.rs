//! The command line of `mpiexec` (MPI-5.0 section 11.5), as MPI users type it: long options may
//! have one dash, and a lone `:` separates the parts of an MPMD job.

mod allocation;
mod arg;
mod binding;
mod config_file;
mod debug;
mod errors;
mod foreign;
mod limit;
mod lost;
mod nearest;
mod options;
mod output;
mod placement;
mod ports;
mod refused;
mod spellings;
mod words;

use crate::binding::Binding;
use crate::debugger::Debug;
use crate::explain::unwritable;
use crate::files::Outputs;
use crate::launcher::Launcher;
use crate::layout::HostRanks;
use crate::plan::{Exports, Part};
use crate::sys;
use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use nearest::{did_you_mean, nearest};
use options::command;
use placement::Placement;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use verbena_fault::Fault;
use words::{as_typed, long_names, split_at_equals, split_at_program};

/// The most ranks one job may have; more is a typing error.
const RANKS_MAX: u32 = 65_536;

/// A job as the command line describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The parts of an MPMD job, at least one; ranks count through them in order.
    pub parts: Vec<Part>,
    /// The ranks of each host, in the order of their lowest ranks.
    pub hosts: Vec<HostRanks>,
    /// The way to start agents on other hosts.
    pub launcher: Launcher,
    /// The installation on other hosts; `None`: in the same place as ours.
    pub prefix: Option<PathBuf>,
    /// The variables for all programs, which those have that ranks spawn, too.
    pub variables: Vec<(OsString, OsString)>,
    /// The part of our environment that other hosts get.
    pub exports: Exports,
    /// The processors that ranks are bound to.
    pub binding: Binding,
    /// The places of the ranks' output.
    pub outputs: Outputs,
    /// The time that the job may run.
    pub timeout: Option<Duration>,
    /// The ranks that gdb is opened for.
    pub debug: Option<Debug>,
    /// The options that are ignored, for the user.
    pub note: Option<Fault>,
}

impl Order {
    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.parts.iter().map(|part| part.count).sum()
    }
}

/// The reason why nothing is started: a wrong command line, or a request for help.
#[derive(Debug)]
pub struct Stop {
    /// The exit code.
    pub code: i32,
    text: String,
}

impl Stop {
    /// Stops with success after showing a text.
    pub fn with_text(text: String) -> Stop {
        Stop { code: 0, text }
    }

    fn wrong(fault: &Fault) -> Stop {
        Stop { code: 2, text: format!("mpiexec: {fault}\n") }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Shows the text (help on standard output, the rest on standard error); returns the exit code.
    pub fn print(&self) -> i32 {
        if self.code != 0 {
            sys::complain(self.text.trim_end());
            return self.code;
        }
        let written = io::stdout().write_all(self.text.as_bytes()).and_then(|()| io::stdout().flush());
        match written {
            Ok(()) => 0,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 128 + libc::SIGPIPE,
            Err(error) => {
                sys::complain(&format!("mpiexec: {}", unwritable("standard output", &error)));
                1
            }
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::wrong(&fault)
    }
}

/// The text of clap about the options among these words: a fault, or the help asked for.
fn stop_at(error: &clap::Error, words: &[OsString]) -> Stop {
    let text = error.to_string();
    if error.exit_code() == 0 {
        return Stop { code: 0, text: format!("{}\n", text.trim_end()) };
    }
    let first = text.lines().next().unwrap_or("").trim_start_matches("error: ");
    let cause = match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            "a mistyped value, or the option's value was left out and this is the next word"
        }
        ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => "the option's value was left out",
        _ => "a mistyped option, or one of another MPI's mpiexec",
    };
    Stop::wrong(&Fault::new(
        "The command line is not understood.",
        as_typed(first, words),
        cause,
        format!("{}see mpiexec -help", did_you_mean(meant(error).as_deref())),
    ))
}

/// The known option that is most like the unknown one.
fn meant(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let known = long_names(&command());
    let unknown = unknown.trim_start_matches('-').split('=').next().unwrap_or_default();
    nearest(unknown, known.iter().map(String::as_str)).map(|known| format!("--{known}"))
}

/// The options, for the manual page and the completions.
pub fn description() -> clap::Command {
    command()
}

/// Reads the arguments (without the command's own name).
///
/// # Errors
/// The text to print instead, and the exit code.
pub fn read(arguments: Vec<OsString>) -> Result<Order, Stop> {
    let arguments = config_file::expand(arguments)?;
    let read: Vec<(ArgMatches, &[OsString])> =
        arguments.split(|word| word == ":").map(read_part).collect::<Result<_, _>>()?;
    let options: Vec<&ArgMatches> = read.iter().map(|(options, _)| options).collect();
    refused::check(&options)?;
    let variable = |name: &str| std::env::var(name).ok();
    let orders = binding::read(&options)?;
    let placement = Placement::read(&options, orders, &variable)?;
    let mut global = ports::read(&variable)?;
    global.extend(globals(&options));
    let numbered = read.iter().enumerate();
    let parts: Vec<Part> = numbered
        .map(|(number, (part, run))| one_part(part, run, &global, placement.default_count(number)))
        .collect::<Result<_, _>>()?;
    let total: u64 = parts.iter().map(|part| u64::from(part.count)).sum();
    if total > u64::from(RANKS_MAX) {
        return Err(too_many(total));
    }
    let debug = debug::read(&options)?;
    if let Some(debug) = &debug {
        debug.ranks(total as u32)?;
    }
    Ok(Order {
        hosts: placement.lay_out(&parts.iter().map(|part| part.count).collect::<Vec<_>>()),
        parts,
        launcher: placement.launcher,
        prefix: options.iter().find_map(|part| part.get_one::<PathBuf>("prefix").cloned()),
        variables: globals(&options),
        exports: exports(&options),
        binding: orders.binding,
        outputs: output::read(&options)?,
        timeout: limit::read(&options, &variable)?,
        debug,
        note: foreign::note(&options),
    })
}

/// The variables for all programs: `-genv`, `-x` with a value, and that of `--with-ft`.
fn globals(options: &[&ArgMatches]) -> Vec<(OsString, OsString)> {
    let exported = |part| words(part, "export").filter_map(|word| split_at_equals(&word));
    let given = options.iter().flat_map(|part| pairs(part, "genv").chain(exported(part)));
    given.chain(lost::variable(options)).collect()
}

fn exports(options: &[&ArgMatches]) -> Exports {
    let named = |part| words(part, "export").filter(|word| split_at_equals(word).is_none());
    let names = options.iter().flat_map(|part| words(part, "genvlist").chain(named(part))).collect();
    Exports { all: options.iter().any(|part| part.get_flag("genvall")), names }
}

/// The options of one part, and the words of the program to run.
fn read_part(words: &[OsString]) -> Result<(ArgMatches, &[OsString]), Stop> {
    let (options, run) = split_at_program(words);
    let options = std::iter::once(OsString::from("mpiexec")).chain(options);
    let read = command().try_get_matches_from(options);
    Ok((read.map_err(|error| stop_at(&error, words))?, run))
}

fn one_part(
    matches: &ArgMatches,
    run: &[OsString],
    global: &[(OsString, OsString)],
    default_count: u32,
) -> Result<Part, Stop> {
    if let Some(file) = matches.get_one::<PathBuf>("configfile") {
        return Err(config_file::two_sources(file).into());
    }
    let (program, arguments) = run.split_first().ok_or_else(no_program)?;
    let mut environment = global.to_vec();
    environment.extend(errors::variable(matches));
    environment.extend(pairs(matches, "env"));
    Ok(Part {
        count: *matches.get_one::<u32>("count").unwrap_or(&default_count),
        program: program.clone(),
        arguments: arguments.to_vec(),
        environment,
        directory: matches.get_one::<PathBuf>("wdir").map(|directory| directory.clone().into_os_string()),
    })
}

/// The values of an option that may be repeated.
fn words(matches: &ArgMatches, option: &str) -> impl Iterator<Item = OsString> {
    matches.get_many::<OsString>(option).into_iter().flatten().cloned()
}

/// The pairs of an option that takes a name and a value and may be repeated.
fn pairs(matches: &ArgMatches, option: &str) -> impl Iterator<Item = (OsString, OsString)> {
    let mut words = words(matches, option);
    std::iter::from_fn(move || Some((words.next()?, words.next()?)))
}

/// This machine's name, for messages.
pub fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or("localhost".into(), |name| name.trim().to_owned())
}

fn no_program() -> Stop {
    Stop::wrong(&Fault::new(
        "There is no program to start.",
        "the command line, or a part of it between two ':'",
        "the program's name is missing",
        "write for example: mpiexec -n 4 ./program arguments",
    ))
}

fn too_many(total: u64) -> Stop {
    Stop::wrong(&Fault::new(
        "That many ranks cannot be started.",
        format!("{total} ranks; the limit is {RANKS_MAX}"),
        "a mistyped -n",
        "ask for fewer ranks",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(line: &str) -> Result<Order, Stop> {
        read(line.split_whitespace().map(OsString::from).collect())
    }

    fn words(part: &Part) -> Vec<&str> {
        std::iter::once(&part.program).chain(&part.arguments).map(|word| word.to_str().unwrap()).collect()
    }

    #[test]
    fn options_with_one_dash_or_two() {
        for line in ["-n 3 -wdir /tmp -l a", "--np 3 --wdir /tmp --labels a", "-np 3 -wdir=/tmp -label a"] {
            let order = order(line).unwrap();
            assert_eq!((order.size(), order.outputs.labels), (3, true), "{line}");
            assert_eq!(order.parts[0].directory, Some("/tmp".into()), "{line}");
        }
    }

    #[test]
    fn the_programs_own_options_are_left_alone() {
        let order = order("-n 2 prog -n 5 -np 6 --timeout x -l -- -foo").unwrap();
        assert_eq!(
            words(&order.parts[0]),
            ["prog", "-n", "5", "-np", "6", "--timeout", "x", "-l", "--", "-foo"]
        );
        assert_eq!((order.size(), order.outputs.labels, order.timeout), (2, false, None));
    }

    #[test]
    fn two_dashes_alone_end_the_options() {
        assert_eq!(words(&order("-n 2 -- -prog x").unwrap().parts[0]), ["-prog", "x"]);
    }

    #[test]
    fn variables_for_one_part_and_for_all() {
        let order = order("-genv A 1 -n 1 -env B -2 -env C 3 x : -n 2 y").unwrap();
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        assert_eq!(order.parts[0].environment, [pair("A", "1"), pair("B", "-2"), pair("C", "3")]);
        assert_eq!(order.parts[1].environment, [pair("A", "1")]);
        assert_eq!(order.size(), 3);
    }

    #[test]
    fn wrong_lines_are_refused_with_code_2() {
        for line in [
            "",
            "-n 2",
            "-n 0 x",
            "-n x y",
            "-n 2 a :",
            "-n 99999 x",
            "-frobnicate x",
            "-timeout 0 x",
            "a : -configfile f",
            "-gdb 2 -n 2 a",
        ] {
            assert_eq!(order(line).unwrap_err().code, 2, "{line}");
        }
        let cause = |line: &str| order(line).unwrap_err().text;
        assert!(cause("-n x y").contains("cause: a mistyped value"), "{}", cause("-n x y"));
        assert!(cause("-n").contains("value was left out"), "{}", cause("-n"));
        assert!(cause("-frobnicate x").contains("cause: a mistyped option"), "{}", cause("-frobnicate x"));
    }

    #[test]
    fn an_unknown_option_is_quoted_as_it_was_typed() {
        for (line, quoted) in [
            ("-binds core x", "'-binds'"),
            ("--binds core x", "'--binds'"),
            ("-binds=core x", "'-binds'"),
            ("-np y x", "'-np <N>'"),
        ] {
            let text = order(line).unwrap_err().text;
            assert!(text.contains(quoted), "{line}: {text}");
        }
    }

    #[test]
    fn an_unknown_option_is_answered_with_what_was_meant() {
        for (line, meant) in [
            ("-time-out 5 x", "did you mean --timeout? see mpiexec -help"),
            ("--bindto core x", "did you mean --bind-to? "),
            ("-hotfile=f x", "did you mean --hostfile? "),
            ("-frobnicate x", "what to do: see mpiexec -help"),
            ("-n y x", "what to do: see mpiexec -help"),
        ] {
            let text = order(line).unwrap_err().text;
            assert!(text.contains(meant), "{line}: {text}");
        }
    }

    /// Lines from people's scripts.
    #[test]
    fn what_scripts_have_is_understood() {
        for (line, size) in [
            ("--n 3 x", 3),
            ("-c 3 x", 3),
            ("-H a:2,b x", 3),
            ("-N 2 x", 2),
            ("--npernode 2 -H a,b x", 4),
            ("--map-by ppr:2:node -H a,b x", 4),
            ("--mca btl tcp,self --pmixmca ptl tcp --prtemca a b -np 4 --bind-to core x", 4),
            ("-genv A=B -genv C D -np 2 -bind-to core -map-by numa -rank-by fill --report-bindings x", 2),
            ("-np 2 --tag-output --output-filename o --oversubscribe --allow-run-as-root x", 2),
            ("-bootstrap fork -outfile-pattern o.%r -np 2 -print-rank-map x", 2),
            ("-launcher ssh -launcher-exec /usr/bin/ssh -enable-x -print-all-exitcodes -n 2 x", 2),
            ("-disable-hostname-propagation -localhost a -n 2 x", 2),
            ("--pernode --bind-to-core -H a,b x", 2),
            ("--output tag --personality ompi --cpus-per-proc 1 -np 2 x", 2),
            ("-initial-errhandler mpi_errors_return -np 2 x", 2),
        ] {
            let order = order(line).unwrap();
            assert_eq!((order.size(), words(&order.parts[0])), (size, vec!["x"]), "{line}");
        }
        assert!(order("-np 2 --bind-to core x").unwrap().note.is_none());
        assert!(order("-np 2 --mca btl self x").unwrap().note.unwrap().on.contains("--mca"));
    }

    /// An option of Hydra that this launcher has not starts nothing, and says what to write.
    #[test]
    fn what_would_be_another_job_is_refused() {
        for (line, advice) in [
            ("-genvnone -n 2 x", "env -i"),
            ("-rankmap 0,1 -n 2 x", "-hosts a:2,b:2"),
            ("-prepend-pattern %r -n 2 x", "write -l"),
            ("-membind firsttouch -n 2 x", "--bind-to numa"),
            ("-skip-launch-node -hosts a,b x", "name the hosts"),
            ("-info", "verbena info"),
            ("-soft 1:4 x", "-n with the number"),
            ("-bind-to user:0,1 -n 2 x", "taskset"),
            ("-bind-to rr -n 2 x", "hwthread"),
            ("-bind-to board -n 2 x", "package"),
            ("-launcher manual -host a x", "ssh"),
        ] {
            let stop = order(line).unwrap_err();
            assert_eq!((stop.code, stop.text.lines().count()), (2, 4), "{line}: {}", stop.text);
            assert!(stop.text.contains(advice), "{line}: {}", stop.text);
        }
    }

    /// The host of each rank; `-` is this one.
    fn hosts(line: &str) -> String {
        let order = order(line).unwrap();
        let numbers = crate::layout::host_of_rank(&order.hosts);
        numbers.iter().map(|number| order.hosts[*number as usize].name.as_deref().unwrap_or("-")).collect()
    }

    #[test]
    fn ranks_are_laid_out_over_the_hosts() {
        assert_eq!(hosts("-n 3 x"), "---");
        assert_eq!(hosts("-host localhost,127.0.0.1:2 x"), "---");
        assert_eq!(hosts("-n 4 -hosts a:2,b:2 x"), "aabb");
        assert_eq!(hosts("-n 4 -host a,localhost -ppn 2 x"), "aa--");
        assert_eq!(hosts("-host a:2,b x"), "aab", "without -n, all slots");
        assert_eq!(hosts("-host a:2 -n 1 x : -n 2 y : -host c -n 1 z"), "aaac");
    }

    #[test]
    fn wrong_hosts_are_refused_in_four_parts() {
        for line in ["-host a:x x", "-f /no/such/file x", "-host a --launcher ' x", "-host , x"] {
            let stop = order(line).unwrap_err();
            assert_eq!((stop.code, stop.text.lines().count()), (2, 4), "{line}");
        }
    }

    #[test]
    fn what_other_hosts_get_of_the_environment() {
        let order = order("-genvlist A,B -x C -x D=1=2 -n 1 x").unwrap();
        assert_eq!(order.exports.names, ["A", "B", "C"]);
        assert_eq!(order.parts[0].environment, [("D".into(), "1=2".into())]);
        assert!(!order.exports.all);
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for line in ["-help", "-h", "--help", "-version", "-V", "--version"] {
            assert_eq!(order(line).unwrap_err().code, 0, "{line}");
        }
    }
}
