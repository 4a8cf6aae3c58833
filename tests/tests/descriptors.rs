//! Programs that close the library's descriptors after `MPI_Init` and open files of their own,
//! which get the numbers.

use verbena_tests::{Job, build_dir, job, program};

/// Returns a job of `closes`, whose ranks check that nothing of theirs was touched.
fn closes(ranks: u32, name: &str) -> Job {
    job(ranks, program("closes_descriptors")).arg(build_dir().join(name))
}

#[test]
fn the_programs_files_are_not_touched() {
    let ended = closes(2, "closes-two").run().ok();
    assert!(ended.stdout.contains("closes_descriptors: ok with 2 ranks"), "{ended:?}");
}

/// More ranks than cores: they sleep, and are rung.
#[test]
fn the_programs_files_are_not_touched_by_ranks_that_sleep() {
    let ended = closes(4, "closes-four").arg("sleep").run().ok();
    assert!(ended.stdout.contains("closes_descriptors: ok with 4 ranks"), "{ended:?}");
}

#[test]
fn the_programs_files_are_not_touched_by_the_progress_thread() {
    let ended = closes(2, "closes-progress").arg("sleep").env("VERBENA_PROGRESS_THREAD", "1").run().ok();
    assert!(ended.stdout.contains("closes_descriptors: ok with 2 ranks"), "{ended:?}");
}
