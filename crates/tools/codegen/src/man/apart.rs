//! The pages of functions that are not in the table: those that `mpi.h` itself has, and those that
//! Fortran alone has.

use super::{ANY_TIME, link, opening, path, running};
use crate::header::{STATUSES, conversions};
use crate::output::Output;
use crate::table::Table;
use anyhow::{Result, ensure};
use std::fmt::Write;

/// The pages, and those that lead to them.
pub(super) fn write(table: &Table) -> Result<Vec<Output>> {
    let own = [size()?, synchronize()?];
    Ok(statuses()?.into_iter().chain(handles(table)?).chain(own).collect())
}

/// A page with these names: the first one has it, the others lead to it.
fn pages(names: &[String], text: &str) -> Vec<Output> {
    let links = names[1..].iter().map(|name| link(name, &names[0]));
    [Output::new(&path(&names[0]), text.to_owned())].into_iter().chain(links).collect()
}

/// The functions that copy a status between C and Fortran.
fn statuses() -> Result<Vec<Output>> {
    let names: Vec<String> = STATUSES.iter().map(|(name, ..)| format!("MPI_Status_{name}")).collect();
    let mut text = opening(&names, "copies a status between the forms of C and of Fortran")? + ".In mpi.h\n";
    for ((_, from, to), name) in STATUSES.iter().zip(&names) {
        writeln!(text, ".Ft int\n.Fo {name}\n.Fa \"const {from} *from\"\n.Fa \"{to} *to\"\n.Fc")?;
    }
    text += ".Sh DESCRIPTION\n";
    text += &running(
        "Copies all of a status, the error and what MPI_Get_count reads included. The name tells the forms: c is \
         MPI_Status, f an array of MPI_F_STATUS_SIZE integers of mpif.h or the module mpi, f08 the type \
         TYPE(MPI_Status) of the module mpi_f08.",
    );
    text += ".Bl -tag -width Ds\n.It Fa from\nthe status.\n.It Fa to\n(out) memory for the copy.\n.El\n";
    write!(text, ".Pp\n{}", running(ANY_TIME))?;
    text += ".Sh RETURN VALUES\n.Dv MPI_SUCCESS ,\nor an error code.\n";
    text += ".Sh ERRORS\n.Bl -tag -width Ds\n.It Dv MPI_ERR_ARG\nA pointer is null.\n.El\n";
    text += ".Sh STANDARDS\nMPI-5.0, section 19.3.5.\n";
    Ok(pages(&names, &text))
}

/// The macros that make a handle of C from one of Fortran, and back.
fn handles(table: &Table) -> Result<Vec<Output>> {
    let conversions: Vec<(String, String)> = conversions(table)
        .into_iter()
        .map(|(old, new)| (format!("MPI_{old}"), format!("MPI_{new}")))
        .collect();
    let names: Vec<String> = conversions.iter().map(|(name, _)| name.clone()).collect();
    ensure!(!names.is_empty(), "no handle has an integer");
    let mut text = opening(&names, "makes a handle of C from one of Fortran, and back")? + ".In mpi.h\n";
    for name in &names {
        let stem = name.trim_end_matches("_c2f").trim_end_matches("_f2c");
        let handle = if stem == "MPI_Type" { "MPI_Datatype" } else { stem };
        let (result, argument) =
            if name.ends_with("_c2f") { ("MPI_Fint", handle) } else { (handle, "MPI_Fint") };
        writeln!(text, ".Ft {result}\n.Fo {name}\n.Fa \"{argument} handle\"\n.Fc")?;
    }
    text += ".Sh DESCRIPTION\n";
    text += &running(
        "Those with c2f return the INTEGER that stands for the handle in mpif.h and in the module mpi, and as MPI_VAL in \
         the types of mpi_f08. Those with f2c return the handle for such an INTEGER. They are macros of mpi.h: other \
         names of the functions with toint and fromint, for an INTEGER as long as an int.",
    );
    text += ".Bl -tag -width Ds\n.It Fa handle\nthe handle, or the INTEGER that stands for one.\n.El\n";
    write!(text, ".Pp\n{}.Pp\nFortran has them not.\n", running(ANY_TIME))?;
    text += ".Sh RETURN VALUES\nThey return the value, and have no error.\n";
    text += ".Sh SEE ALSO\n.Xr MPI_Comm_toint 3 ,\n.Xr MPI_Comm_fromint 3\n";
    text += ".Sh STANDARDS\nMPI-5.0, section 19.3.4.\n";
    Ok(pages(&names, &text))
}

/// `MPI_Sizeof`, of Fortran.
fn size() -> Result<Output> {
    let declaration =
        "use mpi_f08\n\ncall MPI_Sizeof(x, size, ierror)\n    <type> :: x\n    integer :: size, ierror\n";
    of_fortran(
        "MPI_Sizeof",
        "tells the bytes of a variable of Fortran",
        declaration,
        &[
            ("x", "a variable of an intrinsic type, or an array of one."),
            ("size", "(out) the bytes of an element."),
            ("ierror", "(out) the error code, which is MPI_SUCCESS; it may be left out with mpi_f08."),
        ],
        "MPI-4.0 deprecated it: use STORAGE_SIZE or C_SIZEOF of Fortran. C has it not.",
        "MPI-5.0, chapter 16.",
    )
}

/// `MPI_F_sync_reg`, of Fortran.
fn synchronize() -> Result<Output> {
    of_fortran(
        "MPI_F_sync_reg",
        "lets a compiler of Fortran expect that MPI changes a buffer",
        "use mpi_f08\n\ncall MPI_F_sync_reg(buf)\n    <type> :: buf(..)\n",
        &[("buf", "(in and out) the buffer.")],
        "It does nothing. But the compiler cannot know that, so it keeps no copy of the buffer in a register across the \
         call: make it before MPI_Wait, and after, where a buffer is not ASYNCHRONOUS. C has it not.",
        "MPI-5.0, section 19.1.8.",
    )
}

/// A page of a subroutine that Fortran alone has.
fn of_fortran(
    name: &str,
    sentence: &str,
    declaration: &str,
    arguments: &[(&str, &str)],
    remark: &str,
    standard: &str,
) -> Result<Output> {
    let mut text = opening(&[name.to_owned()], sentence)?;
    write!(text, ".Bd -literal\n{declaration}.Ed\n.Sh DESCRIPTION\n.Nm\n{}.\n", sentence)?;
    text += ".Bl -tag -width Ds\n";
    for (argument, is) in arguments {
        write!(text, ".It Fa {argument}\n{}", running(is))?;
    }
    write!(text, ".El\n.Pp\n{}.Sh STANDARDS\n{standard}\n", running(remark))?;
    Ok(Output::new(&path(name), text))
}
