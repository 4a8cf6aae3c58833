//! Debian packages: `libverbena1` (the libraries), `verbena` (`mpiexec` and the command), and
//! `verbena-dev` (the compiler wrappers, headers and modules).
//!
//! All files lie in a folder of their own, as those of Debian's other MPI libraries do, so that
//! several can be installed side by side; `/usr/bin` has links under names like `mpicc.verbena`,
//! and the alternatives `mpi`, `mpirun` and `libmpi_abi.so.1` choose among the libraries.
//!
//! | module | job |
//! | --- | --- |
//! | [`parts`] | which file belongs to which package |
//! | [`control`] | what dpkg is told of a package |
//! | [`bare`] | a Debian that has nothing else |

mod bare;
mod control;
mod parts;

use super::command::{self, said};
use super::ground::Ground;
use super::image::Image;
use super::trial::{listed, without_trace};
use super::verdict::{Tried, Verdict};
use anyhow::{Context, Result};
use parts::{PARTS, Part};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::Lack;

/// The words for the architecture: Debian's, and that of its folders.
fn architecture() -> (&'static str, &'static str) {
    if cfg!(target_arch = "aarch64") { ("arm64", "aarch64-linux-gnu") } else { ("amd64", "x86_64-linux-gnu") }
}

/// The prefix of the installation.
fn prefix() -> String {
    format!("/usr/lib/{}/verbena", architecture().1)
}

/// Makes the packages.
pub(super) fn make(ground: &Ground) -> Result<Vec<PathBuf>> {
    let work = ground.scratch("deb")?;
    let image = Image::installed(ground, &work.join("image"), &prefix())?;
    PARTS.iter().map(|part| package(ground, &image, part, &work)).collect()
}

fn package(ground: &Ground, image: &Image, part: &Part, work: &Path) -> Result<PathBuf> {
    let root = work.join(part.name);
    part.fill(image, &root)?;
    pages(ground, part, &root)?;
    control::write(ground, part, &root)?;
    let file = ground.out.join(format!("{}_{}_{}.deb", part.name, ground.version, architecture().0));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&file);
    said(build.env("SOURCE_DATE_EPOCH", ground.epoch.to_string()))?;
    Ok(file)
}

/// The licence and the list of changes, which each package has.
fn pages(ground: &Ground, part: &Part, root: &Path) -> Result<()> {
    let folder = root.join("usr/share/doc").join(part.name);
    command::write(&folder.join("copyright"), control::copyright(ground)?)?;
    let changes = folder.join("changelog");
    command::write(&changes, control::changelog(ground)?)?;
    said(Command::new("gzip").arg("-9nf").arg(&changes))?;
    Ok(())
}

/// Lints the packages; installs them in a Debian that has nothing else, runs programs there, and
/// removes them.
pub(super) fn check(ground: &Ground, files: &[PathBuf]) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::of("deb: lintian", lint(files))];
    let bare = match bare::Debian::new(ground) {
        Ok(bare) => bare,
        Err(error) => {
            let why = format!("no Debian can be unpacked here: {error:#}");
            verdicts.push(Verdict::of("deb", Ok(Some((Lack::Rights, why)))));
            return verdicts;
        }
    };
    verdicts.extend(tried(ground, files, &bare));
    verdicts
}

fn tried(ground: &Ground, files: &[PathBuf], bare: &bare::Debian) -> Vec<Verdict> {
    let before = listed(&bare.root);
    let mut verdicts = vec![Verdict::of("deb: dpkg --install", bare.install(files))];
    if verdicts[0].is_failure() {
        return verdicts;
    }
    let (place, top) = (&bare.place, &ground.top);
    verdicts.push(Verdict::of("deb: verbena info", place.info(&ground.version)));
    verdicts.push(Verdict::of("deb: the alternatives", bare.alternatives()));
    verdicts.push(Verdict::of("deb: C", place.c_ring(top)));
    verdicts.push(Verdict::of("deb: Fortran", place.fortran_hello(top)));
    let names: Vec<&str> = PARTS.iter().rev().map(|part| part.name).collect();
    verdicts.push(Verdict::of("deb: dpkg --purge", bare.purge(&names)));
    let left = before.and_then(|before| without_trace(&before, &bare.root, bare::is_dpkg_s));
    verdicts.push(Verdict::of("deb: nothing is left", left));
    verdicts
}

/// Lintian's errors and warnings.
fn lint(files: &[PathBuf]) -> Tried {
    if !command::is_there("lintian") {
        return Ok(Some((Lack::Optional, "lintian is not installed (apt-get install lintian)".into())));
    }
    let mut lintian = Command::new("lintian");
    // No bug in Debian's list is closed by a package that Debian does not have.
    let suppressed = "initial-upload-closes-no-bugs";
    lintian.args(["--fail-on", "error,warning", "--suppress-tags", suppressed, "--allow-root"]);
    said(lintian.args(files)).context("lintian")?;
    Ok(None)
}
