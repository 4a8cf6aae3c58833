//! The other libraries of the standard ABI, where `cargo xtask peers --install-only` puts them.

use crate::{Job, top};
use std::path::PathBuf;

/// A library of the standard ABI with its own launcher.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The folder under `target/peers`.
    pub name: &'static str,
    /// The text that `MPI_Get_library_version` gives.
    pub says: &'static str,
    env: &'static [(&'static str, &'static str)],
}

/// MPICH 5.0.2.
pub const MPICH: Peer = Peer { name: "mpich", says: "MPICH Version:      5.0.2", env: &[] };

/// Intel MPI 2021.17. It looks for a fabric unless told that shared memory will do.
pub const INTEL: Peer =
    Peer { name: "intel", says: "Intel(R) MPI Library 2021.17", env: &[("I_MPI_FABRICS", "shm")] };

impl Peer {
    /// A file of its installation.
    ///
    /// # Panics
    /// If it is not there.
    pub fn file(&self, path: &str) -> PathBuf {
        let file = top().join("target/peers").join(self.name).join(path);
        assert!(
            file.exists(),
            "{} is missing: run `cargo xtask peers --install-only --only mpich,intel`",
            file.display()
        );
        file
    }

    /// A job under its launcher, with its library before every other one.
    pub fn job(&self, ranks: u32) -> Job {
        self.settings(Job::under(&self.file("bin/mpiexec"), ranks))
    }

    /// Adds the environment that its library needs to a job, whichever launcher starts it.
    pub fn settings(&self, job: Job) -> Job {
        let library = self.file("lib/libmpi_abi.so.1");
        let job = job.env("LD_LIBRARY_PATH", library.parent().expect("a folder"));
        self.env.iter().fold(job, |job, (name, value)| job.env(name, value))
    }
}
