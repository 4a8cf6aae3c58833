//! The messages to the user when a program breaks the rules: of threads (the rank, both causes and
//! the thread level), of memory, and of the messages that it leaves behind.

use verbena_tests::{job, program};

#[test]
fn two_threads_at_once_below_multiple_are_told_of() {
    let ended = job(1, program("threads_without_permission")).run();
    assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    let ended = ended.complains("verbena: process 0 of 1: ").complains("MPI_THREAD_SINGLE does not allow");
    assert!(!ended.stderr.contains("panicked at"), "{ended:?}");
    for word in ["likely cause: two threads called MPI at once", "callback", "MPI_THREAD_MULTIPLE"] {
        assert!(ended.stderr.contains(word), "no \"{word}\" in {ended:?}");
    }
    assert!(!ended.stderr.contains("a defect of Verbena\n"), "{ended:?}");
}

/// A rank writes over the memory that all share: the job ends with a word about it, or goes on, but
/// does not hang.
#[test]
fn overwritten_shared_memory_is_no_hang() {
    for seed in 1..=6 {
        let ended = job(3, program("scribble")).arg(seed.to_string()).run();
        assert!(!ended.hung, "seed {seed}: {ended:?}");
        assert!(ended.code == 0 || ended.stderr.contains("likely cause: "), "seed {seed}: {ended:?}");
    }
}

/// Sends that no receive will match do not hold up `MPI_Finalize`, over any channel of a node; the
/// job goes on, as with other libraries.
#[test]
fn unreceived_sends_at_finalize_are_told_of_and_are_no_hang() {
    let program = program("left_sends");
    for channels in ["loopback,shm", "loopback,shm,cma"] {
        for ranks in [1, 2, 3] {
            let job = job(ranks, &program).env("VERBENA_CHANNELS", channels);
            // One of the four goes at once: to oneself a short one, to another in a cell.
            let ended = job.arg("unreceived").run().ok();
            let ended = ended
                .complains(&format!("verbena: process 0 of {ranks}: warning: MPI_Finalize found messages"))
                .complains("with tag 3 to rank ")
                .complains("and 2 more messages")
                .complains("likely cause: ")
                .complains("what to do: ");
            // The one that went at once is told of by its receiver.
            assert_eq!(ended.stderr.matches("warning").count(), 2, "{ended:?}");
        }
    }
    let named = job(2, &program).arg("named").run().ok();
    named.complains("a message of 4000000 bytes with tag 3 to rank 0 of mine\n");
    let freed = job(2, &program).arg("freed").run().ok();
    freed.complains("to process 1, on a communicator that was freed\n");
}

/// `MPI_Finalize` takes back no message that a receive has matched, or will.
#[test]
fn matched_sends_complete_in_finalize_without_a_word() {
    let program = program("left_sends");
    for channels in ["loopback,shm", "loopback,shm,cma"] {
        for what in ["matched", "late"] {
            let ended = job(3, &program).env("VERBENA_CHANNELS", channels).arg(what).run().ok();
            assert_eq!(ended.stderr, "", "{channels} {what}: {ended:?}");
        }
    }
}

/// A child that a rank forks has a copy of MPI, but its calls do not reach the job or its launcher.
#[test]
fn a_forked_child_is_no_process_of_the_job() {
    let program = program("forks");
    let run = |what, progress| job(2, &program).arg(what).env("VERBENA_PROGRESS_THREAD", progress).run();
    for progress in ["0", "1"] {
        for what in ["finalize", "calls", "fatal", "abort"] {
            let ended = run(what, progress).ok();
            assert!(ended.stdout.contains("forks: ok with 2 ranks"), "{what}: {ended:?}");
            let word = match what {
                "fatal" => "MPI_Barrier(comm=MPI_COMM_WORLD) failed: a forked child called MPI",
                _ => "",
            };
            ended.complains(word);
        }
        let ended = run("leave", progress).complains("Rank 1 exited without calling MPI_Finalize");
        assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    }
}

/// The code of an abort is the job's, 0 too, as in other libraries; so a job that was aborted says
/// that it was.
#[test]
fn an_abort_ends_with_its_code_and_says_so() {
    let program = program("aborts");
    let run = |when: &str, code: i32| job(2, &program).arg(when).arg(code.to_string()).run();
    for (code, exit) in [(0, 0), (7, 7), (256, 1), (-1, 255)] {
        let ended = run("between", code).complains(&format!("Rank 1 called MPI_Abort with code {code};"));
        assert_eq!((ended.code, ended.hung), (exit, false), "{ended:?}");
    }
    let ended = run("before", 7).complains("MPI_Abort was called").complains("MPI is not initialised");
    assert_eq!((ended.code, ended.hung), (7, false), "{ended:?}");
    let ended = run("after", 7).complains("MPI_Abort was called");
    assert_eq!((ended.code, ended.hung), (7, false), "{ended:?}");
}
