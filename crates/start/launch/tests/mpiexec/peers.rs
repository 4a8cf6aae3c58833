//! MPICH's launcher and PRRTE, that of Open MPI, start our processes, and ours starts programs of
//! MPICH. A test without its peer says so on standard error and passes. MPICH is expected in
//! `VERBENA_MPICH=PREFIX` or where `cargo xtask peers` installs it (`target/peers/mpich`); Open MPI
//! in `VERBENA_OPENMPI=PREFIX` or in `target/peers/openmpi`.

use crate::harness::{CLIENT, Outcome, begin, mpiexec, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::{Lack, skip};

const STEPS: [&str; 7] =
    [CLIENT, "who", "exchange=3000", "exchange=100", "barrier", "exchange=0", "finalize"];

/// MPICH's `bin` folder. A prefix that the user names must hold it; the default one may be missing.
fn mpich() -> Option<PathBuf> {
    let bin = match std::env::var_os("VERBENA_MPICH") {
        Some(prefix) => PathBuf::from(prefix).join("bin"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers/mpich/bin"),
    };
    let there = bin.join("mpiexec").is_file();
    assert!(there || std::env::var_os("VERBENA_MPICH").is_none(), "no mpiexec in {}", bin.display());
    if !there {
        skip(
            Lack::Installed,
            "MPICH is not installed; run `cargo xtask peers --quick`, or set VERBENA_MPICH to its prefix",
        );
    }
    there.then_some(bin)
}

/// PRRTE's launcher, if Open MPI is installed.
fn prterun() -> Option<PathBuf> {
    let prefix = std::env::var_os("VERBENA_OPENMPI").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers/openmpi"),
        PathBuf::from,
    );
    let prterun = prefix.join("bin/prterun");
    let there = prterun.is_file();
    if !there {
        skip(Lack::Optional, "Open MPI is not installed; run `cargo xtask peers`, or set VERBENA_OPENMPI");
    }
    there.then_some(prterun)
}

/// Every option that the help of Hydra shows is done, noted and ignored, or refused with what to
/// write instead: none is just unknown.
#[test]
fn every_option_of_mpichs_mpiexec_is_known() {
    let Some(bin) = mpich() else { return };
    let output = Command::new(bin.join("mpiexec")).arg("-help").output().expect("MPICH's mpiexec starts");
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let shown = help.lines().filter_map(|line| line.strip_prefix("    -")?.split_whitespace().next());
    let names: Vec<&str> = shown.flat_map(|names| names.split('/')).collect();
    assert!(names.len() > 40, "{help}");
    // Some options write files.
    let folder = std::env::temp_dir().join(format!("launch-hydra-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    for name in names {
        let option = format!("-{}", name.trim_start_matches('-'));
        // An option without a value takes the number for the program, which is not there.
        let outcome = begin(mpiexec(&[&option, "0", "true"]).current_dir(&folder)).finish();
        assert!(!outcome.err.contains("unexpected argument"), "{option}: {outcome:?}");
    }
    std::fs::remove_dir_all(&folder).expect("own folder");
}

/// Runs our processes under PRRTE, which speaks PMIx only.
fn under_prrte(prterun: &Path, ranks: &str, steps: &[&str]) -> Outcome {
    let options = ["--allow-run-as-root", "--oversubscribe", "-n", ranks];
    begin(Command::new(prterun).args(options).args(steps)).finish()
}

#[test]
fn prrte_starts_ours_over_pmix() {
    let Some(prterun) = prterun() else { return };
    let outcome = under_prrte(&prterun, "4", &STEPS);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.out.matches("exchanged 4").count(), 12, "{outcome:?}");
    assert_eq!(outcome.out.matches("of 4 kind pmix").count(), 4, "{outcome:?}");
    let outcome = under_prrte(&prterun, "1", &STEPS);
    assert_eq!((outcome.code, outcome.out.matches("exchanged 1").count()), (Some(0), 3), "{outcome:?}");
}

#[test]
fn prrte_hears_our_abort() {
    let Some(prterun) = prterun() else { return };
    let outcome = under_prrte(&prterun, "3", &[CLIENT, "exchange", "abort=7@1", "sleep=20000"]);
    assert_eq!(outcome.code, Some(7), "{outcome:?}");
    assert!(outcome.took.as_secs() < 10, "{outcome:?}");
}

fn hydra(bin: &Path, options: &[&str], pmi: &str, steps: &[&str]) -> Outcome {
    begin(Command::new(bin.join("mpiexec")).args(options).args(steps).env("VERBENA_PMI", pmi)).finish()
}

fn assert_exchanged(outcome: &Outcome, kind: &str) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.out.matches("exchanged 3").count(), 9, "{outcome:?}");
    assert_eq!(outcome.out.matches(&format!("of 3 kind {kind}")).count(), 3, "{outcome:?}");
}

#[test]
fn mpich_hydra_starts_ours_over_every_line() {
    let Some(bin) = mpich() else { return };
    let port = ["-pmi-port", "-n", "3"];
    for (options, pmi, kind) in
        [(&port[1..], "", "pmi-1"), (&port[1..], "2", "pmi-2"), (&port[..], "", "pmi-1")]
    {
        assert_exchanged(&hydra(&bin, options, pmi, &STEPS), kind);
    }
}

#[test]
fn mpich_hydra_hears_our_abort() {
    let Some(bin) = mpich() else { return };
    for pmi in ["1", "2"] {
        let outcome = hydra(&bin, &["-n", "3"], pmi, &[CLIENT, "exchange", "abort=7@1", "sleep=20000"]);
        assert_eq!(outcome.code, Some(7), "{outcome:?}");
        assert!(outcome.took.as_secs() < 5, "{outcome:?}");
    }
}

/// A program linked against MPICH's own library talks to our mpiexec.
#[test]
fn mpich_programs_run_under_our_mpiexec() {
    let Some(bin) = mpich() else { return };
    let source = r#"#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d\n", sum);
    if (argc > 1 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Finalize();
    return 0;
}
"#;
    let folder = std::env::temp_dir().join(format!("launch-mpich-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sum.c"), source).unwrap();
    let built = Command::new(bin.join("mpicc")).args(["sum.c", "-o", "sum"]).current_dir(&folder).status();
    assert!(built.unwrap().success());
    let program = folder.join("sum").to_str().unwrap().to_owned();
    let outcome = run(&["-n", "3", &program]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "sum 3\nsum 3\nsum 3\n"), "{outcome:?}");
    assert_eq!(run(&["-n", "3", &program, "abort"]).code, Some(9));
    let hosts = ["--launcher", "fork", "-host", "a:2,b"];
    let outcome = run(&[&hosts[..], &[&program]].concat());
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "sum 3\nsum 3\nsum 3\n"), "{outcome:?}");
    std::fs::remove_dir_all(folder).unwrap();
}
