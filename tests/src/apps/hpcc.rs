//! The HPC Challenge benchmarks, as Debian ships their source.
//!
//! HPL packs its panels with datatypes by the removed MPI-1 calls (`MPI_Address`,
//! `MPI_Type_struct`), PTRANS transposes over grids, RandomAccess sends many small messages to any
//! rank, MPIFFT does all-to-all.

use super::{Figure, Purpose, Run};
use crate::sources::{Tools, built, make};
use crate::world::World;
use crate::{shell, top};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn recipe(name: &str) -> String {
    std::fs::read_to_string(top().join("tests/programs/hpcc").join(name)).expect("a file of the tests")
}

/// The program, built from the unmodified upstream archive.
fn program(tools: &Tools) -> PathBuf {
    let variables = recipe("Make.verbena");
    let home = built(tools, "hpcc", &variables, |home| {
        std::fs::write(home.join("hpl/Make.verbena"), &variables).expect("target/ is writable");
        shell(make(home).args(["arch=verbena", &tools.cc("MPICC")]));
    });
    home.join("hpcc")
}

/// The problem that HPL and PTRANS compute.
struct Problem {
    ranks: u32,
    grids: &'static [(u32, u32)],
    order: u32,
    factorizations: u32,
    broadcasts: u32,
}

/// Returns the runs.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let problem = |ranks, grids, order, factorizations, broadcasts| Problem {
        ranks,
        grids,
        order,
        factorizations,
        broadcasts,
    };
    let problems = match purpose {
        Purpose::Checked => {
            vec![problem(2, &[(1, 2), (2, 1)], 300, 3, 6), problem(4, &[(1, 4), (2, 2), (4, 1)], 300, 3, 6)]
        }
        Purpose::Nodes => vec![problem(4, &[(2, 2)], 60, 1, 2)],
        Purpose::Timed => vec![problem(2, &[(1, 2)], 1000, 1, 1)],
    };
    let program = program(&world.tools).display().to_string();
    problems.into_iter().map(|problem| problem.run(&program)).collect()
}

impl Problem {
    fn run(self, program: &str) -> Run {
        let script = format!("$LAUNCH {} {program} >&2\ncat hpccoutf.txt", self.ranks);
        Run {
            name: format!("hpcc-{}", self.ranks),
            ranks: self.ranks,
            seconds_max: 300,
            files: vec![("hpccinf.txt", self.input())],
            script,
            judge: Box::new(move |ended| self.judge(&ended.stdout)),
        }
    }

    fn input(&self) -> String {
        let line = |of: fn(&(u32, u32)) -> u32| {
            self.grids.iter().map(|g| of(g).to_string()).collect::<Vec<_>>().join(" ")
        };
        let values = [
            ("@N@", self.order.to_string()),
            ("@PFACTS@", self.factorizations.to_string()),
            ("@BCASTS@", self.broadcasts.to_string()),
            ("@GRIDS@", self.grids.len().to_string()),
            ("@PS@", line(|g| g.0)),
            ("@QS@", line(|g| g.1)),
        ];
        values.iter().fold(recipe("hpccinf.txt"), |text, (name, value)| text.replace(name, value))
    }

    fn judge(&self, report: &str) -> Vec<Figure> {
        let values = summary(report);
        let value = |name: &str| *values.get(name).unwrap_or_else(|| panic!("no {name} in\n{report}"));
        let ranks = f64::from(self.ranks);
        assert_eq!((value("Success"), value("CommWorldProcs")), (1.0, ranks), "{report}");
        assert_eq!((value("HPLMinProcs"), value("MPIFFT_Procs")), (ranks, ranks));
        for name in ["MPIRandomAccess_Errors", "MPIRandomAccess_LCG_Errors", "PTRANS_residual"] {
            assert_eq!(value(name), 0.0, "{name}\n{report}");
        }
        assert!(value("MPIFFT_maxErr") < 1e-12, "{report}");
        self.check_counts(report);
        assert!(!report.contains("FAILED"), "{report}");
        let erring = report.lines().filter_map(|line| line.strip_prefix("Node(s) with error "));
        let erring: Vec<&str> = erring.collect();
        assert!(erring.len() >= 8 && erring.iter().all(|nodes| *nodes == "0"), "{erring:?}\n{report}");
        vec![
            Figure::new("HPL", "Gflop/s", value("HPL_Tflops") * 1e3),
            Figure::new("PTRANS", "GB/s", value("PTRANS_GBs")),
            Figure::new("RandomAccess", "Gup/s", value("MPIRandomAccess_GUPs")),
            Figure::new("FFT", "Gflop/s", value("MPIFFT_Gflops")),
            Figure::new("random ring bandwidth", "GB/s", value("RandomlyOrderedRingBandwidth_GBytes")),
            Figure::new("random ring latency", "us", value("RandomlyOrderedRingLatency_usec")),
        ]
    }

    /// PTRANS: 2 sizes and 2 blockings, 5 times, by 2 clocks; HPL: factorizations and broadcasts;
    /// each once a grid.
    fn check_counts(&self, report: &str) {
        let grids = self.grids.len() as u64;
        let hpl = u64::from(self.factorizations * self.broadcasts) * grids;
        let passed = counts(report, "tests completed and passed residual checks");
        assert_eq!(passed, [20 * grids, hpl], "{report}");
        assert_eq!(counts(report, "tests completed and failed residual checks"), [0, 0], "{report}");
    }
}

/// The `name=value` lines of the report's summary.
fn summary(report: &str) -> BTreeMap<&str, f64> {
    let summary = report.split("Begin of Summary section.").nth(1).expect("a summary");
    let pairs = summary.lines().filter_map(|line| line.split_once('='));
    pairs.filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

/// Returns the number before these words, at each place where they stand.
pub(super) fn counts(report: &str, words: &str) -> Vec<u64> {
    let lines = report.lines().filter_map(|line| line.trim().strip_suffix(',').or(Some(line.trim())));
    let counted = lines.filter_map(|line| line.trim_end_matches('.').strip_suffix(words));
    counted.map(|number| number.trim().parse().expect("a number")).collect()
}
