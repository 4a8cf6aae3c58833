//! A finding of the doctor, and the page of all of them.

use crate::style::{Color, paint};
use serde::Serialize;
use std::fmt::Write;

/// The judgement of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// All is as it should be.
    Fine,
    /// Worth knowing; jobs run all the same.
    Note,
    /// Jobs fail or are much slower for it.
    Bad,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The thing that was looked at.
    pub subject: String,
    /// The judgement.
    pub verdict: Verdict,
    /// The look of it.
    pub seen: String,
    /// The meaning for jobs; nothing where it is fine.
    pub meaning: String,
    /// The advice; nothing where it is fine.
    pub remedy: String,
}

impl Finding {
    /// Something that is as it should be.
    pub(super) fn fine(subject: &str, seen: impl Into<String>) -> Finding {
        Finding {
            subject: subject.into(),
            verdict: Verdict::Fine,
            seen: seen.into(),
            meaning: String::new(),
            remedy: String::new(),
        }
    }

    /// Something worth knowing.
    pub(super) fn note(subject: &str, seen: impl Into<String>, [meaning, remedy]: [&str; 2]) -> Finding {
        let (meaning, remedy) = (meaning.into(), remedy.into());
        Finding { verdict: Verdict::Note, meaning, remedy, ..Finding::fine(subject, seen) }
    }

    /// Something to be mended.
    pub(super) fn bad(subject: &str, seen: impl Into<String>, words: [&str; 2]) -> Finding {
        Finding { verdict: Verdict::Bad, ..Finding::note(subject, seen, words) }
    }
}

/// The page: a verdict in a line, then every finding.
pub(super) fn render(findings: &[Finding], is_colored: bool) -> String {
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (bad, notes) = (count(Verdict::Bad), count(Verdict::Note));
    let mut out = match (bad, notes) {
        (0, 0) => "All is well for MPI jobs here.\n".to_owned(),
        (0, notes) => format!("MPI jobs run here; {notes} to know.\n"),
        (bad, notes) => format!("{bad} to mend for MPI jobs here, {notes} to know.\n"),
    };
    for finding in findings {
        let (word, color) = match finding.verdict {
            Verdict::Fine => ("ok  ", Color::Green),
            Verdict::Note => ("note", Color::Yellow),
            Verdict::Bad => ("BAD ", Color::Red),
        };
        let (word, seen) = (paint(word, color, is_colored), finding.seen.trim_end().replace('\n', "\n\t"));
        let _ = writeln!(out, "{word} {}: {}", finding.subject, seen.replace('\t', "     "));
        for (name, text) in [("it means", &finding.meaning), ("what to do", &finding.remedy)] {
            if !text.is_empty() {
                let _ = writeln!(out, "     {name}: {text}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_begins_with_the_verdict() {
        let fine = Finding::fine("clock", "tsc");
        let bad = Finding::bad("Yama", "ptrace_scope 2", ["slow", "mend it"]);
        assert_eq!(
            render(std::slice::from_ref(&fine), false),
            "All is well for MPI jobs here.\nok   clock: tsc\n"
        );
        let page = render(&[fine, bad], false);
        assert!(page.starts_with("1 to mend for MPI jobs here, 0 to know.\n"), "{page}");
        assert!(
            page.ends_with("BAD  Yama: ptrace_scope 2\n     it means: slow\n     what to do: mend it\n"),
            "{page}"
        );
        let note = render(&[Finding::note("x", "y", ["a", "b"])], false);
        assert!(note.starts_with("MPI jobs run here; 1 to know.\n"), "{note}");
        assert!(render(&[Finding::note("x", "y", ["a", "b"])], true).contains("\x1b[33mnote\x1b[0m"));
    }
}
