//! The style of comments and pages: the width of their lines, and the first words of a doc comment.

use super::Finding;
use super::rules::Rules;
use super::tree::File;

/// Runs the checks on one file.
pub(super) fn check(file: &File, rules: &Rules) -> Vec<Finding> {
    if rules.is_generated(&file.path) || rules.is_data(&file.path) {
        return Vec::new();
    }
    match file.ending() {
        "md" => page_width(file, rules.limits.page_columns),
        "rs" => {
            let mut findings = comment_width(file, rules.limits.comment_columns);
            findings.extend(first_words(file, &rules.sources.first_words));
            findings
        }
        _ => comment_width(file, rules.limits.comment_columns),
    }
}

fn finding(file: &File, rule: &'static str, line: usize, what: String) -> Finding {
    Finding { rule, path: file.path.clone(), line, what }
}

/// Returns what comments of this file begin with. A file of an unknown ending tells it by its first
/// line: a script (`#!`), a Makefile, a list.
fn marks(file: &File) -> &'static [&'static str] {
    match file.ending() {
        "rs" => &["///", "//!", "//"],
        "c" | "h" | "cc" => &["//", "/*", "*"],
        "F90" | "f90" => &["!"],
        "sh" | "py" | "toml" => &["#"],
        _ if file.text.starts_with('#') => &["#"],
        _ => &[],
    }
}

/// The text of a line that is nothing but a comment; `None` for other lines.
fn comment<'a>(marks: &[&str], line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    marks.iter().find_map(|mark| line.strip_prefix(mark))
}

/// Finds comments wider than the limit. Code between fences, tables and addresses of the web may be
/// as wide as they are, and so may a line of a single word.
fn comment_width(file: &File, columns: usize) -> Vec<Finding> {
    let (marks, mut is_fenced) = (marks(file), false);
    wide_lines(file, columns, "comment-width", |line| {
        let Some(text) = comment(marks, line).map(str::trim_start) else {
            is_fenced = false;
            return false;
        };
        let is_fence = text.starts_with("```");
        is_fenced ^= is_fence;
        // A line that a generator writes is a string.
        !is_fenced && !is_fence && can_be_wrapped(text) && !text.ends_with("\\n\\")
    })
}

/// Finds lines of pages wider than the limit, with the same exceptions; links are excused too.
fn page_width(file: &File, columns: usize) -> Vec<Finding> {
    let mut is_fenced = false;
    wide_lines(file, columns, "page-width", |line| {
        let text = line.trim_start();
        let is_fence = text.starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence && !text.contains("](") && can_be_wrapped(text)
    })
}

fn can_be_wrapped(text: &str) -> bool {
    !text.starts_with('|') && !text.contains("://") && text.split_whitespace().count() > 1
}

/// The lines wider than the limit for which the rule holds; none if the limit is 0.
fn wide_lines(
    file: &File,
    columns: usize,
    rule: &'static str,
    mut holds: impl FnMut(&str) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let width = line.chars().count();
        // Every line is shown to the rule, which keeps track of the fences.
        if holds(line) && columns > 0 && width > columns {
            findings.push(finding(file, rule, number, format!("{width} columns, more than {columns}")));
        }
    }
    findings
}

/// Finds doc comments whose first word leaves out the subject of the sentence.
fn first_words(file: &File, words: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = None;
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.trim_start();
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
        if let Some(mark) = mark.filter(|_| mark != before)
            && let Some(word) = words.iter().find(|word| begins_with(line[mark.len()..].trim_start(), word))
        {
            let what = format!("the doc comment begins with \"{word}\": give the sentence a subject");
            findings.push(finding(file, "first-word", number, what));
        }
        before = mark;
    }
    findings
}

