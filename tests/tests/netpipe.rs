//! NetPIPE, as Debian ships its source, built by our `mpicc` and run.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use verbena_tests::sources::{built, make};
use verbena_tests::{build_dir, job, shell, staged};

/// NetPIPE's MPI program, built from the unmodified upstream archive.
fn npmpi() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let home = built("netpipe", "1", |home| {
            shell(make(home).arg("mpi").arg(format!("MPICC={}", staged("bin/mpicc").display())));
        });
        home.join("NPmpi")
    })
}

/// The lines of NetPIPE's result file: bytes, Mbit/s, seconds.
fn measured(options: &[&str], name: &str, program: &Path) -> Vec<[f64; 3]> {
    let file = build_dir().join(name);
    let _ = std::fs::remove_file(&file);
    job(2, program).args(options).arg("-o").arg(&file).run().ok();
    let text = std::fs::read_to_string(&file).expect("NetPIPE's results");
    let row = |line: &str| {
        let values: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        <[f64; 3]>::try_from(values).expect("three columns")
    };
    text.lines().map(row).collect()
}

#[test]
fn netpipe_builds_and_measures() {
    let program = npmpi();
    for (name, options) in [
        ("netpipe.out", &["-u", "65536", "-n", "5"][..]),
        ("netpipe-preposted.out", &["-a", "-u", "4096", "-n", "5"]),
        ("netpipe-both-ways.out", &["-2", "-a", "-u", "4096", "-n", "5"]),
        ("netpipe-any-source.out", &["-z", "-S", "-u", "4096", "-n", "5"]),
    ] {
        let rows = measured(options, name, program);
        let upper: f64 =
            options[options.iter().position(|word| *word == "-u").expect("-u") + 1].parse().expect("bytes");
        assert!(rows.len() > 20 && rows.iter().any(|row| row[0] >= upper), "{name}: {rows:?}");
        assert!(rows.iter().all(|row| row[1] > 0.0 && row[2] > 0.0), "{name}: {rows:?}");
    }
}

/// NetPIPE's integrity check compares each byte of each message.
#[test]
fn netpipe_finds_every_byte_intact() {
    let program = npmpi();
    let output = build_dir().join("netpipe-integrity.out");
    let ended = job(2, program).args(["-i", "-u", "300000", "-n", "4", "-o"]).arg(output).run().ok();
    let text = ended.stdout + &ended.stderr;
    assert!(text.contains("Integrity check passed"), "{text}");
    assert!(!text.contains("Integrity check failed"), "{text}");
}
