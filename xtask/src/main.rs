//! Development tasks: `cargo xtask <task>`.

mod apps;
mod benchmarks;
mod book;
mod conformance;
mod crates;
mod generate;
mod instructions;
mod package;
mod papers;
mod passed;
mod peers;
mod release;
mod sanitize;
mod soak;
mod softroce;
mod tidy;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Development tasks of Verbena.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Fetch, build, run and check applications: HPCC, NetPIPE, hypre, FFTW, ScaLAPACK, coarrays,
    /// the NAS Parallel Benchmarks and ARMCI-MPI.
    Apps(apps::Args),
    /// Write BENCHMARKS.md, its charts and the figures of the README from a result of
    /// `peers --page`.
    BenchmarksPage(benchmarks::Args),
    /// Check the pages and links of the book (docs/SUMMARY.md); with --render write it as HTML.
    Book(book::Args),
    /// Run MPICH's own test suite on the stage, and compare it with what is expected.
    Conformance(conformance::Args),
    /// Make the header, the entry points, the constants and the coverage page from the API table,
    /// the licences of what is linked, and the book's pages on settings, messages and results.
    Generate {
        /// Write nothing; fail if a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Count the instructions of calls with small messages, and compare with those agreed on.
    Instructions(instructions::Args),
    /// Make packages for pip, Debian, Fedora and others, and an archive that runs where it is
    /// unpacked; with --check each is tried in an environment that has nothing else.
    Package(package::Args),
    /// Measure every figure and table of the five papers, here and between virtual nodes, and write
    /// one report.
    Papers(papers::Args),
    /// Install MPICH, Open MPI and Intel MPI and measure them against Verbena.
    Peers(peers::Args),
    /// Release a version: CHANGELOG, versions, commit, tag, packages, checksums, SBOM.
    Release(release::Args),
    /// Look for undefined behaviour: Miri, AddressSanitizer, ThreadSanitizer and valgrind's
    /// memcheck.
    Sanitize(sanitize::Args),
    /// Fuzz, simulate and run random programs with seeds from the clock, and keep as a test what
    /// fails.
    Soak(soak::Args),
    /// Run a command on virtual nodes with real kernel verbs devices (Soft-RoCE in QEMU).
    Softroce(softroce::Args),
    /// Check what a machine can check of the house rules (`xtask/tidy.toml`).
    Tidy,
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().task {
        Task::Apps(args) => return apps::run(&args),
        Task::BenchmarksPage(args) => benchmarks::run(&args)?,
        Task::Book(args) => book::run(&args)?,
        Task::Conformance(args) => return conformance::run(&args),
        Task::Generate { check } => generate::run(check)?,
        Task::Instructions(args) => instructions::run(&args)?,
        Task::Package(args) => return package::run(&args),
        Task::Papers(args) => papers::run(&args)?,
        Task::Peers(args) => peers::run(&args)?,
        Task::Release(args) => release::run(&args)?,
        Task::Sanitize(args) => sanitize::run(&args)?,
        Task::Soak(args) => return soak::run(&args),
        Task::Softroce(args) => return Ok(softroce::run(&args)),
        Task::Tidy => tidy::run()?,
    }
    Ok(ExitCode::SUCCESS)
}
