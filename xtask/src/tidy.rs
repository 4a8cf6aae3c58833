//! `cargo xtask tidy`: checks the house rules that a machine can check.
//!
//! The rules' numbers, lists and exceptions are data: `xtask/tidy.toml`. A check looks at one file
//! and returns what it found; here the findings are gathered, exceptions are taken out, and
//! exceptions that excuse nothing are findings themselves. A test runs all of it.
//!
//! | module | rules |
//! | --- | --- |
//! | [`rules`] | the data |
//! | [`tree`] | the files that git knows |
//! | [`text`] | `file-lines`, `tab`, `trailing-space`, `last-newline`, `generated` |
//! | [`code`] | `header`, `function-lines`, `forbidden-word`, `unwritten`, `ignored-test`, `silent-skip` |
//! | [`prose`] | `comment-width`, `page-width`, `first-word` |
//! | [`names`] | `synonym`, `glossary` |
//! | [`layers`] | `layer`, `layer-table` |
//! | [`circles`] | `circle` |
//! | [`modules`], [`imports`] | the imports between files |
//! | [`links`] | `link` |
//! | [`supply`] | `supply`: the crates of others |

mod circles;
mod code;
mod imports;
mod layers;
mod links;
mod modules;
mod names;
mod prose;
mod rules;
mod supply;
mod text;
mod tree;

use crate::crates::Graph;
use anyhow::{Result, bail};
use rules::{FILE_LINES_HARD, Rules};
use std::fmt;
use std::path::Path;
use tree::File;

/// A breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    rule: &'static str,
    path: String,
    /// The line, from 1; 0 for the file as a whole.
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.path, self.line, self.what, self.rule)
    }
}

/// Runs every check on the repository and prints what it found.
///
/// # Errors
/// There is a finding, or the repository cannot be read.
pub(crate) fn run() -> Result<()> {
    let findings = check(&tree::top())?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("{count} findings; fix them, or add an exception with its reason to xtask/tidy.toml"),
    }
}

/// Returns everything that is untidy under `top`.
fn check(top: &Path) -> Result<Vec<Finding>> {
    let rules = Rules::read(&top.join("xtask/tidy.toml"))?;
    let files = tree::files(top)?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(of_file(file, &rules, top));
    }
    findings.extend(circles::check(&files));
    findings.extend(layers::check_page(&files, &rules));
    findings.extend(names::check(&files, &rules));
    findings.extend(supply::check(&Graph::of(top)?, &rules.supply));
    let mut findings = excuse(findings, &rules);
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

fn of_file(file: &File, rules: &Rules, top: &Path) -> Vec<Finding> {
    let mut findings = text::check(file, rules);
    findings.extend(prose::check(file, rules));
    match file.ending() {
        "rs" => findings.extend(code::check(file, rules)),
        "md" => findings.extend(links::check(file, top)),
        "toml" if file.path.ends_with("Cargo.toml") => findings.extend(layers::check(file, rules)),
        _ => {}
    }
    findings
}

/// Takes out the breaches that are excused; adds the exceptions that excuse nothing.
fn excuse(findings: Vec<Finding>, rules: &Rules) -> Vec<Finding> {
    let matches = |finding: &Finding, exception: &rules::Exception| {
        finding.rule != FILE_LINES_HARD && finding.rule == exception.rule && finding.path == exception.path
    };
    let idle = rules.exceptions.iter().filter(|exception| !findings.iter().any(|f| matches(f, exception)));
    let idle: Vec<Finding> = idle
        .map(|exception| Finding {
            rule: "exception",
            path: "xtask/tidy.toml".into(),
            line: 0,
            what: format!("the exception of {} from {} excuses nothing", exception.path, exception.rule),
        })
        .collect();
    let kept = findings.into_iter().filter(|f| !rules.exceptions.iter().any(|e| matches(f, e)));
    kept.chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = check(&tree::top()).expect("the repository");
        let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
    }

    #[test]
    fn an_exception_excuses_its_rule_and_path_only() {
        let rules = Rules::parse(
            r#"exception = [{ rule = "tab", path = "a.rs", reason = "r" }, { rule = "tab", path = "c.rs", reason = "r" }]"#,
        );
        let finding = |rule, path: &str| Finding { rule, path: path.into(), line: 1, what: String::new() };
        let left =
            excuse(vec![finding("tab", "a.rs"), finding("tab", "b.rs"), finding("link", "a.rs")], &rules);
        let left: Vec<(&str, &str)> = left.iter().map(|f| (f.rule, f.path.as_str())).collect();
        assert_eq!(left, [("tab", "b.rs"), ("link", "a.rs"), ("exception", "xtask/tidy.toml")]);
        let rules =
            Rules::parse(r#"exception = [{ rule = "file-lines-hard", path = "a.rs", reason = "r" }]"#);
        assert_eq!(excuse(vec![finding(FILE_LINES_HARD, "a.rs")], &rules).len(), 2);
    }
}
