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
pub mod table;

use super::bodies::Bodies;
use super::table::Table;
use super::{Output, types};
use anyhow::Result;
use facts::Facts;
use std::path::Path;

const BODIES: &str = "crates/entry/mpich/src/calls";
/// The files and folders that the entry points are made from.
pub const SOURCES: [&str; 2] = ["api", BODIES];

/// Makes the files of the build.
pub fn build(root: &Path) -> Result<Vec<Output>> {
    let table = &Table::load(&root.join("api"))?;
    let facts = Facts::load(&root.join("api/mpich"), table)?;
    // Those that nearly repeat are lines of a macro's use.
    let beginnings = ["pub unsafe fn ", "    pub unsafe fn "];
    let bodies = Bodies::scan(&root.join(BODIES), &beginnings)?;
    let mut outputs = vec![
        Output::new("generated/constants.rs", constants::write(table, &facts)?),
        Output::new("generated/types.rs", types::write_mpich(table)?),
        Output::new("generated/fallbacks.rs", table::write_fallbacks(table)),
        Output::new("generated/mod.rs", entry::write_module(table)),
    ];
    for family in &table.families {
        let path = format!("generated/{}.rs", family.name);
        outputs.push(Output::new(&path, entry::write_family(family, &facts, &bodies)?));
    }
    Ok(outputs)
}
