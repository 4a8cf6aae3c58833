//! Options of other MPIs' launchers that mean nothing here. People's scripts have them, so they are
//! taken, noted once and ignored.

use super::arg::{flag, hyphens};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use verbena_fault::Fault;

/// Options with two values: parameters of Open MPI and its parts.
const WITH_TWO: [&str; 7] = ["mca", "gmca", "omca", "gomca", "pmixmca", "gpmixmca", "prtemca"];
/// Options with one value.
const WITH_ONE: [&str; 12] = [
    "iface",
    "rmk",
    "demux",
    "topolib",
    "usize",
    "tune",
    "am",
    "display",
    "localhost",
    "nameserver",
    "memory-alloc-kinds",
    "personality",
];
/// Options without a value.
const ALONE: [&str; 26] = [
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
    let alone = ALONE.iter().map(|&name| flag(name, "").hide(true));
    let granted = GRANTED.iter().map(|&(name, help)| flag(name, help));
    let valued = WITH_TWO.iter().map(with(2)).chain(WITH_ONE.iter().map(with(1)));
    valued.chain(alone).chain(granted).collect()
}

/// The note about those that were given.
pub(super) fn note(parts: &[&ArgMatches]) -> Option<Fault> {
    let is_given =
        |name: &&&str| parts.iter().any(|part| part.value_source(name) == Some(ValueSource::CommandLine));
    let all = WITH_TWO.iter().chain(&WITH_ONE).chain(&ALONE);
    let given: Vec<String> = all.filter(is_given).map(|name| format!("--{name}")).collect();
    (!given.is_empty()).then(|| {
        Fault::new(
            "Note: options of another MPI's launcher are ignored.",
            given.join(", "),
            "the command line was written for MPICH, Intel MPI or Open MPI",
            "nothing, if they only tune that library; see mpiexec -help and verbena info --settings",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn noted(words: &[&str]) -> Option<String> {
        let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap();
        note(&[&matches, &matches]).map(|fault| fault.on)
    }

    #[test]
    fn each_is_noted_once() {
        let words = ["--mca", "btl", "^tcp", "--mca", "pml", "ob1", "--verbose", "--prtemca", "a", "-1"];
        assert_eq!(noted(&words).as_deref(), Some("--mca, --prtemca, --verbose"));
    }

    #[test]
    fn what_is_always_so_is_not_noted() {
        assert_eq!(noted(&["--oversubscribe", "--allow-run-as-root"]), None);
        assert_eq!(noted(&[]), None);
    }
}
