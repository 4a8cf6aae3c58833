//! Finds the hand-written bodies: `pub fn name(` in `crates/abi/src/calls/*.rs`, and the quick ways of some calls:
//! `pub unsafe fn name(` in `quick.rs` there. In `crates/mpich` all bodies begin so.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Which module holds which body, and which bodies have a quick way.
pub struct Bodies {
    modules: BTreeMap<String, String>,
    quick: BTreeSet<String>,
}

impl Bodies {
    /// Reads the modules of a folder, where bodies begin like one of these. Two bodies of one name are an error.
    pub fn scan(folder: &Path, beginnings: &[&str]) -> Result<Bodies> {
        let mut bodies = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_none_or(|e| e != "rs")
                || path.file_stem().is_some_and(|stem| stem == "quick")
            {
                continue;
            }
            let module = path.file_stem().context("no name")?.to_string_lossy().into_owned();
            for name in names(&std::fs::read_to_string(&path)?, beginnings) {
                if let Some(other) = bodies.insert(name.clone(), module.clone()) {
                    bail!("`pub fn {name}` stands in calls/{other}.rs and in calls/{module}.rs");
                }
            }
        }
        let quick = std::fs::read_to_string(folder.join("quick.rs")).unwrap_or_default();
        Ok(Bodies { modules: bodies, quick: names(&quick, &["pub unsafe fn "]).collect() })
    }

    /// The module that holds this body.
    pub fn module(&self, body: &str) -> Option<&str> {
        self.modules.get(body).map(String::as_str)
    }

    /// Whether the call with this body has a quick way.
    pub fn is_quick(&self, body: &str) -> bool {
        self.quick.contains(body)
    }
}

fn names(text: &str, beginnings: &[&str]) -> impl Iterator<Item = String> {
    let rest = |line| beginnings.iter().find_map(|beginning| str::strip_prefix(line, beginning));
    let rests = text.lines().filter_map(rest);
    rests.filter_map(|rest| rest.split_once(['(', '<']).map(|(name, _)| name.to_string()))
}
