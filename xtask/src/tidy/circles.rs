//! No files of a crate import each other in a circle, but parent and child.
//!
//! The files of a circle reach each other by imports. There are no exceptions.

use super::Finding;
use super::modules::{Import, Modules};
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Checks every crate.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &File> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let imports = tops(files).into_iter().map(|top| Modules::of(&top, &by_path).imports());
    imports.flat_map(|of| circles(&of)).map(|(files, imports)| finding(&files, &imports)).collect()
}

/// A circle of these files, closed by these imports.
fn finding(files: &BTreeSet<String>, imports: &[Import]) -> Finding {
    let first = &imports[0];
    let line =
        |import: &Import| format!("  {}:{} {} -> {}", import.from, import.line, import.path, import.to);
    let listed: Vec<String> = imports.iter().map(line).collect();
    let what = format!("{} files import each other in a circle:\n{}", files.len(), listed.join("\n"));
    Finding { rule: "circle", path: first.from.clone(), line: first.line, what }
}

/// The circles among imports, and the imports that close each.
fn circles(imports: &[Import]) -> Vec<(BTreeSet<String>, Vec<Import>)> {
    let from: BTreeSet<&str> = imports.iter().map(|import| import.from.as_str()).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        from.iter().map(|file| (*file, reached_from(file, imports))).collect();
    let reaches = |one: &str, other: &str| reached.get(one).is_some_and(|files| files.contains(other));
    let mut found: BTreeMap<BTreeSet<String>, Vec<Import>> = BTreeMap::new();
    for import in imports.iter().filter(|import| reaches(&import.to, &import.from)) {
        let both = from.iter().filter(|file| reaches(&import.from, file) && reaches(file, &import.from));
        found.entry(both.map(ToString::to_string).collect()).or_default().push(import.clone());
    }
    found.into_iter().collect()
}

/// The files that a file reaches by one import or more.
fn reached_from<'a>(file: &'a str, imports: &'a [Import]) -> BTreeSet<&'a str> {
    let mut waiting = vec![file];
    let mut reached = BTreeSet::new();
    while let Some(from) = waiting.pop() {
        let next = imports.iter().filter(|import| import.from == from).map(|import| import.to.as_str());
        waiting.extend(next.filter(|to| reached.insert(*to)));
    }
    reached
}

/// The top files of every crate that a manifest names, or that lies where cargo looks.
fn tops(files: &[File]) -> BTreeSet<String> {
    let mut tops = BTreeSet::new();
    for manifest in files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        let bins = format!("{folder}src/bin/");
        let usual = [format!("{folder}src/lib.rs"), format!("{folder}src/main.rs")];
        let in_bins = |path: &str| path.strip_prefix(&bins).is_some_and(|name| !name.contains('/'));
        let lie = files.iter().map(|file| &file.path).filter(|path| usual.contains(path) || in_bins(path));
        tops.extend(lie.cloned());
        tops.extend(named_tops(&manifest.text).into_iter().map(|path| format!("{folder}{path}")));
    }
    tops
}

/// The paths that a manifest gives for its library and its programs.
fn named_tops(manifest: &str) -> Vec<String> {
    let Ok(manifest) = manifest.parse::<Table>() else { return Vec::new() };
    let bins = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let targets = manifest.get("lib").into_iter().chain(bins);
    targets.filter_map(|target| target.get("path")?.as_str().map(String::from)).collect()
}

#[cfg(test)]
mod tests;
