//! No files of a crate import each other in a circle, but parent and child.
//!
//! The files of a circle reach each other by imports. The circles that remain stand in the rules,
//! each with its reason; an entry names exactly the files of its circle.

use super::Finding;
use super::modules::{Import, Modules};
use super::rules::{Circle, Rules};
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Checks every crate.
pub(super) fn check(files: &[File], rules: &Rules) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &File> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let imports = tops(files).into_iter().map(|top| Modules::of(&top, &by_path).imports());
    let found: Vec<(BTreeSet<String>, Vec<Import>)> = imports.flat_map(|of| circles(&of)).collect();
    let is_known = |files: &BTreeSet<String>| rules.circles.iter().any(|known| &known.files == files);
    let circles = found.iter().filter(|(files, _)| !is_known(files));
    let is_there = |known: &&Circle| found.iter().any(|(files, _)| !files.is_disjoint(&known.files));
    let idle = rules.circles.iter().filter(|known| !is_there(known));
    circles.map(|(files, imports)| finding(files, imports, rules)).chain(idle.map(idle_finding)).collect()
}

/// A circle that the rules do not know.
fn finding(files: &BTreeSet<String>, imports: &[Import], rules: &Rules) -> Finding {
    let first = &imports[0];
    let line =
        |import: &Import| format!("  {}:{} {} -> {}", import.from, import.line, import.path, import.to);
    let listed: Vec<String> = imports.iter().map(line).collect();
    let names = |files: Vec<&String>| files.iter().map(|file| file.as_str()).collect::<Vec<_>>().join(", ");
    let known = rules.circles.iter().find(|known| !known.files.is_disjoint(files));
    let change = known.map_or(String::new(), |known| {
        let (joined, left) =
            (files.difference(&known.files).collect(), known.files.difference(files).collect());
        format!("; against xtask/tidy.toml, these joined: [{}], these left: [{}]", names(joined), names(left))
    });
    let what = format!("{} files import each other in a circle{change}:\n{}", files.len(), listed.join("\n"));
    Finding { rule: "circle", path: first.from.clone(), line: first.line, what }
}

/// An entry of the rules that is no circle.
fn idle_finding(known: &Circle) -> Finding {
    let files: Vec<&str> = known.files.iter().map(String::as_str).collect();
    let what = format!("this is no circle any more: {}", files.join(", "));
    Finding { rule: "circle", path: "xtask/tidy.toml".into(), line: 0, what }
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
