//! The archive that runs where it is unpacked, with an install script that needs no root.

use super::archive;
use super::command::{self, said};
use super::digest;
use super::ground::Ground;
use super::image::Image;
use super::trial::{Place, listed, without_trace};
use super::verdict::Verdict;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The scripts that install and remove: from the sources into the archive, where an installation
/// takes them along.
const SCRIPTS: [&str; 4] = ["install", "uninstall", "prefix", "fault"];

/// The name of the archive, and of the folder in it.
fn name(ground: &Ground) -> String {
    format!("verbena-{}-linux-{}", ground.version, std::env::consts::ARCH)
}

/// Makes the archive.
pub(super) fn make(ground: &Ground) -> Result<Vec<PathBuf>> {
    let (work, name) = (ground.scratch("tarball")?, name(ground));
    let mut image = Image::installed(ground, &work, &format!("/{name}"))?;
    image.add_module_sources(ground)?;
    for script in SCRIPTS {
        let from = ground.top.join("packaging").join(script);
        image.add_copy(&from, &format!("share/verbena/packaging/{script}"))?;
    }
    let glibc = image.needs()?.glibc.map_or_else(|| "of any version".into(), |glibc| glibc.to_string());
    let compiler = gfortran()?;
    let words = [("GLIBC", glibc.as_str()), ("GFORTRAN", compiler.as_str())];
    command::write(&image.prefix.join("INSTALL.md"), ground.page("tarball/INSTALL.md", &words)?)?;
    let install = image.prefix.join("install");
    std::fs::copy(ground.top.join("packaging/tarball/install"), &install).context("copying the script")?;
    // The list that the installation wrote names folders of this machine.
    std::fs::remove_file(image.prefix.join("share/verbena/manifest.txt"))?;
    let files: Vec<PathBuf> =
        image.entries.iter().filter(|entry| entry.target.is_none()).map(|entry| image.file(entry)).collect();
    command::write(&image.prefix.join("SHA256SUMS"), digest::sums(&image.prefix, &files)?)?;
    let file = ground.out.join(format!("{name}.tar.gz"));
    archive::tar(&work, &name, &file, ground.epoch)?;
    Ok(vec![file])
}

/// The version of the gfortran here, which made the modules.
fn gfortran() -> Result<String> {
    if !command::is_there("gfortran") {
        return Ok("of no version: there was none".into());
    }
    Ok(said(Command::new("gfortran").arg("-dumpversion"))?.trim().into())
}

/// Unpacks the archive, runs programs on it where it lies; installs it elsewhere, runs them there,
/// and removes it.
pub(super) fn check(ground: &Ground, files: &[PathBuf]) -> Vec<Verdict> {
    let [file] = files else { return vec![Verdict::of("tarball", Err(anyhow::anyhow!("no file")))] };
    let (mut verdicts, ready) = match unpack(ground, file) {
        Ok(ready) => (vec![Verdict::of("tarball: unpacked", Ok(None))], ready),
        Err(error) => return vec![Verdict::of("tarball: unpacked", Err(error))],
    };
    let (work, home) = ready;
    verdicts.extend(programs(ground, "tarball", &Place::here(&home.join("bin"), &work)));
    let before = listed(&work);
    let prefix = work.join("some prefix");
    let installed = said(Command::new(home.join("install")).arg(&prefix));
    verdicts.push(Verdict::of("tarball: ./install", installed.map(|_| None)));
    verdicts.extend(programs(ground, "tarball, installed", &Place::here(&prefix.join("bin"), &work)));
    let uninstall = prefix.join("share/verbena/packaging/uninstall");
    let removed = said(Command::new(uninstall).arg(&prefix));
    verdicts.push(Verdict::of("tarball: uninstall", removed.map(|_| None)));
    let is_of_the_trial = |path: &Path| path.components().count() == 1 && !path.ends_with("some prefix");
    let left = before.and_then(|before| without_trace(&before, &work, is_of_the_trial));
    verdicts.push(Verdict::of("tarball: nothing is left", left));
    verdicts
}

/// The folder of the trial, and that of the unpacked archive in it.
fn unpack(ground: &Ground, file: &Path) -> Result<(PathBuf, PathBuf)> {
    let work = ground.scratch("tarball-trial")?;
    said(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(&work))?;
    let home = work.join(name(ground));
    said(Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(&home))?;
    Ok((work, home))
}

/// The trials of every package.
fn programs(ground: &Ground, what: &str, place: &Place) -> Vec<Verdict> {
    vec![
        Verdict::of(format!("{what}: verbena info"), place.info(&ground.version)),
        Verdict::of(format!("{what}: C"), place.c_ring(&ground.top)),
        Verdict::of(format!("{what}: Fortran"), place.fortran_hello(&ground.top)),
    ]
}
