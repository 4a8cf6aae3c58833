//! The tree, the build, the version and the date that all kinds of packages share.

use super::command::{self, said};
use super::elf::Glibc;
use super::glibc;
use anyhow::{Context, Result, bail};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest C library that the packages are built for: RHEL 8's and Debian 10's.
pub(super) const OLDEST: Glibc = Glibc::new(2, 28, 0);

/// The base of all packages.
pub(super) struct Ground {
    /// The top of the source tree.
    pub top: PathBuf,
    /// The folder of the packages.
    pub out: PathBuf,
    /// The version, from the workspace's manifest.
    pub version: String,
    /// Seconds since 1970 of the commit: the date of every file, so that a package is the same
    /// whenever it is made.
    pub epoch: u64,
    /// The address of the source archive in the recipes; none for the file itself.
    pub source: Option<String>,
    ready: Option<PathBuf>,
    built: OnceCell<PathBuf>,
}

impl Ground {
    /// Looks at the tree. A build that is not given is made when it is needed.
    ///
    /// # Errors
    /// The tree has no version or no date, or the folder cannot be made.
    pub(super) fn new(
        top: &Path,
        out: &Path,
        build: Option<&Path>,
        source: Option<String>,
    ) -> Result<Ground> {
        std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
        let ready = build.map(std::path::absolute).transpose()?;
        let out = std::path::absolute(out)?;
        Ok(Ground {
            top: top.into(),
            out,
            version: version(top)?,
            epoch: epoch(top)?,
            source,
            ready,
            built: OnceCell::new(),
        })
    }

    /// The folder with the built libraries and programs, and the sources of the Fortran modules.
    ///
    /// # Errors
    /// It cannot be built.
    pub(super) fn build(&self) -> Result<&Path> {
        if let Some(ready) = &self.ready {
            return Ok(ready);
        }
        if self.built.get().is_none() {
            let made = glibc::build(&self.top, &self.out.join("build"), OLDEST)?;
            let _ = self.built.set(made);
        }
        self.built.get().map(PathBuf::as_path).context("the build was just made")
    }

    /// An empty folder for what is made on the way.
    ///
    /// # Errors
    /// It cannot be emptied.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.out.join("work").join(name);
        command::remove(&folder)?;
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// A file of `packaging/`, with the version and more words in place of `@NAME@`.
    ///
    /// # Errors
    /// It cannot be read, or a name is left over.
    pub(super) fn page(&self, path: &str, words: &[(&str, &str)]) -> Result<String> {
        let file = self.top.join("packaging").join(path);
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = text.replace("@VERSION@", &self.version);
        let text = words.iter().fold(text, |text, (name, value)| text.replace(&format!("@{name}@"), value));
        match left_over(&text) {
            Some(name) => bail!("{} has the name {name}, for which there is no value", file.display()),
            None => Ok(text),
        }
    }

    /// The archive of the sources of this commit, `verbena-VERSION.tar.gz`, and its address for the
    /// recipes.
    ///
    /// # Errors
    /// Git fails.
    pub(super) fn sources(&self) -> Result<(PathBuf, String)> {
        let name = format!("verbena-{}", self.version);
        let file = self.out.join(format!("{name}.tar.gz"));
        let mut git = Command::new("git");
        git.args(["archive", "--format=tar.gz", &format!("--prefix={name}/"), "HEAD", "-o"]).arg(&file);
        said(git.current_dir(&self.top))?;
        let address = self.source.clone().unwrap_or_else(|| format!("file://{}", file.display()));
        Ok((file, address))
    }
}

/// A name between two `@` that has only capitals.
fn left_over(text: &str) -> Option<&str> {
    let is_name =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let words: Vec<&str> = text.split('@').collect();
    // The first word has no `@` before it, and the last none behind it.
    let between = words.get(1..words.len() - 1).unwrap_or_default();
    between.iter().copied().find(is_name)
}

/// The version in the workspace's manifest.
fn version(top: &Path) -> Result<String> {
    let manifest = top.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
    let manifest: toml::Table = toml::from_str(&text).context("Cargo.toml")?;
    let version = manifest.get("workspace").and_then(|table| table.get("package")?.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no workspace.package.version")?.into())
}

/// `SOURCE_DATE_EPOCH`, or the date of the commit.
fn epoch(top: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(top))?,
    };
    text.trim().parse().with_context(|| format!("the date {text:?} is no number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_value_is_found() {
        assert_eq!(left_over("a @NAME@ b"), Some("NAME"));
        assert_eq!(left_over("somebody@example.org and @lower@ and mail@X"), None);
        assert_eq!(left_over(""), None);
    }

    #[test]
    fn the_tree_has_a_version_of_three_numbers() {
        let version = version(&verbena_codegen::root()).expect("a version");
        assert_eq!(version.split('.').count(), 3, "{version}");
    }
}
