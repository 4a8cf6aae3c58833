//! The report as one HTML file that needs nothing else: styles and pictures are inside.

use super::constants::constants;
use super::figure::Figure;
use super::inventory::title;
use super::kinds::Kind;
use super::page::{Page, Part};
use super::rows::Row;
use super::verdict::Outcome;
use std::fmt::Write;
use verbena_lab::table::format_value;

const STYLE: &str = include_str!("style.css");

/// The file's text.
pub(super) fn render(page: &Page) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>The papers, figure by figure</title><style>{STYLE}</style></head><body>\n"
    );
    head(&mut out, page);
    let mut paper = 0;
    for part in &page.parts {
        if part.item.paper != paper {
            paper = part.item.paper;
            let _ = writeln!(out, "<h2 id=\"p{paper}\">Paper {paper}: {}</h2>", text(title(paper)));
        }
        section(&mut out, part);
    }
    out.push_str("</body></html>\n");
    out
}

fn head(out: &mut String, page: &Page) {
    let _ = writeln!(out, "<h1>The five papers, figure by figure</h1>");
    let _ = writeln!(out, "<p>Made {} by <code>{}</code>.</p>", page.made(), text(&page.command));
    for machine in &page.machines {
        let emulated = if machine.contains("QEMU") { " (an emulated machine with Soft-RoCE)" } else { "" };
        let _ = writeln!(out, "<p class=\"machine\">Measured on: {}{emulated}</p>", text(machine));
    }
    for build in &page.builds {
        let _ = writeln!(out, "<p class=\"machine\">Measured was: {}</p>", text(build));
    }
    let _ = writeln!(
        out,
        "<p>A ratio holds within one machine only: the papers' hardware of 2003 to 2007 is not here. The paper's picture has the \
         numbers that its text states; ours stands beside it.</p><p>A measured value is the median of five jobs at least, with the \
         least and the most. Noise is the factor by which two medians of one and the same variant differ, measured beside each \
         experiment; a ratio is as claimed, or not, only if it is so wherever in its noise it lies. {} jobs were thrown out since the \
         machine disturbed them.</p>",
        page.thrown()
    );
    sums(out, page);
    model(out);
    overview(out, page);
}

