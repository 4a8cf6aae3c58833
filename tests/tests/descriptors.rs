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

/// A number that means a file of the program gives MPI no access to it, be it another file than the
/// one that MPI has open, or the same one.
#[test]
fn the_programs_files_are_not_touched_by_files_of_mpi() {
    let run = |file: &str| {
        let path = build_dir().join(format!("closes-files-{file}"));
        job(2, program("closes_files")).arg(path).arg(file).run()
    };
    for file in ["another", "same"] {
        let ended = run(file).ok();
        assert!(ended.stdout.contains("closes_files: ok with 2 ranks"), "{file}: {ended:?}");
    }
    let ended = run("fatal").complains("its descriptor was closed").complains("likely cause: ");
    assert_eq!(ended.code, 35, "MPI_ERR_IO: {ended:?}");
}
