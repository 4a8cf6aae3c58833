//! The pages of the book, the links between them, and their headings.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The folder with the summary and the pages, below the top of the tree.
pub const FOLDER: &str = "docs";
/// The list of the pages.
pub const SUMMARY: &str = "SUMMARY.md";
/// The folder with the book's own pages, below [`FOLDER`].
pub const OWN: &str = "book";

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The number of its line, from 1.
    pub line: usize,
    /// The target as the page writes it.
    pub target: String,
}

/// Returns the links of a page, of pictures too, outside code.
pub fn links(page: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, text) in prose(page) {
        let text: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
        links.extend(targets.map(|target| Link { line, target }));
    }
    links
}

/// Returns the names by which links reach the headings of a page, as mdBook and GitHub make them.
pub fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).filter_map(|(_, line)| Some(line.strip_prefix('#')?.trim_start_matches('#')));
    headings.map(|heading| anchor(heading.trim())).collect()
}

/// The lines of a page outside fenced blocks, with their numbers.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    (1..).zip(page.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

fn anchor(heading: &str) -> String {
    let kept = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    };
    heading.chars().filter_map(kept).collect()
}

/// Returns the pages that the summary in this folder names, in its order.
///
/// # Errors
/// The summary cannot be read.
pub fn pages(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let summary = std::fs::read_to_string(folder.join(SUMMARY))?;
    Ok(links(&summary).into_iter().map(|link| PathBuf::from(link.target)).collect())
}

/// Returns what is wrong with the pages in this folder: one that the summary does not name, or
/// names twice; a link that leads out of the book or to nothing.
///
/// # Errors
/// A page cannot be read.
pub fn faults(folder: &Path) -> std::io::Result<Vec<String>> {
    let pages = pages(folder)?;
    let named: BTreeSet<&PathBuf> = pages.iter().collect();
    let mut faults = Vec::new();
    if named.len() < pages.len() {
        faults.push(format!("{SUMMARY} names a page twice"));
    }
    // mdBook shows the first page at the top as well, with the links that it has.
    if let Some(first) = pages.first().filter(|page| page.components().count() > 1) {
        faults.push(format!("the first page must lie beside {SUMMARY}: {}", first.display()));
    }
    for entry in std::fs::read_dir(folder.join(OWN))? {
        let page = Path::new(OWN).join(entry?.file_name());
        if page.extension().is_some_and(|ending| ending == "md") && !named.contains(&page) {
            faults.push(format!("{SUMMARY} does not name {}", page.display()));
        }
    }
    for page in &pages {
        let text = std::fs::read_to_string(folder.join(page))?;
        let told = |link: &Link| {
            let what = wrong(folder, page, &named, link)?;
            Some(format!("{}:{}: {what}", page.display(), link.line))
        };
        faults.extend(links(&text).iter().filter_map(told));
    }
    Ok(faults)
}

/// Returns what is wrong with a link of `page`; `None` if it leads to a page of the book, to one of
/// its headings, to a picture beside the pages, or into the web.
fn wrong(folder: &Path, page: &Path, pages: &BTreeSet<&PathBuf>, link: &Link) -> Option<String> {
    let Link { target, .. } = link;
    if target.contains("://") {
        return None;
    }
    let (path, heading) =
        target.split_once('#').map_or((target.as_str(), None), |(path, name)| (path, Some(name)));
    let file = if path.is_empty() { page.to_owned() } else { joined(page, path) };
    let is_picture = file.extension().is_some_and(|ending| ending == "svg") && folder.join(&file).exists();
    if !pages.contains(&file) && !is_picture {
        return Some(format!("the link leads to no page of the book: {target}"));
    }
    let name = heading?;
    let text = std::fs::read_to_string(folder.join(&file)).unwrap_or_default();
    (!anchors(&text).contains(name)).then(|| format!("{} has no heading for {target}", file.display()))
}

/// The path of a link, seen from the folder of the pages.
fn joined(page: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in page.parent().unwrap_or(Path::new("")).join(link).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_code_are_found() {
        let page = "[a](b.md#c) ![d](e.svg)\n`[x](y.md)`\n```sh\n[p](q.md)\n```\n[z](https://z)\n";
        let found: Vec<(usize, String)> =
            links(page).into_iter().map(|link| (link.line, link.target)).collect();
        let expected = [(1, "b.md#c"), (1, "e.svg"), (6, "https://z")];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn headings_have_the_names_that_mdbook_gives() {
        let names = anchors("# It's a `name`, no?\n## Two words\n```sh\n# a comment\n```\n");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["its-a-name-no", "two-words"]);
    }

    #[test]
    fn a_path_is_seen_from_the_folder_of_the_pages() {
        assert_eq!(joined(Path::new("book/a.md"), "../B.md"), Path::new("B.md"));
        assert_eq!(joined(Path::new("book/a.md"), "c.md"), Path::new("book/c.md"));
        assert_eq!(joined(Path::new("B.md"), "./book/c.md"), Path::new("book/c.md"));
    }

    #[test]
    fn a_link_into_nothing_is_told() {
        let top = crate::top();
        let (folder, home) = (top.join(FOLDER), PathBuf::from("PAPERS.md"));
        let pages = BTreeSet::from([&home]);
        let told = |target: &str| wrong(&folder, &home, &pages, &Link { line: 1, target: target.into() });
        for good in
            ["PAPERS.md", "#the-full-report", "PAPERS.md#the-full-report", "https://x", "benchmarks-busy.svg"]
        {
            assert_eq!(told(good), None, "{good}");
        }
        for bad in ["GLOSSARY.md", "#no-such-heading", "none.svg", "../README.md"] {
            assert!(told(bad).is_some(), "{bad}");
        }
    }
}
