//! The version, in manifests and lock files.

use anyhow::{Context, Result, ensure};
use std::fmt;
use std::str::FromStr;

/// A version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version([u32; 3]);

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let wrong = || format!("{text:?} is no version of three numbers, as 0.2.0");
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong())?;
        let numbers = <[u32; 3]>::try_from(numbers).map_err(|_| wrong())?;
        let version = Version(numbers);
        if version.to_string() == text { Ok(version) } else { Err(wrong()) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The version of the workspace, from its manifest.
///
/// # Errors
/// It is missing, or is no version.
pub(super) fn of_manifest(text: &str) -> Result<Version> {
    let manifest: toml::Table = toml::from_str(text).context("Cargo.toml")?;
    let version = manifest.get("workspace").and_then(|table| table.get("package")?.get("version")?.as_str());
    let version = version.context("Cargo.toml has no workspace.package.version")?;
    version.parse().map_err(anyhow::Error::msg)
}

/// The manifest with another version.
///
/// # Errors
/// The line of the old version does not stand there once.
pub(super) fn in_manifest(text: &str, old: Version, new: Version) -> Result<String> {
    let line = |version: Version| format!("\nversion = \"{version}\"\n");
    let count = text.matches(&line(old)).count();
    ensure!(count == 1, "Cargo.toml has {count} lines version = \"{old}\", and not one");
    Ok(text.replace(&line(old), &line(new)))
}

/// A lock file with another version of the packages of this workspace: those without a source.
pub(super) fn in_lock(text: &str, old: Version, new: Version) -> String {
    let line = |version: Version| format!("\nversion = \"{version}\"\n");
    let block = |block: &str| {
        let is_ours = block.contains("[[package]]") && !block.contains("\nsource = ");
        if is_ours { block.replace(&line(old), &line(new)) } else { block.to_string() }
    };
    text.split("\n\n").map(block).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn versions_are_three_plain_numbers_in_order() {
        for wrong in ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "01.2.3", "1.2.3-rc1", "+1.2.3"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
        assert!(version("0.10.0") > version("0.9.9"));
        assert_eq!(version("0.2.0").to_string(), "0.2.0");
    }

    #[test]
    fn the_manifest_s_version_is_replaced_once() {
        let text = "[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        assert_eq!(of_manifest(text).expect("a version"), version("0.1.0"));
        let new = in_manifest(text, version("0.1.0"), version("0.2.0")).expect("replaced");
        assert_eq!(of_manifest(&new).expect("a version"), version("0.2.0"));
        assert!(in_manifest(text, version("0.3.0"), version("0.4.0")).is_err());
    }

    #[test]
    fn only_our_packages_get_another_version_in_the_lock_file() {
        let ours = "[[package]]\nname = \"verbena\"\nversion = \"0.1.0\"\ndependencies = [\n \"other\",\n]";
        let other = "[[package]]\nname = \"other\"\nversion = \"0.1.0\"\nsource = \"registry\"";
        let new = in_lock(&format!("version = 4\n\n{ours}\n\n{other}\n"), version("0.1.0"), version("0.2.0"));
        assert_eq!(new, format!("version = 4\n\n{}\n\n{other}\n", ours.replace("0.1.0", "0.2.0")));
    }
}
