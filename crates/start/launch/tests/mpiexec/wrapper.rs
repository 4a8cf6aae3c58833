//! The compiler wrappers on an installation made up for the test.

use std::path::{Path, PathBuf};
use std::process::Command;

const MPICC: &str = env!("CARGO_BIN_EXE_mpicc");

/// PREFIX/bin/mpicc, PREFIX/include/mpi.h and a libmpi_abi.so whose one function returns 42.
fn installation(name: &str) -> PathBuf {
    let prefix = std::env::temp_dir().join(format!("launch-wrapper-{name}-{}", std::process::id()));
    for folder in ["bin", "include", "lib"] {
        std::fs::create_dir_all(prefix.join(folder)).unwrap();
    }
    std::fs::copy(MPICC, prefix.join("bin/mpicc")).unwrap();
    std::os::unix::fs::symlink("mpicc", prefix.join("bin/mpicxx")).unwrap();
    let header = "#ifdef __cplusplus\nextern \"C\"\n#endif\nint answer(void);\n";
    std::fs::write(prefix.join("include/mpi.h"), header).unwrap();
    std::fs::write(prefix.join("lib/answer.c"), "int answer(void) { return 42; }\n").unwrap();
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-o", "libmpi_abi.so", "answer.c"]).current_dir(prefix.join("lib"));
    assert!(build.status().unwrap().success());
    prefix
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn build_and_run(prefix: &Path, wrapper: &str, source: &str, text: &str) {
    std::fs::write(prefix.join(source), text).unwrap();
    let built = Command::new(prefix.join("bin").join(wrapper))
        .args([source, "-o", "program"])
        .current_dir(prefix)
        .status();
    assert!(built.unwrap().success());
    // No LD_LIBRARY_PATH: the program must find the library by itself.
    let status = Command::new(prefix.join("program")).env_remove("LD_LIBRARY_PATH").status().unwrap();
    assert_eq!(status.code(), Some(42));
}

#[test]
fn c_programs_build_and_find_the_library() {
    let prefix = installation("c");
    build_and_run(&prefix, "mpicc", "x.c", "#include <mpi.h>\nint main(void) { return answer(); }\n");
    std::fs::remove_dir_all(prefix).unwrap();
}

#[test]
fn cxx_programs_build_and_find_the_library() {
    let prefix = installation("cxx");
    let text = "#include <mpi.h>\n#include <vector>\nint main() { return std::vector<int>{answer()}[0]; }\n";
    build_and_run(&prefix, "mpicxx", "x.cc", text);
    std::fs::remove_dir_all(prefix).unwrap();
}

#[test]
fn show_tells_and_does_nothing() {
    let prefix = installation("show");
    let shown = output(Command::new(prefix.join("bin/mpicc")).args(["-show", "x.c"]));
    let real = prefix.canonicalize().unwrap();
    assert!(shown.starts_with(&format!("cc x.c -I{}/include -L", real.display())), "{shown}");
    let other =
        output(Command::new(prefix.join("bin/mpicc")).args(["-show", "x.c"]).env("VERBENA_CC", "tcc"));
    assert!(other.starts_with("tcc x.c"), "{other}");
    std::fs::remove_dir_all(prefix).unwrap();
}

#[test]
fn outside_an_installation_it_says_so() {
    let output = Command::new(MPICC).arg("x.c").env_remove("VERBENA_PREFIX").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("Found no mpi.h") && text.lines().count() == 4, "{text}");
}
