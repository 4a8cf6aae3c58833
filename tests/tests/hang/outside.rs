//! Ranks that do not wait in MPI: they compute, poll, or sleep in the kernel.

use super::{HANG_SECONDS, TIMEOUT, hangs, place, program, run, says};
use verbena_tests::{Job, staged};

/// Looks at each of these, all at the same time: jobs that wait need no processor.
fn at_once<T: Send, const N: usize>(ways: [T; N], look: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for way in ways {
            scope.spawn(|| look(way));
        }
    });
}

#[test]
fn a_rank_that_computes() {
    // At the time limit: a job that may only be slow is not told of before.
    hangs(
        2,
        "computes",
        &[
            "rank 1 does not wait in MPI: it computes (",
            "% of a processor), at main (computes.c:",
            "the others wait for rank 1, which calls no MPI function",
        ],
    );
}

#[test]
fn ranks_that_poll() {
    // A rank that is looked at between two calls has told what it polls for, but not how.
    let what = "for a message from rank 1 with tag 7 on MPI_COMM_WORLD";
    let program = program("polls");
    let cause = "likely cause: the others wait for rank 0, which polls";
    says(&run(2, &[], &program), &["rank 0 polls", what, cause, "it polls for does not come"]);
    let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(&program).arg("both");
    says(&job.run(), &["No rank waits in MPI (2 ranks)", what]);
}

#[test]
fn a_rank_that_polls_for_a_wrong_tag() {
    let program = program("polls");
    at_once(["MPI_Iprobe", "MPI_Test", "MPI_Testany"], |call| {
        let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(&program).arg(call);
        let ended = job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run();
        let polls = " for a message from rank 1 with tag 7 on MPI_COMM_WORLD (";
        let cause = "likely cause: rank 0 polls for tag 7 from rank 1, which sent tag 8\n";
        says(&ended, &["rank 0 polls", polls, cause]);
    });
}

/// The report tells the system call, and the line in the program.
#[test]
fn a_rank_that_sleeps_in_the_kernel() {
    let program = program("sleeps");
    let ways = [
        ("pause", "rank 1 is outside MPI, sleeping in the kernel (pause), at rest (sleeps.c:"),
        ("sleep", "rank 1 is outside MPI, sleeping in the kernel (clock_nanosleep), at rest (sleeps.c:"),
        ("read", "rank 1 is outside MPI, sleeping in the kernel (read of pipe:["),
        ("lock", "rank 1 is outside MPI, sleeping in the kernel (lock of /"),
        ("file", "rank 1 is in MPI_File_open, sleeping in the kernel (open), at rest (sleeps.c:"),
    ];
    at_once(ways, |(way, words)| {
        let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(&program).arg(way);
        let ended = job.arg(place("sleeps-file")).env("VERBENA_HANG_SECONDS", HANG_SECONDS).run();
        says(&ended, &[words, "called from main (sleeps.c:", "the others wait for rank 1, which sleeps in "]);
    });
}

/// Nor does a look at it end a sleep, or a wait for input or a lock, with an error.
#[test]
fn a_sleep_that_is_looked_at_goes_on() {
    let program = program("sleeps");
    at_once(["sleep", "read", "write", "lock", "poll", "child"], |way| {
        let job = Job::under(&staged("bin/mpiexec"), 2).arg(&program).arg(way).arg(place("sleeps-file"));
        let ended = job.arg("3").env("VERBENA_HANG_SECONDS", HANG_SECONDS).run().ok();
        assert_eq!(ended.stdout.trim(), "as long as it should", "{way}");
    });
}
