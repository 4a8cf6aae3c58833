//! The MPICH face, `crates/entry/mpich`: made from the API table and the facts in `api/mpich`.
//!
//! | made | by |
//! | --- | --- |
//! | `constants.rs`: constants both ways | [`constants`] |
//! | `types.rs`: C types of this face | [`super::types`] |
//! | the table between the two libraries: its types (`crates/entry/faces`) and the code that fills it | [`table`] |
//! | `<family>.rs`: the entry points | [`entry`], [`convert`] |

mod constants;
mod convert;
mod entry;
mod facts;
pub(crate) mod table;

use super::bodies::Bodies;
use super::table::Table;
use super::{IN_BUILD, Output, types};
use anyhow::Result;
use facts::Facts;
use std::collections::BTreeMap;
use std::path::Path;

const BODIES: &str = "crates/entry/mpich/src/calls";
/// The files and folders that the entry points are made from.
pub(crate) const SOURCES: [&str; 2] = ["api", BODIES];

/// Makes the files of the build.
pub(crate) fn build(root: &Path) -> Result<Vec<Output>> {
    let table = &Table::load(&root.join("api"))?;
    let facts = Facts::load(&root.join("api/mpich"), table)?;
    let bodies = Bodies::scan(&root.join(BODIES))?;
    let mut outputs = vec![
        Output::new("constants.rs", constants::write(table, &facts)?),
        Output::new("types.rs", types::write(table, IN_BUILD, handle_type)?),
        Output::new("fallbacks.rs", table::write_fallbacks(table)),
    ];
    for family in &table.families {
        let path = format!("{}.rs", family.name);
        outputs.push(Output::new(&path, entry::write_family(family, &facts, &bodies)?));
    }
    Ok(outputs)
}

/// The values of the constants of this face, by name, where the standard face has others.
pub(crate) fn values(root: &Path, table: &Table) -> Result<BTreeMap<String, i64>> {
    let facts = Facts::load(&root.join("api/mpich"), table)?;
    let classes = facts.classes.iter().flat_map(|class| &class.pairs);
    let all = facts.handles.iter().chain(&facts.errors).chain(&facts.sizes).chain(&facts.pointers);
    Ok(all.chain(classes).map(|pair| (pair.name.clone(), pair.face)).collect())
}

/// Handles are integers here, except for files and the tool interface's.
pub(crate) fn handle_type(handle: &str) -> &'static str {
    if handle == "MPI_File" || handle.starts_with("MPI_T_") { "usize" } else { "i32" }
}
