//! A Debian that has nothing else: unpacked once by debootstrap, and copied for each trial.

use super::super::command::{self, said};
use super::super::ground::Ground;
use super::super::trial::Place;
use super::super::verdict::Tried;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that the trial needs beside the packages.
const TOOLS: &str = "gcc,libc6-dev,gfortran";

/// A fresh Debian, removed when the trial ends.
pub(super) struct Debian {
    /// The top folder.
    pub root: PathBuf,
    /// The environment in it.
    pub place: Place,
}

impl Debian {
    /// Makes one like the machine's own.
    ///
    /// # Errors
    /// There is no debootstrap, this is not root, or the archive cannot be reached.
    pub(super) fn new(ground: &Ground) -> Result<Debian> {
        let pristine = pristine(ground)?;
        let root = ground.out.join("work/debian");
        command::remove(&root)?;
        said(Command::new("cp").arg("-a").arg(&pristine).arg(&root))?;
        Ok(Debian { place: Place::in_root(&root, None), root })
    }

    /// Installs these files.
    pub(super) fn install(&self, files: &[PathBuf]) -> Tried {
        let mut names = Vec::new();
        for file in files {
            let name = file.file_name().context("a file has a name")?.to_string_lossy().into_owned();
            std::fs::copy(file, self.root.join("tmp").join(&name)).with_context(|| name.clone())?;
            names.push(format!("/tmp/{name}"));
        }
        self.place.shell(&format!("dpkg --install {}", names.join(" ")))?;
        Ok(None)
    }

    /// Without another MPI library, the names without an ending are ours.
    pub(super) fn alternatives(&self) -> Tried {
        for (name, end) in [("mpicc", "verbena/bin/mpicc"), ("mpiexec", "verbena/bin/mpiexec")] {
            let path = self.place.shell(&format!("readlink -f \"$(command -v {name})\""))?;
            ensure!(path.trim_end().ends_with(end), "{name} is {path}");
        }
        self.place.shell("update-alternatives --display mpi")?;
        Ok(None)
    }

    /// Removes these packages with all that belongs to them.
    pub(super) fn purge(&self, names: &[&str]) -> Tried {
        self.place.shell(&format!("dpkg --purge {}", names.join(" ")))?;
        Ok(None)
    }
}

impl Drop for Debian {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Returns whether dpkg, or the trial, writes there when packages come and go.
pub(super) fn is_dpkg_s(path: &Path) -> bool {
    ["var/lib/dpkg", "var/cache", "var/log", "etc/ld.so.cache", "tmp"].iter().any(|own| path.starts_with(own))
}

/// The folder of a Debian that no trial changes.
fn pristine(ground: &Ground) -> Result<PathBuf> {
    let root = ground.out.join("debian");
    if root.join("complete").exists() {
        return Ok(root);
    }
    ensure!(command::is_there("debootstrap"), "debootstrap is not installed (apt-get install debootstrap)");
    let (suite, mirror) = archive()?;
    command::remove(&root)?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", &format!("--include={TOOLS}")]).arg(suite).arg(&root).arg(mirror);
    said(&mut debootstrap)?;
    command::write(&root.join("complete"), "")?;
    Ok(root)
}

/// The release and the archive that this machine's packages come from.
fn archive() -> Result<(String, String)> {
    let release = std::fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let suite = suite.context("/etc/os-release names no Debian release")?.trim_matches('"').to_string();
    let line = said(Command::new("apt-get").args(["indextargets", "--format", "$(SITE)|$(RELEASE)"]))?;
    let sites = line.lines().filter_map(|line| line.split_once('|'));
    let site = sites.filter(|(_, release)| *release == suite).map(|(site, _)| site).next();
    Ok((suite, site.context("apt knows no archive of this release")?.to_string()))
}
