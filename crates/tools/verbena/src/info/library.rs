//! The library: where it lies, what its file says and what it says itself.

use anyhow::{Context, Result};
use goblin::elf::Elf;
use serde::Serialize;
use std::path::{Path, PathBuf};
use verbena_lab::mpi::{self, Identity};
use verbena_lab::place;

/// The library, or why it could not be described.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The library that was found.
    Found(Library),
    /// The reason why none was found.
    Missing(String),
}

/// A described library.
#[derive(Debug, Serialize)]
pub(crate) struct Library {
    /// The file of the library.
    pub path: PathBuf,
    /// The name that programs ask for, from the file's dynamic section.
    pub soname: Option<String>,
    /// The identity that the library reports.
    pub identity: Identity,
    /// Version of the standard ABI (`MPI_Abi_get_version`); none for another ABI.
    pub abi_version: Option<(i32, i32)>,
    /// The number of functions named `MPI_` and `MPIX_` that it exports.
    pub functions: usize,
}

/// Describes the library at `path`, or Verbena's own.
pub(crate) fn describe(path: Option<PathBuf>) -> Outcome {
    match path.map_or_else(place::library, Ok).and_then(|path| look(&path)) {
        Ok(library) => Outcome::Found(library),
        Err(error) => Outcome::Missing(format!("{error:#}")),
    }
}

/// The name that programs ask for, by the file itself.
pub(crate) fn soname(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Elf::parse(&bytes).ok()?.soname.map(String::from)
}

fn look(path: &Path) -> Result<Library> {
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let elf = Elf::parse(&bytes).with_context(|| format!("{} is no ELF file", path.display()))?;
    let exported = elf.dynsyms.iter().filter(|symbol| symbol.st_shndx != 0 && symbol.is_function());
    let named = exported.filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name));
    let functions = named.filter(|name| name.starts_with("MPI_") || name.starts_with("MPIX_")).count();
    let (identity, abi_version) = mpi::describe(&path)?;
    Ok(Library { soname: elf.soname.map(String::from), identity, abi_version, functions, path })
}
