//! The common part of the whole-program tests: the staged installation, compiled C programs, jobs
//! under `mpiexec`.
//!
//! `make test` stages an installation and names it in `VERBENA_STAGE` (default: `target/stage`),
//! and a virtual environment with mpi4py in `VERBENA_VENV`. The tests use both as a user would:
//! nothing here reaches into the library.

pub mod anything;
pub mod apps;
pub mod book;
pub mod cable;
pub mod conformance;
pub mod gpu;
pub mod memory;
pub mod peers;
pub mod room;
pub mod softroce;
pub mod sources;
pub mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The top of the source tree.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the tree").to_path_buf()
}

/// A file of the staged installation.
///
/// # Panics
/// If it is not there: run `make stage` first.
pub fn staged(path: &str) -> PathBuf {
    let stage = std::env::var_os("VERBENA_STAGE").map_or(top().join("target/stage"), PathBuf::from);
    let file = stage.join(path);
    assert!(file.exists(), "{} is missing: run `make stage`", file.display());
    file
}

/// A file of the virtual environment with mpi4py.
///
/// # Panics
/// If it is not there: `make test` builds it.
pub fn venv(path: &str) -> PathBuf {
    let venv = std::env::var_os("VERBENA_VENV").map_or(top().join("target/venv"), PathBuf::from);
    let file = venv.join(path);
    assert!(file.exists(), "{} is missing: run `make test`", file.display());
    file
}

/// A file of the virtual environment with mpi4py's stock wheel.
///
/// # Panics
/// If it is not there: `make stock` makes it.
pub fn stock_venv(path: &str) -> PathBuf {
    let venv = std::env::var_os("VERBENA_STOCK_VENV").map_or(top().join("target/venv-stock"), PathBuf::from);
    let file = venv.join(path);
    assert!(file.exists(), "{} is missing: run `make stock`", file.display());
    file
}

/// Finds the number behind a name on a line of its own.
///
/// # Panics
/// If there is none.
pub fn count_of(said: &str, name: &str) -> u64 {
    let count = said.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    count.unwrap_or_else(|| panic!("no {name} in {said}"))
}

/// Returns the folder where test programs are built.
pub fn build_dir() -> PathBuf {
    let dir = top().join("target/programs");
    std::fs::create_dir_all(&dir).expect("target/ is writable");
    dir
}

/// An empty folder among the test programs. The caller alone uses this name.
pub fn scratch(name: &str) -> PathBuf {
    let dir = build_dir().join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("target/ is writable");
    dir
}

/// Fills a folder with the staged files under the names that cargo gives them, and with the sources
/// of the Fortran modules, as a build for `packaging/install`.
pub fn staged_build(folder: &Path) {
    std::fs::create_dir_all(folder).expect("target/ is writable");
    for (file, name) in [
        ("bin/mpiexec", "mpiexec"),
        ("bin/mpicc", "mpicc"),
        ("bin/verbena", "verbena"),
        ("lib/libmpi_abi.so.1", "libmpi_abi.so"),
        ("lib/libmpi.so.12", "libmpich.so"),
        ("lib/libmpifort.so.12", "libmpifort.so"),
        ("lib/libmpifort_abi.so.1", "libmpifort_abi.so"),
    ] {
        std::os::unix::fs::symlink(staged(file), folder.join(name)).expect("target/ is writable");
    }
    for module in verbena_codegen::fortran_modules().expect("the API table makes modules") {
        module.write(&folder.join("fortran")).expect("target/ is writable");
    }
}

/// Compiles `tests/programs/NAME.c` with the staged `mpicc`, once for all tests of this process.
/// Returns the program.
pub fn program(name: &str) -> PathBuf {
    static BUILT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let program = build_dir().join(name);
    if !built.contains(name) {
        let source = top().join("tests/programs").join(format!("{name}.c"));
        // Other processes may run the one that is there: a whole file takes its place.
        let out = build_dir().join(format!("{name}.{}", std::process::id()));
        compile(&staged("bin/mpicc"), &source, &out, &[]);
        std::fs::rename(&out, &program).expect("rename");
        built.insert(name.into());
    }
    program
}

