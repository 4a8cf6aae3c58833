//! Finds the hand-written bodies: `pub fn name(` in `crates/entry/abi/src/calls/*.rs`,
//! `pub unsafe fn name(` in `crates/entry/mpich/src/calls`.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// The folder of the bodies of the standard ABI.
pub const OF_C: &str = "crates/entry/abi/src/calls";

/// The module that holds each body.
pub struct Bodies {
    modules: BTreeMap<String, String>,
}

impl Bodies {
    /// Reads the bodies of the standard ABI.
    pub fn of_c(root: &Path) -> Result<Bodies> {
        Bodies::scan(&root.join(OF_C), &["pub fn "])
    }

    /// Reads the modules of a folder, where bodies begin like one of these. Two bodies of one name
    /// are an error.
    pub fn scan(folder: &Path, beginnings: &[&str]) -> Result<Bodies> {
        let mut bodies = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let module = path.file_stem().context("no name")?.to_string_lossy().into_owned();
            for name in names(&std::fs::read_to_string(&path)?, beginnings) {
                if let Some(other) = bodies.insert(name.clone(), module.clone()) {
                    bail!("`pub fn {name}` stands in calls/{other}.rs and in calls/{module}.rs");
                }
            }
        }
        Ok(Bodies { modules: bodies })
    }

    /// The module that holds this body.
    pub fn module(&self, body: &str) -> Option<&str> {
        self.modules.get(body).map(String::as_str)
    }
}

fn names(text: &str, beginnings: &[&str]) -> impl Iterator<Item = String> {
    let rest = |line| beginnings.iter().find_map(|beginning| str::strip_prefix(line, beginning));
    let rests = text.lines().filter_map(rest);
    rests.filter_map(|rest| rest.split_once(['(', '<']).map(|(name, _)| name.to_string()))
}
