//! `mpi.h` compiles as C and C++ of several standards without a warning, and says what the ABI
//! says.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles `header.c` and runs it; it calls no MPI function, so it needs no library.
fn compile_and_run(compiler: &str, standard: &str, language: &str) {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("header-{standard}"));
    let output = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-pedantic", "-Werror", &format!("-std={standard}"), "-x", language])
        .arg("-I")
        .arg(folder().join("../../../include"))
        .arg(folder().join("tests/header.c"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{compiler} {standard}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{standard}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn c_programs_can_use_the_header() {
    for standard in ["c99", "c11", "gnu17"] {
        compile_and_run("cc", standard, "c");
    }
}

#[test]
fn cxx_programs_can_use_the_header() {
    for standard in ["c++98", "c++11", "c++17"] {
        compile_and_run("c++", standard, "c++");
    }
}
