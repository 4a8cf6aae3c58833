//! hypre's tests of its structured solvers, as Debian ships its source: built by our `mpicc`, run and judged by hypre's own
//! script, which compares iterations and residuals with those that its authors saved.
//!
//! They take 1 to 9 ranks, so most share cores; in `emptyproc` ranks without work poll by `MPI_Iprobe` for the others.

use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::sources::{built, make};
use verbena_tests::{shell, staged};

/// What the structured solvers need of hypre.
const PARTS: &str = "blas lapack utilities multivector krylov struct_mv struct_ls";

/// The tests among `TEST_struct`, and no other may be lost on the way.
const TESTS: usize = 25;

/// The folder with the test drivers, built from the unmodified upstream archive.
fn drivers() -> PathBuf {
    built("hypre", &format!("1 {PARTS}"), build).join("src/test")
}

fn build(home: &Path) {
    let source = home.join("src");
    let compiler = |variable: &str, name: &str| format!("{variable}={}", staged(name).display());
    let mut configure = Command::new("./configure");
    configure.arg(compiler("CC", "bin/mpicc")).arg(compiler("CXX", "bin/mpicxx"));
    configure.args(["CFLAGS=-O1 -w", "CXXFLAGS=-O1 -w", "--disable-fortran", "--without-superlu"]);
    shell(configure.current_dir(&source));
    shell(make(&source).arg("all").arg(format!("HYPRE_DIRS={PARTS}")));
    // hypre's own rule for its library wants the objects of all parts.
    let objects = format!(r"find {PARTS} -name '*.o' -o -name '*.obj' | xargs ar rcs hypre/lib/libHYPRE.a");
    shell(Command::new("sh").args(["-c", &objects]).current_dir(&source));
    shell(make(&source.join("test")).args(["struct", "struct_migrate"]));
}

/// The files of `TEST_struct` with this ending.
fn files(tests: &Path, ending: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(tests).expect("the tests").flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn hypre_passes_its_struct_tests() {
    let drivers = drivers();
    let tests = drivers.join("TEST_struct");
    files(&tests, "err").iter().for_each(|file| std::fs::remove_file(file).expect("an old result"));
    let mpiexec = format!("{} -n", staged("bin/mpiexec").display());
    let mut script = Command::new("timeout");
    script.args([
        "-k",
        "5",
        "300",
        "bash",
        "-c",
        "exec bash ./runtest.sh -mpi \"$0\" TEST_struct/*.sh",
        &mpiexec,
    ]);
    shell(script.current_dir(&drivers));
    let judged = files(&tests, "err");
    assert_eq!(judged.len(), TESTS, "{judged:?}");
    for file in judged {
        let complaint = std::fs::read_to_string(&file).expect("a result");
        assert!(complaint.is_empty(), "{}:\n{complaint}", file.display());
    }
}
