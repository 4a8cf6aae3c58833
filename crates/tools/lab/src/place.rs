//! The places of Verbena's parts, seen from this program, and the kind of machine.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

/// The folder that this program lies in.
///
/// # Errors
/// The operating system does not tell.
fn own_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    Ok(program.canonicalize()?.parent().map(PathBuf::from).unwrap_or_default())
}

/// The launcher beside this program.
///
/// # Errors
/// It is not there.
pub fn mpiexec() -> Result<PathBuf> {
    find("the launcher mpiexec", &["mpiexec"], "--mpiexec")
}

/// Returns the path of Verbena's library: installed in `../lib` or `../lib64`, or beside this
/// program in a build folder.
///
/// # Errors
/// It is not there.
pub fn library() -> Result<PathBuf> {
    let names = ["../lib/libmpi_abi.so.1", "../lib64/libmpi_abi.so.1", "libmpi_abi.so.1", "libmpi_abi.so"];
    find("the MPI library", &names, "--library")
}

/// Returns what the installation that this program lies in calls its version and its commit: the
/// answer of the `verbena` beside it; none without one.
pub fn build() -> Option<String> {
    let output = Command::new(own_folder().ok()?.join("verbena")).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

fn find(what: &str, names: &[&str], option: &str) -> Result<PathBuf> {
    let folder = own_folder()?;
    let found = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    match found {
        Some(path) => Ok(path.canonicalize()?),
        None => bail!(
            "cannot find {what}\n  on: {} (looked for {})\n  likely cause: this program was moved out of its \
             installation, or only it was built\n  what to do: install Verbena (make install), or say {option} PATH",
            folder.display(),
            names.join(", ")
        ),
    }
}

/// Returns the processor's name and how many processors this process may use.
pub fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or("?".into(), |n| n.to_string());
    format!("{}, {processors} usable", processor_name().unwrap_or_else(|| "unknown processor".into()))
}

/// The processor's name, where `/proc/cpuinfo` tells.
pub fn processor_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}
