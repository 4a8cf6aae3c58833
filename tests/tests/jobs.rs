//! Jobs that are connected: how one leaves while another has yet to receive, and what becomes of
//! those that wait for a job which does not come.

use std::time::Duration;
use verbena_tests::cable::has_libfabric;
use verbena_tests::{Ended, Job, build_dir, compile, program, staged, top};

fn leaves(ranks: u32, way: &str, options: &[&str]) -> Ended {
    let job = Job::under(&staged("bin/mpiexec"), ranks).args(options);
    job.arg(program("leaves")).arg(way).run()
}

/// The sender is in `MPI_Finalize` when the other one begins to receive, also where it has freed
/// the communicator. Short and long messages, buffered and synchronous ones, are whole.
#[test]
fn what_was_sent_to_another_job_before_finalize_is_received() {
    let mut channels = vec![&[][..], &["-genv", "VERBENA_CMA", "0"]];
    if has_libfabric() {
        channels.push(&["-genv", "VERBENA_CHANNELS", "loopback,ofi"]);
    }
    for options in channels {
        for way in ["parent", "child", "freed", "merged"] {
            for ranks in [1, 2] {
                let ended = leaves(ranks, way, options).ok();
                assert!(ended.stdout.contains("all is received"), "{way} {options:?}: {ended:?}");
                assert!(ended.stdout.contains("leaves: ok with"), "{way} {options:?}: {ended:?}");
            }
        }
    }
}

/// Each one of two processes in `MPI_Finalize` has sent what the other one will not receive.
#[test]
fn what_another_job_never_receives_holds_up_nobody_and_is_told() {
    for ranks in [1, 2] {
        let ended = leaves(ranks, "never", &[]).ok();
        assert!(ended.took < Duration::from_secs(20), "{ended:?}");
        let found = "MPI_Finalize found messages that this process never received";
        assert!(ended.stderr.matches(found).count() >= 1, "{ended:?}");
        let ended = leaves(ranks, "told", &[]).ok();
        assert!(ended.took < Duration::from_secs(20), "{ended:?}");
    }
}

/// The exit code is that of the job that was killed.
#[test]
fn who_leaves_does_not_wait_for_the_dead() {
    let ended = leaves(2, "killed", &[]);
    assert!(!ended.hung && ended.stdout.contains("leaves: ok with 2 ranks"), "{ended:?}");
    assert_eq!(ended.code, 137, "{ended:?}");
}

/// The ranks that have sent their part of a long gather already may succeed.
#[test]
fn calls_with_a_dead_process_of_another_job_end_on_all_ranks() {
    for (call, errors) in [("dup", 4), ("create_group", 4), ("gather", 1)] {
        let job = Job::under(&staged("bin/mpiexec"), 4).args(["--timeout", "20"]);
        let ended = job.arg(program("outlived")).arg(call).run();
        assert_eq!(ended.code, 137, "{call}: {ended:?}");
        assert_eq!(ended.stdout.matches("rank ").count(), 4, "{call}: {ended:?}");
        assert!(ended.stdout.matches(": an error").count() >= errors, "{call}: {ended:?}");
    }
}

/// A rank whose call has failed is not told in `MPI_Finalize` that it missed another one.
#[test]
fn who_leaves_after_an_error_need_not_receive_what_others_go_on_to_send() {
    let job = Job::under(&staged("bin/mpiexec"), 4).args(["--timeout", "20"]);
    let ended = job.arg(program("outlived")).arg("left").run();
    assert_eq!((ended.code, ended.stdout.matches(": an error").count()), (137, 4), "{ended:?}");
    assert!(!ended.stderr.contains("different collectives"), "{ended:?}");
}

/// Some ranks may have left a call because of the death when others are in the next one.
#[test]
fn a_death_in_another_job_ends_calls_in_a_loop_on_all_ranks() {
    for call in ["split", "window"] {
        for run in 1..=12 {
            let job = Job::under(&staged("bin/mpiexec"), 4).args(["--timeout", "20"]);
            let ended = job.arg(program("outlived")).args([call, &(3001 * run).to_string()]).run();
            assert_eq!(ended.code, 137, "{call} {run}: {ended:?}");
            assert_eq!(ended.stdout.matches(": an error").count(), 4, "{call} {run}: {ended:?}");
        }
    }
}

#[test]
fn a_job_that_waits_for_another_one_says_so() {
    let accepts = build_dir().join(format!("accepts.{}", std::process::id()));
    compile(&staged("bin/mpicc"), &top().join("tests/programs/hang/accepts.c"), &accepts, &[]);
    for (way, words) in [
        (&[][..], "rank 0 waits in MPI_Comm_accept for another job to connect to its port"),
        (&["connect"], "rank 0 waits in MPI_Comm_connect for the job that opened a port to accept there"),
    ] {
        let job = Job::under(&staged("bin/mpiexec"), 2).args(["--timeout", "3"]).arg(&accepts).args(way);
        let ended = job.env("VERBENA_HANG_SECONDS", "1").run();
        assert_eq!(ended.code, 124, "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
        assert!(ended.stderr.contains("rank 0 waits for processes of another job"), "{ended:?}");
    }
}
