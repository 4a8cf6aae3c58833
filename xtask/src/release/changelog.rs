//! The section of a version in CHANGELOG.md.

use super::version::Version;
use anyhow::{Result, ensure};
use time::Date;

/// The heading of what is not released yet.
const UNRELEASED: &str = "\n## Unreleased\n";
/// The sentence at the top that holds before the first release alone.
const NOTHING_YET: &str = " Nothing has been released yet:\n*Fixed* and *Changed* compare with earlier commits of this tree, so a new user can skip them.";

/// The text after the release: what was not released is a version's, and a new, empty section is
/// there for what comes.
///
/// # Errors
/// There is nothing to release, or the version has a section already.
pub(super) fn released(text: &str, version: Version, today: Date) -> Result<String> {
    let heading = format!("\n## {version}");
    ensure!(!text.contains(&heading), "CHANGELOG.md has a section {version} already");
    let parts: Vec<&str> = text.split(UNRELEASED).collect();
    ensure!(parts.len() == 2, "CHANGELOG.md has {} sections Unreleased, and not one", parts.len() - 1);
    let changes = parts[1].split("\n## ").next().unwrap_or_default();
    ensure!(
        changes.lines().any(|line| line.starts_with("- ")),
        "CHANGELOG.md tells of no change since the last release"
    );
    let head = parts[0].replace(NOTHING_YET, "");
    Ok(format!("{head}{UNRELEASED}{heading} ({today})\n{}", parts[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::Month;

    fn today() -> Date {
        Date::from_calendar_date(2026, Month::November, 26).expect("a date")
    }

    fn version() -> Version {
        "0.2.0".parse().expect("a version")
    }

    #[test]
    fn what_was_not_released_becomes_a_version_s() {
        let old =
            "# Changelog\n\n## Unreleased\n\n### Added\n- a thing\n\n## 0.1.0 (2026-01-01)\n\n- first\n";
        let new = released(old, version(), today()).expect("released");
        let wanted =
            "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-26)\n\n### Added\n- a thing\n\n## 0.1.0";
        assert!(new.starts_with(wanted), "{new}");
        // A second release has nothing to tell.
        let next = "0.3.0".parse().expect("a version");
        assert!(released(&new, next, today()).is_err());
        assert!(released(old, "0.1.0".parse().expect("a version"), today()).is_err());
    }

    #[test]
    fn the_first_release_drops_the_sentence_that_there_is_none() {
        let old = format!("# Changelog\n\nThe form.{NOTHING_YET}\n\n## Unreleased\n\n- a thing\n");
        let new = released(&old, version(), today()).expect("released");
        assert!(new.starts_with("# Changelog\n\nThe form.\n\n## Unreleased\n"), "{new}");
    }
}
