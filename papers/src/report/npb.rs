//! The NAS programs themselves, where somebody has built them: `DIR/is.W.x` and so on, of version 3
//! of their MPI form.

use super::measure::Budget;
use super::record::Record;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::variant::{How, Place};
use verbena_sim::figures::Table;

/// The programs of the papers.
const PROGRAMS: [&str; 7] = ["is", "mg", "lu", "cg", "ft", "sp", "bt"];
/// Classes, the one that is preferred first: a larger one takes minutes here.
const CLASSES: [&str; 2] = ["W", "S"];
/// The number of ranks: one that all programs can be divided among.
const RANKS: usize = 4;
/// The longest that a program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The results that a program prints at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    mop_s: f64,
    seconds: f64,
}

/// Runs each program that is there.
///
/// # Errors
/// The file cannot be written. A program that is missing or fails is noted.
pub(super) fn run(folder: &Path, between: &Between, budget: &Budget, record: &mut Record) -> Result<()> {
    let mut speeds = Table::new("NAS programs", ["program", "Verbena"]);
    let mut failures = Vec::new();
    for program in PROGRAMS {
        if budget.is_up() {
            failures.push(format!("{program}: the time for this run was up"));
            continue;
        }
        eprintln!("npb {program}");
        match one(folder, program, between) {
            Ok(said) => {
                speeds.add(format!("{program}, {RANKS}"), vec![said.mop_s]);
                eprintln!("  {:.1} Mop/s, {:.2} s", said.mop_s, said.seconds);
            }
            Err(error) => failures.push(format!("{program}: {error:#}")),
        }
        record.table("npb", "mop_s", "Mop/s", &speeds)?;
    }
    if failures.is_empty() { Ok(()) } else { record.skip("npb", &failures.join("; ")) }
}

fn one(folder: &Path, program: &str, between: &Between) -> Result<Said> {
    let path =
        CLASSES.iter().map(|class| folder.join(format!("{program}.{class}.x"))).find(|path| path.exists());
    let path =
        path.with_context(|| format!("neither {program}.W.x nor {program}.S.x is in {}", folder.display()))?;
    let launch = between
        .launch(&How::Ours(Place::Node, Vec::new()), RANKS, 1)?
        .context("our library has a launcher")?;
    let mut command = Command::new(&launch.mpiexec);
    command.args(&launch.launcher_args).args(["-n", &RANKS.to_string()]).arg(&path);
    command
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.env("LD_LIBRARY_PATH", libraries(&launch.library)?);
    let child = command.spawn().with_context(|| format!("cannot start {}", launch.mpiexec.display()))?;
    understood(&finished(child, LIMIT)?)
}

/// Returns the folders for the dynamic linker: first that of our library, since programs in Fortran
/// need its companion.
fn libraries(library: &Path) -> Result<std::ffi::OsString> {
    let own = library.parent().map(Path::to_path_buf);
    let others = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let others = std::env::split_paths(&others).filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths(own.into_iter().chain(others)).context("a folder's name has a colon")
}

/// The standard output of a process that ends in time and with success.
fn finished(mut child: std::process::Child, limit: Duration) -> Result<String> {
    let deadline = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id())?);
            // The launcher ends its ranks first; it may have gone by itself in this moment.
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            child.wait()?;
            bail!("not done after {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    let words =
        String::from_utf8_lossy(&output.stderr).split_whitespace().take(60).collect::<Vec<_>>().join(" ");
    anyhow::ensure!(output.status.success(), "{}: {words}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads the summary that all of them print.
fn understood(text: &str) -> Result<Said> {
    // Some of them also announce the verification, in a line without a sign of equality.
    let after = |name: &str| {
        let of_name = |line: &&str| line.trim_start().starts_with(name);
        text.lines().filter(of_name).find_map(|line| Some(line.split_once('=')?.1.trim()))
    };
    let verdict = after("Verification").context("it printed no line \"Verification\"")?;
    anyhow::ensure!(verdict == "SUCCESSFUL", "its verification says {verdict}");
    let number = |name: &str| -> Result<f64> {
        let text = after(name).with_context(|| format!("it printed no line \"{name}\""))?;
        text.parse().with_context(|| format!("\"{text}\" is no number"))
    };
    Ok(Said { mop_s: number("Mop/s total")?, seconds: number("Time in seconds")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n Verification being performed for class W\n IS Benchmark Completed\n Class           =                        W\n Time in seconds =                     0.02\n \
                        Mop/s total     =                    51.43\n Mop/s/process   =                    12.86\n Verification    =               SUCCESSFUL\n";

    #[test]
    fn a_summary_is_read() {
        assert_eq!(understood(TEXT).expect("a summary"), Said { mop_s: 51.43, seconds: 0.02 });
    }

    #[test]
    fn what_did_not_verify_is_no_result() {
        assert!(understood(&TEXT.replace("SUCCESSFUL", "UNSUCCESSFUL")).is_err());
        assert!(understood("Segmentation fault").is_err());
    }
}
