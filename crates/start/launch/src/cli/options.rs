//! The options themselves.

use super::arg::{flag, hyphens};
use super::{begin, binding, debug, foreign, inherited, lost, refused, standard};
use clap::{Arg, ArgAction, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) fn command() -> Command {
    Command::new("mpiexec")
        .version(concat!("(Verbena) ", env!("CARGO_PKG_VERSION")))
        .about("Starts the ranks of an MPI job, on this host and on others")
        .override_usage("mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...")
        .after_help(
            "Long options may have one dash. Exit code: that of the first rank that failed; 128+N if signal N \
             killed it; 124 after --timeout; 127 if the program could not be started. A second Ctrl-C or SIGTERM \
             kills the ranks; so does VERBENA_TERM_GRACE_SECONDS [default: 10] after the first SIGTERM. \
             mpiexec --completions SHELL writes completions for bash, zsh, fish, elvish or powershell. \
             MPIEXEC_PORT_RANGE=LOW:HIGH limits the TCP ports of the ranks; mpiexec itself opens none.",
        )
        .args_override_self(true)
        .args(about_programs())
        .args(standard::options())
        .args(about_output())
        .args(about_hosts())
        .args(debug::options())
        .args(binding::options())
        .args(foreign::options())
        .args(inherited::options())
        .arg(lost::option())
        .args(begin::options())
        .args(refused::options())
}

/// The options about one program, or all.
fn about_programs() -> Vec<Arg> {
    let pair = ["NAME", "VALUE"];
    vec![
        Arg::new("count")
            .short('n')
            .visible_short_alias('c')
            .long("np")
            .visible_alias("n")
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..))
            .help("Number of ranks of this program [default: 1, or all slots of the hosts]"),
        hyphens(Arg::new("env").long("env").num_args(2).value_names(pair).action(ArgAction::Append))
            .help("Set a variable for this program; NAME=VALUE does the same"),
        hyphens(Arg::new("genv").long("genv").num_args(2).value_names(pair).action(ArgAction::Append))
            .help("Set a variable for all programs; NAME=VALUE does the same"),
        Arg::new("wdir")
            .long("wdir")
            .visible_alias("wd")
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
            .help("Run this program in DIR"),
        Arg::new("configfile")
            .long("configfile")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Read the programs and their options from FILE, a part of the command line on each line"),
        Arg::new("timeout")
            .long("timeout")
            .value_name("SECONDS")
            .value_parser(seconds)
            .help("End the job after SECONDS, with exit code 124 [default: MPIEXEC_TIMEOUT]"),
    ]
}

/// The options about the ranks' output.
fn about_output() -> Vec<Arg> {
    let pattern = |name: &'static str, alias: &'static str, help: &'static str| {
        Arg::new(name).long(name).visible_alias(alias).value_name("FILE").help(help)
    };
    vec![
        flag("labels", "Mark every line of output with its rank")
            .short('l')
            .visible_aliases(["label", "prepend-rank", "tag-output"]),
        Arg::new("output-filename").long("output-filename").value_name("DIR[:nocopy]").help(
            "Copy the output of rank N to DIR/1/rank.N/stdout and stderr, and that of spawned jobs to DIR/2 and so on, as \
             Open MPI does; nocopy: to these only",
        ),
        Arg::new("output")
            .long("output")
            .value_name("WORDS")
            .help(
                "Directives of Open MPI 5, by commas: tag, rank, tag-detailed and tag-fullname mark lines as -l does, \
                 dir=DIR[:nocopy] is --output-filename DIR[:nocopy]",
            ),
        pattern(
            "outfile-pattern",
            "outfile",
            "Write standard output to FILE instead; %r in it is the rank, %h the host, %p the host's number, %g 0, or \
             the number of a spawned job, which without it gets .jobN behind the name",
        ),
        pattern("errfile-pattern", "errfile", "Write standard error to FILE instead; see --outfile-pattern"),
    ]
}

/// Reads the value of `--usize`: a number of processes, or 0 for the words that leave it to us.
fn room(text: &str) -> Result<u32, std::num::ParseIntError> {
    if matches!(text, "SYSTEM" | "INFINITE") { Ok(0) } else { text.parse() }
}

/// The options about other hosts.
fn about_hosts() -> Vec<Arg> {
    vec![
        Arg::new("host")
            .long("host")
            .visible_short_alias('H')
            .visible_aliases(["hosts"])
            .value_name("HOSTS")
            .help("Start on these hosts: a,b or a:2,b:2 for two ranks on each before the next"),
        Arg::new("hostfile")
            .short('f')
            .long("hostfile")
            .visible_aliases(["machinefile"])
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Read the hosts from FILE: lines such as a, a:2 or a slots=2 [default: HYDRA_HOST_FILE]"),
        Arg::new("ppn")
            .long("ppn")
            .short('N')
            .visible_aliases(["perhost", "npernode"])
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..=65_536))
            .help("Start N ranks on each host before the next"),
        Arg::new("usize")
            .long("usize")
            .value_name("N")
            .value_parser(room)
            .help("MPI_UNIVERSE_SIZE, if more than there are ranks [default: the slots of the hosts, or this host's cores]"),
        Arg::new("launcher").long("launcher").visible_alias("bootstrap").value_name("COMMAND").help(
            "How to start on other hosts: ssh, srun, fork (on this host, for tests), or a command that is \
                       called as COMMAND HOST COMMAND-LINE [default: VERBENA_LAUNCHER, or ssh]",
        ),
        Arg::new("launcher-exec")
            .long("launcher-exec")
            .visible_alias("bootstrap-exec")
            .value_name("COMMAND")
            .help("The command to call in place of the launcher's own, in the same way"),
        Arg::new("prefix")
            .long("prefix")
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
            .help("Where Verbena is installed on other hosts [default: where it is here]"),
        Arg::new("genvlist")
            .long("genvlist")
            .visible_aliases(["envlist"])
            .value_name("NAMES")
            .value_delimiter(',')
            .value_parser(value_parser!(OsString))
            .action(ArgAction::Append)
            .help("Pass these variables on to other hosts, besides VERBENA_* and LD_LIBRARY_PATH"),
        flag("genvall", "Pass all variables on to other hosts").visible_alias("envall"),
        hyphens(Arg::new("export").short('x').value_name("NAME[=VALUE]").action(ArgAction::Append))
            .help("Pass a variable on to all programs, or set it"),
    ]
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1e9 => Ok(value),
        _ => Err("expected a number of seconds above 0".into()),
    }
}