/// Compiles one C file with this compiler and the strictest warnings as errors.
pub fn compile(compiler: &Path, source: &Path, out: &Path, more: &[&str]) {
    let mut command = Command::new(compiler);
    command
        .args(["-O1", "-g", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(out)
        .arg(source);
    let output = command.arg("-lpthread").args(more).output().expect("the compiler starts");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The end of a job and its output.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code of `mpiexec`.
    pub code: i32,
    /// Standard output of all ranks.
    pub stdout: String,
    /// Standard error of all ranks and of `mpiexec`.
    pub stderr: String,
    /// The time that it took.
    pub took: Duration,
    /// True if it had to be ended at its time limit: a hang.
    pub hung: bool,
}

impl Ended {
    /// Panics unless the job ended with exit code 0.
    #[track_caller]
    pub fn ok(self) -> Ended {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Panics unless standard error has this text.
    #[track_caller]
    pub fn complains(self, text: &str) -> Ended {
        assert!(
            self.stderr.contains(text),
            "no \"{text}\" in stderr:\n{}\nstdout:\n{}",
            self.stderr,
            self.stdout
        );
        self
    }
}

/// A job to run.
pub struct Job {
    command: Command,
    seconds_max: u32,
}

/// A job of `ranks` ranks of `program`, under the staged `mpiexec`, which ends it after
/// `SECONDS_MAX`.
pub fn job(ranks: u32, program: impl AsRef<std::ffi::OsStr>) -> Job {
    Job::under(&staged("bin/mpiexec"), ranks).arg(program)
}

/// A test's job is ended after this many seconds: that is a failure (a hang), never a measurement.
pub const SECONDS_MAX: u32 = 120;

impl Job {
    /// A job under this `mpiexec`; the program is the first argument added.
    pub fn under(mpiexec: &Path, ranks: u32) -> Job {
        Job::limited(mpiexec, ranks, SECONDS_MAX)
    }

    /// Creates a job with another time limit in seconds.
    pub fn limited(mpiexec: &Path, ranks: u32, seconds_max: u32) -> Job {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &seconds_max.to_string()]).arg(mpiexec).args(["-n", &ranks.to_string()]);
        command.stdin(Stdio::null());
        Job { command, seconds_max }
    }

    /// Adds one more argument.
    pub fn arg(mut self, arg: impl AsRef<std::ffi::OsStr>) -> Job {
        self.command.arg(arg);
        self
    }

    /// More arguments.
    pub fn args<A: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Job {
        self.command.args(args);
        self
    }

    /// An environment variable for all ranks.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Job {
        self.command.env(name, value);
        self
    }

    /// Runs all of it in a shell, behind this command.
    pub fn behind(self, first: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{first} && exec \"$@\""), "sh"]);
        command.arg(self.command.get_program()).args(self.command.get_args()).stdin(Stdio::null());
        let set = self.command.get_envs();
        command.envs(set.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))));
        Job { command, ..self }
    }

    /// Returns the command itself, for further needs of a test.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Runs the job to its end.
    pub fn run(mut self) -> Ended {
        let start = Instant::now();
        let output = self.command.output().expect("mpiexec starts");
        let mut ended = ended(output, start.elapsed());
        ended.hung = ended.code == 124 || ended.took.as_secs() >= u64::from(self.seconds_max);
        ended
    }
}

/// Runs a command that is no MPI job, and panics unless it succeeds.
#[track_caller]
pub fn shell(command: &mut Command) -> Ended {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let ended = ended(output, start.elapsed());
    assert_eq!(ended.code, 0, "{command:?}\nstdout:\n{}\nstderr:\n{}", ended.stdout, ended.stderr);
    ended
}

fn ended(output: Output, took: Duration) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code, stdout: text(output.stdout), stderr: text(output.stderr), took, hung: false }
}
