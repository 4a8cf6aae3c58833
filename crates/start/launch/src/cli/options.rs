//! The options themselves, and where they end.

use clap::{Arg, ArgAction, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// Splits a part after its options: the rest is the program's name and its own arguments. Long
/// options with one dash get a second one.
pub(super) fn split_at_program(words: &[OsString]) -> (Vec<OsString>, &[OsString]) {
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

/// The name of an option word without its dashes; `None` for a word that is no option, and for
/// `--`.
fn option_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (!name.is_empty()).then_some(name)
}

/// A message with the options quoted as they are in these words: with one dash where that was
/// typed.
pub(super) fn as_typed(message: &str, words: &[OsString]) -> String {
    let typed = words.iter().filter_map(|word| word.to_str()?.strip_prefix('-')?.split('=').next());
    typed.filter(|name| !name.starts_with('-')).fold(message.to_owned(), |message, name| {
        let quoted = |end| message.contains(&format!("'--{name}{end}"));
        if quoted('\'') || quoted(' ') {
            message.replace(&format!("'--{name}"), &format!("'-{name}"))
        } else {
            message
        }
    })
}

/// The number of values that follow an option.
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

pub(super) fn command() -> Command {
    let pair = ["NAME", "VALUE"];
    Command::new("mpiexec")
        .version(concat!("(Verbena) ", env!("CARGO_PKG_VERSION")))
        .about("Starts the ranks of an MPI job, on this host and on others")
        .override_usage("mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...")
        .after_help(
            "Long options may have one dash. Exit code: that of the first rank that failed; 128+N if signal N \
             killed it; 124 after --timeout; 127 if the program could not be started. A second Ctrl-C or SIGTERM \
             kills the ranks; so does VERBENA_TERM_GRACE_SECONDS [default: 10] after the first SIGTERM.",
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
                .help("End the job after SECONDS, with exit code 124 [default: MPIEXEC_TIMEOUT]"),
            flag("oversubscribe", "Accepted and ignored: more ranks than cores are always fine"),
            flag("allow-run-as-root", "Accepted and ignored: root may always start jobs"),
        ])
        .args(about_hosts())
}

/// The options about other hosts.
fn about_hosts() -> Vec<Arg> {
    vec![
        Arg::new("host")
            .long("host")
            .visible_aliases(["hosts"])
            .value_name("HOSTS")
            .help("Start on these hosts: a,b or a:2,b:2 for two ranks on each before the next"),
        Arg::new("hostfile")
            .short('f')
            .long("hostfile")
            .visible_aliases(["machinefile"])
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Read the hosts from FILE: lines such as a, a:2 or a slots=2"),
        Arg::new("ppn")
            .long("ppn")
            .visible_aliases(["perhost"])
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..=65_536))
            .help("Start N ranks on each host before the next"),
        Arg::new("launcher").long("launcher").value_name("COMMAND").help(
            "How to start on other hosts: ssh, srun, fork (on this host, for tests), or a command that is \
                       called as COMMAND HOST COMMAND-LINE [default: VERBENA_LAUNCHER, or ssh]",
        ),
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
            .help("Pass these variables on to other hosts, besides VERBENA_*"),
        flag("genvall", "Pass all variables on to other hosts").visible_alias("envall"),
        hyphens(Arg::new("export").short('x').value_name("NAME[=VALUE]").action(ArgAction::Append))
            .help("Pass a variable on to all programs, or set it"),
    ]
}

fn hyphens(arg: Arg) -> Arg {
    arg.allow_hyphen_values(true).value_parser(value_parser!(OsString))
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
