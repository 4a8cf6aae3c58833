//! The command line of `mpiexec` (MPI-5.0 section 11.5), as MPI users type it: long options may have one dash,
//! and a lone `:` separates the parts of an MPMD job.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use verbena_fault::Fault;

/// The most ranks one job may have; more is a typing error or needs several machines.
const RANKS_MAX: u32 = 65_536;

/// What to start.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The parts of an MPMD job, at least one; ranks count through them in order.
    pub parts: Vec<Part>,
    /// Whether every output line is marked with its rank.
    pub labels: bool,
    /// How long the job may run.
    pub timeout: Option<Duration>,
}

/// One program and how many ranks of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The number of ranks.
    pub count: u32,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables to set, in order.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to run.
    pub directory: Option<PathBuf>,
}

impl Order {
    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.parts.iter().map(|part| part.count).sum()
    }
}

/// Why nothing is started: a wrong command line, or a request for help.
#[derive(Debug)]
pub struct Stop {
    /// The exit code.
    pub code: i32,
    text: String,
}

impl Stop {
    fn wrong(fault: &Fault) -> Stop {
        Stop { code: 2, text: format!("mpiexec: {fault}\n") }
    }

    /// Shows the text: help on standard output, the rest on standard error.
    pub fn print(&self) {
        if self.code == 0 { print!("{}", self.text) } else { eprint!("{}", self.text) }
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Stop {
        if error.exit_code() == 0 {
            return Stop { code: 0, text: format!("{}\n", error.to_string().trim_end()) };
        }
        let text = error.to_string();
        let first = text.lines().next().unwrap_or("").trim_start_matches("error: ");
        Stop::wrong(&Fault::new(
            "The command line is not understood.",
            first,
            "a mistyped option, or one of another MPI's mpiexec",
            "see mpiexec -help",
        ))
    }
}

/// Reads the arguments (without the command's own name).
///
/// # Errors
/// What to print instead, and the exit code.
pub fn read(arguments: Vec<OsString>) -> Result<Order, Stop> {
    let read: Vec<(ArgMatches, &[OsString])> =
        arguments.split(|word| word == ":").map(read_part).collect::<Result<_, _>>()?;
    let matches = || read.iter().map(|(options, _)| options);
    let global: Vec<_> = matches().flat_map(|part| pairs(part, "genv")).collect();
    let parts: Vec<Part> =
        read.iter().map(|(part, run)| one_part(part, run, &global)).collect::<Result<_, _>>()?;
    let total: u64 = parts.iter().map(|part| u64::from(part.count)).sum();
    if total > u64::from(RANKS_MAX) {
        return Err(too_many(total));
    }
    Ok(Order {
        parts,
        labels: matches().any(|part| part.get_flag("labels")),
        timeout: matches()
            .find_map(|part| part.get_one::<f64>("timeout"))
            .map(|s| Duration::from_secs_f64(*s)),
    })
}

/// The options of one part, and the words of the program to run.
fn read_part(words: &[OsString]) -> Result<(ArgMatches, &[OsString]), clap::Error> {
    let (options, run) = split_at_program(words);
    let options = std::iter::once(OsString::from("mpiexec")).chain(options);
    Ok((command().try_get_matches_from(options)?, run))
}

fn one_part(matches: &ArgMatches, run: &[OsString], global: &[(OsString, OsString)]) -> Result<Part, Stop> {
    check_hosts(matches)?;
    let (program, arguments) = run.split_first().ok_or_else(no_program)?;
    let mut environment = global.to_vec();
    environment.extend(pairs(matches, "env"));
    Ok(Part {
        count: *matches.get_one::<u32>("count").unwrap_or(&1),
        program: program.clone(),
        arguments: arguments.to_vec(),
        environment,
        directory: matches.get_one::<PathBuf>("wdir").cloned(),
    })
}

/// The pairs of an option that takes a name and a value and may be repeated.
fn pairs(matches: &ArgMatches, option: &str) -> Vec<(OsString, OsString)> {
    let mut words = matches.get_many::<OsString>(option).into_iter().flatten().cloned();
    std::iter::from_fn(|| Some((words.next()?, words.next()?))).collect()
}

/// Only this machine, for now.
fn check_hosts(matches: &ArgMatches) -> Result<(), Stop> {
    let given = |option| matches.get_one::<String>(option).map(|value| format!("-{option} {value}"));
    let hosts = matches.get_one::<String>("host").map_or("", |hosts| hosts.as_str());
    let here = hostname();
    let elsewhere = hosts
        .split(',')
        .map(|host| host.split(':').next().unwrap_or(""))
        .any(|host| !["", "localhost", "127.0.0.1", "::1"].contains(&host) && host != here);
    match given("hostfile").or(elsewhere.then(|| format!("-host {hosts}"))) {
        None => Ok(()),
        Some(on) => Err(Stop::wrong(&Fault::new(
            "Starting ranks on other hosts is not supported yet.",
            on,
            format!("this mpiexec starts ranks only on the machine it runs on, {here}"),
            "leave the option out, or start the job with srun --mpi=pmi2 or with Hydra's mpiexec; \
             the program itself needs no change",
        ))),
    }
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

/// Splits a part where its options end and the program's name stands: what follows is the program's own.
/// Long options with one dash get a second one.
fn split_at_program(words: &[OsString]) -> (Vec<OsString>, &[OsString]) {
    let command = command();
    let mut options = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return (options, after);
        }
        let Some(name) = word.to_str().and_then(option_name) else { break };
        let long = name.chars().nth(1).is_some();
        options.push(if long { format!("--{name}").into() } else { word.clone() });
        let values = if name.contains('=') { 0 } else { value_count(&command, name).min(after.len()) };
        options.extend_from_slice(&after[..values]);
        rest = &after[values..];
    }
    (options, rest)
}

