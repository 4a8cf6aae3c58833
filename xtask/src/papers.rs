//! `cargo xtask papers`: every figure and table of the five papers in one report, from every part
//! of this machine: shared memory, the simulator, and virtual nodes with Soft-RoCE
//! (`cargo xtask softroce`).
//!
//! It builds the program `verbena-papers`, which is not installed, and puts it beside the staged
//! library. `verbena-papers report` measures here first, then between two networks of this machine
//! that a cable joins, then in a guest between two nodes, then in one whose nodes have two rails
//! with limited wires, and at last makes the report of all result files. A guest whose time is up
//! leaves what it has.

mod instructions;

use crate::peers::{build_stage, top};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::cable::{Cable, ENDS, has_libfabric};

/// The options of `cargo xtask papers`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Fewer variants and sizes, with as many jobs of each; ends within 20 minutes
    #[arg(long)]
    quick: bool,
    /// Only what can be measured without a guest
    #[arg(long)]
    no_nodes: bool,
    /// Instead of the report: the instructions of a message over rc, counted in a guest (paper 1,
    /// figure 15)
    #[arg(long, conflicts_with_all = ["words", "no_nodes"])]
    instructions: bool,
    /// The folder of the NAS programs, with is.W.x or is.S.x and so on in it
    #[arg(long, value_name = "DIR")]
    npb: Option<PathBuf>,
    /// hypre's test driver `struct`, built with our mpicc, whose solver 0 is that of SMG2000
    /// [default: what `cargo xtask apps` built, if it is there]
    #[arg(long, value_name = "FILE")]
    hypre: Option<PathBuf>,
    /// An installation of Verbena to measure [default: build this tree in release and stage it]
    #[arg(long, value_name = "DIR")]
    stage: Option<PathBuf>,
    /// Result files measured elsewhere
    #[arg(long, value_name = "FILE", num_args = 1..)]
    add: Vec<PathBuf>,
    /// The folder of the report
    #[arg(long, value_name = "DIR", default_value = "target/papers")]
    out: PathBuf,
    /// The command behind -- finds two nodes without RDMA, `--hosts a,b`: networks of this machine
    /// that a virtual cable joins (as root), where messages go over the channel ofi and a look at
    /// it is a system call; as in `--cable -- polling --hosts a,b discovery`
    #[arg(long, requires = "words")]
    cable: bool,
    /// Instead of the report: one command of verbena-papers, as in `-- threshold --quick`
    #[arg(last = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

/// Minutes for the measurements: here, between networks of this machine, between nodes, and between
/// nodes with two rails.
struct Time {
    here: u32,
    cable: u32,
    nodes: u32,
    rails: u32,
}

/// The measurements in one guest.
struct Guest {
    /// The folder of its result, below that of the report.
    folder: &'static str,
    sections: &'static str,
    minutes: u32,
    /// Further options of `cargo xtask softroce`.
    options: &'static [&'static str],
}

/// The time that a guest may take beyond its measurements, in seconds: to boot, and for an
/// experiment that has begun.
const GUEST_SPARE_S: u32 = 180;
/// Memory of the guest in MiB: the sixteen ranks of a start-up benchmark.
const GUEST_MIB: u32 = 2048;
/// The sections measured here, those over a cable, where an empty look is a system call, those
/// measured between nodes, and those between nodes with two rails.
const HERE: &str = "sim,node,trace";
const CABLE: &str = "polling";
const NODES: &str = "ud,rc,bulk,verbs,threshold,trace,npb,smg";
const RAILS: &str = "rails";
/// Two devices a node, whose wires are slower than the processor that emulates them.
const TWO_RAILS: &[&str] = &["--rails", "2", "--rate", "100mbit"];

/// Runs the task.
///
/// # Errors
/// Verbena cannot be built, or the report cannot be made. What cannot be measured is a row with its
/// reason.
pub(crate) fn run(args: &Args) -> Result<()> {
    let stage = args.stage.clone().map_or_else(|| build_stage(&top()), Ok)?;
    if args.instructions {
        let file = count(&stage, &args.out)?;
        print!("{}", std::fs::read_to_string(&file)?);
        return Ok(());
    }
    let program = program(&stage)?;
    if !args.words.is_empty() {
        return command(args, &program);
    }
    let time = if args.quick { QUICK } else { FULL };
    let here = args.out.join("here");
    cleared(&here)?;
    measure_here(args, &program, &here, time.here)?;
    let cable = args.out.join("cable");
    cleared(&cable)?;
    measure_cable(args, &program, &cable, time.cable)?;
    let mut files = vec![here.join(MEASURED), cable.join(MEASURED)];
    let guests = [
        Guest { folder: "nodes", sections: NODES, minutes: time.nodes, options: &[] },
        Guest { folder: "rails", sections: RAILS, minutes: time.rails, options: TWO_RAILS },
    ];
    for guest in guests.iter().filter(|_| !args.no_nodes) {
        let folder = args.out.join(guest.folder);
        cleared(&folder)?;
        measure_nodes(args, &program, &folder, guest)?;
        files.push(folder.join(MEASURED));
    }
    if !args.no_nodes {
        // The row says that nothing was counted if that fails.
        match count(&stage, &args.out) {
            Ok(file) => files.push(file),
            Err(error) => eprintln!("papers: no instructions were counted: {error:#}"),
        }
    }
    let mut report = Command::new(&program);
    report.args(["report", "--report", "--out"]).arg(&args.out).arg("--add");
    report.args(files.iter().filter(|file| file.exists())).args(&args.add);
    succeed(&mut report)
}

