//! Nothing is left behind, however a job ends.

use crate::harness::{begin, eventually, mpiexec, run_script, state};
use std::time::Duration;

#[test]
fn what_ranks_leave_in_the_background_ends_with_the_job() {
    let outcome = run_script(&["-n", "2"], "sleep 25 & setsid sleep 25 & (sleep 25 &) ; exit 0");
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.took < Duration::from_secs(2), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn what_dead_ranks_have_started_ends_too() {
    let outcome =
        run_script(&["-n", "2"], "trap '' TERM; setsid sleep 25 & [ $PMI_RANK = 0 ] && kill -9 $$; wait");
    assert_eq!(outcome.code, Some(137), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// Ranks, programs inside a rank's shell, and programs that left the rank's session.
#[test]
fn a_killed_mpiexec_takes_its_ranks_along() {
    for script in ["exec sleep 25", "sleep 25; true", "setsid sleep 25 & wait"] {
        let run = begin(&mut mpiexec(&["-n", "3", "sh", "-c", script]));
        run.wait_for("sleep", 3);
        run.signal(libc::SIGKILL);
        run.wait_for_nothing();
        assert_eq!(run.finish().code, None);
    }
}

/// The watcher has the mark of its run like every other process, so the checks above see it.
#[test]
fn the_watcher_is_there_during_the_job_and_gone_after_it() {
    let run = begin(&mut mpiexec(&["-n", "2", "sleep", "25"]));
    run.wait_for("sleep", 2);
    assert_eq!(run.processes_called("mpiexec-watcher"), 1);
    run.signal(libc::SIGTERM);
    run.finish().assert_nothing_left();
}

/// A rank is killed at any moment of its life: the job ends, and says so.
#[test]
fn a_rank_killed_at_any_moment() {
    for delay in [0, 1, 2, 5, 10, 20] {
        let steps = [crate::harness::CLIENT, "exchange", "barrier", "exchange", "sleep=25000"];
        let run = begin(&mut mpiexec(&[&["-n", "4"], &steps[..]].concat()));
        let pids = run.wait_for(crate::harness::CLIENT, 4);
        std::thread::sleep(Duration::from_millis(delay));
        // SAFETY: no memory is involved; the process is a rank of our own run.
        unsafe { libc::kill(pids[3], libc::SIGKILL) };
        let outcome = run.finish();
        assert_eq!(outcome.code, Some(137), "{outcome:?}");
        outcome.assert_nothing_left();
    }
}

#[test]
fn stopped_ranks_end_too() {
    let run = begin(&mut mpiexec(&["--timeout", "0.5", "-n", "2", "sleep", "25"]));
    for pid in run.wait_for("sleep", 2) {
        // SAFETY: no memory is involved; the process is a rank of our own run.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        eventually(|| (state(pid) == 'T').then_some(()));
    }
    let outcome = run.finish();
    assert_eq!(outcome.code, Some(124), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// A shell's background job becomes a child of `mpiexec` when the shell calls `exec`.
#[test]
fn children_that_mpiexec_did_not_start_go_on() {
    let ranks = "setsid sleep 25 & sleep 25 & exit 0";
    let line = format!("sleep 27 <&- >&- 2>&- & exec {} -n 2 sh -c '{ranks}'", crate::harness::MPIEXEC);
    let run = begin(std::process::Command::new("sh").args(["-c", &line]));
    let outcome = run.finish();
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
    let left = outcome.left();
    let words = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let lines: Vec<String> = left.iter().map(words).collect();
    assert_eq!(lines, ["sleep\x0027\0"], "{outcome:?}");
    // SAFETY: no memory is involved; the process belongs to our own run.
    unsafe { libc::kill(left[0], libc::SIGKILL) };
}
