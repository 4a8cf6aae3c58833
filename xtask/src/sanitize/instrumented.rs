//! The library built with a sanitizer, under C programs that are built with it too.
//!
//! The program carries the sanitizer's runtime, rustc's own, since a library cannot; both
//! compilers' code calls the same functions of it. `mpiexec` is the staged one, without a
//! sanitizer.

use super::programs::{Canary, run_all, trouble};
use super::{Ground, output};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target triple that is built for; naming it keeps build scripts from being instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sanitizer {
    Address,
    Thread,
}

impl Sanitizer {
    /// Returns the name that compilers use.
    fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "address",
            Sanitizer::Thread => "thread",
        }
    }

    /// The runtime's file in rustc's libraries.
    fn runtime(self) -> &'static str {
        match self {
            Sanitizer::Address => "librustc-nightly_rt.asan.a",
            Sanitizer::Thread => "librustc-nightly_rt.tsan.a",
        }
    }

    /// Returns the variable of its options, and these. Leaks are memcheck's job: memory that lives
    /// as long as the process is no leak.
    fn options(self) -> (&'static str, &'static str) {
        match self {
            Sanitizer::Address => ("ASAN_OPTIONS", "detect_leaks=0:exitcode=66"),
            Sanitizer::Thread => ("TSAN_OPTIONS", "exitcode=66:halt_on_error=0"),
        }
    }

    /// Returns a fault that it must find.
    fn canary(self) -> Canary {
        match self {
            Sanitizer::Address => Canary { fault: "freed", report: "heap-use-after-free" },
            Sanitizer::Thread => Canary { fault: "race", report: "data race" },
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Sanitizer::Address => "ERROR: AddressSanitizer",
            Sanitizer::Thread => "WARNING: ThreadSanitizer",
        }
    }
}

/// Builds the library and runs all programs on it.
///
/// # Errors
/// Something is missing, does not build, or was found.
pub(super) fn run(ground: &Ground, sanitizer: Sanitizer) -> Result<String> {
    ensure!(cfg!(all(target_arch = "x86_64", target_os = "linux")), "this step knows x86-64 Linux only");
    ground.demand_components(&["rust-src"])?;
    let into = ground.top.join("target/sanitize").join(sanitizer.name());
    let library = build(ground, sanitizer, &into)?;
    let link = link_options(ground, sanitizer, &library)?;
    let (variable, options) = sanitizer.options();
    run_all(&sanitizer.canary(), |program| {
        let built = program.compile(ground, &into, Path::new("cc"), &link)?;
        let mut job = program.job(ground, &[], &built)?;
        trouble(job.env(variable, options), program.name, &[sanitizer.mark()])
    })
}

/// The library, by the name that programs ask for. The standard library is built along, so that its
/// code is seen too.
fn build(ground: &Ground, sanitizer: Sanitizer, into: &Path) -> Result<PathBuf> {
    let mut cargo = ground.cargo();
    cargo.args(["build", "--locked", "-p", "verbena-abi", "-Zbuild-std", "--target", TARGET, "--target-dir"]);
    cargo.arg(into).env("RUSTFLAGS", format!("-Zsanitizer={} -Cforce-frame-pointers=yes", sanitizer.name()));
    output(&mut cargo)?;
    let built = into.join(TARGET).join("debug/libmpi_abi.so");
    let library = into.join("libmpi_abi.so.1");
    std::fs::copy(&built, &library).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(library)
}

/// Returns the options that link a program with the library: header, instrumentation, runtime,
/// library.
fn link_options(ground: &Ground, sanitizer: Sanitizer, library: &Path) -> Result<Vec<String>> {
    let mut rustc = Command::new("rustc");
    rustc
        .arg(format!("+{}", ground.toolchain))
        .args(["--print", "target-libdir"])
        .env_remove("RUSTUP_TOOLCHAIN");
    let folder = String::from_utf8(output(&mut rustc)?.stdout)?;
    let runtime = Path::new(folder.trim()).join(sanitizer.runtime());
    ensure!(
        runtime.exists(),
        "{} is missing. Install the toolchain anew: rustup toolchain install {}",
        runtime.display(),
        ground.toolchain
    );
    let home = library.parent().unwrap_or(Path::new("."));
    Ok(vec![
        format!("-I{}", ground.top.join("include").display()),
        "-Wl,--whole-archive".into(),
        runtime.display().to_string(),
        "-Wl,--no-whole-archive".into(),
        "-Wl,--export-dynamic".into(),
        library.display().to_string(),
        format!("-Wl,-rpath,{}", home.display()),
        "-ldl".into(),
        "-lrt".into(),
        "-lm".into(),
        "-lgcc_s".into(),
    ])
}
