//! Options of other launchers that are refused: the job would not be what was asked for. Each says
//! why, and what to write instead.

use super::arg::{flag, hyphens};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use verbena_fault::Fault;

/// An option of another launcher that this one does not have.
struct Refused {
    name: &'static str,
    /// The number of values that follow.
    values: usize,
    /// The reason why it is not there.
    why: &'static str,
    /// The advice.
    instead: &'static str,
}

const fn refused(name: &'static str, values: usize, why: &'static str, instead: &'static str) -> Refused {
    Refused { name, values, why, instead }
}

const BARE: &str = "a rank on this host has the environment of mpiexec; on others it has VERBENA_... and LD_LIBRARY_PATH only";
const BARE_REMEDY: &str =
    "write env -i before mpiexec, or before the program, with the variables that it needs";
const SCATTERED: &str = "ranks go to hosts in the order of the hosts and of their slots";
const SCATTERED_REMEDY: &str =
    "write -hosts a:2,b:2, --map-by node, or a part with its own -host for each group, with ':' between";
const LOCAL: &str = "ranks go to every host that is named, and to this one if none is";
const LOCAL_REMEDY: &str = "name the hosts without this one, by -host or in the file of -f";
const PLACED: &str = "there is no list of processors for each rank";
const PLACED_REMEDY: &str =
    "write --bind-to core or --map-by, or taskset in parts: -n 1 taskset -c 0 ./a : -n 1 taskset -c 2 ./a";
/// The advice for a list of processors that is one for all ranks.
pub(super) const LISTED_REMEDY: &str =
    "write taskset -c LIST before mpiexec: ranks get processors of that list only";
const DEVICES: &str = "ranks are given no devices of their own";
const DEVICES_REMEDY: &str = "write a script in the program's place that sets CUDA_VISIBLE_DEVICES by \
                              VERBENA_LOCAL_RANK, and starts the program";
const UNTIMED: &str = "lines are not marked with the time";
const UNTIMED_REMEDY: &str = "pipe the output through a program that does, as ts of moreutils";
const TOOL: &str = "it runs a tool of Intel's, which knows Intel MPI only";
const TOOL_REMEDY: &str = "write the tool before the program: mpiexec -n 4 TOOL ./program";

