//! The results on the page about performance: what `BENCHMARKS.md` says of its run.

use anyhow::{Context, Result};
use std::path::Path;

const PAGE: &str = "docs/book/performance.md";
const RESULTS: &str = "BENCHMARKS.md";
const BEGIN: &str = "<!-- results: written by cargo xtask generate from BENCHMARKS.md -->\n";
const END: &str = "<!-- end of results -->";

/// The page with the results of the tree.
///
/// # Errors
/// A page cannot be read, or has not the parts that it must have.
pub(super) fn page(root: &Path) -> Result<String> {
    let read =
        |name: &str| std::fs::read_to_string(root.join(name)).with_context(|| format!("reading {name}"));
    replaced(&read(PAGE)?, &results(&read(RESULTS)?)?)
}

/// The part of `BENCHMARKS.md` from its title to the method, as the book's page has it.
fn results(benchmarks: &str) -> Result<String> {
    let (_, rest) = benchmarks.split_once("# Benchmarks\n\n").context("BENCHMARKS.md has no title")?;
    let (results, _) = rest.split_once("\n## Method\n").context("BENCHMARKS.md has no method")?;
    let moved = results.replace("](docs/", "](../");
    let named = moved.replace("\n## ", "\n### ").replace("```text\n", "```text drawing\n");
    Ok(named.lines().map(|line| narrow(line) + "\n").collect())
}

/// The widest line of a page, in characters (`xtask/tidy.toml`).
const COLUMNS: usize = 100;

/// A line of prose in lines that are narrow enough. Tables and pictures stay as they are.
fn narrow(line: &str) -> String {
    if line.chars().count() <= COLUMNS || line.starts_with(['|', '!']) {
        return line.to_owned();
    }
    let (mut out, mut width) = (String::new(), 0);
    for word in line.split(' ') {
        let more = word.chars().count();
        let joint = if out.is_empty() {
            ""
        } else if width + 1 + more > COLUMNS {
            "\n"
        } else {
            " "
        };
        width = if joint == " " { width + 1 + more } else { more };
        out += joint;
        out += word;
    }
    out
}

fn replaced(page: &str, results: &str) -> Result<String> {
    let (before, rest) =
        page.split_once(BEGIN).with_context(|| format!("{PAGE} has no place for results"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("the results of {PAGE} do not end"))?;
    Ok(format!("{before}{BEGIN}{}\n{END}{after}", results.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_moved_and_the_rest_of_the_page_stays() {
        let source = "<!-- x -->\n# Benchmarks\n\nahead\n\n![a](docs/a.svg)\n\n## All values\n\n1\n\n## Method\n\nno\n";
        let page = format!("before\n{BEGIN}old\n{END}\nafter\n");
        let new = replaced(&page, &results(source).expect("results")).expect("a page");
        assert_eq!(
            new,
            format!("before\n{BEGIN}ahead\n\n![a](../a.svg)\n\n### All values\n\n1\n{END}\nafter\n")
        );
    }

    #[test]
    fn wide_prose_is_wrapped() {
        let wide = "word ".repeat(30);
        let wrapped = narrow(wide.trim_end());
        assert!(
            wrapped.lines().count() == 2 && wrapped.lines().all(|line| line.len() <= COLUMNS),
            "{wrapped}"
        );
        assert_eq!(narrow("  an indented line"), "  an indented line");
        let row = format!("| {wide}|");
        assert_eq!(narrow(&row), row);
    }

    #[test]
    fn pages_without_their_parts_are_refused() {
        assert!(results("nothing").is_err() && results("# Benchmarks\n\nx\n").is_err());
        assert!(replaced("nothing", "x").is_err() && replaced(BEGIN, "x").is_err());
    }
}