/// Writes the sums: a row for each kind, a column for each outcome.
fn sums(out: &mut String, page: &Page) {
    let _ = write!(out, "<table class=\"counts\"><thead><tr><th>{} rows</th><th>sum</th>", page.rows());
    for outcome in Outcome::ALL {
        let _ = write!(out, "<th><span class=\"{}\">{}</span></th>", class(outcome), outcome.name());
    }
    out.push_str("</tr></thead><tbody>\n");
    for kind in Kind::ALL {
        let _ = write!(
            out,
            "<tr><td class=\"k\">{}</td><td class=\"n\">{}</td>",
            kind.name(),
            page.of_kind(kind)
        );
        for outcome in Outcome::ALL {
            let _ = write!(out, "<td class=\"n\">{}</td>", page.count(kind, outcome));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

/// Writes the constants of the simulator's model.
fn model(out: &mut String) {
    out.push_str("<details><summary>Constants of the simulator's model</summary><table><thead><tr><th>Constant</th><th>Value</th><th>Kind</th><th>Source</th></tr></thead><tbody>\n");
    for constant in constants() {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"k\">{}</td><td>{}</td></tr>",
            constant.name,
            constant.value,
            constant.kind.name(),
            text(constant.source)
        );
    }
    out.push_str("</tbody></table></details>\n");
}

/// Writes all rows in short.
fn overview(out: &mut String, page: &Page) {
    out.push_str("<details open><summary>Overview</summary><table><thead><tr><th>Paper</th><th>Place</th><th>What</th><th>Kind</th><th>Where</th><th>Claimed</th><th>Seen</th><th>Noise</th><th></th></tr></thead><tbody>\n");
    for part in &page.parts {
        for row in &part.rows {
            let _ = writeln!(
                out,
                "<tr class=\"{}\"><td>{}</td><td class=\"k\"><a href=\"#{}\">{}</a></td><td>{}</td><td class=\"k\">{}</td><td class=\"k\">{}</td><td class=\"k\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"k\">{}</td></tr>",
                class(row.outcome),
                part.item.paper,
                anchor(part),
                text(&part.name()),
                text(&row.what),
                row.kind.name(),
                row.source,
                claimed(row),
                seen(row),
                noise(row),
                row.outcome.name()
            );
        }
    }
    out.push_str("</tbody></table></details>\n");
}

fn section(out: &mut String, part: &Part) {
    let item = &part.item;
    let _ = writeln!(
        out,
        "<section id=\"{}\"><h3>{} <small>paper {}, section {}</small></h3><p>{}</p>",
        anchor(part),
        text(&part.name()),
        item.paper,
        text(item.section),
        text(item.about)
    );
    if !item.numbers.is_empty() {
        let _ = writeln!(out, "<p class=\"numbers\">The paper: {}.</p>", text(&part.numbers()));
    }
    pictures(out, part);
    table(out, &part.rows);
    for reason in &item.lacks {
        let _ = writeln!(out, "<p class=\"lacks\">Not shown here: {}.</p>", text(reason));
    }
    let details = part.details();
    if !details.is_empty() {
        out.push_str("<details><summary>Command lines behind it</summary><pre>");
        details.iter().for_each(|line| {
            let _ = writeln!(out, "{}", text(line));
        });
        out.push_str("</pre></details>\n");
    }
    out.push_str("</section>\n");
}

fn pictures(out: &mut String, part: &Part) {
    if part.theirs.is_empty() && part.ours.is_empty() {
        return;
    }
    out.push_str("<div class=\"pictures\">\n");
    if part.theirs.is_empty() && !part.ours.is_empty() {
        out.push_str("<figure class=\"none\">The paper's text states no number of this picture.</figure>\n");
    }
    part.theirs.iter().chain(&part.ours).for_each(|figure| picture(out, figure));
    out.push_str("</div>\n");
}

fn picture(out: &mut String, figure: &Figure) {
    let _ = match &figure.drawn {
        Some(svg) => writeln!(out, "<figure>{svg}</figure>"),
        None => writeln!(
            out,
            "<figure class=\"none\">{}<br>{}</figure>",
            text(&figure.title),
            text(&figure.reason)
        ),
    };
}

fn table(out: &mut String, rows: &[Row]) {
    out.push_str("<table><thead><tr><th>What</th><th>Kind</th><th>Where</th><th>Ours</th><th>Claimed</th><th>Seen</th><th>Noise</th><th></th><th>Command</th><th>Remark</th></tr></thead><tbody>\n");
    for row in rows {
        let _ = writeln!(
            out,
            "<tr class=\"{}\"><td>{}</td><td class=\"k\">{}</td><td class=\"k\">{}</td><td>{}</td><td class=\"k\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"k\">{}</td><td><code>{}</code></td><td>{}</td></tr>",
            class(row.outcome),
            text(&row.what),
            row.kind.name(),
            row.source,
            text(&row.ours),
            claimed(row),
            seen(row),
            noise(row),
            row.outcome.name(),
            text(&row.command),
            text(&row.remark)
        );
    }
    out.push_str("</tbody></table>\n");
}

fn claimed(row: &Row) -> String {
    row.claimed.map_or_else(String::new, |claimed| claimed.to_string())
}

/// The ratio that was seen, with as many digits as tell it from the bound that it misses.
pub(super) fn seen(row: &Row) -> String {
    let Some(ratio) = row.seen else { return String::new() };
    let short = format_value(ratio);
    let looks_kept = row.outcome == Outcome::Missed && claimed(row).split(' ').any(|word| word == short);
    if looks_kept { format!("{ratio:.4}") } else { short }
}

/// The noise as the factor by which a ratio may be off.
pub(super) fn noise(row: &Row) -> String {
    row.noise.map_or_else(String::new, |noise| format!("×{noise:.2}"))
}

fn anchor(part: &Part) -> String {
    format!("p{}-{}-{}", part.item.paper, part.item.place, part.item.section).replace([' ', '.'], "-")
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "kept",
        Outcome::Missed => "missed",
        Outcome::CannotTell => "cannot",
        Outcome::Identical => "identical",
        Outcome::Shown => "shown",
        Outcome::Unmeasured => "unmeasured",
        Outcome::Nothing => "nothing",
    }
}

/// A text without marks.
fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::inventory;
    use crate::report::results::Results;
    use crate::report::rows::rows;

    #[test]
    fn the_file_needs_nothing_else() {
        let page = Page::new(&Results::default()).expect("page");
        let html = render(&page);
        for word in ["http://", "https://", "<link", "<script", "src="] {
            // The namespace of SVG is a name and no address that anybody visits.
            let plain = html.replace("http://www.w3.org/2000/svg", "");
            assert!(!plain.contains(word), "{word}");
        }
        assert_eq!(html.matches("<section").count(), page.parts.len());
    }

    #[test]
    fn the_sum_of_each_kind_stands_on_top() {
        let page = Page::new(&Results::default()).expect("page");
        let html = render(&page);
        let top = &html[..html.find("<h2").expect("a paper")];
        for kind in Kind::ALL {
            let cell =
                format!("<td class=\"k\">{}</td><td class=\"n\">{}</td>", kind.name(), page.of_kind(kind));
            assert!(top.contains(&cell), "{cell}");
        }
        assert!(Outcome::ALL.iter().all(|outcome| top.contains(outcome.name())));
    }

    #[test]
    fn a_bound_that_is_narrowly_missed_is_told_apart() {
        let figures = inventory::all();
        let item =
            figures.iter().find(|item| (item.paper, item.place) == (1, "figure 13")).expect("figure 13");
        let row = rows(item, &Results::default()).remove(0);
        let row = |ratio, outcome| Row { seen: Some(ratio), outcome, ..row.clone() };
        assert_eq!(seen(&row(2.0376, Outcome::Missed)), "2.0376");
        assert_eq!([seen(&row(2.0412, Outcome::Kept)), seen(&row(1.5, Outcome::Missed))], ["2.04", "1.50"]);
    }

    #[test]
    fn marks_are_no_marks() {
        assert_eq!(text("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
