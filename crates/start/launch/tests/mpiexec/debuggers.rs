//! Debuggers: the table of ranks by MPIR, gdb for some ranks, core files. The tests use the real
//! gdb.

use crate::harness::{CLIENT, MPIEXEC, begin, mpiexec, run, run_script};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::{Lack, skip};

/// Returns whether gdb is here and may trace; else says that the test is skipped.
fn has_gdb() -> bool {
    let traced = Command::new("gdb").args(["-batch", "-nx", "-ex", "run", "--args", "true"]).output();
    let works =
        traced.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("exited normally"));
    if !works {
        skip(Lack::Optional, "there is no gdb that may trace processes");
    }
    works
}

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("verbena-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The field of the table's row at this offset, as gdb reads it.
fn field(kind: &str, row: u32, offset: u32) -> String {
    format!("*({kind}*)(*(long*)&MPIR_proctable + {})", 24 * row + offset)
}

#[test]
fn a_debugger_finds_every_rank_and_holds_them_until_it_goes_on() {
    if !has_gdb() {
        return;
    }
    let row = |row: u32| {
        let (host, program, pid) = (field("char*", row, 0), field("char*", row, 8), field("int", row, 16));
        format!("printf \"row %s %s %d\\n\", {host}, {program}, {pid}")
    };
    let exchanged = "printf \"abort %d\\n\", *(int*)&MPIR_debug_state";
    let mut gdb = Command::new("gdb");
    gdb.args([
        "-batch",
        "-nx",
        "-ex",
        "set language c",
        "-ex",
        "set breakpoint pending on",
        "-ex",
        "break MPIR_Breakpoint",
    ]);
    gdb.args(["-ex", "start", "-ex", "set *(int*)&MPIR_being_debugged = 1", "-ex", "continue"]);
    gdb.args([
        "-ex",
        "printf \"state %d size %d\\n\", *(int*)&MPIR_debug_state, *(int*)&MPIR_proctable_size",
    ]);
    gdb.args(["-ex", &row(0), "-ex", &row(1), "-ex", "continue", "-ex", exchanged, "-ex", "continue"]);
    gdb.args(["--args", MPIEXEC, "-n", "2", CLIENT, "exchange", "exit=3@1", "sleep=20000"]);
    let outcome = begin(&mut gdb).finish();
    assert!(outcome.out.contains("state 1 size 2"), "{outcome:?}");
    let rows: Vec<&str> = outcome.out.lines().filter(|line| line.starts_with("row ")).collect();
    assert_eq!(rows.len(), 2, "{outcome:?}");
    let pids: Vec<i32> = rows.iter().map(|row| row.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| *pid > 1) && pids[0] != pids[1], "{outcome:?}");
    assert!(rows.iter().all(|row| row.contains(CLIENT)), "{outcome:?}");
    // No rank has passed its first exchange while the debugger looked at the table.
    let (table, exchange) = (outcome.out.find("row "), outcome.out.find("exchanged 2"));
    assert!(table < exchange, "{outcome:?}");
    assert!(outcome.out.contains("abort 2"), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// The symbols stay where debuggers look when the symbol table is stripped off.
#[test]
fn a_stripped_mpiexec_still_has_the_symbols() {
    let folder = folder("stripped");
    let stripped = folder.join("mpiexec");
    let strip = Command::new("strip").args(["--strip-unneeded", "-o"]).arg(&stripped).arg(MPIEXEC).status();
    assert!(strip.expect("binutils").success());
    let symbols = Command::new("nm").arg("-D").arg(&stripped).output().expect("binutils");
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    for name in [
        "MPIR_Breakpoint",
        "MPIR_being_debugged",
        "MPIR_debug_abort_string",
        "MPIR_debug_state",
        "MPIR_i_am_starter",
        "MPIR_partial_attach_ok",
        "MPIR_proctable",
        "MPIR_proctable_size",
    ] {
        assert!(symbols.lines().any(|line| line.ends_with(&format!(" {name}"))), "{name}: {symbols}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A terminal that lets gdb do something by itself and writes what it says to a file.
fn terminal(folder: &Path, commands: &str) -> PathBuf {
    let path = folder.join("terminal");
    let script =
        format!("#!/bin/sh\nexec \"$@\" -batch -nx {commands} >>{}/said.$$ 2>&1\n", folder.display());
    std::fs::write(&path, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path
}

/// Everything that the gdbs said.
fn said(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let of_gdb = files.filter(|file| file.file_name().to_string_lossy().starts_with("said."));
    of_gdb.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect()
}

#[test]
fn gdb_has_a_rank_at_the_beginning_of_its_program() {
    if !has_gdb() {
        return;
    }
    let folder = folder("gdb");
    let commands = "-ex 'tbreak main' -ex continue -ex bt -ex detach";
    let terminal = terminal(&folder, commands);
    let terminal = terminal.to_str().unwrap();
    let ranks = ["--gdb", "1-2", "--terminal", terminal, "-n", "4", CLIENT, "exchange", "finalize"];
    let outcome = run(&ranks);
    let said = said(&folder);
    assert_eq!(outcome.code, Some(0), "{outcome:?}\n{said:?}");
    assert_eq!(outcome.lines(), ["exchanged 4"; 4], "{outcome:?}\n{said:?}");
    assert_eq!(said.len(), 2, "one gdb for each rank: {said:?}");
    assert!(said.iter().all(|said| said.contains("#0") && said.contains("main")), "{said:?}");
    outcome.assert_nothing_left();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_terminal_that_cannot_be_opened_ends_the_job() {
    if !has_gdb() {
        return;
    }
    let outcome = run(&["--gdb", "0", "--terminal", "/nowhere/terminal", "-n", "2", "sleep", "20"]);
    assert_eq!(outcome.code, Some(137), "{outcome:?}");
    assert!(outcome.err.contains("gdb's terminal could not be opened"), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn ranks_that_are_not_there_are_refused() {
    let outcome = run(&["--gdb", "7", "-n", "1", "true"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.err.contains("There are no such ranks to debug"), "{outcome:?}");
    assert!(outcome.err.contains("--gdb names rank 7, the job has 1"), "{outcome:?}");
}

/// The message about a crash names the core file, if the kernel puts it into the rank's directory.
#[test]
fn a_crash_names_its_core_file() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let folder = folder("core");
    let script = "ulimit -c unlimited && kill -SEGV $$";
    let mut command = mpiexec(&["-n", "1", "-wdir", folder.to_str().unwrap(), "sh", "-c", script]);
    let outcome = begin(&mut command).finish();
    assert_eq!(outcome.code, Some(139), "{outcome:?}");
    let written: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().flatten().map(|file| file.path()).collect();
    match &written[..] {
        [core] => {
            let named = format!("core file {}: gdb sh {}", core.display(), core.display());
            assert!(outcome.err.contains(&named), "{outcome:?}");
        }
        _ => skip(Lack::Kernel, &format!("no core file in the directory of the rank: {}", pattern.trim())),
    }
    let _ = std::fs::remove_dir_all(folder);
    let without = run_script(&["-n", "1"], "ulimit -c 0; kill -SEGV $$");
    assert!(!without.err.contains("core file /"), "{without:?}");
}
