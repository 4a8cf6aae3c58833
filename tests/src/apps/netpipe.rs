//! NetPIPE, as Debian ships its source.

use super::{Figure, Purpose, Run};
use crate::shell;
use crate::sources::{Tools, built, make};
use crate::world::World;
use std::path::PathBuf;

/// Builds NetPIPE's MPI program from the unmodified upstream archive.
fn program(tools: &Tools) -> PathBuf {
    let home = built(tools, "netpipe", "1", |home| {
        shell(make(home).arg("mpi").arg(tools.cc("MPICC")));
    });
    home.join("NPmpi")
}

/// Returns the runs: messages up to `upper` bytes by these options, and one that compares each byte
/// of each message.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let program = program(&world.tools).display().to_string();
    let measured: &[(&str, u32, &str)] = match purpose {
        Purpose::Checked => &[
            ("netpipe", 65536, "-n 5"),
            ("netpipe-preposted", 4096, "-a -n 5"),
            ("netpipe-both-ways", 4096, "-2 -a -n 5"),
            ("netpipe-any-source", 4096, "-z -S -n 5"),
        ],
        Purpose::Nodes => &[("netpipe", 65536, "-n 5")],
        Purpose::Timed => return vec![measure(&program, "netpipe", 1 << 20, "-p 0 -n 400")],
    };
    let mut runs: Vec<Run> =
        measured.iter().map(|(name, upper, options)| measure(&program, name, *upper, options)).collect();
    runs.push(integrity(&program, if purpose == Purpose::Nodes { 70000 } else { 300_000 }));
    runs
}

fn measure(program: &str, name: &str, upper: u32, options: &str) -> Run {
    Run {
        name: name.to_owned(),
        ranks: 2,
        seconds_max: 120,
        files: vec![],
        script: format!("$LAUNCH 2 {program} {options} -u {upper} -o results >&2\ncat results"),
        judge: Box::new(move |ended| {
            let rows = rows(&ended.stdout);
            assert!(rows.len() > 20 && rows.iter().any(|row| row[0] >= f64::from(upper)), "{rows:?}");
            assert!(rows.iter().all(|row| row[1] > 0.0 && row[2] > 0.0), "{rows:?}");
            figures(&rows)
        }),
    }
}

/// The lines of NetPIPE's result file: bytes, Mbit/s, seconds.
fn rows(text: &str) -> Vec<[f64; 3]> {
    let row = |line: &str| {
        let values: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        <[f64; 3]>::try_from(values).expect("three columns")
    };
    text.lines().map(row).collect()
}

/// Returns the figures of one way, at a few lengths.
fn figures(rows: &[[f64; 3]]) -> Vec<Figure> {
    let at = |bytes: f64| rows.iter().find(|row| row[0] == bytes);
    let short = [8.0, 1024.0]
        .into_iter()
        .filter_map(|bytes| Some(Figure::new(format!("{bytes} B"), "us", at(bytes)?[2] * 1e6)));
    let long = [65536.0, 1_048_576.0]
        .into_iter()
        .filter_map(|bytes| Some(Figure::new(format!("{} KiB", bytes / 1024.0), "Mbit/s", at(bytes)?[1])));
    short.chain(long).collect()
}

fn integrity(program: &str, upper: u32) -> Run {
    Run {
        name: "netpipe-integrity".into(),
        ranks: 2,
        seconds_max: 120,
        files: vec![],
        script: format!("$LAUNCH 2 {program} -i -u {upper} -n 4 -o results 2>&1"),
        judge: Box::new(|ended| {
            let text = &ended.stdout;
            assert!(text.contains("Integrity check passed"), "{text}");
            assert!(!text.contains("Integrity check failed"), "{text}");
            vec![]
        }),
    }
}
