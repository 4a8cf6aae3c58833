//! The job's exit code, and the message about a rank that ends badly.

use crate::harness::{CLIENT, begin, mpiexec, run, run_script};
use std::time::Duration;

/// The job must be over this soon after a rank's death.
const ONE_SECOND: Duration = Duration::from_secs(1);

#[test]
fn success_is_zero_and_silent() {
    let outcome = run(&["-n", "3", "true"]);
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (Some(0), "", ""));
    let outcome = run(&["-n", "3", CLIENT, "exchange", "finalize"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""));
}

#[test]
fn the_code_of_the_rank_that_failed() {
    let outcome = run_script(&["-n", "3"], "[ $PMI_RANK = 1 ] && exit 42; sleep 20");
    assert_eq!(outcome.code, Some(42), "{outcome:?}");
    assert!(outcome.took < ONE_SECOND, "{outcome:?}");
    assert!(outcome.err.contains("Rank 1 exited with code 42"), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn a_signal_is_128_and_its_number_with_a_four_part_message() {
    let outcome = run_script(&["-n", "3"], "[ $PMI_RANK = 2 ] && kill -SEGV $$; sleep 20");
    assert_eq!(outcome.code, Some(139), "{outcome:?}");
    assert!(outcome.took < ONE_SECOND, "{outcome:?}");
    let lines: Vec<&str> = outcome.err.lines().collect();
    assert_eq!(lines.len(), 4, "{outcome:?}");
    assert!(lines[0].contains("Rank 2 was killed by signal 11 (SIGSEGV)"), "{outcome:?}");
    assert!(lines[1].contains("pid ") && lines[1].contains("host ") && lines[1].contains("program sh"));
}

#[test]
fn a_real_time_signal_is_seen_too() {
    let outcome = run_script(&["-n", "2"], "[ $PMI_RANK = 0 ] && kill -40 $$; sleep 20");
    assert_eq!(outcome.code, Some(168), "{outcome:?}");
}

#[test]
fn an_mpi_rank_that_is_killed_ends_the_job() {
    let outcome = run(&["-n", "4", CLIENT, "exchange", "kill=9@2", "barrier"]);
    assert_eq!(outcome.code, Some(137), "{outcome:?}");
    assert!(outcome.took < ONE_SECOND * 2, "{outcome:?}");
    assert!(outcome.err.contains("Rank 2 was killed by signal 9 (SIGKILL)"), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn leaving_between_init_and_finalize_is_an_error() {
    let outcome = run(&["-n", "3", CLIENT, "exchange", "exit=0@1", "sleep=20000"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.took < ONE_SECOND, "{outcome:?}");
    assert!(outcome.err.contains("Rank 1 exited without calling MPI_Finalize"), "{outcome:?}");
}

#[test]
fn a_rank_for_which_others_wait_is_missed() {
    let outcome = run(&["-n", "1", "true", ":", "-n", "2", CLIENT, "exchange", "finalize"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("Rank 0 exited without calling MPI_Init"), "{outcome:?}");
}

#[test]
fn abort_ends_the_job_with_its_code() {
    for pmi in ["1", "2", ""] {
        let outcome =
            run(&["-genv", "VERBENA_PMI", pmi, "-n", "3", CLIENT, "exchange", "abort=7@1", "sleep=20000"]);
        assert_eq!(outcome.code, Some(7), "{outcome:?}");
        assert!(outcome.took < ONE_SECOND, "{outcome:?}");
        assert!(outcome.err.contains("aborted as told"), "{outcome:?}");
        assert!(outcome.err.contains("Rank 1 called MPI_Abort with code 7"), "{outcome:?}");
        outcome.assert_nothing_left();
    }
}

/// Many ranks that call the job off alike are told of once.
#[test]
fn aborts_of_several_ranks_are_one_text() {
    let outcome = run(&["-n", "3", CLIENT, "exchange", "abort=7"]);
    assert_eq!(outcome.code, Some(7), "{outcome:?}");
    assert_eq!(outcome.err.matches("aborted as told").count(), 1, "{outcome:?}");
}

#[test]
fn an_abort_code_of_256_is_no_success() {
    assert_eq!(run(&["-n", "2", CLIENT, "abort=256@0", "sleep=20000"]).code, Some(1));
}

#[test]
fn a_code_after_finalize_counts_but_lets_the_others_end() {
    let script = format!("{CLIENT} exchange finalize; [ $PMI_RANK = 0 ] && exit 5; sleep 0.6; echo done");
    let outcome = run_script(&["-n", "2"], &script);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    assert!(outcome.out.contains("done"), "{outcome:?}");
}

#[test]
fn ranks_that_ignore_sigterm_are_killed() {
    let outcome = run_script(&["-n", "3"], "trap '' TERM; [ $PMI_RANK = 0 ] && exit 3; sleep 20; sleep 20");
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.took < ONE_SECOND, "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn ranks_get_the_chance_to_clean_up() {
    let outcome = run_script(
        &["-n", "2"],
        "trap 'echo cleaned; exit' TERM; [ $PMI_RANK = 0 ] && sleep 0.3 && exit 3; sleep 20 & wait",
    );
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(3), "cleaned\n"), "{outcome:?}");
}

#[test]
fn garbage_on_the_pmi_line_ends_the_job_and_not_mpiexec() {
    let outcome = run_script(&["-n", "2"], "[ $PMI_RANK = 0 ] && eval \"echo rubbish >&$PMI_FD\"; sleep 20");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("Rank 0 sent its launcher something that is not PMI"), "{outcome:?}");
}

#[test]
fn a_defect_of_our_own_is_told_in_four_parts() {
    let outcome = run(&["-n", "1", CLIENT, "no-such-step"]);
    let lines: Vec<&str> = outcome.err.lines().collect();
    assert!(lines[0].starts_with("boot-client: mpiexec has come upon an error of its own"), "{outcome:?}");
    assert!(lines[1].contains("boot_client.rs") && lines[1].contains("no such step"), "{outcome:?}");
    assert!(lines[2].contains("a defect of Verbena") && lines[3].contains("report it"), "{outcome:?}");
    assert!(lines[4].starts_with("mpiexec: Rank 0 "), "{outcome:?}");
}

#[test]
fn the_time_limit() {
    let outcome = run(&["--timeout", "0.3", "-n", "2", "sleep", "20"]);
    assert_eq!(outcome.code, Some(124), "{outcome:?}");
    assert!(outcome.took >= Duration::from_millis(300) && outcome.took < ONE_SECOND, "{outcome:?}");
    assert!(outcome.err.contains("is over (0.3 s)"), "{outcome:?}");
    assert_eq!(run(&["--timeout", "10", "true"]).code, Some(0));
    let mut by_variable = mpiexec(&["-n", "2", "sleep", "20"]);
    let outcome = begin(by_variable.env("MPIEXEC_TIMEOUT", "0.3")).finish();
    assert_eq!(outcome.code, Some(124), "{outcome:?}");
}
