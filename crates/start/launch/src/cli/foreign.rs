//! Options of other MPIs' launchers that mean nothing here. People's scripts have them, so they are
//! taken, noted once and ignored.

use super::arg::{flag, hyphens};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use std::ffi::OsString;
use verbena_fault::Fault;

/// Options with two values: parameters of Open MPI and its parts.
const WITH_TWO: [&str; 7] = ["mca", "gmca", "omca", "gomca", "pmixmca", "gpmixmca", "prtemca"];
/// Options with one value.
const WITH_ONE: [&str; 10] = [
    "iface",
    "rmk",
    "demux",
    "topolib",
    "am",
    "display",
    "forward-signals",
    "localhost",
    "nameserver",
    "personality",
];
/// The option that has a value with Open MPI, and with Intel MPI only where one follows.
pub(super) const WITH_OPTIONAL: &str = "tune";
/// The value of `--display` that is not ignored: it is `--report-bindings`.
pub(super) const DISPLAYED_BINDING: &str = "bind";
/// Options without a value.
const ALONE: [&str; 28] = [
    "ordered-output",
    "display-devel-map",
    "verbose",
    "quiet",
    "display-map",
    "display-allocation",
    "display-topo",
    "print-rank-map",
    "disable-auto-cleanup",
    "enable-auto-cleanup",
    "dac",
    "use-hwthread-cpus",
    "nooversubscribe",
    "enable-x",
    "disable-x",
    "enable-hostname-propagation",
    "disable-hostname-propagation",
    "hybrid-hosts",
    "pmi-port",
    "print-all-exitcodes",
    "profile",
    "silent-abort",
    "prot",
    "report-state-on-timeout",
    "get-stack-traces",
    "leave-session-attached",
    "keep-fqdn-hostnames",
    "noprefix",
];
/// Options that are no wish: what they ask for is always so here. Nothing is noted.
const GRANTED: [(&str, &str); 2] = [
    ("oversubscribe", "Accepted and ignored: more ranks than cores are always fine"),
    ("allow-run-as-root", "Accepted and ignored: root may always start jobs"),
];

/// The options.
pub(super) fn options() -> Vec<Arg> {
    let with = |count: usize| {
        move |&name: &&'static str| {
            hyphens(Arg::new(name).long(name).num_args(count).action(ArgAction::Append)).hide(true)
        }
    };
    let optional = Arg::new(WITH_OPTIONAL).long(WITH_OPTIONAL).num_args(0..=1).hide(true);
    let alone = ALONE.iter().map(|&name| flag(name, "").hide(true));
    let granted = GRANTED.iter().map(|&(name, help)| flag(name, help));
    let valued = WITH_TWO.iter().map(with(2)).chain(WITH_ONE.iter().map(with(1)));
    valued.chain([optional]).chain(alone).chain(granted).collect()
}

/// The note about those that were given. `typed` gives an option as it was typed.
pub(super) fn note(parts: &[&ArgMatches], typed: &dyn Fn(&str) -> String) -> Option<Fault> {
    let is_given =
        |name: &&&str| parts.iter().any(|part| part.value_source(name) == Some(ValueSource::CommandLine));
    let all = WITH_TWO.iter().chain(&WITH_ONE).chain([&WITH_OPTIONAL]).chain(&ALONE);
    let displayed: Vec<String> = parts.iter().flat_map(|part| displayed(part)).collect();
    let is_done = |name: &&&str| **name == "display" && displayed.iter().all(|one| one == DISPLAYED_BINDING);
    let given: Vec<String> =
        all.filter(|name| is_given(name) && !is_done(name)).map(|name| typed(name)).collect();
    (!given.is_empty()).then(|| {
        Fault::new(
            "Note: options of another MPI's launcher are ignored.",
            given.join(", "),
            "the command line was written for MPICH, Intel MPI or Open MPI",
            "nothing, if they only tune that library; see mpiexec -help and verbena info --settings",
        )
    })
}

/// The things that `--display` names.
pub(super) fn displayed(part: &ArgMatches) -> Vec<String> {
    let values = part.get_many::<OsString>("display").into_iter().flatten();
    values
        .flat_map(|value| value.to_string_lossy().split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn noted(words: &[&str]) -> Option<String> {
        let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap();
        note(&[&matches, &matches], &|name| format!("--{name}")).map(|fault| fault.on)
    }

    #[test]
    fn each_is_noted_once() {
        let words = ["--mca", "btl", "^tcp", "--mca", "pml", "ob1", "--verbose", "--prtemca", "a", "-1"];
        assert_eq!(noted(&words).as_deref(), Some("--mca, --prtemca, --verbose"));
    }

    #[test]
    fn a_tune_without_a_value_leaves_the_options_behind_it() {
        let words = ["-tune", "-n", "2", "./a"].map(OsString::from);
        let (options, rest) = super::super::words::split_at_program(&words);
        assert_eq!((options.len(), rest.len()), (3, 1));
        assert_eq!(noted(&["--tune", "-n", "2"]).as_deref(), Some("--tune"));
        assert_eq!(noted(&["--tune", "file"]).as_deref(), Some("--tune"));
    }

    #[test]
    fn a_display_of_the_binding_is_no_wish_that_is_ignored() {
        assert_eq!(noted(&["--display", "bind"]), None);
        assert_eq!(noted(&["--display", "map,bind"]).as_deref(), Some("--display"));
    }

    #[test]
    fn what_is_always_so_is_not_noted() {
        assert_eq!(noted(&["--oversubscribe", "--allow-run-as-root"]), None);
        assert_eq!(noted(&[]), None);
    }
}
