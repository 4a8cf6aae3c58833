//! Applications of others: how each is built, run and judged. The tests use some of them;
//! `cargo xtask apps` runs them all.
//!
//! | module | what |
//! | --- | --- |
//! | [`hpcc`] | the HPC Challenge benchmarks |
//! | [`netpipe`] | messages of every length between two ranks, with a check of each byte |
//! | [`hypre`] | structured multigrid solvers, by hypre's own tests |
//! | [`hdf5`] | HDF5's own tests of parallel access |
//! | [`pnetcdf`] | PnetCDF's own tests for several processes |
//! | [`fftw`] | distributed transforms, by FFTW's own tests |
//! | [`scalapack`] | ScaLAPACK's own testers, as Debian ships them for MPICH or Open MPI |
//! | [`coarrays`] | OpenCoarrays' own tests, as Debian ships them for MPICH or Open MPI |
//! | [`npb`] | the NAS Parallel Benchmarks that the user has built |
//! | [`armci`] | ARMCI-MPI's own tests that the user has built |
//! | [`romio`] | ROMIO's own tests of files, from the user's source of MPICH |
//! | [`ior`] | IOR over files of MPI, from the user's copy of its source |
//! | [`ulfm`] | the programs about lost processes in the user's copy of ulfm-testing |

pub mod armci;
pub mod coarrays;
pub mod fftw;
pub mod hdf5;
pub mod hpcc;
pub mod hypre;
pub mod ior;
pub mod netpipe;
pub mod npb;
pub mod pnetcdf;
pub mod romio;
pub mod scalapack;
pub mod ulfm;

use crate::world::World;
use crate::{Ended, top};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The application's own checks.
    Checked,
    /// A part of those checks that is short on virtual nodes, which are slow.
    Nodes,
    /// A run long enough to be timed beside other libraries.
    Timed,
}

/// A figure that an application reports of itself. Units that end in `/s` are better the higher
/// they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name of the figure.
    pub name: String,
    /// The unit of the value.
    pub unit: &'static str,
    /// The value itself.
    pub value: f64,
}

impl Figure {
    /// A figure.
    pub fn new(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value }
    }
}

/// Panics unless the application's own checks passed; else its figures.
pub type Judge = Box<dyn Fn(&Ended) -> Vec<Figure>>;

/// A run of an application.
pub struct Run {
    /// The name, of one word.
    pub name: String,
    /// The most ranks in it.
    pub ranks: u32,
    /// The time limit, in seconds.
    pub seconds_max: u32,
    /// Files in its folder: name and text.
    pub files: Vec<(&'static str, String)>,
    /// A script of `bash`, run in an empty folder, that starts ranks by
    /// `$LAUNCH N PROGRAM ARGUMENTS...` and prints what the judge wants to see.
    pub script: String,
    /// The judge.
    pub judge: Judge,
}

impl Run {
    /// The script with all that it needs, whose folder is made.
    pub fn ready(&self, world: &World) -> String {
        let folder = top().join("target/apps/run").join(&world.name).join(&self.name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("target/ is writable");
        for (name, text) in &self.files {
            fs::write(folder.join(name), text).expect("target/ is writable");
        }
        let (launch, folder) = (world.launch.display(), folder.display());
        format!("set -e\ncd {folder}\nexport LAUNCH={launch}\n{}\n", self.script)
    }

    /// Runs it here, without judging.
    pub fn go(&self, world: &World) -> Ended {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &self.seconds_max.to_string(), "bash", "-c", &self.ready(world)]);
        let start = std::time::Instant::now();
        let output = command.stdin(std::process::Stdio::null()).output().expect("bash starts");
        crate::ended(output, start.elapsed())
    }

    /// Runs it here and judges it.
    #[track_caller]
    pub fn check(&self, world: &World) -> Vec<Figure> {
        (self.judge)(&self.go(world).ok())
    }
}

/// The runs of an application in a world.
pub type Runs = Box<dyn Fn(&World, Purpose) -> Vec<Run>>;

/// An application.
pub struct App {
    /// The name of the application.
    pub name: &'static str,
    /// The function that returns its runs in a world. It builds what is missing, and panics if that
    /// fails.
    pub runs: Runs,
}

/// A function that returns the runs of an application in a folder of the user.
type InFolder = fn(&Path, &World, Purpose) -> Vec<Run>;

/// The folders of applications that the user has fetched or built.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// The NAS Parallel Benchmarks.
    pub npb: Option<PathBuf>,
    /// ARMCI-MPI.
    pub armci: Option<PathBuf>,
    /// MPICH's source.
    pub romio: Option<PathBuf>,
    /// IOR's source.
    pub ior: Option<PathBuf>,
    /// The source of ulfm-testing.
    pub ulfm: Option<PathBuf>,
}

/// Returns all applications, of those in folders of the user the ones that are there.
pub fn all(folders: Folders) -> Vec<App> {
    let app = |name, runs: fn(&World, Purpose) -> Vec<Run>| App { name, runs: Box::new(runs) };
    let mut all = vec![
        app("netpipe", netpipe::runs),
        app("hpcc", hpcc::runs),
        app("hypre", hypre::runs),
        app("fftw", fftw::runs),
        app("hdf5", hdf5::runs),
        app("pnetcdf", pnetcdf::runs),
        app("scalapack", scalapack::runs),
        app("coarrays", coarrays::runs),
    ];
    let Folders { npb, armci, romio, ior, ulfm } = folders;
    let given: [(_, _, InFolder); 5] = [
        ("npb", npb, npb::runs),
        ("armci", armci, armci::runs),
        ("romio", romio, romio::runs),
        ("ior", ior, ior::runs),
        ("ulfm", ulfm, ulfm::runs),
    ];
    for (name, home, runs) in given {
        let runs =
            |home: PathBuf| App { name, runs: Box::new(move |world, purpose| runs(&home, world, purpose)) };
        all.extend(home.map(runs));
    }
    all
}
