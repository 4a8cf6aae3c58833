//! `cargo xtask release VERSION`: from a clean tree to a tag and a folder of files to publish.
//!
//! It looks at the tree and at CHANGELOG.md first, and changes nothing if something is wrong. Then
//! it writes the version, lets `make check` judge, commits, tags, makes all packages, the list of
//! their checksums, and a bill of materials. It pushes nothing.
//!
//! | module | job |
//! | --- | --- |
//! | [`changelog`] | the section of a version |
//! | [`version`] | the version, in manifests and lock files |
//! | [`sbom`] | the bill of materials |

mod changelog;
mod sbom;
mod version;

use crate::crates::Graph;
use crate::package;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use time::OffsetDateTime;
use version::Version;

/// The files that a release changes.
const CHANGED: [&str; 4] = ["CHANGELOG.md", "Cargo.toml", "Cargo.lock", "fuzz/libfuzzer/Cargo.lock"];

/// The options of `cargo xtask release`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The version, as in 0.2.0
    version: Version,
    /// Say what is wrong and what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// The address at which the source archive will be, for the recipes
    #[arg(long, value_name = "URL")]
    source: Option<String>,
}

/// Runs the task.
///
/// # Errors
/// The tree is not ready, a check fails, or a package cannot be made.
pub(crate) fn run(args: &Args) -> Result<()> {
    let top = verbena_codegen::root();
    let texts = changed_texts(&top, args.version)?;
    let problems = problems(&top, args.version)?;
    if args.dry_run {
        texts.iter().for_each(|(path, _)| println!("would change {path}"));
        println!("would commit, tag {}, and make the packages", tag(args.version));
        ensure!(problems.is_empty(), "not ready:\n  {}", problems.join("\n  "));
        return Ok(());
    }
    ensure!(problems.is_empty(), "not ready, and nothing was changed:\n  {}", problems.join("\n  "));
    for (path, text) in &texts {
        std::fs::write(top.join(path), text).with_context(|| format!("cannot write {path}"))?;
    }
    if let Err(error) = shown(&top, "make", &["check"]) {
        git(&top, &[&["checkout", "--"][..], &CHANGED].concat())?;
        return Err(error.context("the checks failed: the files are as before"));
    }
    commit_and_tag(&top, args.version)?;
    let files = artefacts(&top, args)?;
    files.iter().for_each(|file| println!("{}", file.display()));
    println!("{} is committed and tagged; git push origin main {0} publishes it", tag(args.version));
    Ok(())
}

fn tag(version: Version) -> String {
    format!("v{version}")
}

/// The files that change, with their new texts.
fn changed_texts(top: &Path, version: Version) -> Result<Vec<(&'static str, String)>> {
    let read =
        |path: &str| std::fs::read_to_string(top.join(path)).with_context(|| format!("cannot read {path}"));
    let old = version::of_manifest(&read("Cargo.toml")?)?;
    let [changes, manifest, lock, fuzz_lock] = CHANGED;
    Ok(vec![
        (changes, changelog::released(&read(changes)?, version, OffsetDateTime::now_utc().date())?),
        (manifest, version::in_manifest(&read(manifest)?, old, version)?),
        (lock, version::in_lock(&read(lock)?, old, version)),
        (fuzz_lock, version::in_lock(&read(fuzz_lock)?, old, version)),
    ])
}

/// Everything that stands against a release now.
fn problems(top: &Path, version: Version) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let changed = git(top, &["status", "--porcelain"])?;
    if !changed.trim().is_empty() {
        problems.push(format!("the tree has changes that are not committed:\n{changed}"));
    }
    let tags = git(top, &["tag", "--list", "v*"])?;
    let known: Vec<Version> = tags.lines().filter_map(|tag| tag.strip_prefix('v')?.parse().ok()).collect();
    if let Some(newest) = known.iter().max().filter(|newest| **newest >= version) {
        problems.push(format!("{} is tagged already: say a later version", tag(*newest)));
    }
    let current = version::of_manifest(&std::fs::read_to_string(top.join("Cargo.toml"))?)?;
    if version < current {
        problems.push(format!("Cargo.toml has {current}, which is later than {version}"));
    }
    Ok(problems)
}

fn commit_and_tag(top: &Path, version: Version) -> Result<()> {
    git(top, &[&["add", "--"][..], &CHANGED].concat())?;
    git(top, &["commit", "--quiet", "-m", &format!("release: {version}")])?;
    git(top, &["tag", "--annotate", &tag(version), "-m", &format!("Verbena {version}")])?;
    Ok(())
}

/// Makes everything that is published, in `target/releases/VERSION`.
fn artefacts(top: &Path, args: &Args) -> Result<Vec<PathBuf>> {
    let out = top.join("target/releases").join(args.version.to_string());
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let bill = out.join(format!("verbena-{}.cdx.json", args.version));
    let lock = std::fs::read_to_string(top.join("Cargo.lock")).context("Cargo.lock")?;
    std::fs::write(&bill, sbom::write(&Graph::of(top)?, &lock, &args.version.to_string())?)
        .with_context(|| format!("cannot write {}", bill.display()))?;
    package::all(top, &out, args.source.clone(), vec![bill])
}

fn git(top: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new("git").args(words).current_dir(top).output().context("git")?;
    if !output.status.success() {
        bail!("git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command whose output is shown.
fn shown(top: &Path, program: &str, words: &[&str]) -> Result<()> {
    let status = Command::new(program).args(words).current_dir(top).status().context(program.to_string())?;
    ensure!(status.success(), "{program} {}: {status}", words.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree is such that a release could be made of it: no text is missing.
    #[test]
    fn the_tree_s_own_files_can_be_changed() {
        let top = verbena_codegen::root();
        let texts = changed_texts(&top, "999.0.0".parse().expect("a version")).expect("new texts");
        for (path, text) in texts {
            assert!(text.contains("999.0.0"), "{path} has no version");
        }
    }
}
