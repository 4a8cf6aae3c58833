//! Windows where something goes wrong or is scarce (ranks that are killed, single copy that is
//! refused, memory that is used up, many more ranks than cores), and what programs of every kind of
//! datatype and operation do to them.

use std::path::{Path, PathBuf};
use verbena_testing::{Lack, skip};
use verbena_tests::cable::has_libfabric;
use verbena_tests::{Ended, Job, job, program, staged};

/// Settings that leave the ways to a target: mapped memory and the kernel's copies, copies alone,
/// messages alone, mapped memory and messages.
const WAYS: [&[(&str, &str)]; 4] = [
    &[],
    &[("VERBENA_WINDOW_HEAP", "0")],
    &[("VERBENA_WINDOW_HEAP", "0"), ("VERBENA_CMA", "0")],
    &[("VERBENA_CMA", "0")],
];

/// A job that ends in a tenth of this time, busy machine or not, is none that hangs.
const KILLED_SECONDS_MAX: u32 = 60;

fn with(job: Job, settings: &[(&str, &str)]) -> Job {
    settings.iter().fold(job, |job, (name, value)| job.env(name, value))
}

#[track_caller]
fn says_ok(ended: Ended, name: &str, ranks: u32) {
    let ended = ended.ok();
    assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
}

/// Lets rank 1 die in these ways, whatever way leads to its window. The job must end, and say why
/// in four parts.
fn is_killed(ways: &[&str]) {
    let program = program("window_kills");
    for settings in WAYS {
        for (way, kind) in ways.iter().flat_map(|way| [(way, "allocate"), (way, "create")]) {
            let job = Job::limited(&staged("bin/mpiexec"), 3, KILLED_SECONDS_MAX).arg(&program);
            let ended = with(job.arg(way).arg(kind), settings).run();
            let said = format!("{way} {kind} {settings:?}: {ended:?}");
            assert!(ended.code == 137 && !ended.hung, "{said}");
            assert!(ended.stderr.contains("Rank 1 was killed by signal 9 (SIGKILL)"), "{said}");
            assert!(
                ["likely cause:", "what to do:"].iter().all(|part| ended.stderr.contains(part)),
                "{said}"
            );
        }
    }
}

#[test]
fn a_rank_may_be_killed_that_holds_a_lock_or_waits_for_it() {
    is_killed(&["alone", "shared", "queue", "contend"]);
}

#[test]
fn a_rank_may_be_killed_that_is_a_target() {
    is_killed(&["serve", "compute"]);
}

#[test]
fn a_rank_may_be_killed_that_changes_elements_under_stripes() {
    is_killed(&["change"]);
}

#[test]
fn a_rank_may_be_killed_for_which_others_wait() {
    is_killed(&["fence", "post", "complete", "free"]);
}

