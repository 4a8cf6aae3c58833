//! The command line of `mpiexec` (MPI-5.0 section 11.5), as MPI users type it: long options may
//! have one dash, and a lone `:` separates the parts of an MPMD job.

mod allocation;
mod arg;
mod begin;
mod binding;
mod config_file;
mod debug;
mod foreign;
pub mod inherited;
mod limit;
mod lost;
mod nearest;
mod options;
mod output;
mod parts;
mod placement;
mod ports;
mod refused;
mod spellings;
mod standard;
#[cfg(test)]
mod tests;
mod words;

use crate::binding::Binding;
use crate::debugger::Debug;
use crate::explain::unwritable;
use crate::files::Outputs;
use crate::launcher::Launcher;
use crate::layout::HostRanks;
use crate::plan::{Exports, Part as Program};
use crate::sys;
use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use inherited::Inherited;
use nearest::{did_you_mean, nearest};
use options::command;
use parts::Part;
use placement::Placement;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_settings::LAUNCHER;
use words::{Words, as_typed, long_names, split_at_equals};

/// The most ranks one job may have; more is a typing error.
const RANKS_MAX: u32 = 65_536;

/// A job as the command line describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The parts of an MPMD job, at least one; ranks count through them in order.
    pub parts: Vec<Program>,
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
    /// The place among the jobs of one command, and the options for more of them.
    pub inherited: Inherited,
    /// The places of the ranks' output.
    pub outputs: Outputs,
    /// The time that the job may run.
    pub timeout: Option<Duration>,
    /// The ranks that gdb is opened for.
    pub debug: Option<Debug>,
    /// The room for processes (`MPI_UNIVERSE_SIZE`), as far as the user says.
    pub universe_size: Option<u32>,
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
    fault: Option<Box<Fault>>,
}

impl Stop {
    /// Stops with success after showing a text.
    pub fn with_text(text: String) -> Stop {
        Stop { code: 0, text, fault: None }
    }

    fn wrong(fault: Fault) -> Stop {
        Stop { code: 2, text: format!("mpiexec: {fault}\n"), fault: Some(Box::new(fault)) }
    }

    /// Names the place of the fault, if there is one.
    fn at(self, place: Option<&str>) -> Stop {
        match (self.fault, place) {
            (Some(fault), Some(place)) => {
                Stop::wrong(Fault { on: format!("{place}: {}", fault.on), ..*fault })
            }
            (fault, _) => Stop { fault, ..self },
        }
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
        Stop::wrong(fault)
    }
}

