//! The trials of a package in an environment that has nothing else: programs that must run, and
//! that it leaves nothing there.

use super::command::said;
use super::verdict::Tried;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::Lack;

/// Ranks of a trial.
const RANKS: u32 = 3;
/// A trial's job is ended after this many seconds: a hang.
const SECONDS_MAX: &str = "120";

/// A line of shell that runs a command in another root, whose path comes first. What it mounts
/// there is seen by this command alone.
const INSIDE: &str = r#"mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@""#;

/// An environment in which a package is installed.
pub(super) struct Place {
    /// The folder that stands for the top of the machine; none for this machine's.
    root: Option<PathBuf>,
    /// The folders of programs, as they are called there.
    path: String,
    /// A folder for what is built there, which is seen under the same path from inside `root`.
    work: PathBuf,
}

impl Place {
    /// An environment on this machine: only these folders of programs, besides the system's, and
    /// nothing else of the caller's environment.
    pub(super) fn here(programs: &Path, work: &Path) -> Place {
        Place { root: None, path: format!("{}:/usr/bin:/bin", programs.display()), work: work.into() }
    }

    /// The environment in another root: its system's folders of programs, and `programs` before
    /// them.
    pub(super) fn in_root(root: &Path, programs: Option<&str>) -> Place {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let path = programs.map_or(path.to_string(), |programs| format!("{programs}:{path}"));
        Place { root: Some(root.into()), path, work: PathBuf::from("/tmp") }
    }

    /// Runs a line of shell there, in the folder for what is built, and returns its output.
    ///
    /// # Errors
    /// It fails.
    pub(super) fn shell(&self, line: &str) -> Result<String> {
        let mut command = match &self.root {
            None => Command::new("env"),
            Some(root) => {
                let mut inside = Command::new("unshare");
                inside.args(["--mount", "sh", "-c", INSIDE]).arg(root).arg("env");
                inside
            }
        };
        command.args(["-i", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]);
        command.arg(format!("PATH={}", self.path)).arg(format!("HOME={}", self.work.display()));
        said(command.args(["sh", "-ec"]).arg(format!("cd '{}'; {line}", self.work.display())))
    }

    /// Returns whether there is such a program.
    pub(super) fn has(&self, program: &str) -> bool {
        self.shell(&format!("command -v {program}")).is_ok()
    }

    /// Puts a source of `packaging/trial` there, and returns its path inside.
    fn bring(&self, top: &Path, name: &str) -> Result<PathBuf> {
        let inside = self.work.join(name);
        let outside = match &self.root {
            None => inside.clone(),
            Some(root) => root.join(inside.strip_prefix("/").unwrap_or(&inside)),
        };
        let from = top.join("packaging/trial").join(name);
        std::fs::copy(&from, &outside)
            .with_context(|| format!("copying {} to {}", from.display(), outside.display()))?;
        Ok(inside)
    }

    /// A job of the trial, under the installed `mpiexec`.
    fn job(&self, program: &str) -> Result<String> {
        self.shell(&format!("timeout -k 5 {SECONDS_MAX} mpiexec -n {RANKS} {program}"))
    }

    /// A ring in C, compiled there by the installed `mpicc`.
    pub(super) fn c_ring(&self, top: &Path) -> Tried {
        if !self.has("cc") {
            return Ok(Some((Lack::Optional, "there is no C compiler".into())));
        }
        let source = self.bring(top, "ring.c")?;
        self.shell(&format!("mpicc '{}' -o ring", source.display()))?;
        let wanted = format!("ring: {RANKS} ranks, {} came back\n", RANKS - 1);
        let words = self.job("./ring")?;
        ensure!(words == wanted, "the ring said {words:?}, and not {wanted:?}");
        Ok(None)
    }

    /// A program of the module `mpi_f08`.
    pub(super) fn fortran_hello(&self, top: &Path) -> Tried {
        if !self.has("gfortran") {
            return Ok(Some((Lack::Optional, "there is no gfortran".into())));
        }
        let source = self.bring(top, "hello.f90")?;
        self.shell(&format!("mpifort '{}' -o hello", source.display()))?;
        let wanted = format!("hello: {RANKS} ranks\n");
        let words = self.job("./hello")?;
        ensure!(words == wanted, "the program said {words:?}, and not {wanted:?}");
        Ok(None)
    }

    /// mpi4py as `python` has it, built for no library of ours: it must find the library by itself.
    pub(super) fn mpi4py(&self, python: &str) -> Tried {
        let words = self.job(&format!("{python} -m mpi4py.bench helloworld"))?;
        let lines = words.lines().filter(|line| line.starts_with("Hello, World!")).count();
        ensure!(lines == RANKS as usize, "{lines} of {RANKS} ranks said hello: {words}");
        let script = "from mpi4py import MPI; print(MPI.Get_library_version())";
        let version = self.shell(&format!("{python} -c '{script}'"))?;
        ensure!(version.contains("Verbena"), "mpi4py runs on another library: {version}");
        self.job(&format!("{python} -m mpi4py.bench ringtest"))?;
        Ok(None)
    }

    /// The command `verbena` finds its library, of this version.
    pub(super) fn info(&self, version: &str) -> Tried {
        let words = self.shell("verbena info")?;
        ensure!(words.contains(version), "verbena info does not name the version {version}: {words}");
        Ok(None)
    }
}

/// Every file and folder below one, with its path from there.
pub(super) fn listed(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(next) = waiting.pop() {
        let entries = std::fs::read_dir(&next).with_context(|| format!("reading {}", next.display()))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
            found.insert(entry.path().strip_prefix(folder)?.to_path_buf());
        }
    }
    Ok(found)
}

/// Compares what was in a folder before an installation with what is there after its removal.
/// `is_allowed` excuses what the system's own tools write.
pub(super) fn without_trace(
    before: &BTreeSet<PathBuf>,
    folder: &Path,
    is_allowed: impl Fn(&Path) -> bool,
) -> Tried {
    let after = listed(folder)?;
    let left: Vec<&PathBuf> = after.difference(before).filter(|path| !is_allowed(path)).collect();
    ensure!(left.is_empty(), "left behind in {}: {left:?}", folder.display());
    let gone: Vec<&PathBuf> = before.difference(&after).filter(|path| !is_allowed(path)).collect();
    ensure!(gone.is_empty(), "removed from {}, and not of the package: {gone:?}", folder.display());
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_and_what_is_gone_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("own")).expect("own folder");
        let before = listed(folder.path()).expect("listed");
        let judge = || without_trace(&before, folder.path(), |path| path.ends_with("allowed"));
        assert!(judge().is_ok());
        std::fs::write(at("own/allowed"), "").expect("own folder");
        assert!(judge().is_ok());
        std::fs::write(at("own/left"), "").expect("own folder");
        assert!(format!("{:#}", judge().expect_err("left")).contains("own/left"));
        std::fs::remove_dir_all(at("own")).expect("own folder");
        assert!(format!("{:#}", judge().expect_err("gone")).contains("not of the package"));
    }

    #[test]
    fn nothing_of_the_caller_s_environment_comes_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::here(Path::new("/nowhere/bin"), folder.path());
        let words = place.shell("env | sort").expect("a shell");
        let names: Vec<&str> = words.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        for name in &names {
            let known = ["DEBIAN_FRONTEND", "HOME", "LC_ALL", "OLDPWD", "PATH", "PWD", "SHLVL", "_"];
            assert!(known.contains(name), "{name} in {words}");
        }
        assert!(place.has("sh") && !place.has("no-such-program"));
    }
}
