//! Ranks that are bound to processors. Each is asked what it may run on.

use crate::harness::{CLIENT, MPIEXEC, Outcome, begin, run, run_script};
use std::process::Command;
use verbena_testing::files::Folder;
use verbena_testing::{Lack, skip};

/// Prints the rank and the processors that it may run on.
const SHOW: &str = "echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status | cut -f 2)";

/// Reads a list as the kernel writes it.
fn numbers(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.trim().parse::<u32>().unwrap()..=last.trim().parse().unwrap()
    };
    list.trim().split(',').flat_map(range).collect()
}

/// The processors of this process.
fn allowed() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    numbers(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap())
}

/// The processors that each rank has printed.
fn shown(outcome: &Outcome) -> Vec<Vec<u32>> {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.lines().iter().map(|line| numbers(line.split_once(' ').unwrap().1)).collect()
}

#[test]
fn nothing_is_bound_unless_asked_for() {
    for options in [&["-n", "2"][..], &["-n", "2", "--bind-to", "none", "--map-by", "core"]] {
        assert_eq!(shown(&run_script(options, SHOW)), [allowed(), allowed()], "{options:?}");
    }
}

#[test]
fn each_rank_has_a_processor_of_its_own() {
    let allowed = allowed();
    let count = allowed.len().min(9);
    let seats = shown(&run_script(&["-n", &count.to_string(), "--bind-to", "hwthread"], SHOW));
    assert!(seats.iter().all(|seat| seat.len() == 1 && allowed.contains(&seat[0])), "{seats:?}");
    let mut used = seats.concat();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), count, "{seats:?}");
}

#[test]
fn a_core_is_all_of_its_processors_that_may_be_used() {
    let allowed = allowed();
    for seat in shown(&run_script(&["-n", "3", "-bind-to", "core"], SHOW)) {
        let siblings = format!("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", seat[0]);
        let mut core = numbers(&std::fs::read_to_string(siblings).unwrap());
        core.retain(|number| allowed.contains(number));
        assert_eq!(seat, core);
    }
}

#[test]
fn a_package_and_a_memory_node_are_what_the_system_says() {
    for object in ["socket", "package", "numa"] {
        let seats = shown(&run_script(&["-n", "2", "--map-by", object], SHOW));
        assert!(seats.iter().all(|seat| seat.iter().all(|number| allowed().contains(number))), "{seats:?}");
    }
}

/// A batch system gives `mpiexec` some processors: ranks get none of the others.
#[test]
fn the_mask_of_mpiexec_is_respected() {
    let last = allowed().last().unwrap().to_string();
    for bound in [&["--bind-to", "core"][..], &["--bind-to", "package"], &[]] {
        let mut command = Command::new("taskset");
        command.args(["-c", &last, MPIEXEC, "-n", "2"]).args(bound).args(["sh", "-c", SHOW]);
        let seats = shown(&begin(&mut command).finish());
        assert_eq!(seats, [numbers(&last), numbers(&last)], "{bound:?}");
    }
}

#[test]
fn bindings_are_reported_here_and_on_other_hosts() {
    let hosts = ["--launcher", "fork", "-host", "a,localhost", "--report-bindings"];
    let outcome = run(&[&hosts[..], &["--bind-to", "hwthread", "true"]].concat());
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(0), 2), "{outcome:?}");
    assert!(outcome.err.contains("mpiexec: rank 0 on a: bound to processor "), "{outcome:?}");
    assert!(outcome.err.contains("mpiexec: rank 1 on "), "{outcome:?}");
    let outcome = run(&["-n", "1", "--report-bindings", "true"]);
    assert!(outcome.err.contains(": not bound, processor"), "{outcome:?}");
}

