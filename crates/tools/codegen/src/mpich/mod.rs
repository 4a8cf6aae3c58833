//! The MPICH face, `crates/entry/mpich`: made from the API table and the facts in `api/mpich`.
//!
//! | made | by |
//! | --- | --- |
//! | `generated/constants.rs`: constants both ways | [`constants`] |
//! | `generated/types.rs`: C types of this face | [`super::types`] |
//! | the table between the two libraries: its types (`crates/entry/faces`) and the code that fills it | [`table`] |
//! | `generated/<family>.rs`: the entry points | [`entry`], [`convert`] |

mod constants;
mod convert;
mod entry;
mod facts;
mod table;

use super::bodies::Bodies;
use super::table::Table;
use super::{Output, types};
use anyhow::Result;
use facts::Facts;
use std::path::Path;

const FOLDER: &str = "crates/entry/mpich/src/generated";

/// Makes all files of this face.
pub fn outputs(root: &Path, table: &Table) -> Result<Vec<Output>> {
    let facts = Facts::load(&root.join("api/mpich"), table)?;
    // Those that nearly repeat are lines of a macro's use.
    let beginnings = ["pub unsafe fn ", "    pub unsafe fn "];
    let bodies = Bodies::scan(&root.join("crates/entry/mpich/src/calls"), &beginnings)?;
    let mut outputs = vec![
        Output::new(&format!("{FOLDER}/constants.rs"), constants::write(table, &facts)?),
        Output::new(&format!("{FOLDER}/types.rs"), types::write_mpich(table)?),
        Output::new(&format!("{FOLDER}/fallbacks.rs"), table::write_fallbacks(table)),
        Output::new(&format!("{FOLDER}/mod.rs"), entry::write_module(table)),
    ];
    outputs.extend(table::outputs(table));
    for family in &table.families {
        let path = format!("{FOLDER}/{}.rs", family.name);
        outputs.push(Output::new(&path, entry::write_family(family, &facts, &bodies)?));
    }
    Ok(outputs)
}
