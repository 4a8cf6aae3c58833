//! Start-up: every version of PMI, many ranks, large cards, and the time it takes.

use crate::harness::{CLIENT, begin, mpiexec, run, run_script};
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

/// The cards of all exceed a socket's buffer: mpiexec must go on while a rank reads slowly.
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

/// A rank knows its parent, `mpiexec` or an agent: the library may let that trace the process.
#[test]
fn ranks_know_who_started_them() {
    let outcome = run_script(&["-n", "2"], "[ $VERBENA_LAUNCHER_PID = $PPID ] && echo mine");
    assert_eq!(outcome.out, "mine\nmine\n", "{outcome:?}");
    let options = ["--launcher", "fork", "-host", "a,b,localhost"];
    let outcome = run_script(&options, "[ $VERBENA_LAUNCHER_PID = $PPID ] && echo $PPID");
    let mut pids = outcome.lines();
    pids.dedup();
    assert_eq!(pids.len(), 3, "{outcome:?}");
}

/// A program closes all descriptors before `MPI_Init`: it is still one job, not a world of one for
/// each rank.
#[test]
fn ranks_that_close_their_line_before_the_start_are_an_error() {
    let close = format!("eval \"exec $PMI_FD>&-\"; exec {CLIENT} who finalize");
    let outcome = run(&["-n", "2", "bash", "-c", &close]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(99), ""), "{outcome:?}");
    assert!(outcome.err.contains("This rank has no line to mpiexec"), "{outcome:?}");
    let reuse = format!("eval \"exec $PMI_FD<>/dev/tcp/127.0.0.1/$0\"; exec {CLIENT} who finalize");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let outcome = run(&["-n", "1", "bash", "-c", &reuse, &port]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(99), ""), "{outcome:?}");
    let mut heard = String::new();
    std::io::Read::read_to_string(&mut listener.accept().unwrap().0, &mut heard).unwrap();
    assert_eq!(heard, "", "the program's own socket got what is for mpiexec");
}

#[test]
fn children_of_ranks_may_start_alone() {
    let script = format!("(eval \"exec $PMI_FD>&-\"; {CLIENT} who finalize; true); true");
    let outcome = run(&["-n", "2", "bash", "-c", &script]);
    assert_eq!((outcome.code, outcome.out.matches("rank 0 of 1").count()), (Some(0), 2), "{outcome:?}");
    assert!(outcome.err.contains("came up as a world of one"), "{outcome:?}");
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
    // mpiexec would end the rank; a lone socket with a closed other end stands for a dead launcher.
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
