//! The Fortran side, made from the API table and `api/fortran.toml`.
//!
//! | made | by |
//! | --- | --- |
//! | `bindings/fortran/mpif.h`, in the tree | [`include`](mod@include) |
//! | `types.rs`, `c.rs`: what C has | `types`, [`c`] |
//! | `<family>.rs`: the entry points | [`rust`], [`convert`] |
//! | `mpi.f90` | [`module`] |
//! | `mpi_f08.f90` | [`f08`] |

mod binding;
mod c;
mod constants;
mod convert;
mod declare;
mod f08;
mod facts;
pub(crate) mod include;
mod lines;
mod module;
mod rust;

use super::bodies::{Bodies, OF_C};
use super::function::Function;
use super::table::Table;
use super::{IN_BUILD, Output, types};
use anyhow::Result;
use binding::Binding;
use facts::Facts;
use std::collections::BTreeSet;
use std::path::Path;

const BODIES: &str = "crates/entry/fortran/src/calls";
/// The files and folders that the entry points and the modules are made from.
pub(crate) const SOURCES: [&str; 3] = ["api", BODIES, OF_C];

/// The C names of the functions that Fortran has.
pub(crate) fn names(root: &Path, table: &Table, of_c: &Bodies) -> Result<BTreeSet<String>> {
    let facts = Facts::load(&root.join("api/fortran.toml"))?;
    let bindings = binding::all(table, &facts, |function| !waits_for_c(function, of_c))?;
    Ok(bindings.iter().map(|binding| format!("MPI_{}", binding.name)).collect())
}

/// Makes the files of the build.
pub(crate) fn build(root: &Path) -> Result<Vec<Output>> {
    let (table, of_c) = (&Table::load(&root.join("api"))?, &Bodies::scan(&root.join(OF_C))?);
    let facts = Facts::load(&root.join("api/fortran.toml"))?;
    let bodies = Bodies::scan(&root.join(BODIES))?;
    let bindings = binding::all(table, &facts, |function| !waits_for_c(function, of_c))?;
    let mut outputs = vec![
        Output::new("types.rs", types::write(table, IN_BUILD, |_| "usize")?),
        Output::new("constants.rs", super::constants::write(table, IN_BUILD)?),
        Output::new("c.rs", c::write(&bindings)),
        Output::new("mpi.f90", module::write(table, &bindings)),
        Output::new("mpi_f08.f90", f08::write(table, &bindings, &facts)),
    ];
    for family in &table.families {
        let of_family: Vec<&Binding<'_>> = bindings.iter().filter(|b| b.family == family.name).collect();
        if !of_family.is_empty() {
            let path = format!("{}.rs", family.name);
            outputs.push(Output::new(&path, rust::write_family(&family.chapter, &of_family, &bodies)?));
        }
    }
    Ok(outputs)
}

/// Returns whether a function must be written by hand for Fortran and cannot be tried yet, since
/// C's side is not written: procedures that the program passes, and arrays of strings.
fn waits_for_c(function: &Function, of_c: &Bodies) -> bool {
    let takes_procedure = function.parameters.iter().any(|p| p.kind.base == "fn");
    (takes_procedure || function.name.starts_with("Comm_spawn")) && of_c.module(&function.body()).is_none()
}
