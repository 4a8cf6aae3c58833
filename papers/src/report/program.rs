//! A program of somebody else under one design: started as our own workers are, within a limit.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use verbena_lab::devices;
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::variant::How;
use verbena_lab::observer::Observer;
use verbena_lab::witness::Witness;

/// The program.
pub(super) struct Program {
    /// The file.
    pub path: PathBuf,
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// The number of ranks.
    pub ranks: usize,
    /// The longest that it may take.
    pub limit: Duration,
}

/// The end of a program.
pub(super) struct Ran {
    /// The standard output.
    pub text: String,
    /// The waits of its processes, and the counts of the verbs devices that are seen from here,
    /// which a program of somebody else leaves behind too; no counts without devices.
    pub witness: Witness,
}

impl Program {
    /// Runs it under a design; returns what it printed, and what was counted.
    ///
    /// # Errors
    /// It cannot be started, takes too long, or fails.
    pub(super) fn run(&self, how: &How, between: &Between) -> Result<Ran> {
        let launch = between.launch(how, self.ranks, 1)?.context("our library has a launcher")?;
        let mut command = Command::new(&launch.mpiexec);
        command.args(&launch.launcher_args).args(["-n", &self.ranks.to_string()]);
        command.arg(&self.path).args(&self.arguments);
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.env("LD_LIBRARY_PATH", libraries(&launch.library)?);
        command.current_dir(std::env::temp_dir());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = devices::counts();
        let child = command.spawn().with_context(|| format!("cannot start {}", launch.mpiexec.display()))?;
        let mut observer = Observer::begin(&self.path);
        let text = finished(child, self.limit, || observer.look())?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let (waited, stolen) = observer.end();
        let counted = devices::since(&before);
        let witness = Witness { processors, waited, stolen, counted, ..Witness::default() };
        Ok(Ran { text, witness })
    }
}

/// Returns the folders for the dynamic linker: first that of our library, since programs in Fortran
/// need its companion.
fn libraries(library: &Path) -> Result<std::ffi::OsString> {
    let own = library.parent().map(Path::to_path_buf);
    let others = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let others = std::env::split_paths(&others).filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths(own.into_iter().chain(others)).context("a folder's name has a colon")
}

/// The standard output of a process that ends in time and with success; `look` is called now and
/// then until it does.
fn finished(mut child: Child, limit: Duration, mut look: impl FnMut()) -> Result<String> {
    let deadline = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id())?);
            // The launcher ends its ranks first; it may have gone by itself in this moment.
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            child.wait()?;
            bail!("not done after {} s", limit.as_secs());
        }
        look();
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    let words =
        String::from_utf8_lossy(&output.stderr).split_whitespace().take(60).collect::<Vec<_>>().join(" ");
    anyhow::ensure!(output.status.success(), "{}: {words}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        finished(command.spawn().expect("sh starts"), limit, || ())
    }

    #[test]
    fn what_it_prints_comes_back() {
        assert_eq!(shell("echo said", Duration::from_secs(10)).expect("ends"), "said\n");
    }

    #[test]
    fn a_failure_and_a_hang_are_errors() {
        let failed = shell("echo broken >&2; exit 3", Duration::from_secs(10)).expect_err("fails");
        assert!(failed.to_string().contains("broken"), "{failed}");
        let hung = shell("exec sleep 60", Duration::from_millis(50)).expect_err("hangs");
        assert!(hung.to_string().contains("not done"), "{hung}");
    }
}