/// The options, MPICH's first, then Intel MPI's and Open MPI's.
const ALL: [Refused; 37] = [
    refused("genvnone", 0, BARE, BARE_REMEDY),
    refused("envnone", 0, BARE, BARE_REMEDY),
    refused("rankmap", 1, SCATTERED, SCATTERED_REMEDY),
    refused(
        "membind",
        1,
        "memory comes from the node of the processor that touches it first",
        "write --bind-to numa, or numactl --membind before the program",
    ),
    refused("prepend-pattern", 1, "lines are marked with the rank, in one form", "write -l"),
    refused(
        "output-from",
        1,
        "the output of all ranks is shown",
        "write -outfile-pattern FILE.%r, or -l and choose lines by their mark",
    ),
    refused("skip-launch-node", 0, LOCAL, LOCAL_REMEDY),
    refused(
        "order-nodes",
        1,
        "hosts get ranks in the order in which they are named, whatever their cores",
        "name the hosts in the order that you want, by -hosts or in the file of -f",
    ),
    refused("gpus-per-proc", 1, DEVICES, DEVICES_REMEDY),
    refused("gpu-subdevs-per-proc", 1, DEVICES, DEVICES_REMEDY),
    refused("info", 0, "it tells how Hydra was built", "write mpiexec --version, or verbena info"),
    refused("gtool", 1, TOOL, TOOL_REMEDY),
    refused("gtoolfile", 1, TOOL, TOOL_REMEDY),
    refused("aps", 0, TOOL, TOOL_REMEDY),
    refused("mps", 0, TOOL, TOOL_REMEDY),
    refused("trace", 0, TOOL, "write -genv VERBENA_TRACE NAME, and look at the traces with verbena trace"),
    refused("check-mpi", 0, TOOL, "write -genv VERBENA_CHECK_TYPES 1, or valgrind before the program"),
    refused("gdb-args", 1, "gdb has its own file of commands", "write the commands to .gdbinit"),
    refused(
        "hosts-group",
        1,
        "names of hosts are not made of ranges",
        "write -hosts a1,a2,a3, or a file for -f",
    ),
    refused("nolocal", 0, LOCAL, LOCAL_REMEDY),
    refused("prepend-timestamp", 0, UNTIMED, UNTIMED_REMEDY),
    refused("cpu-bind", 1, PLACED, PLACED_REMEDY),
    refused("rankfile", 1, PLACED, PLACED_REMEDY),
    refused("rf", 1, PLACED, PLACED_REMEDY),
    refused("cpu-set", 1, PLACED, LISTED_REMEDY),
    refused("cpu-list", 1, PLACED, LISTED_REMEDY),
    refused("timestamp-output", 0, UNTIMED, UNTIMED_REMEDY),
    refused("merge-stderr-to-stdout", 0, "the two streams stay apart", "write 2>&1 behind the command line"),
    refused(
        "report-pid",
        1,
        "mpiexec does not write its process id",
        "write it in the shell: mpiexec ... & echo $! >FILE",
    ),
    refused(
        "report-uri",
        1,
        "there is no server that tools connect to",
        "leave it out: verbena top finds the jobs of this host",
    ),
    refused(
        "do-not-launch",
        0,
        "a job is not laid out without being started",
        "write --report-bindings, with true in the place of the program",
    ),
    refused("xml", 0, "output is not wrapped in XML", "leave it out; -l marks each line with its rank"),
    refused(
        "stdin",
        1,
        "standard input goes to rank 0",
        "leave it out for rank 0; others read a file: sh -c './program <FILE'",
    ),
    refused(
        "preload-binary",
        0,
        "programs are not copied to other hosts",
        "put the program where all hosts see it under the same path",
    ),
    refused(
        "preload-files",
        1,
        "files are not copied to other hosts",
        "put them where all hosts see them under the same path",
    ),
    refused(
        "dvm",
        1,
        "there is no daemon that jobs are handed to",
        "leave it out: each mpiexec starts what it needs",
    ),
    refused(
        "xterm",
        1,
        "windows are opened for debuggers only",
        "write --gdb RANKS, or xterm -e before the program",
    ),
];

/// The options.
pub(super) fn options() -> Vec<Arg> {
    let option = |option: &Refused| match option.values {
        0 => flag(option.name, "").hide(true),
        count => hyphens(Arg::new(option.name).long(option.name).num_args(count).action(ArgAction::Append))
            .hide(true),
    };
    ALL.iter().map(option).collect()
}

/// Makes sure that none was given for a part. `typed` gives an option as it was typed.
///
/// # Errors
/// One was, for the user.
pub(super) fn check(part: &ArgMatches, typed: &dyn Fn(&str) -> String) -> Result<(), Fault> {
    let is_given = |option: &&Refused| part.value_source(option.name) == Some(ValueSource::CommandLine);
    match ALL.iter().find(is_given) {
        None => Ok(()),
        Some(Refused { name, why, instead, .. }) => Err(Fault::new(
            "An option of another MPI's launcher is not there, and nothing was started.",
            typed(name),
            *why,
            *instead,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    #[test]
    fn each_is_refused_in_four_parts_with_what_to_write() {
        for option in &ALL {
            let mut words = vec!["mpiexec".to_owned(), format!("--{}", option.name)];
            words.extend(vec!["-1".to_owned(); option.values]);
            let matches = command().try_get_matches_from(words).expect("known");
            let fault = check(&matches, &|name| format!("-{name}")).expect_err("refused").to_string();
            assert_eq!(fault.lines().count(), 4, "{fault}");
            assert!(fault.contains(&format!("on: -{}\n", option.name)), "{fault}");
            assert!(!option.why.is_empty() && fault.ends_with(option.instead), "{fault}");
        }
        let none = command().try_get_matches_from(["mpiexec", "-n", "2"]).expect("known");
        assert!(check(&none, &str::to_owned).is_ok());
    }
}
