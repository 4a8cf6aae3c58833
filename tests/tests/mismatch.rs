//! Wrong answers that are none: what did not happen, or cannot be right, is an error.

use verbena_tests::{job, program};

/// How many times a text stands in another.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// By default a function that is not written ends the job, and one rank of the node says so.
#[test]
fn a_function_that_is_not_written_ends_the_job() {
    let program = program("unwritten");
    for (way, call, ranks) in [("fatal", "MPI_Win_create", 4), ("one", "MPI_Comm_spawn", 2)] {
        let ended = job(ranks, &program).arg(way).run();
        assert!(ended.code != 0 && !ended.hung, "{ended:?}");
        assert!(!ended.stdout.contains("unwritten: ok"), "{ended:?}");
        assert_eq!(count(&ended.stderr, &format!("{call} is not supported")), 1, "{ended:?}");
        let ended = ended.complains("COVERAGE.md");
        assert!(verbena_tests::staged("share/doc/verbena/COVERAGE.md").is_file(), "{ended:?}");
    }
}

/// An error handler of the program gets it, and nothing is written.
#[test]
fn a_function_that_is_not_written_goes_to_the_error_handler() {
    let ended = job(2, program("unwritten")).arg("return").run().ok();
    assert!(ended.stdout.contains("unwritten: ok with 2 ranks"), "{ended:?}");
    assert_eq!(ended.stderr, "", "{ended:?}");
}
