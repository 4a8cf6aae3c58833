//! The licences of what is linked into the installed files: `packaging/THIRD-PARTY.txt`.
//!
//! Texts that are the same but for their white space stand once, below the crates that they hold
//! for. Where a crate may be had under MIT, its MIT text is taken; else all of its licence files.

use crate::crates::{Graph, Package};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Writes the page.
pub(super) fn write(graph: &Graph) -> Result<String> {
    let mut by_text: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    for package in graph.installed() {
        let Package { name, version, license, .. } = package;
        let label = format!("{name} {version} ({})", license.as_deref().unwrap_or("no licence named"));
        for text in texts(package)? {
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            by_text.entry(key).or_insert_with(|| (Vec::new(), text)).0.push(label.clone());
        }
    }
    let mut groups: Vec<(Vec<String>, String)> = by_text.into_values().collect();
    groups.sort();
    let mut out = String::from(
        "The installed files of Verbena contain code of these projects, under their licences. Made by\n\
         `cargo xtask generate` from Cargo.lock and the crates themselves.\n",
    );
    for (labels, text) in groups {
        let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
        write!(out, "\n{}\n{}\n\n{}\n", "-".repeat(72), labels.join("\n"), lines.join("\n"))?;
    }
    Ok(out)
}

/// The licence texts that come with a crate.
fn texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .with_context(|| format!("the source of {} at {}", package.name, folder.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_licence(name))
        .collect();
    names.sort();
    let mit = names.iter().find(|name| name.to_uppercase().contains("MIT")).cloned();
    let wanted = mit.map_or(names, |name| vec![name]);
    ensure!(!wanted.is_empty(), "{} {} comes without a licence text", package.name, package.version);
    wanted.iter().map(|name| read(&folder.join(name))).collect()
}

fn is_licence(name: &str) -> bool {
    ["LICENSE", "LICENCE", "COPYING", "UNLICENSE"].iter().any(|word| name.to_uppercase().starts_with(word))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}
