//! Makes code, headers and pages from the API table in `api/`.
//!
//! | made | by | written by |
//! | --- | --- | --- |
//! | `include/mpi.h` | [`header`] | `cargo xtask generate` |
//! | `crates/core/mpi/src/generated/constants.rs` | [`constants`] | `cargo xtask generate` |
//! | `crates/entry/abi/src/generated/types.rs` | [`types`] | `cargo xtask generate` |
//! | `crates/entry/abi/src/generated/<family>.rs` | [`entry`] | `cargo xtask generate` |
//! | the table of `faces`, and what fills it in `abi` | [`mpich`] | `cargo xtask generate` |
//! | `docs/man/man3/*.3` | [`man`] | `cargo xtask generate` |
//! | `docs/COVERAGE.md` | [`coverage`] | `cargo xtask generate` |
//! | `bindings/fortran/mpif.h` | [`fortran`] | `cargo xtask generate` |
//! | the entry points of `mpich` | [`mpich`] | its build script |
//! | the entry points of `fortran`, and the Fortran modules | [`fortran`] | its build script |
//! | the entry points of `mpifort` | [`fortran`] | its build script |
//!
//! What people read lies in the tree. All of it is made in memory first.

mod bodies;
mod constants;
mod convert;
mod coverage;
mod ctype;
mod entry;
mod errors;
mod fortran;
mod function;
mod header;
mod kind;
mod man;
mod mpich;
mod output;
mod table;
mod types;
mod words;

use anyhow::{Context, Result};
use fortran::Face;
pub use output::Output;
use output::{IN_BUILD, IN_TREE};
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("a folder of `crates/tools`").into()
}

/// Does the work of `mpich`'s build script: makes the entry points of the MPICH ABI.
///
/// # Errors
/// As [`in_tree`]; or the files cannot be written.
pub fn build_mpich() -> Result<()> {
    build(&mpich::SOURCES, mpich::build)
}

/// Does the work of `fortran`'s build script: makes the entry points for Fortran, and the modules
/// `mpi` and `mpi_f08`.
///
/// # Errors
/// As [`build_mpich`].
pub fn build_fortran() -> Result<()> {
    build(&fortran::SOURCES, |root| fortran::build(root, Face::Standard))
}

/// Does the work of `mpifort`'s build script: makes the entry points for Fortran over the MPICH
/// ABI.
///
/// # Errors
/// As [`build_mpich`].
pub fn build_mpifort() -> Result<()> {
    build(&fortran::SOURCES, |root| fortran::build(root, Face::Mpich))
}

/// Makes the sources of the Fortran modules in memory.
///
/// # Errors
/// As [`in_tree`].
pub fn fortran_modules() -> Result<Vec<Output>> {
    let mut outputs = fortran::build(&root(), Face::Standard)?;
    outputs.retain(|output| output.path.extension() == Some("f90".as_ref()));
    Ok(outputs)
}

/// Writes files to the folder that cargo gives a build script, and tells cargo what they are made
/// from.
fn build(sources: &[&str], make: impl Fn(&Path) -> Result<Vec<Output>>) -> Result<()> {
    let root = root();
    sources.iter().for_each(|path| println!("cargo::rerun-if-changed={}", root.join(path).display()));
    let folder = std::env::var_os("OUT_DIR").context("cargo sets OUT_DIR for build scripts")?;
    let mut outputs = make(&root)?;
    outputs.push(Output::new("mod.rs", modules(&outputs)));
    outputs.iter().try_for_each(|output| output.write(&Path::new(&folder).join("generated")))
}

/// Declares the modules in these files.
fn modules(outputs: &[Output]) -> String {
    let names = outputs.iter().filter_map(|output| output.path.to_str()?.strip_suffix(".rs"));
    let mut modules: Vec<String> = names.map(|name| format!("pub mod {name};\n")).collect();
    modules.sort();
    modules.concat()
}

/// Makes the generated files of the tree in memory.
///
/// # Errors
/// A file of the API table or of the bodies cannot be read or understood.
pub fn in_tree(root: &Path) -> Result<Vec<Output>> {
    let table = table::Table::load(&root.join("api"))?;
    let words = words::Words::load(&root.join("api"), &table.families)?;
    let errors = errors::Errors::load(&root.join("api"), &table.families)?;
    let bodies = bodies::Bodies::scan(&root.join(bodies::OF_C))?;
    let in_fortran = fortran::names(root, &table, &bodies)?;
    let mut outputs = vec![
        Output::new("include/mpi.h", header::write(&table, &words)?),
        Output::new("crates/core/mpi/src/generated/constants.rs", constants::write(&table, IN_TREE)?),
        Output::new("crates/entry/abi/src/generated/types.rs", types::write(&table, IN_TREE, |_| "usize")?),
        Output::new("bindings/fortran/mpif.h", fortran::include::write(&table)),
        Output::new("crates/entry/abi/src/generated/mod.rs", entry::write_module(&table)),
        Output::new("docs/COVERAGE.md", coverage::write(&table, &in_fortran)),
    ];
    for family in &table.families {
        let path = format!("crates/entry/abi/src/generated/{}.rs", family.name);
        outputs.push(Output::new(&path, entry::write_family(family, &bodies)?));
    }
    outputs.extend(mpich::table::outputs(&table));
    outputs.extend(man::write(&table, &words, &errors, &in_fortran)?);
    Ok(outputs)
}