/// Counts instructions in a guest, and returns the result file.
fn count(stage: &Path, out: &Path) -> Result<PathBuf> {
    let folder = std::path::absolute(out.join("instructions"))?;
    cleared(&folder)?;
    let file = folder.join(MEASURED);
    instructions::count(&top(), &std::path::absolute(stage)?, &folder, &file)?;
    Ok(file)
}

const FULL: Time = Time { here: 6, cable: 9, nodes: 82, rails: 5 };
const QUICK: Time = Time { here: 2, cable: 2, nodes: 11, rails: 2 };
/// The driver that `cargo xtask apps` builds.
const HYPRE: &str = "target/sources/hypre/src/test/struct";
/// The result file of a run.
const MEASURED: &str = "measured.json";

/// Runs the one command.
fn command(args: &Args, program: &Path) -> Result<()> {
    let mut command = Command::new(program);
    command.args(&args.words);
    if !args.cable {
        return succeed(&mut command);
    }
    let cable = laid()?;
    succeed(command.env("VERBENA_LAUNCHER", cable.launcher()))
}

/// A cable, where this process may lay one and messages can go over it.
fn laid() -> Result<Cable> {
    ensure!(has_libfabric(), "libfabric is not there (Debian: libfabric1)");
    Cable::lay().map_err(|said| anyhow!("no cable between network namespaces, which only root lays: {said}"))
}

/// Builds `verbena-papers` and puts it into a folder where it finds an installation as an installed
/// program would.
fn program(stage: &Path) -> Result<PathBuf> {
    let top = top();
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    succeed(build.args(["build", "--release", "--locked", "-p", "verbena-papers"]).current_dir(&top))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top.join("target"), PathBuf::from);
    let (stage, home) = (std::path::absolute(stage)?, top.join("target/papers-stage"));
    let place = || -> std::io::Result<PathBuf> {
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(home.join("bin"))?;
        for part in ["bin/mpiexec", "bin/verbena", "lib", "lib64"]
            .into_iter()
            .filter(|part| stage.join(part).exists())
        {
            symlink(stage.join(part), home.join(part))?;
        }
        let program = home.join("bin/verbena-papers");
        std::fs::copy(target.join("release/verbena-papers"), &program)?;
        Ok(program)
    };
    place().with_context(|| format!("cannot fill {}", home.display()))
}

/// Returns a folder without the files of an earlier run.
fn cleared(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let left = folder.join(MEASURED);
    if left.exists() {
        std::fs::remove_file(&left).with_context(|| format!("cannot remove {}", left.display()))?;
    }
    Ok(())
}

fn measure_here(args: &Args, program: &Path, out: &Path, minutes: u32) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["report", "--only", HERE, "--out"]).arg(out).args(effort(args, minutes));
    succeed(&mut command)
}

fn measure_cable(args: &Args, program: &Path, out: &Path, minutes: u32) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["report", "--only", CABLE, "--hosts", &ENDS.join(","), "--out"]).arg(out);
    command.args(effort(args, minutes));
    let cable = laid();
    match &cable {
        Ok(cable) => command.env("VERBENA_LAUNCHER", cable.launcher()),
        Err(lack) => command.args(["--lacks", &format!("{lack:#}")]),
    };
    succeed(&mut command)
}

fn measure_nodes(args: &Args, program: &Path, out: &Path, guest: &Guest) -> Result<()> {
    let mut command = Command::new(std::env::current_exe().context("this program's own path")?);
    command.args(["softroce", "--nodes", "2", "--memory", &GUEST_MIB.to_string()]).args(guest.options);
    command.args(["--limit", &(60 * guest.minutes + GUEST_SPARE_S).to_string(), "--out"]).arg(out).arg("--");
    command.arg(program).args([
        "report",
        "--hosts",
        "node0,node1",
        "--only",
        guest.sections,
        "--out",
        "/out",
    ]);
    command.args(effort(args, guest.minutes)).args(["--limit-s", "60"]);
    let built = Some(top().join(HYPRE)).filter(|path| path.exists());
    let hypre = args.hypre.clone().or(built);
    for (option, path) in [("--npb", &args.npb), ("--hypre", &hypre)] {
        if let Some(path) = path {
            // A guest sees this machine's files under their own names.
            let path = path.canonicalize().with_context(|| format!("{}", path.display()))?;
            command.arg(option).arg(path);
        }
    }
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        eprintln!("papers: the guest ended with {status}; its rows say what it did not measure");
    }
    Ok(())
}

fn effort(args: &Args, minutes: u32) -> Vec<String> {
    let mut words = vec!["--minutes".to_string(), minutes.to_string()];
    if args.quick {
        words.push("--quick".into());
    }
    words
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} failed: {status}") }
}
