//! `cargo xtask softroce`: runs a command on virtual nodes that have real kernel verbs devices, on
//! any machine.
//!
//! It boots a small QEMU machine (emulated: neither hardware nor KVM is needed) with Debian's own
//! kernel, whose `rdma_rxe` makes verbs devices of Ethernet interfaces (Soft-RoCE). The root of a
//! guest is a throw-away copy of this machine's files, so a command is written as it would be here.
//! Its streams, its exit code and the files that it leaves in `/out` come back.
//!
//! | module | job |
//! | --- | --- |
//! | [`tools`] | the programs that it needs, installed if they are missing |
//! | [`kernel`] | the distribution's kernel package, unpacked under `target/softroce` |
//! | [`initrd`] | the first files of a guest: busybox and the modules that reach the root |
//! | [`wire`] | what the wire does to packets (`tc netem`) |
//! | [`job`] | what the guests are told, and where they answer |
//! | [`guest`] | one QEMU process and its streams |
//! | `guest/*.sh` | what happens inside a guest |

mod guest;
mod initrd;
mod job;
mod kernel;
mod tools;
mod wire;

use anyhow::{Context, Result};
use job::Job;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use verbena_fault::Fault;
use wire::Wire;

/// The options of `cargo xtask softroce`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Number of nodes, which are called node0, node1, ...
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    nodes: u32,
    /// Verbs devices of each node, in networks of their own (shape one): node0 has rxe0 on the
    /// interface e0, rxe0_1 on e0_1, ...
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    rails: u32,
    /// Form of a node
    #[arg(long, value_enum, default_value_t = Shape::One)]
    shape: Shape,
    /// Ranks that `spread` puts on a node before it goes to the next [default: as even as it can
    /// be]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    /// Processors of a guest; with one, a program that spins starves the device's driver
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    cpus: u32,
    /// Memory of a guest in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(256..))]
    memory: u32,
    /// End the command after this many seconds, with exit code 124
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    wire: Wire,
    /// Give the command this variable, here's value or a new one; VERBENA_* are given without
    /// asking
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<String>,
    /// The folder that the command sees as /out [default: one that is removed in the end]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The installation of Verbena that the command finds first
    #[arg(long, value_name = "DIR", default_value = "target/stage")]
    stage: PathBuf,
    /// The way in which QEMU runs the guest
    #[arg(long, value_enum, default_value_t = Accelerator::Tcg)]
    accelerator: Accelerator,
    /// The command, as in: -- mpiexec -n 4 spread ./program
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A node has one of these forms.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A set of namespaces in one guest: quick to boot, lowest latency
    One,
    /// A guest of its own: the fuller test, ten times the latency
    #[value(alias = "two")]
    Many,
}

/// The way in which QEMU runs the guest's instructions.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Accelerator {
    /// In software: works everywhere
    Tcg,
    /// With the processor's help, where /dev/kvm works
    Kvm,
}

/// Our exit code where the command has none: no guest could be booted, or it ended without an
/// answer.
const FAILED: u8 = 125;

/// Runs the task. The exit code is the command's, 124 when its time was up, [`FAILED`] when there
/// is none.
pub(crate) fn run(args: &Args) -> ExitCode {
    execute(args).unwrap_or_else(|error| {
        eprintln!("softroce: {error:#}");
        ExitCode::from(FAILED)
    })
}

fn execute(args: &Args) -> Result<ExitCode> {
    anyhow::ensure!(
        args.rails == 1 || args.shape == Shape::One,
        "--rails needs nodes in one guest (--shape one)"
    );
    let interrupted = interruptions()?;
    tools::provide()?;
    let kernel = kernel::provide()?;
    let job = Job::prepare(args, &kernel)?;
    initrd::write(&kernel, &job.initrd())?;
    let mut guests = guest::start_all(args, &job, &kernel)?;
    let deadline = Instant::now() + Duration::from_secs(u64::from(args.limit)) + guest::GRACE;
    while guests[0].running()? {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(130));
        }
        if Instant::now() > deadline {
            return Err(guests[0].silent(args.limit).into());
        }
        if let Some(lost) = guests.iter_mut().find_map(|guest| guest.never_came_up(&job)) {
            return Err(lost.into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(ExitCode::from(job.exit_code().ok_or_else(|| guests[0].lost())?))
}

/// Returns a flag that is set when somebody asks us to end: then the guests are ended and the
/// folders removed first.
fn interruptions() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let set = asked.clone();
    ctrlc::set_handler(move || set.store(true, Ordering::Relaxed)).context("signals cannot be caught")?;
    Ok(asked)
}

/// The top of the source tree.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the tree").to_path_buf()
}

/// The failure of a file.
fn file_fault(what: &str, path: &Path, error: &std::io::Error) -> Fault {
    let remedy = "see that the folder may be written, and that there is room on it";
    Fault::new(what, path.display().to_string(), error.to_string(), remedy)
}
