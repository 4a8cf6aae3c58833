//! The messages to the user when a program breaks the rules: of threads (the rank, both causes and
//! the thread level), and of memory.

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
