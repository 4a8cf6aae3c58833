//! hypre's tests of its structured solvers, as Debian ships its source: run and judged by hypre's
//! own script, which compares iterations and residuals with those that its authors saved.
//!
//! They take 1 to 9 ranks, so most share cores; in `emptyproc` ranks without work poll by
//! `MPI_Iprobe` for the others.

use super::{Figure, Purpose, Run};
use crate::shell;
use crate::sources::{Tools, built, make};
use crate::world::World;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The parts of hypre that the structured solvers need.
const PARTS: &str = "blas lapack utilities multivector krylov struct_mv struct_ls";

/// The tests among `TEST_struct`, and no other may be lost on the way.
const TESTS: usize = 25;

/// The folder with the test drivers, built from the unmodified upstream archive.
fn drivers(tools: &Tools) -> PathBuf {
    built(tools, "hypre", &format!("1 {PARTS}"), |home| build(tools, home)).join("src/test")
}

fn build(tools: &Tools, home: &Path) {
    let source = home.join("src");
    let mut configure = Command::new("./configure");
    configure.arg(tools.cc("CC")).arg(format!("CXX={}", tools.mpicxx.display()));
    configure.args(["CFLAGS=-O1 -w", "CXXFLAGS=-O1 -w", "--disable-fortran", "--without-superlu"]);
    shell(configure.current_dir(&source));
    shell(make(&source).arg("all").arg(format!("HYPRE_DIRS={PARTS}")));
    // hypre's own rule for its library wants the objects of all parts.
    let objects = format!(r"find {PARTS} -name '*.o' -o -name '*.obj' | xargs ar rcs hypre/lib/libHYPRE.a");
    shell(Command::new("sh").args(["-c", &objects]).current_dir(&source));
    shell(make(&source.join("test")).args(["struct", "struct_migrate"]));
}

/// Returns the runs.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let drivers = drivers(&world.tools);
    match purpose {
        Purpose::Checked => vec![script(&drivers, "TEST_struct/*.sh", TESTS, 9)],
        Purpose::Nodes => vec![script(&drivers, "TEST_struct/pfmgbase2d.sh TEST_struct/smgbase2d.sh", 2, 4)],
        Purpose::Timed => vec![solve(&drivers, 1, "pfmg"), solve(&drivers, 0, "smg")],
    }
}

/// Runs hypre's own script on these tests.
fn script(drivers: &Path, tests: &str, number: usize, ranks: u32) -> Run {
    let drivers = drivers.display();
    Run {
        name: "hypre-struct".into(),
        ranks,
        seconds_max: 300,
        files: vec![],
        script: format!(
            "cd {drivers}\nrm -f TEST_struct/*.err\nbash ./runtest.sh -mpi \"$LAUNCH\" {tests} >&2\n\
             for file in TEST_struct/*.err; do echo \"judged $file\"; cat $file; done"
        ),
        judge: Box::new(move |ended| {
            let (judged, complaints): (Vec<&str>, Vec<&str>) =
                ended.stdout.lines().partition(|line| line.starts_with("judged "));
            assert!(complaints.is_empty(), "{}", ended.stdout);
            assert_eq!(judged.len(), number, "{}", ended.stdout);
            vec![]
        }),
    }
}

/// Runs one solver on a cube of 40 points a side for each of 2 ranks.
fn solve(drivers: &Path, solver: u32, name: &str) -> Run {
    let program = drivers.join("struct").display().to_string();
    Run {
        name: format!("hypre-{name}"),
        ranks: 2,
        seconds_max: 120,
        files: vec![],
        script: format!("$LAUNCH 2 {program} -n 40 40 40 -P 2 1 1 -solver {solver}"),
        judge: Box::new(|ended| {
            let number = |words: &str| {
                let line = ended.stdout.lines().find_map(|line| line.trim().strip_prefix(words));
                let word = line.and_then(|rest| rest.split_whitespace().find_map(|word| word.parse().ok()));
                word.unwrap_or_else(|| panic!("no {words} in\n{}", ended.stdout))
            };
            let residual: f64 = number("Final Relative Residual Norm");
            assert!(residual < 1e-6, "{}", ended.stdout);
            let times = ended.stdout.lines().filter_map(|line| line.trim().strip_prefix("wall clock time ="));
            let seconds = times.filter_map(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            vec![Figure::new("set up and solve", "s", seconds.sum())]
        }),
    }
}
