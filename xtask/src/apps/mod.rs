//! `cargo xtask apps`: applications of others, fetched as Debian ships them, built with our
//! wrappers, run and checked: over shared memory, between hosts that are this machine under other
//! names, and on virtual nodes with kernel verbs devices (Soft-RoCE). With `--peers` they are timed
//! beside the other libraries.
//!
//! What each is and how it is judged is in `tests/src/apps`, which the tests share. It wants an
//! installation of Verbena: `make apps` builds it first.
//!
//! | module | job |
//! | --- | --- |
//! | [`here`] | all runs on this machine |
//! | [`nodes`] | short ones, or all, in one boot of two virtual nodes |
//! | [`timed`] | the same programs on each library in turn |
//! | [`report`] | the table for the terminal, and `target/apps/report.json` |

mod here;
mod nodes;
mod report;
mod timed;

use anyhow::{Result, bail};
use report::Outcome;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use verbena_tests::apps::{self, App, Folders};
use verbena_tests::world::World;

/// The options of `cargo xtask apps`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only these applications, as in hpcc,fftw
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The places to run them
    #[arg(long = "where", value_enum, value_delimiter = ',', default_value = "here,nodes")]
    places: Vec<Place>,
    /// Do all the checks on the virtual nodes too, which may take hours, not only the short ones
    #[arg(long, conflicts_with = "peers")]
    whole: bool,
    /// A folder of the NAS Parallel Benchmarks 3.4 (MPI) with programs of the classes S and W in
    /// bin/, built by mpifort and mpicc
    #[arg(long, value_name = "DIR")]
    npb: Option<PathBuf>,
    /// A folder in which ARMCI-MPI was built: configure MPICC=mpicc, make, make checkprogs
    #[arg(long, value_name = "DIR")]
    armci: Option<PathBuf>,
    /// A folder with the source of MPICH 5.0 or later, for ROMIO's tests in it
    #[arg(long, value_name = "DIR")]
    romio: Option<PathBuf>,
    /// A folder with the source of IOR 4 (github.com/hpc/ior), as it is fetched
    #[arg(long, value_name = "DIR")]
    ior: Option<PathBuf>,
    /// A folder with the source of github.com/ICLDisco/ulfm-testing, as it is fetched
    #[arg(long, value_name = "DIR")]
    ulfm: Option<PathBuf>,
    /// Time them beside MPICH and Open MPI, in turns, instead of checking them
    #[arg(long)]
    peers: bool,
    /// Turns of each library, with --peers
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// The place of a run.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On this machine, over shared memory
    Here,
    /// On this machine as two hosts of other names, over libfabric (as root)
    Hosts,
    /// On two virtual nodes with Soft-RoCE devices
    Nodes,
}

/// Runs the task. The exit code says whether all checks passed.
///
/// # Errors
/// There is no such application, no installation, or a report cannot be written.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let apps = chosen(args)?;
    if args.peers {
        timed::run(&apps, args.rounds)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut outcomes = Vec::new();
    for place in &args.places {
        match place {
            Place::Here => outcomes.extend(here::run(&apps, World::ours, "shared memory")),
            Place::Hosts => outcomes.extend(here::run(&apps, World::hosts, "libfabric")),
            Place::Nodes => outcomes.extend(nodes::run(&apps, args.whole)),
        }
    }
    report::write(&outcomes)?;
    if args.npb.is_none() && args.only.is_empty() {
        println!(
            "The NAS Parallel Benchmarks were not run: name the folder in which you have built them (make apps NPB=DIR)."
        );
    }
    let passed = !outcomes.is_empty() && outcomes.iter().all(Outcome::passed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(args: &Args) -> Result<Vec<App>> {
    let whole = |folder: &Option<PathBuf>| folder.as_ref().map(std::path::absolute).transpose();
    let (npb, armci) = (whole(&args.npb)?, whole(&args.armci)?);
    let (romio, ior, ulfm) = (whole(&args.romio)?, whole(&args.ior)?, whole(&args.ulfm)?);
    let mut apps = apps::all(Folders { npb, armci, romio, ior, ulfm });
    let known: Vec<&str> = apps.iter().map(|app| app.name).collect();
    if let Some(wrong) = args.only.iter().find(|name| !known.contains(&name.as_str())) {
        bail!(
            "there is no application {wrong}; there are {} (npb with --npb DIR, armci with --armci DIR, romio with --romio DIR, ior with --ior DIR, ulfm with --ulfm DIR)",
            known.join(", ")
        );
    }
    apps.retain(|app| args.only.is_empty() || args.only.iter().any(|name| name == app.name));
    Ok(apps)
}

/// The result, or the words of the panic: the checks of `tests/src/apps` are assertions.
fn judged<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(act));
    std::panic::set_hook(hook);
    result.map_err(|why| match (why.downcast_ref::<String>(), why.downcast_ref::<&str>()) {
        (Some(words), _) => words.clone(),
        (_, Some(words)) => (*words).to_owned(),
        _ => "an assertion failed".to_owned(),
    })
}