#[test]
fn a_rank_may_be_killed_that_libfabric_reaches() {
    if !has_libfabric() {
        return skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    let program = program("window_kills");
    for way in ["alone", "shared", "queue", "serve", "compute", "change"] {
        let job = Job::limited(&staged("bin/mpiexec"), 3, KILLED_SECONDS_MAX).arg(&program).arg(way);
        let ended = job.env("VERBENA_CHANNELS", "loopback,ofi").run();
        assert!(ended.code == 137 && !ended.hung, "{way}: {ended:?}");
    }
}

/// A call that closes epochs at several targets waits for all of them at once, also where messages
/// carry everything. A stopped target holds up no other one.
#[test]
fn targets_hear_of_the_end_of_an_epoch_as_soon_as_they_have_finished() {
    let program = program("window_closes");
    for settings in [WAYS[0], WAYS[2]] {
        for what in ["complete", "all", "posts"] {
            says_ok(with(job(3, &program).arg(what), settings).run(), "window_closes", 3);
        }
    }
    says_ok(with(job(3, &program).arg("unlock"), WAYS[2]).run(), "window_closes", 3);
}

/// Whatever way leads to it: the kernel's copies, messages, libfabric.
#[test]
fn memory_that_a_target_has_unmapped_is_an_error_of_windows() {
    let program = program("window_gone");
    for (settings, ranks) in WAYS.into_iter().flat_map(|settings| [(settings, 2), (settings, 3)]) {
        says_ok(with(job(ranks, &program), settings).run(), "window_gone", ranks);
    }
    if has_libfabric() {
        // Messages alone: what the provider accesses by itself, it does not look at first.
        let settings = [("VERBENA_CHANNELS", "loopback,ofi"), ("VERBENA_WINDOW_DEVICE", "0")];
        says_ok(with(job(2, &program), &settings).run(), "window_gone", 2);
    }
}

/// Elements of one operation may lie in several pieces of memory that the target has attached.
#[test]
fn elements_lie_in_several_attached_pieces() {
    let program = program("window_attached");
    for settings in WAYS {
        says_ok(with(job(2, &program), settings).run(), "window_attached", 2);
    }
    says_ok(job(1, &program).run(), "window_attached", 1);
}

/// Programs of windows, with single copy refused from the beginning to all ranks or to some.
#[test]
fn single_copy_may_be_refused_to_windows() {
    let refuse = program("refuse");
    for name in ["window_kinds", "window_synchronize", "window_operations", "window_errors"] {
        let program = program(name);
        for way in ["eperm", "read", "write"] {
            says_ok(job(3, &refuse).arg(way).arg(&program).run(), name, 3);
            let some = job(1, &refuse).arg(way).arg(&program).arg(":");
            says_ok(some.args(["-n", "2"]).arg(&program).run(), name, 3);
        }
        let apart = job(3, &refuse).arg("enosys").arg(&program).arg("apart");
        says_ok(apart.env("VERBENA_WINDOW_HEAP", "0").run(), name, 3);
    }
}

/// A target keeps datatypes of its origins, whose memory is many times that of what the origins
/// send.
#[test]
fn datatypes_that_a_target_keeps_have_a_budget() {
    says_ok(with(job(8, program("window_budget")), WAYS[2]).run(), "window_budget", 8);
}

/// A passive target that computes is served all the same: the others reach it by messages.
#[test]
fn a_target_that_computes_is_served_where_single_copy_is_refused() {
    let (refuse, program) = (program("refuse"), program("window_ends"));
    for heap in ["1", "0"] {
        for way in ["eperm", "read", "write"] {
            let job = job(3, &refuse).arg(way).arg(&program).arg("computes");
            says_ok(job.env("VERBENA_WINDOW_HEAP", heap).run(), "window_ends", 3);
            let job = job_of_two_sorts(&refuse, way, &program);
            says_ok(job.env("VERBENA_WINDOW_HEAP", heap).run(), "window_ends", 3);
        }
    }
}

/// The target may copy, and those who access it may not.
fn job_of_two_sorts(refuse: &Path, way: &str, program: &Path) -> Job {
    let target = job(1, program).arg("computes").arg(":").args(["-n", "2"]);
    target.arg(refuse).arg(way).arg(program).arg("computes")
}

#[test]
fn single_copy_may_be_refused_to_a_window_that_is_there() {
    let program = program("window_refused");
    for (ranks, who) in [(2, None), (3, None), (2, Some("0")), (3, Some("1"))] {
        for settings in [&WAYS[0], &WAYS[1]] {
            says_ok(with(job(ranks, &program).args(who), settings).run(), "window_refused", ranks);
        }
    }
}

/// Single copy, messages and mapped memory do the same to random datatypes.
#[test]
fn datatypes_of_every_form_may_be_on_both_sides() {
    let program = program("window_layouts");
    for settings in WAYS {
        says_ok(with(job(2, &program).arg("400"), settings).run(), "window_layouts", 2);
        says_ok(with(job(3, &program).args(["400", "create"]), settings).run(), "window_layouts", 3);
    }
}

#[test]
fn every_operation_takes_every_datatype_that_it_may() {
    let program = program("window_types");
    for settings in WAYS {
        says_ok(with(job(2, &program), settings).run(), "window_types", 2);
    }
}

/// The shell's limit on addresses, in KiB, before each rank's program.
fn limited(ranks: u32, kib: u64, program: &Path) -> Job {
    job(ranks, "sh").args(["-c", &format!("ulimit -v {kib}; exec \"$@\""), "sh"]).arg(program)
}

/// Bytes in a GiB, and KiB.
const GIB: u64 = 1 << 30;
const KIB_OF_GIB: u64 = 1 << 20;

#[test]
fn a_window_beyond_the_limit_of_addresses_is_an_error_with_numbers() {
    let program = program("window_memory");
    for settings in WAYS {
        let asked = (4 * GIB).to_string();
        let job = |who: &str| with(limited(2, 2 * KIB_OF_GIB, &program).arg(&asked).arg(who), settings);
        says_ok(job("alloc").run(), "window_memory", 2);
        says_ok(job("1").run(), "window_memory", 2);
        let ended = job("fatal").run();
        assert!(ended.code != 0 && ended.code != 137 && !ended.hung, "{settings:?}: {ended:?}");
        ended.complains(&format!("{asked} bytes")).complains("MPI_Win_allocate");
    }
}

/// Only one rank has a limit: the others hear of its failure.
#[test]
fn a_window_beyond_the_limit_of_one_rank_is_an_error_of_all() {
    let program = program("window_memory");
    for settings in WAYS {
        let asked = (4 * GIB).to_string();
        let job = job(1, &program).args([asked.as_str(), "1", ":", "-n", "1", "sh", "-c"]);
        let job = job.arg(format!("ulimit -v {}; exec \"$@\"", 2 * KIB_OF_GIB)).arg("sh").arg(&program);
        says_ok(with(job.args([asked.as_str(), "1"]), settings).run(), "window_memory", 2);
    }
}

/// A control group with a limit on memory, until this is dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Makes a group below that of this process, of either version.
    fn new(bytes: u64) -> Result<MemoryGroup, String> {
        let at = parent()?.join(format!("verbena-test-{}", std::process::id()));
        std::fs::create_dir(&at).map_err(|error| format!("{}: {error}", at.display()))?;
        let group = MemoryGroup(at);
        let set = |file: &str| std::fs::write(group.0.join(file), bytes.to_string());
        set("memory.limit_in_bytes").or_else(|_| set("memory.max")).map_err(|error| error.to_string())?;
        // Without this the kernel would swap, where it can.
        let no_swap = || std::fs::write(group.0.join("memory.swap.max"), "0");
        let _ = set("memory.memsw.limit_in_bytes").or_else(|_| no_swap());
        Ok(group)
    }

    /// A job that runs within the group.
    fn job(&self, ranks: u32, program: &Path) -> Job {
        job(ranks, program).behind(&format!("echo $$ >'{}/cgroup.procs'", self.0.display()))
    }
}