/// Returns whether the text begins with exactly this word, or these words.
fn begins_with(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        limits = { file_lines = 9, file_lines_hard = 9, function_lines = 9, comment_columns = 20, page_columns = 20 }
        sources = { code = [], no_tabs = [], generated = ["gen/"], unwritten = [], first_words = ["What", "The same"] }
    "#;

    fn found(rules: &str, path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let file = File { path: path.into(), text: text.into() };
        check(&file, &Rules::parse(rules)).into_iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    #[test]
    fn wide_comments_are_found_in_each_language() {
        let wide = "a comment that is too wide";
        for (path, mark) in [("a.rs", "///"), ("a.rs", "    //"), ("a.sh", "#"), ("a.py", "#"), ("a.c", " *")]
        {
            assert_eq!(found(RULES, path, &format!("{mark} {wide}\n")), [("comment-width", 1)], "{path}");
            assert_eq!(found(RULES, path, &format!("{mark} narrow\n")), [], "{path}");
        }
        assert_eq!(found(RULES, "a.toml", &format!("x = 1\n# {wide}\n")), [("comment-width", 2)]);
        assert_eq!(found(RULES, "a.md", &format!("{wide}\n")), [("page-width", 1)]);
    }

    #[test]
    fn wide_comments_are_found_in_scripts_and_fortran() {
        let wide = "a comment that is too wide";
        for (path, first) in [("bin/run", "#!/bin/sh"), ("Makefile", "# Short."), ("a.supp", "# Short.")] {
            assert_eq!(
                found(RULES, path, &format!("{first}\n  # {wide}\n")),
                [("comment-width", 2)],
                "{path}"
            );
            assert_eq!(found(RULES, path, &format!("{first}\necho {wide}\n")), [], "{path}");
        }
        for path in ["a.F90", "a.f90"] {
            assert_eq!(
                found(RULES, path, &format!("#define A\n  ! {wide}\n")),
                [("comment-width", 2)],
                "{path}"
            );
            assert_eq!(found(RULES, path, "call a_procedure(of, wide, arguments)\n"), [], "{path}");
        }
        // A text that happens to have such a line is none of these.
        assert_eq!(found(RULES, "LICENSE", &format!("A licence.\n# {wide}\n")), []);
    }

    #[test]
    fn tables_addresses_and_code_may_be_wide() {
        let text =
            "//! | a table that is | wide |\n//! https://a.very/long/address\n//! see https://a.b/c/d/e\n";
        assert_eq!(found(RULES, "a.rs", text), []);
        let code = "/// ```\n/// let much = longer.than(it_may);\n/// ```\n/// then prose that is wide\n";
        assert_eq!(found(RULES, "a.rs", code), [("comment-width", 4)]);
        let page =
            "| a table that is | wide |\n```sh\na command that is wide\n```\n[a link](that-is-long.md)\n";
        assert_eq!(found(RULES, "a.md", page), []);
        assert_eq!(found(RULES, "gen/a.rs", "//! What this is, which is wide.\n"), []);
    }

    #[test]
    fn code_is_no_comment() {
        assert_eq!(found(RULES, "a.rs", "let text = \"a string that is wide\";\n"), []);
        assert_eq!(found(RULES, "a.c", "#include <a_header_that_is_long.h>\n"), []);
    }

    #[test]
    fn a_doc_comment_has_a_subject() {
        assert_eq!(found(RULES, "a.rs", "/// What it is.\n"), [("first-word", 1)]);
        assert_eq!(found(RULES, "a.rs", "fn f() {}\n//! The same.\n"), [("first-word", 2)]);
        assert_eq!(found(RULES, "a.rs", "/// A line.\n/// What it is.\n"), []);
        assert_eq!(found(RULES, "a.rs", "/// Whatever.\n// What\n"), []);
        assert_eq!(found(RULES, "a.rs", "/// Thing.\nfn f();\n/// What.\n"), [("first-word", 3)]);
    }

    #[test]
    fn nothing_is_found_when_the_rules_are_off() {
        let off = RULES.replace("20", "0").replace("[\"What\", \"The same\"]", "[]");
        let wide = "/// What is a comment that is much too wide\n";
        assert_eq!(found(&off, "a.rs", wide), []);
        assert_eq!(found(&off, "a.md", wide), []);
    }
}
