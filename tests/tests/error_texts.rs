//! The facts in the messages about errors: the call with its arguments, for programs that ask for
//! the text as for those that are ended; one text for many ranks; the place of a crash; and what a
//! process logs.

use verbena_tests::{Ended, build_dir, job, program};

fn errors(ranks: u32, mode: &str) -> Ended {
    job(ranks, program("error_texts")).arg(mode).run()
}

/// The line of the program that begins so.
#[track_caller]
fn line<'a>(ended: &'a Ended, start: &str) -> &'a str {
    let found = ended.stdout.lines().find(|line| line.starts_with(start));
    found.unwrap_or_else(|| panic!("no line {start:?} in {ended:?}"))
}

#[test]
fn the_text_of_a_code_is_that_of_the_last_error() {
    let ended = errors(1, "return").ok();
    let before = line(&ended, "before");
    assert!(
        before.ends_with(": MPI_ERR_TRUNCATE: the message was longer than the receive buffer"),
        "{before}"
    );
    let rank = line(&ended, "rank (class 1, 1 letters): MPI_ERR_RANK: MPI_Send(buf=0x");
    for part in
        ["count=4, datatype=MPI_INT, dest=77, tag=5, comm=mine) failed: ", "communicator of 1 process"]
    {
        assert!(rank.contains(part), "no {part:?} in {rank}");
    }
    let truncated = line(&ended, "truncated (class 1, 1 letters): MPI_ERR_TRUNCATE: MPI_Wait(request=");
    for part in
        ["16 bytes were sent, the receive has room for 8, from rank 0 with tag 3, on mine", "what to do: "]
    {
        assert!(truncated.contains(part), "no {part:?} in {truncated}");
    }
}

#[test]
fn a_fatal_error_names_the_call_with_its_arguments() {
    let ended = errors(1, "rank");
    assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    let ended = ended.complains("verbena: process 0 of 1: MPI_Send(buf=0x");
    let ended = ended.complains("count=4, datatype=MPI_INT, dest=77, tag=5, comm=mine) failed: ");
    let ended = ended.complains("mpiexec: Rank 0 failed in MPI_Send with code ");
    assert!(!ended.stderr.contains("called MPI_Abort"), "{ended:?}");
}

/// All ranks fail alike at the same moment: one text, and who else failed so.
#[test]
fn ranks_that_fail_alike_say_so_once() {
    let ended = errors(4, "rank");
    assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    assert_eq!(ended.stderr.matches("likely cause: ").count(), 1, "{ended:?}");
    assert_eq!(ended.stderr.matches(" failed: ").count(), 1, "{ended:?}");
}

#[test]
fn a_crash_is_told_with_its_place() {
    let crashes = |mode: &str| job(2, program("crashes")).arg(mode).run();
    for (mode, code, name) in
        [("address", 139, "SIGSEGV"), ("division", 136, "SIGFPE"), ("abort", 134, "SIGABRT")]
    {
        let ended = crashes(mode);
        assert_eq!((ended.code, ended.hung), (code, false), "{mode}: {ended:?}");
        let ended = ended.complains(&format!("Rank 1 was killed by signal {} ({name})", code - 128));
        let ended = ended.complains("crash (crashes.c:");
        ended.complains("called from main (crashes.c:");
    }
    crashes("division").complains("likely cause: an error in the program: an integer was divided by zero");
    let ended = crashes("buffer");
    assert_eq!(ended.code, 139, "{ended:?}");
    ended.complains("called from crash (crashes.c:").complains("or in the memory of a GPU");
    let ended = crashes("stack");
    assert_eq!(ended.code, 139, "{ended:?}");
    ended.complains("overflow (crashes.c:");
}

#[test]
fn the_place_of_a_crash_is_told_only_if_wanted() {
    let ended = job(2, program("crashes")).arg("address").env("VERBENA_CRASH_REPORTS", "0").run();
    assert_eq!(ended.code, 139, "{ended:?}");
    let ended = ended.complains("Rank 1 was killed by signal 11 (SIGSEGV)");
    assert!(!ended.stderr.contains("crashes.c:"), "{ended:?}");
}

#[test]
fn a_program_with_a_handler_of_its_own_is_left_alone() {
    let ended = job(2, program("crashes")).arg("own").run();
    assert_eq!(ended.code, 7, "{ended:?}");
    let ended = ended.complains("the program's own handler");
    assert!(!ended.stderr.contains("crashes.c:"), "{ended:?}");
}

#[test]
fn a_log_says_which_channel_reached_whom() {
    let ended = job(2, program("point")).env("VERBENA_LOG", "info").run().ok();
    let ended = ended.complains("verbena: process 0 of 2: channels open: loopback, shm");
    let open = ended.stderr.lines().find(|line| line.contains("channels open: ")).expect("a line");
    assert!(!open.contains("ofi"), "nobody needs libfabric on one host: {open}");
    let ended = ended.complains("channel ofi is not open: libfabric is not needed");
    let ended = ended.complains("verbena: process 1 of 2: to rank 0: packets over shm (the quickest: ");
    ended.complains("not used: loopback (does not reach it)");
    let file = build_dir().join("log-of-point");
    let job = job(2, program("point")).env("VERBENA_LOG", "debug").env("VERBENA_LOG_FILE", &file);
    let ended = job.env("VERBENA_NODE_LEARN", "0").run().ok();
    assert_eq!(ended.stderr, "", "{ended:?}");
    let mut logs = String::new();
    for rank in 0..2 {
        let text = std::fs::read_to_string(format!("{}.{rank}", file.display())).expect("a log");
        assert!(text.contains(&format!("process {rank} of 2: setting VERBENA_LOG=debug")), "{text}");
        assert!(text.contains("messages: "), "{text}");
        logs += &text;
    }
    // The program's longest messages go by single copies where the kernel allows them.
    let counted = logs.lines().any(|line| line.contains(": cma: ") && line.contains(" bytes read from "));
    assert_eq!(logs.contains("long messages over cma"), counted, "{logs}");
}
