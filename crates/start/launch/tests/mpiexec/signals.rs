//! Signals that the user sends to `mpiexec`.

use crate::harness::{MPIEXEC, Run, begin, eventually, mpiexec, state};
use std::time::Duration;

/// Starts ranks that report a signal. They `wait` for `sleep`, so that the trap runs at once.
fn ranks_that_trap(signal: &str, then: &str) -> Run {
    let script = format!("trap 'echo got; {then}' {signal}; sleep 25 & wait; kill $! 2>/dev/null; echo end");
    let run = begin(&mut mpiexec(&["-n", "3", "sh", "-c", &script]));
    run.wait_for("sleep", 3);
    run
}

#[test]
fn user_signals_reach_every_rank_and_end_nothing() {
    for (name, signal) in [("USR1", libc::SIGUSR1), ("USR2", libc::SIGUSR2)] {
        let run = ranks_that_trap(name, ":");
        run.signal(signal);
        let outcome = run.finish();
        assert_eq!(outcome.lines(), ["end", "end", "end", "got", "got", "got"], "{outcome:?}");
        assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
    }
}

#[test]
fn terminating_signals_reach_every_rank() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        let run = begin(&mut mpiexec(&["-n", "3", "sleep", "25"]));
        run.wait_for("sleep", 3);
        run.ends_by(signal, code);
    }
}

#[test]
fn ranks_that_handle_a_signal_end_as_they_like() {
    let run = ranks_that_trap("INT", "exit 0");
    run.signal(libc::SIGINT);
    let outcome = run.finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "got\ngot\ngot\n"), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// Two ranks that ignore signals, once they do.
fn deaf_ranks() -> Run {
    let run = begin(&mut mpiexec(&["-n", "2", "sh", "-c", "trap '' INT TERM; exec sleep 25"]));
    run.wait_for("sleep", 2);
    run
}

#[test]
fn a_second_interrupt_kills_hard() {
    let run = deaf_ranks();
    run.signal(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(run.wait_for("sleep", 2).len(), 2, "the first one is only passed on");
    run.signal(libc::SIGINT);
    let outcome = run.finish();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn a_user_whose_ranks_do_not_end_hears_how_to_kill_them() {
    let run = deaf_ranks();
    run.signal(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(1500));
    run.signal(libc::SIGINT);
    let outcome = run.finish();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    let told = "mpiexec: 2 ranks still run after SIGINT; another Ctrl-C kills them.\n";
    assert!(outcome.err.starts_with(told), "{outcome:?}");
}

/// The ranks are deaf, and the user does not know `kill -9`.
#[test]
fn a_second_sigterm_kills_hard() {
    let run = deaf_ranks();
    run.signal(libc::SIGTERM);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(run.wait_for("sleep", 2).len(), 2, "the first one is only passed on");
    run.ends_by(libc::SIGTERM, 143);
}

#[test]
fn ranks_that_ignore_sigterm_are_killed_in_the_end() {
    let mut command = mpiexec(&["-n", "2", "sh", "-c", "trap '' INT TERM; exec sleep 25"]);
    let run = begin(command.env("VERBENA_TERM_GRACE_SECONDS", "1"));
    run.wait_for("sleep", 2);
    run.signal(libc::SIGTERM);
    let outcome = run.finish();
    assert_eq!(outcome.code, Some(143), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// `timeout` sends SIGTERM to `mpiexec` and right after to the whole group: the ranks still get
/// their time.
#[test]
fn the_two_sigterms_of_timeout_are_one_wish() {
    let script = "trap 'sleep 0.5; echo cleaned; exit 0' TERM; sleep 25 & wait";
    let mut command = std::process::Command::new("timeout");
    command.args(["1", crate::harness::MPIEXEC, "-n", "2", "sh", "-c", script]);
    let outcome = begin(&mut command).finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(124), "cleaned\ncleaned\n"), "{outcome:?}");
}

#[test]
fn a_wrong_time_to_end_is_refused() {
    let outcome = begin(mpiexec(&["true"]).env("VERBENA_TERM_GRACE_SECONDS", "soon")).finish();
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(2), 4), "{outcome:?}");
    assert!(outcome.err.contains("VERBENA_TERM_GRACE_SECONDS"), "{outcome:?}");
}

#[test]
fn stop_and_continue() {
    let run = begin(&mut mpiexec(&["-n", "2", "sleep", "1"]));
    let ranks = run.wait_for("sleep", 2);
    run.signal(libc::SIGTSTP);
    let all_stopped = || ranks.iter().chain([&run.pid()]).all(|&pid| state(pid) == 'T');
    eventually(|| all_stopped().then_some(()));
    run.signal(libc::SIGCONT);
    let outcome = run.finish();
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let line = format!("trap '' HUP; exec {} -n 2 sleep 0.5", MPIEXEC);
    let run = begin(std::process::Command::new("sh").args(["-c", &line]));
    run.wait_for("sleep", 2);
    run.signal(libc::SIGHUP);
    let outcome = run.finish();
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
}

/// The kernel tells nobody of the children of a process that ignores `SIGCHLD`.
#[test]
fn ends_of_ranks_are_seen_though_the_caller_ignores_them() {
    let program = ["-n", "2", "sh", "-c", "exit 3"];
    for hosts in [&[][..], &["--launcher", "fork", "-host", "a,b"]] {
        let words = [&["--ignore-signal=CHLD", MPIEXEC], hosts, &program].concat();
        let outcome = begin(std::process::Command::new("env").args(words)).finish();
        assert_eq!(outcome.code, Some(3), "{outcome:?}");
    }
}
