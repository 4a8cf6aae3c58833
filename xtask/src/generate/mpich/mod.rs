//! The MPICH face, `crates/mpich`: made from the API table and the facts in `api/mpich`.
//!
//! | made | by |
//! | --- | --- |
//! | `generated/constants.rs`: constants both ways | [`constants`] |
//! | `generated/types.rs`: C types of this face | [`super::types`] |
//! | `generated/entries.rs`, and that of `crates/abi`: the table between the two libraries | [`entries`] |
//! | `generated/<family>.rs`: the entry points | [`entry`], [`convert`] |

mod constants;
mod convert;
mod entries;
mod entry;
mod facts;

use super::bodies::Bodies;
use super::table::Table;
use super::{Output, types};
use anyhow::Result;
use facts::Facts;
use std::path::Path;

const FOLDER: &str = "crates/mpich/src/generated";

/// Makes all files of this face.
pub fn outputs(root: &Path, table: &Table) -> Result<Vec<Output>> {
    let facts = Facts::load(&root.join("api/mpich"), table)?;
    // Those that nearly repeat are lines of a macro's use.
    let beginnings = ["pub unsafe fn ", "    pub unsafe fn "];
    let bodies = Bodies::scan(&root.join("crates/mpich/src/calls"), &beginnings)?;
    let entries = entries::write(table);
    let mut outputs = vec![
        Output::new(&format!("{FOLDER}/constants.rs"), constants::write(table, &facts)?),
        Output::new(&format!("{FOLDER}/types.rs"), types::write_mpich(table)?),
        Output::new(&format!("{FOLDER}/entries.rs"), entries.of_mpich),
        Output::new("crates/abi/src/generated/entries.rs", entries.of_abi),
        Output::new(&format!("{FOLDER}/mod.rs"), entry::write_module(table)),
    ];
    for family in &table.families {
        let path = format!("{FOLDER}/{}.rs", family.name);
        outputs.push(Output::new(&path, entry::write_family(family, &facts, &bodies)?));
    }
    Ok(outputs)
}
