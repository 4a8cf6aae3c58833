//! Tells `verbena`, and `verbena-papers`, the version, and the commit that it is built from if that
//! is known.

use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let version = commit().map_or_else(|| version.into(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=VERSION_AND_COMMIT={version}");
}

/// The commit; none without git, or outside a checkout of Verbena.
fn commit() -> Option<String> {
    // Git writes a line there whenever another commit is checked out: only then this runs again.
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    // An archive may lie in the checkout of another project, which does not know this file.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    git(&["rev-parse", "--short=10", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
