//! The Fortran side, made from the API table and `api/fortran.toml`.
//!
//! | made | by |
//! | --- | --- |
//! | `bindings/fortran/mpif.h`, in the tree | [`include`](mod@include) |
//! | `types.rs`, `c.rs`: what C has | `types`, [`c`] |
//! | `<family>.rs`: the entry points | [`rust`], [`convert`] |
//! | `mpi.f90` | [`module`] |
//! | `mpi_f08.f90` | [`f08`] |
//! | what is otherwise over the MPICH ABI | [`face`] |

mod binding;
mod c;
mod constants;
mod convert;
mod declare;
mod f08;
mod face;
mod facts;
pub(crate) mod include;
mod lines;
mod module;
mod rust;

use super::Output;
use super::bodies::{Bodies, OF_C};
use super::function::Function;
use super::table::Table;
use anyhow::Result;
use binding::Binding;
pub(crate) use face::Face;
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
    Ok(bindings.iter().map(Binding::whole_name).collect())
}

/// Makes the files of the build. Over the MPICH ABI there are no modules: programs were built with
/// MPICH's own.
pub(crate) fn build(root: &Path, face: Face) -> Result<Vec<Output>> {
    let (table, of_c) = (&Table::load(&root.join("api"))?, &Bodies::scan(&root.join(OF_C))?);
    let facts = Facts::load(&root.join("api/fortran.toml"))?;
    let bodies = Bodies::scan(&root.join(BODIES))?;
    let bindings = binding::all(table, &facts, |function| !waits_for_c(function, of_c))?;
    let mut outputs = vec![
        Output::new("types.rs", face.types(table)?),
        Output::new("constants.rs", face.constants(root, table)?),
        Output::new("c.rs", c::write(&bindings)),
    ];
    if face == Face::Standard {
        outputs.push(Output::new("mpi.f90", module::write(table, &bindings)));
        outputs.push(Output::new("mpi_f08.f90", f08::write(table, &bindings, &facts)));
    }
    for family in &table.families {
        let of_family: Vec<&Binding<'_>> = bindings.iter().filter(|b| b.family == family.name).collect();
        if !of_family.is_empty() {
            let path = format!("{}.rs", family.name);
            outputs.push(Output::new(&path, rust::write_family(&family.chapter, &of_family, &bodies, face)?));
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