/// The folder of this process's control group of memory; the top if that is not visible.
fn parent() -> Result<PathBuf, String> {
    let text = std::fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let path = |line: &str, mark: &str| Some(line.split_once(mark)?.1.trim_start_matches('/').to_owned());
    let own = |mark: &str| text.lines().find_map(|line| path(line, mark));
    let roots = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(Path::new);
    let root = roots.into_iter().find(|root| root.is_dir()).ok_or("no control groups are mounted")?;
    let own = if root.ends_with("memory") { own(":memory:") } else { own("0::") };
    let own = root.join(own.unwrap_or_default());
    Ok(if own.is_dir() { own } else { root.to_owned() })
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Processes that ended a moment ago may still be in it.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Memory of the heap is taken before it is used, so that nobody is killed for it later. Private
/// memory is compared with what is free.
#[test]
fn a_window_beyond_the_limit_of_a_control_group_is_an_error_and_no_kill() {
    const LIMIT: u64 = 300 << 20;
    let group = match MemoryGroup::new(LIMIT) {
        Ok(group) => group,
        Err(why) => return skip(Lack::Rights, &format!("no control group with a limit: {why}")),
    };
    let program = program("window_memory");
    for settings in WAYS {
        let job =
            |bytes: u64, who: &str| with(group.job(2, &program).arg(bytes.to_string()).arg(who), settings);
        says_ok(job(2 * LIMIT, "all").run(), "window_memory", 2);
        says_ok(job(2 * LIMIT, "1").run(), "window_memory", 2);
        // There is room for either rank's, and not for both.
        if !settings.contains(&("VERBENA_WINDOW_HEAP", "0")) {
            says_ok(job(LIMIT / 3 * 2, "all").run(), "window_memory", 2);
        }
        let ended = job(2 * LIMIT, "fatal").run();
        assert!(ended.code != 0 && ended.code != 137 && !ended.hung, "{settings:?}: {ended:?}");
        ended.complains(&format!("{} bytes", 2 * LIMIT)).complains(" bytes are free");
    }
}

/// A store beside the pages of a window ends the rank that made it, at once.
#[test]
fn a_store_beside_the_memory_of_a_window_is_noticed() {
    let program = program("window_guards");
    for kind in ["allocate", "apart", "alloc"] {
        for way in ["behind", "before"] {
            let ended = job(2, &program).arg(way).arg(kind).run();
            assert!(ended.code == 139 && !ended.hung, "{way} {kind}: {ended:?}");
            ended.complains("Rank 1 was killed by signal 11");
        }
    }
}

#[test]
fn sixty_four_ranks_on_few_cores_access_one_target() {
    let program = program("window_crowd");
    for settings in WAYS {
        for ranks in [3, 64] {
            says_ok(with(job(ranks, &program), settings).run(), "window_crowd", ranks);
        }
    }
}
