//! Options, MPMD, environment, directories, and programs that cannot be started.

use crate::harness::{CLIENT, MPIEXEC, begin, run, run_script};
use std::process::Command;
use verbena_testing::files::Folder;

#[test]
fn mpmd_counts_ranks_through_all_parts() {
    let outcome = run(&["-n", "2", CLIENT, "who", "finalize", ":", "-n", "1", CLIENT, "who", "finalize"]);
    // There are more processes to be had only where there are more cores.
    let universe = Some(verbena_launch::sys::affinity().len()).filter(|cores| *cores > 3);
    let line =
        |(rank, part)| format!("rank {rank} of 3 kind pmi-1 universe {universe:?} appnum Some({part})");
    let expected: Vec<String> = [(0, 0), (1, 0), (2, 1)].map(line).into();
    assert_eq!((outcome.code, outcome.lines()), (Some(0), expected.iter().map(String::as_str).collect()));
}

/// The slots of the hosts are room for as many processes, and the option goes before them.
#[test]
fn the_user_says_how_many_processes_there_is_room_for() {
    let slots = ["-H", "localhost:500", "-n", "1"];
    for (options, size) in [
        (&slots[..], 500),
        (&["-usize", "900", "-n", "1"], 900),
        (&[&["-usize", "900"], &slots[..]].concat(), 900),
        (&[&["-usize", "SYSTEM"], &slots[..]].concat(), 500),
    ] {
        let outcome = run(&[options, &[CLIENT, "who", "finalize"]].concat());
        assert!(outcome.out.contains(&format!("universe Some({size})")), "{options:?}: {outcome:?}");
    }
    assert_ne!(run(&["-usize", "x", "-n", "1", "true"]).code, Some(0));
}

#[test]
fn variables_for_one_program_and_for_all() {
    let show = "echo $PMI_RANK $A $B";
    let outcome = run(&[
        "-genv", "A", "all", "-n", "1", "-env", "B", "own", "sh", "-c", show, ":", "-n", "1", "sh", "-c",
        show,
    ]);
    assert_eq!(outcome.lines(), ["0 all own", "1 all"]);
}

#[test]
fn ranks_know_their_place_on_the_node() {
    let outcome = run_script(&["-n", "2"], "echo $PMI_RANK $VERBENA_LOCAL_RANK/$VERBENA_LOCAL_SIZE");
    assert_eq!(outcome.lines(), ["0 0/2", "1 1/2"]);
}

#[test]
fn the_working_directory() {
    let outcome = run(&["-n", "1", "-wdir", "/usr", "pwd"]);
    assert_eq!(outcome.out, "/usr\n");
    let outcome = run(&["-n", "1", "-wdir", "/no/such/place", "pwd"]);
    assert_eq!(outcome.code, Some(127));
    assert!(outcome.err.contains("-wdir /no/such/place"), "{outcome:?}");
}

/// MPI-5.0, 11.5, on this host and by an agent.
#[test]
fn options_of_the_standard_for_one_program() {
    let files = [
        ("tool-of-a-test", "#!/bin/sh\necho found $PMI_SIZE in $PWD\n"),
        ("options", "-wdir /usr\n-n 2 # of three\n"),
    ];
    let folder = Folder::new("standard", &files);
    let (tool, options) = (folder.0.join("tool-of-a-test"), folder.0.join("options"));
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("/no/such/place:{}", folder.0.display());
    for hosts in [&[][..], &["--launcher", "fork", "-host", "a:2,b:2"]] {
        let outcome = |words: &[&str]| run(&[hosts, words].concat());
        let found =
            outcome(&["-path", &path, "-wdir", "/usr", "-n", "3", "-soft", "2:9:2", "tool-of-a-test"]);
        assert_eq!(found.lines(), ["found 2 in /usr"; 2], "{found:?}");
        let by_file = outcome(&["-file", options.to_str().unwrap(), "-path", &path, "tool-of-a-test"]);
        assert_eq!(by_file.lines(), ["found 2 in /usr"; 2], "{by_file:?}");
        let missing = outcome(&["-n", "1", "-path", &path, "no-such-program"]);
        assert!(missing.code == Some(127) && missing.err.contains("of -path"), "{missing:?}");
        assert_eq!(outcome(&["-n", "1", "-arch", std::env::consts::ARCH, "true"]).code, Some(0));
        for wrong in [["-arch", "sparc"], ["-soft", "3-4"], ["-soft", "5"], ["-file", "/no/such/file"]] {
            let refused = outcome(&[&["-n", "2"], &wrong[..], &["echo", "started"]].concat());
            assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
            assert_eq!(refused.err.lines().count(), 4, "{refused:?}");
        }
    }
}

#[test]
fn programs_that_cannot_be_started() {
    assert!(run(&["/tmp"]).err.contains("it is a directory"));
    for program in ["no-such-program", "/no/such/program", "/etc/passwd", "/tmp"] {
        let outcome = run(&["-n", "2", "sleep", "20", ":", "-n", "2", program]);
        assert_eq!(outcome.code, Some(127), "{outcome:?}");
        assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
        assert!(outcome.err.contains(&format!("mpiexec: Could not start {program}")), "{outcome:?}");
        outcome.assert_nothing_left();
    }
}

/// The message names the limit, wherever it is hit, and does not blame the program.
#[test]
fn too_few_descriptors() {
    let mut failures = 0;
    for limit in 10..24 {
        let line = format!("ulimit -n {limit}; exec {MPIEXEC} -n 3 sleep 0");
        let outcome = begin(Command::new("sh").args(["-c", &line])).finish();
        if outcome.code != Some(0) {
            failures += 1;
            assert_eq!(outcome.err.lines().count(), 4, "{limit}: {outcome:?}");
            assert!(outcome.err.contains("ulimit -n"), "{limit}: {outcome:?}");
        }
        outcome.assert_nothing_left();
    }
    assert!(failures > 3, "{failures}");
}

/// `ulimit -s 64` is too little for a buffer of 64 KiB.
#[test]
fn a_small_stack_is_enough() {
    let line =
        format!("ulimit -s 64; exec {MPIEXEC} --launcher fork -host a,localhost {CLIENT} exchange finalize");
    let outcome = begin(Command::new("sh").args(["-c", &line])).finish();
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
}

#[test]
fn a_wrong_command_line_starts_nothing() {
    let outcome = run(&["-n", "2", "-frobnicate", "echo", "started"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(2), ""), "{outcome:?}");
    let outcome = run(&["-host", "elsewhere:x", "echo", "started"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(2), ""), "{outcome:?}");
}

#[test]
fn help_and_version() {
    for option in ["-help", "--help", "-h", "-version", "--version", "-V"] {
        let outcome = run(&[option]);
        assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{option}");
        assert!(outcome.out.contains("mpiexec"), "{option}: {outcome:?}");
    }
}