/// More ranks than cores are bound: that is said once, and of each rank where the list was wished.
#[test]
fn ranks_that_share_a_core_are_told_of() {
    let ranks = (allowed().len() + 1).to_string();
    let options = ["-n", &ranks, "--bind-to", "hwthread"];
    let outcome = run(&[&options[..], &["true"]].concat());
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(0), 1), "{outcome:?}");
    let said = format!("(2 of the {ranks} ranks there are short of cores; ");
    assert!(outcome.err.starts_with("mpiexec: rank 0 on ") && outcome.err.contains(&said), "{outcome:?}");
    let outcome = run(&[&options[..], &["--report-bindings", "true"]].concat());
    let shared =
        outcome.err.lines().filter(|line| line.ends_with("where more cores were asked for than there are"));
    assert_eq!((shared.count(), outcome.err.lines().count()), (2, allowed().len() + 1), "{outcome:?}");
    let outcome = run(&["-n", &ranks, "--bind-to", "hwthread:overload-allowed", "true"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
}

/// Runs steps of [`CLIENT`] under an `mpiexec` that has the first two processors. `None` if there
/// are no two.
fn on_two_processors(options: &[&str], steps: &[String]) -> Option<(Vec<u32>, Outcome)> {
    let Some(two) = allowed().get(..2).map(<[u32]>::to_vec) else {
        skip(Lack::Hardware, "there is one processor");
        return None;
    };
    let mut command = Command::new("taskset");
    let list = format!("{},{}", two[0], two[1]);
    command.args(["-c", &list, MPIEXEC, "--timeout", "20"]).args(options).arg(CLIENT).args(steps);
    let outcome = begin(&mut command).finish();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    Some((two, outcome))
}

/// The place of a spawned script that has written this name and its processors.
fn place_of(outcome: &Outcome, name: &str) -> Vec<u32> {
    let places = outcome.lines().into_iter().find_map(|line| line.strip_prefix(&format!("{name} ")));
    numbers(places.unwrap_or_else(|| panic!("no place of {name}: {outcome:?}")))
}

/// Spawned jobs that still run keep their processors, also where they had to share them.
#[test]
fn the_spawned_get_processors_that_no_other_job_has() {
    let folder = Folder::new("spawned-places", &[("here", "")]);
    let at = folder.0.display();
    // Each says where it runs, and stays until its file is removed.
    let begin = |name: &str| {
        let stay = format!("echo $PPID > {at}/{name}; while [ -e {at}/{name} ]; do sleep 0.01; done");
        let show = "$(grep Cpus_allowed_list /proc/self/status | cut -f 2)";
        format!("spawn=hwthread:echo {name} {show}; {stay}")
    };
    let end = |name: &str| {
        let wait = format!("until [ -s {at}/{name} ]; do sleep 0.01; done; P=$(cat {at}/{name})");
        format!("run={wait}; rm {at}/{name}; while [ -e /proc/$P ]; do sleep 0.01; done")
    };
    let steps = [begin("a"), begin("b"), begin("c"), end("a"), end("b"), begin("d"), end("c"), end("d")];
    let steps = [&steps[..], &["finalize".to_owned()]].concat();
    let Some((two, outcome)) = on_two_processors(&["-n", "1"], &steps) else { return };
    let places = ["a", "b", "c", "d"].map(|name| place_of(&outcome, name));
    let expected = [two[0], two[1], two[0], two[1]].map(|one| vec![one]);
    assert_eq!(places, expected, "c shares with a, d has the processor of b: {outcome:?}");
}

/// The second is not placed before it is known where the first is.
#[test]
fn jobs_that_are_spawned_at_the_same_time_share_nothing() {
    let folder = Folder::new("spawned-together", &[("stay", "")]);
    let file = folder.0.join("stay");
    let file = file.display();
    let show = "echo here $(grep Cpus_allowed_list /proc/self/status | cut -f 2)";
    let spawn = format!("spawn=hwthread:{show}; while [ -e {file} ]; do sleep 0.01; done");
    let end = format!("run=rm {file}@0");
    let steps = ["barrier", &spawn, "barrier", &end, "finalize"].map(str::to_owned);
    let Some((two, outcome)) = on_two_processors(&["-n", "2"], &steps) else { return };
    let places: Vec<Vec<u32>> = outcome.lines().iter().map(|line| numbers(&line["here ".len()..])).collect();
    assert_eq!(places, [vec![two[0]], vec![two[1]]], "{outcome:?}");
}

#[test]
fn a_wrong_word_starts_nothing() {
    let outcome = run(&["-n", "2", "--bind-to", "cores", "echo", "started"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(2), ""), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    assert!(outcome.err.contains("did you mean core?"), "{outcome:?}");
}
