//! The binary interface that a Fortran library stands on, and what is otherwise over MPICH's.

use super::convert::Side;
use crate::table::{Constant, Table};
use crate::{IN_BUILD, constants, mpich, types};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A binary interface of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// The standard ABI of MPI-5.0.
    Standard,
    /// That of MPICH and Intel MPI.
    Mpich,
}

impl Face {
    /// The text of `types.rs`.
    pub(super) fn types(self, table: &Table) -> Result<String> {
        match self {
            Face::Standard => types::write(table, IN_BUILD, |_| "usize"),
            Face::Mpich => types::write(table, IN_BUILD, mpich::handle_type),
        }
    }

    /// The text of `constants.rs`.
    pub(super) fn constants(self, root: &Path, table: &Table) -> Result<String> {
        match self {
            Face::Standard => constants::write(table, IN_BUILD),
            Face::Mpich => of_mpich(table, &mpich::values(root, table)?),
        }
    }

    /// The way in which `mpi_f08` passes choice buffers. MPICH's procedures are not `BIND(C)`.
    pub(super) fn new_side(self) -> Side {
        match self {
            Face::Standard => Side::New,
            Face::Mpich => Side::Buffers,
        }
    }

    /// The names of a procedure of `mpi_f08` without `mpi_`: that of the function and the ending.
    /// MPICH has a name of its own for large forms; Intel MPI has the standard's.
    pub(super) fn names_of_f08(self, name: &str, ending: &str, large: bool) -> Vec<String> {
        let mut names = vec![format!("{name}{ending}")];
        if self == Face::Mpich && large {
            names.push(format!("{}{ending}_large", name.trim_end_matches("_c")));
        }
        names
    }

    /// The beginning of the names that tools call in `mpi_f08`.
    pub(super) fn tools_of_f08(self) -> &'static str {
        match self {
            Face::Standard => "pmpi",
            Face::Mpich => "pmpir",
        }
    }
}

/// The constants of the MPICH ABI, in the types of that: those of its own, and the others of the
/// standard ABI.
fn of_mpich(table: &Table, values: &BTreeMap<String, i64>) -> Result<String> {
    let value = |constant: &Constant| {
        let names = [Some(&constant.name), constant.alias.as_ref()];
        names.into_iter().flatten().find_map(|name| values.get(name)).copied().unwrap_or(constant.value)
    };
    let mut text =
        format!("//! Values of the constants in the MPICH ABI. {IN_BUILD}\n#![allow(missing_docs)]\n");
    for group in &table.predefined {
        let handle = mpich::handle_type(&group.name);
        for constant in &group.constants {
            writeln!(
                text,
                "pub const {}: {handle} = {:#x}_u32 as {handle};",
                constant.name,
                value(constant)
            )?;
        }
    }
    for group in table.pointers.iter().chain(&table.integers) {
        for constant in &group.constants {
            let value = value(constant);
            let (kind, number) = match constants::rust_type(group, constant) {
                // Room for strings: MPICH does not count the final zero of some.
                "usize" if constant.name.starts_with("MPI_MAX_") => ("usize", format!("{}", value + 1)),
                "usize" => ("usize", format!("{value}_i64 as usize")),
                other => (other, value.to_string()),
            };
            writeln!(text, "pub const {}: {kind} = {number};", constant.name)?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn large_forms_have_mpich_s_name_and_intel_s() {
        let names = |face: Face, name, large| face.names_of_f08(name, "_f08ts", large);
        assert_eq!(names(Face::Mpich, "send_c", true), ["send_c_f08ts", "send_f08ts_large"]);
        assert_eq!(names(Face::Mpich, "send", false), ["send_f08ts"]);
        assert_eq!(names(Face::Standard, "send_c", true), ["send_c_f08ts"]);
    }

    #[test]
    fn constants_have_mpich_s_values_and_types() {
        let table = Table::load(&root().join("api")).expect("the table");
        let text = Face::Mpich.constants(&root(), &table).expect("constants");
        for line in [
            "pub const MPI_COMM_WORLD: i32 = 0x44000000_u32 as i32;",
            "pub const MPI_FLOAT_INT: i32 = 0x8c000000_u32 as i32;",
            "pub const MPI_FILE_NULL: usize = 0x0_u32 as usize;",
            "pub const MPI_IN_PLACE: usize = -1_i64 as usize;",
            "pub const MPI_ANY_SOURCE: i32 = -2;",
            "pub const MPI_MAX_INFO_KEY: usize = 256;",
        ] {
            assert!(text.contains(line), "no {line}");
        }
    }
}