/// The name of an option word without its dashes; `None` for a word that is no option, and for `--`.
fn option_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (!name.is_empty()).then_some(name)
}

/// How many values follow an option.
fn value_count(command: &Command, name: &str) -> usize {
    let named = |arg: &&Arg| {
        let short = arg.get_short().is_some_and(|short| name == short.to_string());
        short || arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name))
    };
    let takes = |arg: &Arg| match arg.get_action() {
        ArgAction::SetTrue | ArgAction::Help | ArgAction::Version => 0,
        _ => arg.get_num_args().map_or(1, |range| range.min_values()),
    };
    command.get_arguments().find(named).map_or(0, takes)
}

fn command() -> Command {
    let pair = ["NAME", "VALUE"];
    let hyphens = |arg: Arg| arg.allow_hyphen_values(true).value_parser(value_parser!(OsString));
    Command::new("mpiexec")
        .version(concat!("(Verbena) ", env!("CARGO_PKG_VERSION")))
        .about("Starts the ranks of an MPI job on this machine")
        .override_usage("mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...")
        .after_help(
            "Long options may have one dash. Exit code: that of the first rank that failed; 128+N if signal N \
             killed it; 124 after --timeout; 127 if the program could not be started.",
        )
        .args_override_self(true)
        .args([
            Arg::new("count")
                .short('n')
                .long("np")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("Number of ranks of this program [default: 1]"),
            hyphens(Arg::new("env").long("env").num_args(2).value_names(pair).action(ArgAction::Append))
                .help("Set a variable for this program"),
            hyphens(Arg::new("genv").long("genv").num_args(2).value_names(pair).action(ArgAction::Append))
                .help("Set a variable for all programs"),
            Arg::new("wdir")
                .long("wdir")
                .visible_alias("wd")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Run this program in DIR"),
            flag("labels", "Mark every line of output with its rank")
                .short('l')
                .visible_aliases(["label", "prepend-rank"]),
            Arg::new("timeout")
                .long("timeout")
                .value_name("SECONDS")
                .value_parser(seconds)
                .help("End the job after SECONDS, with exit code 124"),
            Arg::new("host")
                .long("host")
                .visible_aliases(["hosts"])
                .value_name("HOSTS")
                .help("Only this machine is supported yet"),
            Arg::new("hostfile")
                .short('f')
                .long("hostfile")
                .visible_aliases(["machinefile"])
                .value_name("FILE")
                .help("Not supported yet"),
            flag("oversubscribe", "Accepted and ignored: more ranks than cores are always fine"),
            Arg::new("ppn")
                .long("ppn")
                .visible_aliases(["perhost"])
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("Accepted and ignored: all ranks are on this machine"),
            flag("allow-run-as-root", "Accepted and ignored: root may always start jobs"),
        ])
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1e9 => Ok(value),
        _ => Err("expected a number of seconds above 0".into()),
    }
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
            assert_eq!((order.size(), order.labels), (3, true), "{line}");
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
        assert_eq!((order.size(), order.labels, order.timeout), (2, false, None));
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
        for line in
            ["", "-n 2", "-n 0 x", "-n x y", "-n 2 a :", "-n 99999 x", "-frobnicate x", "-timeout 0 x"]
        {
            assert_eq!(order(line).unwrap_err().code, 2, "{line}");
        }
    }

    #[test]
    fn other_hosts_are_refused_in_four_parts() {
        assert!(order("-host localhost,127.0.0.1:2 x").is_ok());
        for line in ["-host node7 x", "-f hosts x", "-machinefile hosts x"] {
            assert_eq!(order(line).unwrap_err().text.lines().count(), 4, "{line}");
        }
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for line in ["-help", "-h", "--help", "-version", "-V", "--version"] {
            assert_eq!(order(line).unwrap_err().code, 0, "{line}");
        }
    }
}
