//! Writes the module `mpi_f08`. A call with choice buffers is bound to a procedure of C's form,
//! which gets descriptors (MPI-5.0, 19.1.5); all others are Fortran procedures. `PMPI_` procedures
//! have the same interfaces.

use super::binding::{Binding, Parameter, What, Width};
use super::constants::{BLOCKS, PROCEDURES, handles};
use super::declare::{Module, declaration, lines as declarations};
use super::facts::Facts;
use super::lines::list;
use super::rust::ending;
use crate::table::Table;
use std::fmt::Write;

const OPENING: &str = "\
! Fortran 2008 interface of MPI 5.0. Generated from the API table in `api/`.
! SPDX-License-Identifier: Apache-2.0 OR MIT
! Interfaces and constants only: every procedure is in libmpifort_abi.

module mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr
  use mpi_verbena_types
  implicit none
  public

";

/// The text of `mpi_f08.f90`.
pub(super) fn write(table: &Table, bindings: &[Binding<'_>], facts: &Facts) -> String {
    let mut text = String::from(OPENING);
    for (of_c, constant) in handles(table) {
        let value = format!("{of_c}({})", constant.value);
        writeln!(text, "  type({of_c}), parameter :: {} = {value}", constant.name).expect("a string");
    }
    text += "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.\n";
    text += "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n\n";
    for (name, block, kind, shape, new) in BLOCKS {
        let shape = if name == "MPI_STATUSES_IGNORE" { "(1)" } else { shape };
        let shape = if name == "MPI_STATUS_IGNORE" { "" } else { shape };
        let kind = new.unwrap_or(kind).replace("INTEGER", "integer").replace("CHARACTER", "character");
        text += &format!("  {kind} :: {name}{shape}\n  common /{block}/ {name}\n");
    }
    text += ABSTRACT;
    for name in
        PROCEDURES.iter().filter(|name| name.matches('_').count() > 2 && !name.starts_with("MPI_NULL"))
    {
        text += &format!("  procedure({}) :: {name}\n", procedure_type(name));
    }
    let new: Vec<&Binding<'_>> = bindings.iter().filter(|binding| !binding.old).collect();
    text += "\n  interface\n";
    new.iter().for_each(|binding| text += &interface(binding));
    text += "  end interface\n\n";
    new.iter().for_each(|binding| text += &twin(binding));
    text += &generics(&new, facts);
    text + EXTRA + "end module mpi_f08\n"
}

/// The type of a predefined procedure.
fn procedure_type(name: &str) -> String {
    if let Some(form) = name.strip_prefix("MPI_CONVERSION_FN_NULL") {
        return format!("MPI_Datarep_conversion_function{}", form.to_lowercase());
    }
    let sort = if name.ends_with("DELETE_FN") { "delete" } else { "copy" };
    let of = name.split('_').nth(1).unwrap_or_default();
    format!("MPI_{}_{sort}_attr_function", of[..1].to_string() + &of[1..].to_lowercase())
}

/// Procedures that programs pass (MPI-5.0, A.1.4).
const ABSTRACT: &str = include_str!("abstract.f90");

/// Procedures that C does not have.
const EXTRA: &str = "
  interface MPI_Sizeof
    subroutine MPI_Sizeof_ts(x, size, ierror) bind(C, name=\"mpi_sizeof_ts_\")
      type(*), dimension(..), intent(in) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface

  interface MPI_F_sync_reg
    subroutine MPI_F_sync_reg_f08ts(buf) bind(C, name=\"mpi_f_sync_reg_f08ts_\")
      type(*), dimension(..), asynchronous :: buf
    end subroutine
  end interface

  interface
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

fn specific(binding: &Binding<'_>) -> String {
    format!("{}{}", binding.whole_name(), ending(binding))
}

fn symbol(prefix: &str, name: &str) -> String {
    format!(" bind(C, name=\"{}_\")", format!("{prefix}{name}").to_lowercase())
}

fn interface(binding: &Binding<'_>) -> String {
    let name = specific(binding);
    let mut names: Vec<String> = binding.parameters.iter().map(|p| p.name.clone()).collect();
    let sort = match binding.function.returns.as_ref().map(|kind| kind.base.as_str()) {
        Some("double") => "double precision function",
        Some(_) => "integer(MPI_ADDRESS_KIND) function",
        None => "subroutine",
    };
    let has_ierror = sort == "subroutine" && !binding.function.variadic;
    if has_ierror {
        names.push("ierror".into());
    }
    let mut end = ")".to_string();
    if binding.has_buffer() {
        end += &symbol("", &name);
    }
    let mut text = list(4, &format!("{sort} {name}("), &names, &end);
    text += "      import\n";
    for (declared, names) in declarations(&binding.parameters, module(binding)) {
        text += &list(6, &format!("{declared} :: "), &names, "");
    }
    if has_ierror {
        text += "      integer, optional, intent(out) :: ierror\n";
    }
    text + &format!("    end {}\n", sort.rsplit(' ').next().unwrap_or_default())
}

/// A call with a request, or one that begins something, keeps its buffers.
fn module(binding: &Binding<'_>) -> Module {
    let makes_request = binding.parameters.iter().any(|p| p.what == What::Handle("request"));
    let begins = matches!(binding.family, "rma" | "buffer") || binding.name.ends_with("_begin");
    if makes_request || begins { Module::F08Keeps } else { Module::F08 }
}

fn twin(binding: &Binding<'_>) -> String {
    let name = specific(binding);
    let bound = if binding.has_buffer() { format!(",{}", symbol("p", &name)) } else { String::new() };
    let twin = [format!(":: P{name}")];
    list(2, &format!("procedure({name}){bound} "), &twin, "")
}

/// Writes the names that programs use. Both forms of a call have one name, if a compiler can tell
/// them apart.
fn generics(bindings: &[&Binding<'_>], facts: &Facts) -> String {
    let mut text = String::new();
    for (at, binding) in bindings.iter().enumerate() {
        let by_name = binding.large && facts.large_by_name.contains(&binding.function.name);
        if binding.large && !by_name {
            continue;
        }
        let large = bindings.get(at + 1).filter(|next| !by_name && next.large && can_tell(binding, next));
        let large = large.filter(|next| !facts.large_by_name.contains(&next.function.name));
        for prefix in ["", "P"] {
            let mut names = vec![format!("{prefix}{}", specific(binding))];
            names.extend(large.map(|large| format!("{prefix}{}", specific(large))));
            let generic = format!("{prefix}{}", binding.whole_name());
            let procedures = list(4, "procedure ", &names, "");
            text += &format!("\n  interface {generic}\n{procedures}  end interface\n");
        }
    }
    text
}

/// Returns whether a compiler can tell the arguments of the two apart: MPI_ADDRESS_KIND and
/// MPI_COUNT_KIND are one kind.
fn can_tell(plain: &Binding<'_>, large: &Binding<'_>) -> bool {
    let of = |binding: &Binding<'_>| -> Vec<String> { binding.parameters.iter().map(told_by).collect() };
    of(plain) != of(large)
}

fn told_by(p: &Parameter) -> String {
    match p.what {
        What::Integer(Width::Address | Width::Offset) => "integer(MPI_COUNT_KIND)".into(),
        What::Integers(Width::Address | Width::Offset) => "integer(MPI_COUNT_KIND)(*)".into(),
        What::Procedure(_) => "procedure".into(),
        _ => {
            let (declared, shape) = declaration(p, Module::F08);
            format!("{}{shape}", declared.split(',').next().unwrap_or_default())
        }
    }
}
