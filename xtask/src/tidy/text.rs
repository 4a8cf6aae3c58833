//! The rules of a file that need no understanding of it.

use super::Finding;
use super::rules::{FILE_LINES_HARD, Rules};
use super::tree::File;

/// Runs the checks on one file.
pub(super) fn check(file: &File, rules: &Rules) -> Vec<Finding> {
    if rules.is_data(&file.path) {
        return Vec::new();
    }
    let mut findings = spaces(file, rules);
    if rules.is_generated(&file.path) {
        findings.extend(generated(file));
    } else {
        findings.extend(length(file, rules));
    }
    findings
}

fn finding(file: &File, rule: &'static str, line: usize, what: String) -> Finding {
    Finding { rule, path: file.path.clone(), line, what }
}

/// Finds tabs, blanks at a line's end, and a missing newline at the file's end.
fn spaces(file: &File, rules: &Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    let no_tabs = rules.sources.no_tabs.iter().any(|ending| ending == file.ending());
    for (number, line) in (1..).zip(file.text.split('\n')) {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(finding(file, "trailing-space", number, "blanks at the end of the line".into()));
        }
        if no_tabs && line.contains('\t') {
            findings.push(finding(file, "tab", number, "a tab".into()));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(finding(file, "last-newline", 0, "the last line does not end".into()));
    }
    findings
}

fn generated(file: &File) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or("").to_ascii_lowercase();
    let says = first.contains("generated") || first.contains("made by `cargo xtask generate`");
    let what = "a generated file that does not say so in its first line";
    (!says).then(|| finding(file, "generated", 1, what.into()))
}

fn length(file: &File, rules: &Rules) -> Option<Finding> {
    if !rules.sources.code.iter().any(|ending| ending == file.ending()) {
        return None;
    }
    let (lines, limits) = (file.text.lines().count(), &rules.limits);
    let rule = match lines {
        n if n > limits.file_lines_hard => FILE_LINES_HARD,
        n if n > limits.file_lines => "file-lines",
        _ => return None,
    };
    Some(finding(file, rule, 0, format!("{lines} lines, more than {}: give it one job", limits.file_lines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        limits = { file_lines = 3, file_lines_hard = 5, function_lines = 9 }
        sources = { code = ["rs"], no_tabs = ["rs"], data = ["data/"], generated = ["gen/"], unwritten = [] }
    "#;

    fn rules_of(path: &str, text: &str) -> Vec<&'static str> {
        let file = File { path: path.into(), text: text.into() };
        check(&file, &Rules::parse(RULES)).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_tidy_file_passes() {
        assert_eq!(rules_of("a.rs", "one\ntwo\nthree\n"), [""; 0]);
        assert_eq!(rules_of("Makefile", "all:\n\techo\n"), [""; 0]);
        assert_eq!(rules_of("data/input", "any \r\nbytes"), [""; 0]);
    }

    #[test]
    fn each_breach_is_found() {
        assert_eq!(rules_of("a.rs", "one \n"), ["trailing-space"]);
        assert_eq!(rules_of("a.rs", "\tone\n"), ["tab"]);
        assert_eq!(rules_of("a.rs", "one"), ["last-newline"]);
        assert_eq!(rules_of("a.rs", "1\n2\n3\n4\n"), ["file-lines"]);
        assert_eq!(rules_of("a.rs", "1\n2\n3\n4\n5\n6\n"), ["file-lines-hard"]);
        assert_eq!(rules_of("gen/a.rs", "//! Something.\n"), ["generated"]);
    }

    #[test]
    fn a_generated_file_may_be_long() {
        assert_eq!(rules_of("gen/a.rs", "//! Generated.\n2\n3\n4\n5\n6\n"), [""; 0]);
    }
}
