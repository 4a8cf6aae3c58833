//! A build that runs with an older C library than this machine's.
//!
//! The linker sees the C library as it was: [`stub`] makes empty libraries that export what this
//! machine's C library exports, each symbol in the version that it had then, so a program that is
//! linked with them asks for no newer one. Functions that came later are missing, and Rust's
//! standard library does without them. What an older C library kept in its static part is in
//! `shim.c`, and its start of a program in `start.S`. Nothing is downloaded.

mod stub;

use super::command::{self, said};
use super::elf::Glibc;
use crate::crates::INSTALLED;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The platform for which the start of a program is written.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The sources of what an older C library linked statically.
const START: [(&str, &str); 2] = [("start.S", include_str!("start.S")), ("start.c", include_str!("start.c"))];
const SHIM: (&str, &str) = ("shim.c", include_str!("shim.c"));

/// Builds everything that is installed, so that it runs with this C library, and returns the folder
/// that `packaging/install` takes as `BUILD`.
///
/// # Errors
/// This is no x86-64, or something cannot be built.
pub(super) fn build(top: &Path, folder: &Path, oldest: Glibc) -> Result<PathBuf> {
    ensure!(
        cfg!(target_arch = "x86_64"),
        "a build for an older C library is made on x86-64 alone; name a ready build by --build"
    );
    let library = folder.join(format!("glibc-{oldest}"));
    command::remove(&library)?;
    std::fs::create_dir_all(&library).with_context(|| format!("cannot make {}", library.display()))?;
    stub::write(&library, oldest)?;
    objects(&library)?;
    compile(top, folder, &library)?;
    let built = folder.join(PLATFORM).join("release");
    for module in verbena_codegen::fortran_modules()? {
        module.write(&built.join("fortran"))?;
    }
    Ok(built)
}

/// Compiles what is linked statically: `Scrt1.o`, which the compiler puts first into a program, and
/// `libc_nonshared.a`.
fn objects(library: &Path) -> Result<()> {
    for (name, text) in START.into_iter().chain([SHIM]) {
        command::write(&library.join(name), text)?;
    }
    let cc = || {
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-fPIC", "-fno-builtin", "-fno-stack-protector"]).current_dir(library);
        cc
    };
    said(cc().args(["-r", "-nostdlib", "-o", "Scrt1.o", "start.S", "start.c"]))?;
    said(cc().args(["-c", "-o", "shim.o", "shim.c"]))?;
    said(Command::new("ar").args(["rcs", "libc_nonshared.a", "shim.o"]).current_dir(library))?;
    Ok(())
}

/// Lets cargo build the installed packages, linked with this library. The build scripts run here,
/// and are linked as ever: for that the platform is named.
fn compile(top: &Path, folder: &Path, library: &Path) -> Result<()> {
    let place = library.to_str().context("the path of the build is no UTF-8")?;
    let flags = [
        format!("-Lnative={place}"),
        format!("-Clink-arg=-B{place}/"),
        // The compiler's own libraries need what this machine's C library has.
        "-Clink-arg=-Wl,--allow-shlib-undefined".into(),
    ];
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--target", PLATFORM, "--target-dir"]).arg(folder);
    for package in INSTALLED {
        cargo.args(["-p", package]);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).current_dir(top);
    // Its progress is shown: this takes minutes.
    let status = cargo.status().with_context(|| format!("cannot run {cargo:?}"))?;
    ensure!(status.success(), "{cargo:?}: {status}");
    Ok(())
}
