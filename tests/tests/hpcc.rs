//! The HPC Challenge benchmarks, as Debian ships their source, built by our `mpicc` and run small: their own checks must pass.
//!
//! HPL packs its panels with datatypes by the removed MPI-1 calls (`MPI_Address`, `MPI_Type_struct`), PTRANS transposes
//! over grids, RandomAccess sends many small messages to any rank, MPIFFT does all-to-all.

use std::collections::BTreeMap;
use std::path::PathBuf;
use verbena_tests::sources::{built, make};
use verbena_tests::{build_dir, job, shell, staged, top};

fn recipe(name: &str) -> String {
    std::fs::read_to_string(top().join("tests/programs/hpcc").join(name)).expect("a file of the tests")
}

/// The program, built from the unmodified upstream archive.
fn hpcc() -> PathBuf {
    let variables = recipe("Make.verbena");
    let home = built("hpcc", &variables, |home| {
        std::fs::write(home.join("hpl/Make.verbena"), &variables).expect("target/ is writable");
        let mpicc = format!("MPICC={}", staged("bin/mpicc").display());
        shell(make(home).args(["arch=verbena", &mpicc]));
    });
    home.join("hpcc")
}

/// Runs all benchmarks on these process grids and returns the report.
fn run(ranks: u32, grids: &[(u32, u32)]) -> String {
    let folder = build_dir().join(format!("hpcc-{ranks}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("target/ is writable");
    let line =
        |of: fn(&(u32, u32)) -> u32| grids.iter().map(|g| of(g).to_string()).collect::<Vec<_>>().join(" ");
    let input = recipe("hpccinf.txt").replace("@GRIDS@", &grids.len().to_string());
    let input = input.replace("@PS@", &line(|g| g.0)).replace("@QS@", &line(|g| g.1));
    std::fs::write(folder.join("hpccinf.txt"), input).expect("target/ is writable");
    let mut job = job(ranks, hpcc());
    job.command().current_dir(&folder);
    job.run().ok();
    std::fs::read_to_string(folder.join("hpccoutf.txt")).expect("the report")
}

/// The `name=value` lines of the report's summary.
fn summary(report: &str) -> BTreeMap<&str, f64> {
    let summary = report.split("Begin of Summary section.").nth(1).expect("a summary");
    let pairs = summary.lines().filter_map(|line| line.split_once('='));
    pairs.filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

/// The number before these words, wherever they stand.
fn counts(report: &str, words: &str) -> Vec<u64> {
    let lines = report.lines().filter_map(|line| line.trim().strip_suffix(',').or(Some(line.trim())));
    let counted = lines.filter_map(|line| line.trim_end_matches('.').strip_suffix(words));
    counted.map(|number| number.trim().parse().expect("a number")).collect()
}

fn checks_pass(ranks: u32, grids: &[(u32, u32)]) {
    let report = run(ranks, grids);
    let values = summary(&report);
    let value = |name: &str| *values.get(name).unwrap_or_else(|| panic!("no {name} in\n{report}"));
    assert_eq!((value("Success"), value("CommWorldProcs")), (1.0, f64::from(ranks)), "{report}");
    assert_eq!((value("HPLMinProcs"), value("MPIFFT_Procs")), (f64::from(ranks), f64::from(ranks)));
    for name in ["MPIRandomAccess_Errors", "MPIRandomAccess_LCG_Errors", "PTRANS_residual"] {
        assert_eq!(value(name), 0.0, "{name}\n{report}");
    }
    assert!(value("MPIFFT_maxErr") < 1e-12, "{report}");
    // PTRANS: 2 sizes and 2 blockings, 5 times, by 2 clocks; HPL: 3 factorizations and 6 broadcasts; each once a grid.
    let grids = grids.len() as u64;
    assert_eq!(
        counts(&report, "tests completed and passed residual checks"),
        [20 * grids, 18 * grids],
        "{report}"
    );
    assert_eq!(counts(&report, "tests completed and failed residual checks"), [0, 0], "{report}");
    assert!(!report.contains("FAILED"), "{report}");
    let erring = report.lines().filter_map(|line| line.strip_prefix("Node(s) with error "));
    let erring: Vec<&str> = erring.collect();
    assert!(erring.len() >= 8 && erring.iter().all(|nodes| *nodes == "0"), "{erring:?}\n{report}");
}

// One after the other: together they would have more ranks than either says.
#[test]
fn hpcc_passes_its_own_checks_at_2_and_4_ranks() {
    checks_pass(2, &[(1, 2), (2, 1)]);
    checks_pass(4, &[(1, 4), (2, 2), (4, 1)]);
}
