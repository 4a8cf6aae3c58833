//! `cargo xtask conformance`: MPICH's own test suite on the stage, or on another library of the
//! standard ABI.
//!
//! `tests/src/conformance` does the work, which `make test` shares.

use anyhow::{Context, Result, anyhow};
use regex_lite::Regex;
use std::path::PathBuf;
use std::process::ExitCode;
use verbena_tests::conformance::report::Report;
use verbena_tests::conformance::{self, Options, expectations};

/// The options of `cargo xtask conformance`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// MPICH's sources, for a newer suite than Debian's: the folder with test/mpi
    #[arg(long, value_name = "DIR")]
    src: Option<PathBuf>,
    /// Run on another library of the standard ABI, for a baseline: a prefix with bin/mpiexec and
    /// lib/libmpi_abi.so.1, or the name of one under target/peers
    #[arg(long, value_name = "PREFIX")]
    library: Option<PathBuf>,
    /// Entries that ask for more ranks run with so many
    #[arg(long, default_value_t = 4)]
    max_np: u32,
    /// Only entries whose line fits this regular expression
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// Only these folders of the suite, as in coll,errors/comm; also those that are not written yet
    #[arg(long, value_delimiter = ',')]
    dirs: Vec<String>,
    /// Compile, and run, so many at a time (default: one for each processor)
    #[arg(long)]
    jobs: Option<usize>,
    /// Seconds after which an entry is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Repetitions of an entry whose time was up, alone and with more time
    #[arg(long, default_value_t = 1)]
    retries: u64,
    /// Write all results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Take exceptions that excuse nothing out of tests/conformance-expectations.toml
    #[arg(long)]
    update: bool,
}

impl Args {
    fn options(&self) -> Options {
        let options = Options::default();
        Options {
            source: self.src.clone(),
            library: self.library.clone(),
            ranks_max: self.max_np,
            only: self.only.clone(),
            folders: self.dirs.iter().map(|folder| folder.trim_matches('/').to_owned()).collect(),
            jobs: self.jobs.unwrap_or(options.jobs),
            seconds_max: self.timeout,
            retries: self.retries,
        }
    }
}

/// Runs the task. The exit code says whether all is as expected.
///
/// # Errors
/// Something cannot be read, built or written.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let report = conformance::run(&args.options()).map_err(|why| anyhow!(why))?;
    print!("{}", report.text());
    if let Some(path) = &args.json {
        std::fs::write(path, report.json()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.update {
        return update(&report);
    }
    Ok(if report.is_fine() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes out exceptions that excuse nothing; failures that nothing excuses stay failures.
fn update(report: &Report) -> Result<ExitCode> {
    let (path, idle) = (expectations::path(), report.idle());
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let pruned = expectations::pruned(&text, &idle).map_err(|why| anyhow!(why))?;
    std::fs::write(&path, pruned).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{} exceptions taken out of {}", idle.len(), path.display());
    Ok(if report.unexpected().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
