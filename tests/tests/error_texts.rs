//! The facts in the messages about errors: the call with its arguments, for programs that ask for
//! the text as for those that are ended; one text for many ranks; the place of a crash; and what a
//! process logs.

use verbena_tests::{Ended, build_dir, compile, job, program, staged};

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
fn texts_have_names_for_handles_and_strings_and_say_what_to_do() {
    let ended = errors(1, "names").ok();
    for (what, parts) in [
        ("lookup", ["MPI_Lookup_name(service_name=\"no such\", info=MPI_INFO_NULL", "MPI_ERR_NAME: "]),
        ("open", ["filename=\"/no/such\"", "info=MPI_INFO_NULL"]),
        ("type", ["datatype=MPI_DATATYPE_NULL", "; likely cause: the null handle was passed"]),
        ("comm", ["comm=MPI_COMM_NULL", "; on: handle MPI_COMM_NULL"]),
        ("spawn", ["MPI_ERR_SPAWN: MPI_Comm_spawn(", "failed: processes could not be spawned"]),
    ] {
        let text = line(&ended, &format!("{what} (class 1, 1 letters): "));
        for part in parts.iter().chain(&["; on: ", "; likely cause: ", "; what to do: "]) {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
}

#[test]
fn a_fatal_error_names_the_call_with_its_arguments() {
    let ended = errors(1, "rank");
    assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    let ended = ended.complains("verbena: process 0 of 1: MPI_Send(buf=0x");
    let ended = ended.complains("count=4, datatype=MPI_INT, dest=77, tag=5, comm=mine) failed: ");
    let ended = ended.complains("  in the program: at main (error_texts.c:");
    let ended = ended.complains("mpiexec: Rank 0 failed in MPI_Send with code ");
    assert!(!ended.stderr.contains("called MPI_Abort"), "{ended:?}");
}

/// The place is told though it is hard to find, and if it is not, the error is.
#[test]
fn an_error_is_told_from_wherever_it_was_called() {
    let fails = |way: &str, argument: &str| {
        let ended = job(1, program("error_places")).arg(way).arg(argument).run();
        assert!(ended.code != 0 && !ended.hung, "{way}: {ended:?}");
        ended.complains("failed: ")
    };
    let (source, library) = (build_dir().join("one_function.c"), build_dir().join("one_function.so"));
    std::fs::write(&source, "int one(void) { return 1; }\n").expect("writable");
    compile(&staged("bin/mpicc"), &source, &library, &["-shared", "-fPIC"]);
    let library = library.display().to_string();
    let in_program = "  in the program: at fails (error_places.c:";
    for (way, place) in [
        ("name", "called from mpi_step (error_places.c:"),
        ("callback", "called from copies (error_places.c:"),
        ("files", "called from with_files (error_places.c:"),
    ] {
        let ended = fails(way, &library).complains(in_program).complains(place);
        assert!(ended.stderr.contains("what to do: "), "{ended:?}");
    }
    fails("pointer", "").complains("at call_behind, called from main (error_places.c:");
    let ended = fails("spoilt", "").complains("what to do: ");
    assert!(ended.code < 128, "{ended:?}");
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
    for pointer in ["null", "wild", "data"] {
        let ended = crashes(pointer);
        assert_eq!((ended.code, ended.hung), (139, false), "{pointer}: {ended:?}");
        let ended = ended.complains("at crash (crashes.c:").complains("called from main (crashes.c:");
        ended.complains("likely cause: an error in the program: a wrong address");
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
