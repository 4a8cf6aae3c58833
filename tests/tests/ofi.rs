//! Nodes without RDMA: the channel `ofi` between processes of this machine. Nodes are hosts of
//! another name, which share the network, or network namespaces joined by a virtual cable (as
//! root).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use verbena_testing::{Lack, skip};
use verbena_tests::cable::{self, Cable, NAMED};
use verbena_tests::{Ended, Job, count_of, job, program, staged, venv};

/// Everything but messages to oneself goes over libfabric.
const ALONE: &str = "loopback,ofi";

fn has_libfabric() -> bool {
    let there = cable::has_libfabric();
    if !there {
        skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    there
}

fn over(hosts: &str, launcher: &str, ranks: u32, name: &str) -> Ended {
    let options = ["--launcher", launcher, "-host", hosts];
    Job::under(&staged("bin/mpiexec"), ranks).args(options).arg(program(name)).run()
}

#[track_caller]
fn says_ok(ended: Ended) {
    let said = ended.ok().stdout;
    assert!(said.contains(": ok with "), "{said}");
}

#[test]
fn two_nodes_without_rdma_work_with_no_setting() {
    if has_libfabric() {
        says_ok(over("a,b", NAMED, 2, "point"));
        says_ok(over("a,b", NAMED, 2, "large"));
    }
}

#[test]
fn a_long_message_arrives_while_its_receiver_computes() {
    if has_libfabric() {
        let job = job(2, program("progress_thread"))
            .env("VERBENA_CHANNELS", ALONE)
            .env("VERBENA_PROGRESS_THREAD", "1");
        says_ok(job.run());
    }
}

#[test]
fn ranks_of_a_node_share_memory_and_the_rest_goes_over_the_network() {
    if has_libfabric() {
        says_ok(over("a:2,b:2", NAMED, 4, "point"));
        says_ok(over("a:2,b:2", NAMED, 4, "collectives"));
    }
}

#[test]
fn every_program_passes_over_libfabric_alone() {
    if !has_libfabric() {
        return;
    }
    for ranks in [2, 4] {
        for name in ["point", "collectives", "large", "stress", "neighbor", "persistent", "partitioned"] {
            says_ok(job(ranks, program(name)).env("VERBENA_CHANNELS", ALONE).run());
        }
    }
}

/// The programs of windows that are the same on one node.
#[test]
fn programs_of_windows_pass_over_libfabric_alone() {
    if !has_libfabric() {
        return;
    }
    let apart = ["window_kinds", "window_synchronize", "window_operations", "window_errors"];
    for device in ["1", "0"] {
        for name in apart {
            let job = job(3, program(name)).arg("apart").env("VERBENA_CHANNELS", ALONE);
            says_ok(job.env("VERBENA_WINDOW_DEVICE", device).run());
        }
        for name in ["window_order", "window_threads"] {
            let job = job(2, program(name)).env("VERBENA_CHANNELS", ALONE);
            says_ok(job.env("VERBENA_WINDOW_DEVICE", device).run());
        }
    }
}

/// One window, of which some members have each other's memory mapped, and libfabric leads to the
/// others.
#[test]
fn a_window_may_reach_over_nodes_whose_ranks_share_memory() {
    if !has_libfabric() {
        return;
    }
    let run = |device: &str, program: &Path, argument: &str| {
        let options = ["--launcher", NAMED, "-host", "a:2,b:2"];
        let job = Job::limited(&staged("bin/mpiexec"), 4, 180).args(options).arg(program);
        let job = if argument.is_empty() { job } else { job.arg(argument) };
        job.env("VERBENA_WINDOW_DEVICE", device).run().ok().stdout
    };
    for device in ["1", "0"] {
        let said = run(device, &program("window_mixed"), "");
        assert!(said.contains("window_mixed: ok with 4 ranks"), "{said}");
        // Each rank puts to itself and its neighbour 60 times each, and to two others.
        assert!(count_of(&said, "puts_mapped") >= 120, "{said}");
        let by_device = count_of(&said, "puts_by_device");
        assert!(if device == "1" { by_device > 60 } else { by_device == 0 }, "{said}");
        for name in ["window_kinds", "window_synchronize", "window_operations", "window_errors"] {
            let said = run(device, &program(name), "apart");
            assert!(said.contains(&format!("{name}: ok with 4 ranks")), "{said}");
        }
    }
}

/// Connections that are cut again and again while the provider moves puts and gets. The provider
/// makes them anew: if nothing was on its way, all goes on. Else the job ends in words. Whatever
/// was flushed is right, and nobody waits for what is lost.
#[test]
fn a_window_over_cut_connections_goes_on_or_ends_in_words() {
    let Some(cable) = has_libfabric().then(cable).flatten() else { return };
    let launcher = cable.launcher();
    let job = Job::under(&staged("bin/mpiexec"), 4).args(["--timeout", "120"]);
    let mut job = job.args(["--launcher", &launcher, "-host", "a:2,b:2"]);
    let command = job.command().arg(program("window_mixed")).arg("loop");
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut mpiexec = piped.spawn().expect("mpiexec starts");
    let mut lines = BufReader::new(mpiexec.stdout.take().expect("a pipe")).lines();
    let begun = lines.next().expect("a line").expect("text");
    let by_device =
        begun.strip_prefix("it loops, ").and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    assert!(by_device.is_some_and(|puts| puts > 0), "{begun}");
    // Nothing but libfabric has connections between the ends of the cable.
    let mut cuts = 0;
    for _ in 0..4 {
        cuts += cable.cut();
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let rest: String = lines.map_while(Result::ok).collect();
    let ended = mpiexec.wait_with_output().expect("mpiexec ends");
    if cuts == 0 {
        return skip(Lack::Rights, "the kernel cuts no connections (ss --kill)");
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    // A false CHECK says so.
    assert!(!said.contains(": failed: "), "what was flushed is wrong: {said}");
    if ended.status.success() {
        return assert!(rest.contains("window_mixed: ok with 4 ranks"), "{rest} {said}");
    }
    assert_ne!(ended.status.code(), Some(124), "{said}");
    for part in ["likely cause:", "what to do:"] {
        assert!(said.contains(part), "{said}");
    }
}

/// Puts and gets are libfabric's own where it is the only way to a rank, and a target that computes
/// takes no part in them.
#[test]
fn puts_and_gets_of_windows_are_libfabric_s_own() {
    if !has_libfabric() {
        return;
    }
    let run = |channels: &str, device: &str, way: &str| {
        let job = job(2, program("window_device")).args([way, "100000"]);
        let job = job.env("VERBENA_CHANNELS", channels).env("VERBENA_WINDOW_DEVICE", device);
        let ended = job.env("VERBENA_WINDOW_HEAP", "0").env("VERBENA_CMA", "0").run().ok();
        assert!(ended.stdout.contains("window_device: ok with 2 ranks"), "{ended:?}");
        ended.stdout
    };
    let said = run(ALONE, "1", "device");
    assert!(count_of(&said, "puts_by_device") > 102_000 && count_of(&said, "gets_by_device") > 40, "{said}");
    assert!(count_of(&said, "passive_ms") < 2500, "{said}");
    run(ALONE, "0", "messages");
    // Another channel might go on where libfabric has failed.
    run("loopback,shm,ofi", "1", "messages");
}

#[test]
fn mpi4py_passes_over_libfabric_alone() {
    if !has_libfabric() {
        return;
    }
    let test = venv("mpi4py/test/main.py");
    for module in ["p2p_buf", "cco_buf", "cco_obj"] {
        let job = Job::limited(&staged("bin/mpiexec"), 2, 300).arg(venv("bin/python")).arg(&test);
        let job = job.args(["-i", &format!("test_{module}\\.py")]).env("VERBENA_CHANNELS", ALONE);
        let ended = job.env("LD_LIBRARY_PATH", staged("lib")).run().ok();
        assert_eq!(ended.stderr.matches("\nOK").count(), 2, "{module}: {ended:?}");
    }
}

/// Opening libfabric takes longer than all else at start-up.
#[test]
fn libfabric_is_loaded_only_if_a_rank_is_on_another_node() {
    if !has_libfabric() {
        return;
    }
    let loads = |ended: Ended| ended.ok().stderr.contains("libfabric.so.1");
    let one = job(2, program("hello")).env("LD_DEBUG", "files").run();
    assert!(!loads(one), "nobody needs libfabric");
    let never = job(2, program("hello")).env("LD_DEBUG", "files").env("VERBENA_OFI", "always").run();
    assert!(loads(never), "it was asked for");
}

#[test]
fn an_interface_that_is_not_there_is_told() {
    if has_libfabric() {
        let job = job(2, program("hello")).env("VERBENA_CHANNELS", ALONE);
        let ended = job.env("VERBENA_OFI_INTERFACE", "pigeon0").run();
        assert!(ended.code != 0 && !ended.hung, "{ended:?}");
        ended.complains("libfabric offers nothing").complains("VERBENA_OFI_INTERFACE");
    }
}

#[test]
fn nobody_is_reached_if_libfabric_is_left_out() {
    let options = ["--launcher", NAMED, "-host", "a,b"];
    let job = Job::under(&staged("bin/mpiexec"), 2).args(options).arg(program("point"));
    let ended = job.env("VERBENA_OFI", "never").run();
    assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    ended.complains("no channel reaches the process");
}

/// A cable; `None` where this process may not lay any.
fn cable() -> Option<Cable> {
    let cable = Cable::lay();
    cable.map_err(|said| skip(Lack::Rights, &format!("no network namespaces: {said}"))).ok()
}

#[test]
fn two_networks_joined_by_a_cable_work_with_no_setting() {
    let Some(cable) = has_libfabric().then(cable).flatten() else { return };
    let launcher = cable.launcher();
    says_ok(over("a,b", &launcher, 2, "point"));
    says_ok(over("a:2,b:2", &launcher, 4, "collectives"));
    killed(&launcher);
}

/// A job that talks for ever, until one of its ranks is killed.
fn killed(launcher: &str) {
    let mut job = Job::under(&staged("bin/mpiexec"), 2).args(["--launcher", launcher, "-host", "a,b"]);
    let command = job.command().arg(program("busy")).arg("small").stderr(std::process::Stdio::piped());
    let mpiexec = command.stdout(std::process::Stdio::null()).spawn().expect("mpiexec starts");
    let victim = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        youngest_busy(mpiexec.id())
    });
    // Some time for talking.
    std::thread::sleep(std::time::Duration::from_secs(2));
    // SAFETY: a signal to a rank of our own job.
    unsafe { libc::kill(victim.expect("a rank") as i32, libc::SIGKILL) };
    let ended = mpiexec.wait_with_output().expect("mpiexec ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(128 + libc::SIGKILL), "{said}");
    assert!(said.contains("was killed by signal 9 (SIGKILL)") && said.contains("host "), "{said}");
}

/// The youngest process below this one that runs the program `busy`.
fn youngest_busy(root: u32) -> Option<u32> {
    let children = |pid: u32| -> Vec<u32> {
        let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let mut all = vec![root];
    let mut at = 0;
    while let Some(&pid) = all.get(at) {
        all.extend(children(pid));
        at += 1;
    }
    let is_busy = |pid: &u32| {
        let name = std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe"));
        name.is_ok_and(|name| name.file_name().is_some_and(|name| name == "busy"))
    };
    all.into_iter().filter(is_busy).max()
}
