//! Programs in other languages than C: their lines are told.

use super::{HANG_SECONDS, TIMEOUT, place, run, says, source};
use std::process::Command;
use verbena_tests::{Job, shell, staged, venv};

#[test]
fn a_program_in_fortran() {
    let folder = place("fortran");
    std::fs::create_dir_all(&folder).expect("writable");
    let out = folder.join("program");
    let mut command = Command::new(staged("bin/mpifort"));
    shell(command.args(["-g", "-J"]).arg(&folder).arg("-o").arg(&out).arg(source("two_sends.f90")));
    says(
        &run(2, &[], &out),
        &[
            "rank 0 waits in MPI_Send for rank 1 to receive 1600000 bytes with tag 5",
            "two_sends.f90:11)",
            "ranks 0, 1 send to each other first",
        ],
    );
}

#[test]
fn a_program_in_python() {
    let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(venv("bin/python"));
    let job = job.arg(source("wrong_tag.py")).env("VERBENA_HANG_SECONDS", HANG_SECONDS);
    says(&job.run(), &["rank 0 waits for tag 7 from rank 1, which sent tag 8", "wrong_tag.py:"]);
}

/// Rank 1 computes: the lines are those of the script, not those of the interpreter.
#[test]
fn a_rank_that_computes_in_python() {
    let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(venv("bin/python"));
    let ended = job.arg(source("computes.py")).env("VERBENA_HANG_SECONDS", HANG_SECONDS).run();
    says(&ended, &["rank 1 does not wait in MPI", ", at spin (computes.py:", "<module> (computes.py:"]);
    assert!(!ended.stderr.contains("ceval"), "{}", ended.stderr);
}

/// Rank 1 sleeps, which the look does not end.
#[test]
fn a_rank_that_sleeps_in_python() {
    let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(venv("bin/python"));
    let ended = job.arg(source("sleeps.py")).env("VERBENA_HANG_SECONDS", HANG_SECONDS).run();
    let words = "rank 1 is outside MPI, sleeping in the kernel (";
    says(&ended, &[words, ", at nap (sleeps.py:6), called from <module> (sleeps.py:10)"]);
}

/// The interpreter goes on with a sleep after a signal, and not with a wait for one.
#[test]
fn a_wait_for_a_signal_in_python_is_not_ended() {
    let job = Job::under(&staged("bin/mpiexec"), 2).arg(venv("bin/python")).arg(source("pauses.py"));
    let ended = job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run().ok();
    assert_eq!(ended.stdout.trim(), "as long as it should", "{ended:?}");
}
