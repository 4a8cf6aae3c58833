//! The ways to build programs on Verbena: the wrappers, pkg-config, CMake, and an installation that
//! was moved.

use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::{Job, job, scratch, shell, staged, staged_build, top};

fn source(path: &str) -> PathBuf {
    top().join("tests/programs").join(path)
}

#[track_caller]
fn counts_two_ranks(program: impl AsRef<std::ffi::OsStr>) {
    let ended = job(2, program).run().ok();
    assert!(ended.stdout.contains("hello: ok with 2 ranks"), "{ended:?}");
}

#[test]
fn the_wrappers_tell_what_they_would_run_and_run_it() {
    let lib = staged("lib/libmpi_abi.so").with_file_name("");
    for (wrapper, compiler, file) in [
        ("mpicc", "cc", "hello.c"),
        ("mpicxx", "c++", "hello.cc"),
        ("mpifort", "gfortran", "fortran/hello.f90"),
        ("mpif90", "gfortran", "fortran/hello.f90"),
    ] {
        let out = scratch(&format!("wrapper-{wrapper}")).join("hello");
        let wrapper = staged("bin").join(wrapper);
        let line = shell(Command::new(&wrapper).arg("-show").arg(source(file)).arg("-o").arg(&out)).stdout;
        assert!(line.starts_with(&format!("{compiler} ")) && line.contains("-lmpi_abi"), "{line}");
        assert!(line.contains(lib.to_str().expect("utf-8").trim_end_matches('/')), "{line}");
        // The line must be a command that works by itself, and the wrapper must do the same.
        shell(Command::new("sh").arg("-c").arg(&line));
        counts_two_ranks(&out);
        std::fs::remove_file(&out).expect("built");
        shell(Command::new(&wrapper).arg(source(file)).arg("-o").arg(&out));
        counts_two_ranks(&out);
    }
}

#[test]
fn a_wrapper_passes_the_compiler_s_failure_on() {
    let broken = scratch("broken").join("broken.c");
    std::fs::write(&broken, "int main(void) { return nothing; }\n").expect("writable");
    let output = Command::new(staged("bin/mpicc")).arg(&broken).output().expect("mpicc starts");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing"), "{output:?}");
}

#[test]
fn pkg_config_gives_flags_that_work() {
    for (page, compiler, file) in [("mpi", "cc", "hello.c"), ("mpifort", "gfortran", "fortran/hello.f90")] {
        let mut asked = Command::new("pkg-config");
        asked.args(["--cflags", "--libs", page]).env("PKG_CONFIG_PATH", staged("lib/pkgconfig"));
        let flags = shell(&mut asked).stdout;
        let out = scratch(&format!("pkg-config-{page}")).join("hello");
        let mut command = Command::new(compiler);
        shell(command.arg(source(file)).arg("-o").arg(&out).args(flags.split_whitespace()));
        counts_two_ranks(&out);
    }
}

#[test]
fn cmake_finds_and_uses_us() {
    let build = scratch("cmake");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source("cmake")).arg("-B").arg(&build);
    // As a user's shell would have it: our bin first in PATH, nothing else said.
    let path = format!("{}:{}", staged("bin").display(), std::env::var("PATH").expect("PATH"));
    let said = shell(configure.env("PATH", &path)).stdout;
    assert!(said.contains(&format!("{}", staged("include").display())), "{said}");
    shell(Command::new("cmake").arg("--build").arg(&build));
    for name in ["hello_c", "hello_cxx", "hello_fortran"] {
        counts_two_ranks(build.join(name));
    }
    // `add_test` with MPIEXEC_EXECUTABLE: the launcher that FindMPI found is ours too.
    let tested =
        shell(Command::new("ctest").arg("--test-dir").arg(&build).arg("-V").env("PATH", &path)).stdout;
    assert!(tested.contains("hello: ok with 2 ranks"), "{tested}");
    assert!(tested.contains(&format!("{}", staged("bin/mpiexec").display())), "{tested}");
}

/// An installation is used where it lies, also after it was moved: the wrappers find their own
/// place.
#[test]
fn an_installation_can_be_moved() {
    let (first, moved) = (scratch("install-first"), scratch("install-moved").join("with space"));
    install(&first);
    std::fs::rename(&first, &moved).expect("rename");
    let out = scratch("install-program").join("hello");
    shell(Command::new(moved.join("bin/mpicc")).arg(source("hello.c")).arg("-o").arg(&out));
    let needs = shell(Command::new("ldd").arg(&out)).stdout;
    assert!(needs.contains(&format!("{}", moved.join("lib/libmpi_abi.so.1").display())), "{needs}");
    let ended = Job::under(&moved.join("bin/mpiexec"), 2).arg(&out).run().ok();
    assert!(ended.stdout.contains("hello: ok with 2 ranks"), "{ended:?}");
}

/// Runs what `make install PREFIX=...` runs, with the files of the staged installation as the
/// build.
fn install(prefix: &Path) {
    let build = scratch("install-build");
    staged_build(&build);
    shell(Command::new(top().join("packaging/install")).arg(prefix).env("BUILD", &build));
}
