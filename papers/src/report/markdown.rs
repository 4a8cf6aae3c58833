//! The report as Markdown, with the pictures as files beside it.

use super::figure::Figure;
use super::html::{noise, seen};
use super::inventory::title;
use super::kinds::Kind;
use super::page::{Page, Part};
use std::fmt::Write;

/// The text, and the pictures with their file names.
pub(super) fn render(page: &Page, folder: &str) -> (String, Vec<(String, String)>) {
    let (mut out, mut files) = (String::new(), Vec::new());
    let _ =
        writeln!(out, "# The five papers, figure by figure\n\nMade {} by `{}`.\n", page.made(), page.command);
    for machine in &page.machines {
        let _ = writeln!(out, "- Measured on: {machine}");
    }
    for build in &page.builds {
        let _ = writeln!(out, "- Measured was: {build}");
    }
    let _ = writeln!(out, "\n{} rows; {} jobs were thrown out:\n", page.rows(), page.thrown());
    for kind in Kind::ALL {
        let _ = writeln!(out, "- {}", page.sum(kind));
    }
    let mut paper = 0;
    for part in &page.parts {
        if part.item.paper != paper {
            paper = part.item.paper;
            let _ = writeln!(out, "\n## Paper {paper}: {}", title(paper));
        }
        section(&mut out, &mut files, part, folder);
    }
    (out, files)
}

fn section(out: &mut String, files: &mut Vec<(String, String)>, part: &Part, folder: &str) {
    let item = &part.item;
    let _ = writeln!(
        out,
        "\n### {} (paper {}, section {})\n\n{}.\n",
        part.name(),
        item.paper,
        item.section,
        item.about
    );
    if !item.numbers.is_empty() {
        let _ = writeln!(out, "The paper: {}.\n", part.numbers());
    }
    for figure in part.theirs.iter().chain(&part.ours) {
        picture(out, files, figure, folder);
    }
    out.push_str("\n| what | kind | where | ours | claimed | seen | noise | | command | remark |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for row in &part.rows {
        let claimed = row.claimed.map_or_else(String::new, |claimed| claimed.to_string());
        let seen = seen(row);
        let command = if row.command.is_empty() { String::new() } else { format!("`{}`", row.command) };
        let (kind, noise, outcome) = (row.kind.name(), noise(row), row.outcome.name());
        let cells =
            [&row.what, kind, row.source, &row.ours, &claimed, &seen, &noise, outcome, &command, &row.remark];
        let _ = writeln!(out, "| {} |", cells.map(cell).join(" | "));
    }
    for reason in &item.lacks {
        let _ = writeln!(out, "\nNot shown here: {reason}.");
    }
}

fn picture(out: &mut String, files: &mut Vec<(String, String)>, figure: &Figure, folder: &str) {
    match &figure.drawn {
        Some(svg) => {
            let name = format!("{:03}.svg", files.len() + 1);
            let _ = writeln!(out, "![{}]({folder}/{name})", figure.title);
            files.push((name, svg.clone()));
        }
        None => {
            let _ = writeln!(out, "{}: {}.\n", figure.title, figure.reason);
        }
    }
}

/// A cell's text: one line, without the sign between cells.
fn cell(raw: &str) -> String {
    raw.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::Results;

    #[test]
    fn every_row_is_a_line_and_every_picture_a_file() {
        let page = Page::new(&Results::default()).expect("page");
        let (text, files) = render(&page, "pictures");
        assert_eq!(text.matches("](pictures/").count(), files.len());
        assert!(text.lines().filter(|line| line.starts_with("| ")).count() >= page.rows());
    }
}
