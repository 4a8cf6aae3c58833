//! The entries that are not expected to pass, and why: `tests/conformance-expectations.toml`.
//!
//! An exception that excuses nothing is an error, as in `xtask/tidy.toml`.

use super::run::{Outcome, Verdict};
use crate::top;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The file's contents.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// Families that are not written yet: they are run only where they are asked for.
    #[serde(default)]
    pub family: Vec<Family>,
    /// Exceptions.
    #[serde(default)]
    pub exception: Vec<Exception>,
}

/// Folders of the suite for a part of MPI that is not written yet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The folders, with those in them.
    pub folders: Vec<String>,
    /// The issue in which they are written.
    pub issue: u32,
    /// The reason why.
    pub reason: String,
}

/// Entries that are not expected to pass.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Patterns of what [`super::testlist::Entry::id`] says; `*` stands for any text.
    pub tests: Vec<String>,
    /// The expected outcome.
    pub expect: Expect,
    /// The trees that it holds for; all, if not given.
    pub tree: Option<TreeKind>,
    /// The reason why.
    pub reason: String,
}

/// The expected outcome of an entry.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// The entry fails.
    Fail,
    /// The entry fails in some runs.
    Unsteady,
    /// The entry would hang, so it is not run.
    Skip,
}

/// The source tree of the suite.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum TreeKind {
    /// The one that Debian ships.
    Debian,
    /// A version that was named.
    Newer,
}

/// The place of the file.
pub fn path() -> PathBuf {
    top().join("tests/conformance-expectations.toml")
}

impl Expectations {
    /// Understands the file's text, without the exceptions for other trees.
    ///
    /// # Errors
    /// It is not of this form, or something has no reason.
    pub fn parse(text: &str, tree: TreeKind) -> Result<Expectations, String> {
        let mut read: Expectations = toml::from_str(text).map_err(|error| error.to_string())?;
        let reasons = read.family.iter().map(|family| (&family.folders, &family.reason));
        let reasons = reasons.chain(read.exception.iter().map(|entry| (&entry.tests, &entry.reason)));
        if let Some((names, _)) = reasons.into_iter().find(|(_, reason)| reason.trim().len() < 10) {
            return Err(format!("{}: no reason", names.join(", ")));
        }
        read.exception.retain(|exception| exception.tree.is_none_or(|kind| kind == tree));
        Ok(read)
    }

    /// The family of an entry's folder that is not written yet.
    pub fn unwritten(&self, folder: &str) -> Option<&Family> {
        let lies_in = |name: &String| is_within(folder, name);
        self.family.iter().find(|family| family.folders.iter().any(lies_in))
    }

    /// The exception for an entry.
    pub fn of(&self, id: &str) -> Option<&Exception> {
        let fits = |pattern: &String| matches(pattern, id);
        self.exception.iter().find(|exception| exception.tests.iter().any(fits))
    }

    /// The failures that nothing excuses.
    pub fn unexpected<'a>(&self, outcomes: &'a [Outcome]) -> Vec<&'a Outcome> {
        let failures = outcomes.iter().filter(|outcome| outcome.is_failure());
        failures.filter(|outcome| self.of(&outcome.entry.id()).is_none()).collect()
    }

    /// The patterns that excuse nothing: every entry that they fit passed.
    ///
    /// Where `whole` says that every entry of the tree is there, a pattern must fit one that is
    /// run.
    pub fn idle(&self, outcomes: &[Outcome], whole: bool) -> BTreeSet<String> {
        let patterns = self.exception.iter().flat_map(|e| e.tests.iter().map(move |test| (e.expect, test)));
        let is_idle = |&(expect, pattern): &(Expect, &String)| {
            let fitting = outcomes.iter().filter(|outcome| matches(pattern, &outcome.entry.id()));
            let (skipped, ran): (Vec<_>, Vec<_>) = fitting.partition(|o| o.verdict == Verdict::Skipped);
            match (expect, ran.is_empty()) {
                (Expect::Skip, _) => whole && skipped.is_empty(),
                (_, true) => whole,
                (Expect::Fail, false) => !ran.iter().any(|outcome| outcome.is_failure()),
                (Expect::Unsteady, false) => false,
            }
        };
        patterns.filter(is_idle).map(|(_, pattern)| pattern.clone()).collect()
    }
}

