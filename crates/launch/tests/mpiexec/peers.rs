//! Launchers of others start our processes, and ours starts theirs. They need MPICH's wheel or Slurm, so they
//! run only when asked for: `VERBENA_MPICH=PREFIX cargo test -p verbena-launch -- --ignored mpich`, and with
//! a running Slurm: `cargo test -p verbena-launch -- --ignored slurm`.

use crate::harness::{CLIENT, Outcome, begin, run};
use std::path::PathBuf;
use std::process::Command;

const STEPS: [&str; 7] =
    [CLIENT, "who", "exchange=3000", "exchange=100", "barrier", "exchange=0", "finalize"];

fn mpich(tool: &str) -> PathBuf {
    PathBuf::from(std::env::var("VERBENA_MPICH").expect("VERBENA_MPICH names MPICH's prefix"))
        .join("bin")
        .join(tool)
}

fn hydra(options: &[&str], pmi: &str, steps: &[&str]) -> Outcome {
    begin(Command::new(mpich("mpiexec")).args(options).args(steps).env("VERBENA_PMI", pmi)).finish()
}

fn assert_exchanged(outcome: &Outcome, kind: &str) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.out.matches("exchanged 3").count(), 9, "{outcome:?}");
    assert_eq!(outcome.out.matches(&format!("of 3 kind {kind}")).count(), 3, "{outcome:?}");
}

#[test]
#[ignore = "needs MPICH: set VERBENA_MPICH"]
fn mpich_hydra_starts_ours_over_every_line() {
    let port = ["-pmi-port", "-n", "3"];
    for (options, pmi, kind) in
        [(&port[1..], "", "pmi-1"), (&port[1..], "2", "pmi-2"), (&port[..], "", "pmi-1")]
    {
        assert_exchanged(&hydra(options, pmi, &STEPS), kind);
    }
}

#[test]
#[ignore = "needs MPICH: set VERBENA_MPICH"]
fn mpich_hydra_hears_our_abort() {
    for pmi in ["1", "2"] {
        let outcome = hydra(&["-n", "3"], pmi, &[CLIENT, "exchange", "abort=7@1", "sleep=20000"]);
        assert_eq!(outcome.code, Some(7), "{outcome:?}");
        assert!(outcome.took.as_secs() < 5, "{outcome:?}");
    }
}

/// A program linked against MPICH's own library talks to our mpiexec.
#[test]
#[ignore = "needs MPICH: set VERBENA_MPICH"]
fn mpich_programs_run_under_our_mpiexec() {
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
    let built = Command::new(mpich("mpicc")).args(["sum.c", "-o", "sum"]).current_dir(&folder).status();
    assert!(built.unwrap().success());
    let program = folder.join("sum").to_str().unwrap().to_owned();
    let outcome = run(&["-n", "3", &program]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "sum 3\nsum 3\nsum 3\n"), "{outcome:?}");
    assert_eq!(run(&["-n", "3", &program, "abort"]).code, Some(9));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "needs a running Slurm"]
fn slurm_starts_ours_in_both_versions() {
    for (pmi, kind) in [("", "pmi-1"), ("1", "pmi-1"), ("2", "pmi-2")] {
        let mut srun = Command::new("srun");
        srun.args(["--mpi=pmi2", "-n", "3"]).args(STEPS).env("VERBENA_PMI", pmi);
        assert_exchanged(&begin(&mut srun).finish(), kind);
    }
}
