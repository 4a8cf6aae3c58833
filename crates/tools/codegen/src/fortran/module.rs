//! Writes the module `mpi` and the module with the types that it shares with `mpi_f08`.

use super::binding::{Binding, What};
use super::constants::{BLOCKS, KINDS, PROCEDURES, displacement_current, handles, integers};
use super::declare::{Module, lines as declarations};
use super::lines::list;
use crate::kind::HANDLES;
use crate::table::Table;
use std::fmt::Write;

const OPENING: &str = "\
! Fortran interface of MPI 5.0. Generated from the API table in `api/`.
! SPDX-License-Identifier: Apache-2.0 OR MIT
! Interfaces and constants only: every procedure is in libmpifort_abi.

";

/// The text of `mpi.f90`.
pub(super) fn write(table: &Table, bindings: &[Binding<'_>]) -> String {
    let mut text = String::from(OPENING);
    write_types(&mut text, table).expect("writing to a string");
    text += "module mpi\n  use mpi_verbena_types\n  implicit none\n  public\n\n";
    for (_, constant) in handles(table) {
        writeln!(text, "  integer, parameter :: {} = {}", constant.name, constant.value).expect("a string");
    }
    text += "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.\n";
    text += "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n\n";
    for (name, block, kind, shape, _) in BLOCKS {
        text += &format!("  {} :: {name}{shape}\n  common /{block}/ {name}\n", kind.to_lowercase());
    }
    text += "\n";
    PROCEDURES.iter().for_each(|name| text += &format!("  external :: {name}\n"));
    text += "\n  interface\n";
    for binding in bindings.iter().filter(|binding| !binding.large) {
        ["", "P"].iter().for_each(|prefix| text += &interface(binding, prefix));
    }
    text + "  end interface\n" + EXTRA + "end module mpi\n"
}

/// Procedures that C does not have.
const EXTRA: &str = "
  interface MPI_Sizeof
    subroutine MPI_Sizeof_ts(x, size, ierror) bind(C, name=\"mpi_sizeof_ts_\")
      type(*), dimension(..), intent(in) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface

  interface
    subroutine MPI_F_sync_reg(buf)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
      type(*), dimension(*) :: buf
    end subroutine
    subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
      import
      integer, intent(in) :: f_status(MPI_STATUS_SIZE)
      type(MPI_Status), intent(out) :: f08_status
      integer, optional, intent(out) :: ierror
    end subroutine
    subroutine MPI_Status_f082f(f08_status, f_status, ierror)
      import
      type(MPI_Status), intent(in) :: f08_status
      integer, intent(out) :: f_status(MPI_STATUS_SIZE)
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
";

/// Writes types, integers and the comparison of handles, for both modules (MPI-5.0, 19.1.2 and
/// 19.1.3).
fn write_types(text: &mut String, table: &Table) -> std::fmt::Result {
    *text += "module mpi_verbena_types\n  implicit none\n  public\n\n";
    for (name, value) in KINDS.into_iter().chain(integers(table)) {
        writeln!(text, "  integer, parameter :: {name} = {value}")?;
    }
    let current = displacement_current(table);
    writeln!(text, "  integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = {current}\n")?;
    *text += "  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n    integer, private :: internal(5)\n  end type\n";
    for (_, name) in HANDLES {
        writeln!(text, "  type, bind(C) :: {name}\n    integer :: MPI_VAL\n  end type")?;
    }
    for (operator, end) in [("==", "eq"), ("/=", "ne")] {
        writeln!(text, "\n  interface operator({operator})")?;
        for (word, name) in HANDLES {
            writeln!(
                text,
                "    pure logical function verbena_{word}_{end}(first, second)\n      import :: {name}\n      \
                 type({name}), intent(in) :: first, second\n    end function"
            )?;
        }
        *text += "  end interface\n";
    }
    *text += "end module mpi_verbena_types\n\n";
    Ok(())
}

fn interface(binding: &Binding<'_>, prefix: &str) -> String {
    let name = format!("{prefix}{}", binding.whole_name());
    let mut names: Vec<String> = binding.parameters.iter().map(|p| p.name.clone()).collect();
    let sort = match binding.function.returns.as_ref().map(|kind| kind.base.as_str()) {
        Some("double") => "double precision function",
        Some(_) => "integer(8) function",
        None => "subroutine",
    };
    let has_ierror = sort == "subroutine" && !binding.function.variadic;
    if has_ierror {
        names.push("ierror".into());
    }
    let mut text = list(4, &format!("{sort} {name}("), &names, ")");
    text += "      import\n";
    let is_choice = |what: &What| matches!(what, What::Buffer(_) | What::CPtr | What::Detached);
    for p in binding.parameters.iter().filter(|p| is_choice(&p.what)) {
        text += &format!("      !GCC$ ATTRIBUTES NO_ARG_CHECK :: {}\n", p.name);
    }
    for (declared, names) in declarations(&binding.parameters, Module::Mpi) {
        text += &list(6, &format!("{declared} :: "), &names, "");
    }
    if has_ierror {
        text += "      integer, intent(out) :: ierror\n";
    }
    text + &format!("    end {}\n", sort.rsplit(' ').next().unwrap_or_default())
}
