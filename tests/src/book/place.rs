//! The folder where the examples of a page run, on the staged installation, as a reader would run
//! them.

use crate::{scratch, staged};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The place of the installation as the pages write it.
pub const PREFIX: &str = "/opt/verbena";
/// The longest that one block may run, in seconds.
const SECONDS_MAX: u64 = 300;

/// The beginning and the end of every script. What is printed to standard error appears where a
/// terminal would show it.
const BEGIN: &str = r#"exec 2>&1
[ ! -f "$BOOK_STATE" ] || . "$BOOK_STATE"
[ ! -f "$BOOK_STATE.cwd" ] || cd "$(cat "$BOOK_STATE.cwd")"
kept() { code=$?; export -p >"$BOOK_STATE"; pwd >"$BOOK_STATE.cwd"; exit $code; }
trap kept EXIT
"#;

/// The place where the blocks of one page run.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    state: PathBuf,
    prefix: PathBuf,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; 128+N if signal N ended the shell.
    pub code: i32,
    /// All that it printed, with [`PREFIX`] for the installation.
    pub printed: String,
    /// True if it had to be ended.
    pub hung: bool,
}

impl Place {
    /// Makes an empty folder, called after the page.
    ///
    /// # Panics
    /// If the installation is missing or the folder cannot be made.
    pub fn new(page: &str) -> Place {
        let name = page.trim_end_matches(".md").replace('/', "-");
        let top = scratch(&name);
        let folder = top.join("here");
        std::fs::create_dir_all(&folder).expect("target/ is writable");
        let bin = staged("bin");
        let prefix = bin.parent().expect("a folder holds bin").to_owned();
        Place { folder, state: top.join("state"), prefix }
    }

    /// Writes a file of the page.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        let file = self.folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("target/ is writable");
        std::fs::write(file, self.here(text)).expect("target/ is writable");
    }

    /// Runs a block. Programs in `first` go before those of the installation.
    ///
    /// # Panics
    /// If no shell can be started.
    pub fn run(&self, text: &str, first: Option<&Path>) -> Ran {
        let script = self.state.with_extension("sh");
        let path = first.map_or(String::new(), |bin| format!("PATH={}:$PATH\n", bin.display()));
        let text = format!("{BEGIN}{path}set -e\n{}", self.here(text));
        std::fs::write(&script, text).expect("target/ is writable");
        let start = Instant::now();
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &SECONDS_MAX.to_string(), "sh"]).arg(&script).current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            if is_of_mpi(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        let path = std::env::var("PATH").expect("PATH");
        command
            .env("PATH", format!("{}:{path}", self.prefix.join("bin").display()))
            .env("BOOK_STATE", &self.state)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        let output = command.output().expect("timeout starts");
        let hung = start.elapsed() >= Duration::from_secs(SECONDS_MAX);
        let printed =
            String::from_utf8_lossy(&output.stdout).replace(&self.prefix.display().to_string(), PREFIX);
        Ran { code: output.status.code().unwrap_or(-1), printed, hung }
    }

    /// The text with the installation's own place.
    fn here(&self, text: &str) -> String {
        text.replace(PREFIX, &self.prefix.display().to_string())
    }
}

/// Returns whether a variable would tell a program of another job or of the tests themselves.
fn is_of_mpi(name: &str) -> bool {
    ["VERBENA_", "PMI", "OMPI_", "MPI", "HYDRA_", "I_MPI_", "SLURM_"]
        .iter()
        .any(|start| name.starts_with(start))
}