/// Returns whether a folder is this one, or lies in it.
pub fn is_within(folder: &str, outer: &str) -> bool {
    folder.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a text fits a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| matches(after, &rest[at..]))
}

/// The file's text without these patterns, and without exceptions that have none left.
///
/// # Errors
/// The text is no TOML.
pub fn pruned(text: &str, idle: &BTreeSet<String>) -> Result<String, String> {
    let mut document: toml_edit::DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
    let Some(exceptions) = document.get_mut("exception").and_then(|item| item.as_array_of_tables_mut())
    else {
        return Ok(text.to_owned());
    };
    for exception in exceptions.iter_mut() {
        if let Some(tests) = exception.get_mut("tests").and_then(|item| item.as_array_mut()) {
            tests.retain(|test| !test.as_str().is_some_and(|test| idle.contains(test)));
        }
    }
    let has_tests = |table: &toml_edit::Table| {
        table.get("tests").and_then(|item| item.as_array()).is_some_and(|tests| !tests.is_empty())
    };
    exceptions.retain(has_tests);
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::testlist::Entry;
    use super::*;

    const TEXT: &str = r#"# About the file.

[[family]]
folders = ["rma", "errors/rma"]
issue = 26
reason = "windows are not written"

# About attributes.
[[exception]]
tests = [
    "attr/a 1",
    "attr/b *",
]
expect = "fail"
reason = "callbacks are not called"

[[exception]]
tests = ["part/only 2"]
expect = "fail"
tree = "newer"
reason = "other divisions than the sender's"
"#;

    fn outcome(program: &str, verdict: Verdict) -> Outcome {
        let (folder, program) = ("attr".to_owned(), program.to_owned());
        let entry = Entry { folder, program, ranks: 1, ..Entry::default() };
        Outcome { entry, verdict, why: String::new(), output: vec![], seconds: 0.0 }
    }

    fn read(tree: TreeKind) -> Expectations {
        Expectations::parse(TEXT, tree).expect("well-formed")
    }

    #[test]
    fn a_failure_needs_an_exception() {
        let outcomes = [outcome("a", Verdict::Failed), outcome("c", Verdict::Late)];
        let expectations = read(TreeKind::Debian);
        let unexpected: Vec<String> =
            expectations.unexpected(&outcomes).iter().map(|outcome| outcome.entry.id()).collect();
        assert_eq!(unexpected, ["attr/c 1"]);
    }

    #[test]
    fn an_exception_that_excuses_nothing_is_found() {
        let outcomes = [outcome("a", Verdict::Passed), outcome("b", Verdict::Failed)];
        let idle = |kind, whole| read(kind).idle(&outcomes, whole);
        assert_eq!(idle(TreeKind::Debian, true), BTreeSet::from(["attr/a 1".to_owned()]));
        assert_eq!(idle(TreeKind::Newer, false), BTreeSet::from(["attr/a 1".to_owned()]));
        assert!(idle(TreeKind::Newer, true).contains("part/only 2"), "it names nothing");
    }

    #[test]
    fn what_is_idle_is_taken_out_and_nothing_else() {
        let pruned =
            |names: &[&str]| pruned(TEXT, &names.iter().map(|n| n.to_string()).collect()).expect("TOML");
        assert_eq!(pruned(&[]), TEXT);
        assert_eq!(pruned(&["attr/b *"]), TEXT.replace("    \"attr/b *\",\n", ""));
        let without = pruned(&["attr/a 1", "attr/b *"]);
        assert!(!without.contains("callbacks") && without.contains("divisions"), "{without}");
    }

    #[test]
    fn unwritten_families_are_whole_folders() {
        let read = read(TreeKind::Debian);
        let issue = |folder| read.unwritten(folder).map(|family| family.issue);
        assert_eq!(
            [issue("errors/rma"), issue("rma/sub"), issue("rmax"), issue("errors")],
            [Some(26), Some(26), None, None]
        );
    }

    #[test]
    fn a_bare_exception_is_refused() {
        let bare = "[[exception]]\ntests = [\"a/b 1\"]\nexpect = \"fail\"\nreason = \" \"\n";
        assert!(Expectations::parse(bare, TreeKind::Debian).is_err());
    }

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("a*b*", "a/x b 2") && matches("a*", "a") && matches("a", "a"));
        assert!(!matches("a*b", "a/x") && !matches("a", "ab") && !matches("a*b*c", "acb"));
    }
}
