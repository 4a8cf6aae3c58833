//! Makes code, headers and pages from the API table in `api/`.
//!
//! | made | by |
//! | --- | --- |
//! | `include/mpi.h` | [`header`] |
//! | `crates/core/mpi/src/generated/constants.rs` | [`constants`] |
//! | `crates/entry/abi/src/generated/types.rs` | [`types`] |
//! | `crates/entry/abi/src/generated/<family>.rs` | [`entry`] |
//! | `docs/COVERAGE.md` | [`coverage`] |
//! | `crates/entry/mpich/src/generated` | [`mpich`] |
//! | `crates/entry/fortran/src/generated`, `bindings/fortran` | [`fortran`] |
//!
//! All of it is made in memory. `cargo xtask generate` writes it into the tree.

mod bodies;
mod constants;
mod convert;
mod coverage;
mod ctype;
mod entry;
mod fortran;
mod function;
mod header;
mod kind;
mod mpich;
mod table;
mod types;

use anyhow::Result;
use std::path::{Path, PathBuf};

/// A generated file.
pub struct Output {
    /// Path from the root of the repository.
    pub path: PathBuf,
    /// The contents of the file.
    pub text: String,
}

impl Output {
    /// A file of this path and contents.
    pub fn new(path: &str, text: String) -> Output {
        Output { path: path.into(), text }
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("a folder of `crates/tools`").into()
}

/// Makes all generated files in memory.
///
/// # Errors
/// A file of the API table cannot be read, or what it says cannot be understood.
pub fn outputs(root: &Path) -> Result<Vec<Output>> {
    let table = table::Table::load(&root.join("api"))?;
    let bodies = bodies::Bodies::scan(&root.join("crates/entry/abi/src/calls"), &["pub fn "])?;
    let mut outputs = vec![
        Output::new("include/mpi.h", header::write(&table)?),
        Output::new("crates/core/mpi/src/generated/constants.rs", constants::write(&table)?),
        Output::new("crates/entry/abi/src/generated/types.rs", types::write(&table)?),
        Output::new("crates/entry/abi/src/generated/mod.rs", entry::write_module(&table)),
        Output::new(
            "docs/COVERAGE.md",
            coverage::write(&table, &bodies, &fortran::names(root, &table, &bodies)?),
        ),
    ];
    for family in &table.families {
        let path = format!("crates/entry/abi/src/generated/{}.rs", family.name);
        outputs.push(Output::new(&path, entry::write_family(family, &bodies)?));
    }
    outputs.extend(mpich::outputs(root, &table)?);
    outputs.extend(fortran::outputs(root, &table, &bodies)?);
    Ok(outputs)
}
