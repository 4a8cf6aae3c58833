//! `cargo xtask package`: what people install without a Rust toolchain, each kind made from the
//! files that `packaging/install` installs (`packaging/image` is the one list of them), and tried
//! in an environment that has nothing else.
//!
//! | module | job |
//! | --- | --- |
//! | [`ground`] | what all kinds share: the tree, the build, the version, the date |
//! | [`glibc`] | a build that runs with an older C library than this machine's |
//! | [`elf`] | which version of the C library a file needs |
//! | [`image`] | the installed files of a build |
//! | [`archive`], [`digest`], [`command`] | zip and tar files, checksums, programs that are run |
//! | [`wheel`], [`tarball`], [`deb`], [`rpm`], [`recipes`] | one kind of package each |
//! | [`trial`] | what each package must do, and that it leaves nothing |
//! | [`verdict`] | the outcome of a trial |

mod archive;
mod command;
mod deb;
mod digest;
mod elf;
mod glibc;
mod ground;
mod image;
mod recipes;
mod rpm;
mod tarball;
#[cfg(test)]
mod tests;
mod trial;
mod verdict;
mod wheel;

use anyhow::{Context, Result};
use ground::Ground;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verdict::Verdict;

/// The options of `cargo xtask package`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The packages to make [default: all]
    #[arg(value_enum)]
    kinds: Vec<Kind>,
    /// A ready build, as target/release after make; what is packaged then needs the C library that
    /// it was linked with [default: a build of its own for glibc 2.28]
    #[arg(long, value_name = "DIR")]
    build: Option<PathBuf>,
    /// The folder of the packages
    #[arg(long, value_name = "DIR", default_value = "target/package")]
    out: PathBuf,
    /// The address from which the recipes fetch the source archive [default: the file itself]
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Try each package in an environment that has nothing else, and lint it
    #[arg(long)]
    check: bool,
}

/// A kind of package.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// For pip: verbena_mpi-VERSION-py3-none-PLATFORM.whl
    Wheel,
    /// An archive that runs where it is unpacked, with an install script that needs no root
    Tarball,
    /// For Debian and Ubuntu: libverbena1, verbena, verbena-dev
    Deb,
    /// For Fedora, RHEL and their like: a spec file, and packages where rpmbuild is
    Rpm,
    /// Recipes for Spack and conda, and a Dockerfile
    Recipes,
}

/// All kinds, in the order in which they are made.
const KINDS: [Kind; 5] = [Kind::Wheel, Kind::Tarball, Kind::Deb, Kind::Rpm, Kind::Recipes];

impl Kind {
    /// Makes the package and returns its files.
    fn make(self, ground: &Ground) -> Result<Vec<PathBuf>> {
        match self {
            Kind::Wheel => wheel::make(ground),
            Kind::Tarball => tarball::make(ground),
            Kind::Deb => deb::make(ground),
            Kind::Rpm => rpm::make(ground),
            Kind::Recipes => recipes::make(ground),
        }
    }

    /// Tries the files of the package.
    fn check(self, ground: &Ground, files: &[PathBuf]) -> Vec<Verdict> {
        match self {
            Kind::Wheel => wheel::check(ground, files),
            Kind::Tarball => tarball::check(ground, files),
            Kind::Deb => deb::check(ground, files),
            Kind::Rpm => rpm::check(ground, files),
            Kind::Recipes => recipes::check(ground, files),
        }
    }
}

/// Runs the task. The exit code says whether all trials passed.
///
/// # Errors
/// Verbena cannot be built, or a package cannot be made.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let top = verbena_codegen::root();
    let ground = Ground::new(&top, &top.join(&args.out), args.build.as_deref(), args.source.clone())?;
    let kinds = if args.kinds.is_empty() { KINDS.to_vec() } else { args.kinds.clone() };
    let mut verdicts = Vec::new();
    let mut files = Vec::new();
    for kind in kinds {
        let made = kind.make(&ground).with_context(|| format!("making the package {kind:?}"))?;
        made.iter().for_each(|file| println!("{}", file.display()));
        if args.check {
            verdicts.extend(kind.check(&ground, &made));
        }
        files.extend(made);
    }
    sums(&ground.out, &files)?;
    verdicts.iter().for_each(|verdict| println!("{verdict}"));
    Ok(if verdicts.iter().any(Verdict::is_failure) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Makes all packages of a release in `out` and returns their files, after those that are there
/// already, with `SHA256SUMS` last.
///
/// # Errors
/// As [`run`].
pub(crate) fn all(
    top: &Path,
    out: &Path,
    source: Option<String>,
    mut files: Vec<PathBuf>,
) -> Result<Vec<PathBuf>> {
    let ground = Ground::new(top, out, None, source)?;
    for kind in KINDS {
        files.extend(kind.make(&ground).with_context(|| format!("making the package {kind:?}"))?);
    }
    let list = sums(&ground.out, &files)?;
    files.push(list);
    Ok(files)
}

/// Writes `SHA256SUMS` beside the packages.
fn sums(out: &Path, files: &[PathBuf]) -> Result<PathBuf> {
    let list = out.join("SHA256SUMS");
    // The source archive is a part of several kinds.
    let files: Vec<PathBuf> = BTreeSet::from_iter(files).into_iter().cloned().collect();
    std::fs::write(&list, digest::sums(out, &files)?).with_context(|| list.display().to_string())?;
    Ok(list)
}
