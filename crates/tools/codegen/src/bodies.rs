//! Finds the hand-written bodies: public functions in the folders `calls` of `abi`, `mpich` and
//! `fortran`.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// The beginnings of a body. Those that nearly repeat are lines of a macro's use.
const BEGINNINGS: [&str; 3] = ["pub fn ", "pub unsafe fn ", "    pub unsafe fn "];
/// The folder of the bodies of the standard ABI.
pub(crate) const OF_C: &str = "crates/entry/abi/src/calls";

/// The module that holds each body.
pub(crate) struct Bodies {
    modules: BTreeMap<String, String>,
}

impl Bodies {
    /// Reads the modules of a folder. Two bodies of one name are an error.
    pub(crate) fn scan(folder: &Path) -> Result<Bodies> {
        let mut bodies = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let module = path.file_stem().context("no name")?.to_string_lossy().into_owned();
            for name in names(&std::fs::read_to_string(&path)?) {
                if let Some(other) = bodies.insert(name.clone(), module.clone()) {
                    bail!("`pub fn {name}` stands in calls/{other}.rs and in calls/{module}.rs");
                }
            }
        }
        Ok(Bodies { modules: bodies })
    }

    /// The module that holds this body.
    pub(crate) fn module(&self, body: &str) -> Option<&str> {
        self.modules.get(body).map(String::as_str)
    }
}

fn names(text: &str) -> impl Iterator<Item = String> {
    let rest = |line| BEGINNINGS.iter().find_map(|beginning| str::strip_prefix(line, beginning));
    let rests = text.lines().filter_map(rest);
    rests.filter_map(|rest| rest.split_once(['(', '<']).map(|(name, _)| name.to_string()))
}
