//! The start-up itself: every version of PMI, many ranks, large cards, and its time.

use crate::harness::{CLIENT, begin, mpiexec, run};
use std::process::Command;
use std::time::Duration;

#[test]
fn every_version_of_pmi_exchanges_and_repeats() {
    for (pmi, kind) in [("", "pmi-1"), ("1", "pmi-1"), ("2", "pmi-2")] {
        let steps = ["who", "exchange=3000", "exchange=0", "barrier", "exchange=100", "finalize"];
        let outcome = run(&[&["-genv", "VERBENA_PMI", pmi, "-n", "3", CLIENT], &steps[..]].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.out.matches("exchanged 3").count(), 9, "{outcome:?}");
        assert_eq!(outcome.out.matches(kind).count(), 3, "{outcome:?}");
    }
}

#[test]
fn sixty_four_ranks_exchange() {
    for pmi in ["", "1"] {
        let outcome =
            run(&["-genv", "VERBENA_PMI", pmi, "-n", "64", CLIENT, "exchange=600", "barrier", "finalize"]);
        assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
        assert_eq!(outcome.out.matches("exchanged 64").count(), 64);
    }
}

/// A card for all does not fit into a socket's buffer: mpiexec must go on while a rank is slow to read.
#[test]
fn large_cards() {
    let outcome = run(&["-n", "8", CLIENT, "exchange=200000", "finalize"]);
    assert_eq!((outcome.code, outcome.out.matches("exchanged 8").count()), (Some(0), 8), "{outcome:?}");
}

#[test]
fn two_programs_one_after_the_other_in_one_rank() {
    let script = format!("{CLIENT} exchange finalize && {CLIENT} exchange finalize");
    let outcome = run(&["-n", "2", "sh", "-c", &script]);
    assert_eq!((outcome.code, outcome.out.matches("exchanged 2").count()), (Some(0), 4), "{outcome:?}");
}

#[test]
fn a_job_inside_a_rank_is_a_job_of_its_own() {
    let script = format!("{} -n 2 {CLIENT} who finalize", crate::harness::MPIEXEC);
    let outcome = run(&["-n", "2", "sh", "-c", &script]);
    assert_eq!((outcome.code, outcome.out.matches("of 2").count()), (Some(0), 4), "{outcome:?}");
}

#[test]
fn alone_it_is_a_singleton() {
    let outcome = begin(Command::new(CLIENT).args(["who", "exchange", "barrier", "finalize"])).finish();
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.out, "rank 0 of 1 kind singleton universe None appnum None\nexchanged 1\n");
    assert_eq!(outcome.err, "");
}

#[test]
fn a_foreign_launcher_is_warned_of() {
    let environment = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "0")];
    let outcome = begin(Command::new(CLIENT).args(["who", "finalize"]).envs(environment)).finish();
    assert!(outcome.out.contains("rank 0 of 1"), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    assert!(outcome.err.contains("OMPI_COMM_WORLD_SIZE=4"), "{outcome:?}");
}

#[test]
fn a_launcher_that_goes_away_is_a_clear_error() {
    // mpiexec would end the rank; a lone socket whose other end is closed stands for a dead launcher.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(theirs);
    let fd = std::os::fd::AsRawFd::as_raw_fd(&ours);
    // SAFETY: the descriptor is open; clearing its close-on-exec flag touches no memory.
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    let fd = fd.to_string();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("PMI_FD={fd} PMI_RANK=0 PMI_SIZE=2 exec {CLIENT} exchange")]);
    let outcome = begin(&mut command).finish();
    assert_eq!(outcome.code, Some(99), "{outcome:?}");
    assert!(outcome.err.contains("Lost the line to the launcher"), "{outcome:?}");
}

/// The time is generous: other tests run beside this one. It is 5 ms on a quiet machine.
#[test]
fn four_ranks_start_and_end_in_no_time() {
    let best = (0..5).map(|_| begin(&mut mpiexec(&["-n", "4", "true"])).finish().took).min().unwrap();
    assert!(best < Duration::from_millis(100), "{best:?}");
}
