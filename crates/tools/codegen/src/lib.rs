//! `cargo xtask generate`: makes files from the API table in `api/`, and the licences of the linked
//! crates.
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
//! | `packaging/THIRD-PARTY.txt` | [`licences`] |
//!
//! All of it is made in memory first; `--check` and a test compare that with the files.

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
mod licences;
mod mpich;
mod table;
mod types;

use crate::crates::Graph;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// A generated file.
pub struct Output {
    /// Path from the root of the repository.
    pub path: PathBuf,
    /// The contents of the file.
    pub text: String,
}

impl Output {
    fn new(path: &str, text: String) -> Output {
        Output { path: path.into(), text }
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").into()
}

/// Makes all generated files in memory.
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
    outputs.push(Output::new("packaging/THIRD-PARTY.txt", licences::write(&Graph::of(root)?)?));
    Ok(outputs)
}

/// Writes the generated files, or with `check` only says which ones differ.
pub fn run(check: bool) -> Result<()> {
    let root = root();
    let stale = stale(&root, outputs(&root)?);
    if check && !stale.is_empty() {
        let names: Vec<String> = stale.iter().map(|o| o.path.display().to_string()).collect();
        bail!("these generated files are out of date:\n  {}\nrun `cargo xtask generate`", names.join("\n  "));
    }
    for output in stale {
        let path = root.join(&output.path);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
        std::fs::write(&path, output.text).with_context(|| format!("writing {}", path.display()))?;
        println!("wrote {}", output.path.display());
    }
    Ok(())
}

fn stale(root: &Path, outputs: Vec<Output>) -> Vec<Output> {
    let differs = |o: &Output| std::fs::read_to_string(root.join(&o.path)).ok().as_ref() != Some(&o.text);
    outputs.into_iter().filter(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_up_to_date() {
        let root = root();
        let stale = stale(&root, outputs(&root).unwrap());
        let names: Vec<_> = stale.iter().map(|o| &o.path).collect();
        assert!(names.is_empty(), "run `cargo xtask generate`: {names:?} differ");
    }
}