/// The text of clap about the options among these words: a fault, or the help asked for.
fn stop_at(error: &clap::Error, words: &[OsString]) -> Stop {
    let text = error.to_string();
    if error.exit_code() == 0 {
        return Stop::with_text(format!("{}\n", text.trim_end()));
    }
    let first = text.lines().next().unwrap_or("").trim_start_matches("error: ");
    let cause = match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            "a mistyped value, or the option's value was left out and this is the next word"
        }
        ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => "the option's value was left out",
        _ => "a mistyped option, or one of another MPI's mpiexec",
    };
    Stop::wrong(Fault::new(
        "The command line is not understood.",
        as_typed(first, words),
        cause,
        format!("{}{}see mpiexec -help", did_you_mean(meant(error).as_deref()), debug::advice(first)),
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

/// The options with the words that they can have, for completions.
pub fn for_completions() -> clap::Command {
    binding::with_words(command())
}

/// Reads the arguments (without the command's own name).
///
/// # Errors
/// The text to print instead, and the exit code.
pub fn read(arguments: Vec<OsString>) -> Result<Order, Stop> {
    order(&config_file::expand(&arguments)?)
}

/// Reads the arguments that a program gives for processes that it spawns, from
/// [`verbena_boot::spawn::Order::words`].
///
/// # Errors
/// The text to print instead, and the exit code.
pub fn read_spawned(arguments: &[OsString]) -> Result<Order, Stop> {
    let parts = verbena_boot::spawn::parts(arguments);
    order(&parts.into_iter().map(|words| Words { words, place: None }).collect::<Vec<_>>())
}

fn order(words: &[Words]) -> Result<Order, Stop> {
    let read: Vec<Part<'_>> = words.iter().map(Part::read).collect::<Result<_, _>>()?;
    parts::check_agreement(&read)?;
    let options: Vec<&ArgMatches> = read.iter().map(|part| &part.options).collect();
    let debug = debug::read(&options)?;
    let variable = |name: &str| match name == LAUNCHER.about.name {
        true => LAUNCHER.get(),
        false => std::env::var(name).ok(),
    };
    verbena_settings::load();
    let orders = binding::read(&options)?;
    let placement = Placement::read(&options, orders, &variable)?;
    let mut global = ports::read(&variable)?;
    global.extend(globals(&options));
    let numbered = read.iter().enumerate();
    let parts: Vec<Program> = numbered
        .map(|(number, part)| {
            program(part, &global, placement.count(number)).map_err(|fault| part.wrong(fault))
        })
        .collect::<Result<_, _>>()?;
    let total: u64 = parts.iter().map(|part| u64::from(part.count)).sum();
    if total > u64::from(RANKS_MAX) {
        return Err(too_many(total));
    }
    if let Some(debug) = &debug {
        debug.ranks(total as u32)?;
    }
    let typed = |name: &str| {
        let has = |part: &&Part<'_>| part.options.value_source(name) == Some(ValueSource::CommandLine);
        read.iter().find(has).map_or_else(|| format!("-{name}"), |part| part.typed(name))
    };
    Ok(Order {
        universe_size: universe_size(&options).or_else(|| placement.slots()),
        hosts: placement.lay_out(&parts.iter().map(|part| part.count).collect::<Vec<_>>()),
        parts,
        launcher: placement.launcher,
        prefix: options.iter().find_map(|part| part.get_one::<PathBuf>("prefix").cloned()),
        variables: globals(&options),
        exports: exports(&options),
        binding: orders.binding,
        inherited: inherited::read(&options)?,
        outputs: output::read(&options)?,
        timeout: limit::read(&options, &variable)?,
        debug,
        note: foreign::note(&options, &typed),
    })
}

/// The number that `--usize` gives; its words leave it to the hosts.
fn universe_size(options: &[&ArgMatches]) -> Option<u32> {
    options.iter().find_map(|part| part.get_one::<u32>("usize").copied()).filter(|size| *size > 0)
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

/// The program of a part.
fn program(
    part: &Part<'_>,
    global: &[(OsString, OsString)],
    named_count: Option<u32>,
) -> Result<Program, Fault> {
    let matches = &part.options;
    if let Some(file) = matches.get_one::<PathBuf>("configfile") {
        return Err(config_file::two_sources(file));
    }
    let (program, arguments) = part.run.split_first().ok_or_else(no_program)?;
    let mut environment = global.to_vec();
    environment.extend(begin::variables(matches));
    environment.extend(pairs(matches, "env"));
    Ok(Program {
        count: standard::count(matches, named_count)?,
        program: program.clone(),
        arguments: arguments.to_vec(),
        environment,
        directory: matches.get_one::<PathBuf>("wdir").map(|directory| directory.clone().into_os_string()),
        path: matches.get_one::<OsString>("path").cloned(),
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

fn no_program() -> Fault {
    Fault::new(
        "There is no program to start.",
        "the command line, or a part of it between two ':'",
        "the program's name is missing",
        "write for example: mpiexec -n 4 ./program arguments",
    )
}

fn too_many(total: u64) -> Stop {
    Stop::wrong(Fault::new(
        "That many ranks cannot be started.",
        format!("{total} ranks; the limit is {RANKS_MAX}"),
        "a mistyped -n",
        "ask for fewer ranks",
    ))
}
