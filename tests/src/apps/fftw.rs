//! FFTW's distributed transforms, as Debian ships its source: checked by FFTW's own script, which
//! compares random problems with what linearity, impulses and shifts make certain.

use super::{Figure, Purpose, Run};
use crate::shell;
use crate::sources::{Tools, built, make};
use crate::world::World;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the build of the unmodified upstream archive.
fn home(tools: &Tools) -> PathBuf {
    built(tools, "fftw3", "1", |home| {
        let mut configure = Command::new("./configure");
        configure.args([
            "--enable-mpi",
            "--disable-fortran",
            "--disable-doc",
            "--enable-sse2",
            "CFLAGS=-O2 -w",
        ]);
        shell(configure.arg(tools.cc("MPICC")).current_dir(home));
        shell(&mut make(home));
    })
}

/// Returns the runs.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let home = home(&world.tools);
    match purpose {
        Purpose::Checked => (1..=4).map(|ranks| check(&home, ranks, 20)).collect(),
        Purpose::Nodes => vec![verify(&home)],
        Purpose::Timed => vec![speed(&home, "ic128x128x64"), speed(&home, "ir256x256x32")],
    }
}

/// Runs FFTW's own script, with this many random problems of each kind.
fn check(home: &Path, ranks: u32, problems: usize) -> Run {
    let (script, program) = (home.join("tests/check.pl"), home.join("mpi/mpi-bench"));
    let (script, program) = (script.display(), program.display());
    Run {
        name: format!("fftw-{ranks}"),
        ranks,
        seconds_max: 300,
        files: vec![],
        script: format!(
            "perl -w {script} --verbose --random --maxsize=10000 -c={problems} --mpi \
             \"$LAUNCH {ranks} {program}\" 2>&1"
        ),
        judge: Box::new(move |ended| {
            // A problem that passed has a line with its errors for each direction, at least; the
            // script ends with another code at the first that did not.
            verified(&ended.stdout, 2 * problems);
            vec![]
        }),
    }
}

/// A few problems, in one job.
fn verify(home: &Path) -> Run {
    let program = home.join("mpi/mpi-bench").display().to_string();
    let problems = "--verbose=1 --verify obc12x15 --verify ibr16x10x9 --verify ofc64x32 --verify obc30";
    Run {
        name: "fftw-verify".into(),
        ranks: 4,
        seconds_max: 120,
        files: vec![],
        script: format!("$LAUNCH 4 {program} {problems} 2>&1"),
        judge: Box::new(|ended| {
            verified(&ended.stdout, 4);
            vec![]
        }),
    }
}

/// Panics unless at least this many problems were verified, and none was wrong.
fn verified(said: &str, least: usize) {
    let errors = |line: &str| {
        let numbers = line.split_whitespace().skip(1).map(str::parse::<f64>);
        let numbers: Vec<f64> = numbers.collect::<Result<_, _>>().ok()?;
        (numbers.len() == 3).then_some(numbers)
    };
    let lines: Vec<Vec<f64>> = said.lines().filter_map(errors).collect();
    assert!(lines.len() >= least, "{said}");
    assert!(lines.iter().flatten().all(|&error| error < 1e-10), "{said}");
    assert!(!said.contains("FAILED"), "{said}");
}

/// Measures the time of one transform on 2 ranks.
fn speed(home: &Path, problem: &'static str) -> Run {
    let program = home.join("mpi/mpi-bench").display().to_string();
    Run {
        name: format!("fftw-{problem}"),
        ranks: 2,
        seconds_max: 120,
        files: vec![],
        script: format!("$LAUNCH 2 {program} -oestimate --report-verbose --speed {problem}"),
        judge: Box::new(|ended| {
            let mflops = ended.stdout.split("``mflops'':").nth(1);
            let value = mflops.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            let value = value.unwrap_or_else(|| panic!("no mflops in {}", ended.stdout));
            vec![Figure::new("speed", "Gflop/s", value / 1e3)]
        }),
    }
}
