//! Datatypes chosen by precision, size or value and index (MPI-5.0, 19.1.9 and 6.9.4).

use super::contents::Contents;
use super::parts::bad;
use super::predefined;
use super::{Datatype, Kind};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::Arc;

/// Fortran's kinds of real numbers: decimal digits, decimal exponent, datatype, complex datatype.
const REALS: [(i32, i32, usize, usize); 4] = [
    (6, 37, mpi::MPI_REAL4, mpi::MPI_COMPLEX8),
    (15, 307, mpi::MPI_REAL8, mpi::MPI_COMPLEX16),
    (18, 4931, mpi::MPI_LONG_DOUBLE, mpi::MPI_C_LONG_DOUBLE_COMPLEX),
    (33, 4931, mpi::MPI_REAL16, mpi::MPI_COMPLEX32),
];

/// Fortran's kinds of integers: decimal digits, datatype.
const INTEGERS: [(i32, usize); 5] = [
    (2, mpi::MPI_INTEGER1),
    (4, mpi::MPI_INTEGER2),
    (9, mpi::MPI_INTEGER4),
    (18, mpi::MPI_INTEGER8),
    (38, mpi::MPI_INTEGER16),
];

/// Sized datatypes by class: class, size in bytes, datatype.
const SIZED: [(i32, i32, usize); 13] = [
    (mpi::MPI_TYPECLASS_INTEGER, 1, mpi::MPI_INTEGER1),
    (mpi::MPI_TYPECLASS_INTEGER, 2, mpi::MPI_INTEGER2),
    (mpi::MPI_TYPECLASS_INTEGER, 4, mpi::MPI_INTEGER4),
    (mpi::MPI_TYPECLASS_INTEGER, 8, mpi::MPI_INTEGER8),
    (mpi::MPI_TYPECLASS_INTEGER, 16, mpi::MPI_INTEGER16),
    (mpi::MPI_TYPECLASS_REAL, 2, mpi::MPI_REAL2),
    (mpi::MPI_TYPECLASS_REAL, 4, mpi::MPI_REAL4),
    (mpi::MPI_TYPECLASS_REAL, 8, mpi::MPI_REAL8),
    (mpi::MPI_TYPECLASS_REAL, 16, mpi::MPI_REAL16),
    (mpi::MPI_TYPECLASS_COMPLEX, 4, mpi::MPI_COMPLEX4),
    (mpi::MPI_TYPECLASS_COMPLEX, 8, mpi::MPI_COMPLEX8),
    (mpi::MPI_TYPECLASS_COMPLEX, 16, mpi::MPI_COMPLEX16),
    (mpi::MPI_TYPECLASS_COMPLEX, 32, mpi::MPI_COMPLEX32),
];

impl Datatype {
    /// The real type of `selected_real_kind(p, r)` (`MPI_Type_create_f90_real`); either may be
    /// `MPI_UNDEFINED`.
    pub fn f90_real(p: i32, r: i32) -> Result<Datatype> {
        let &(_, _, real, _) = real_kind(p, r)?;
        Ok(chosen(real, Contents::new(mpi::MPI_COMBINER_F90_REAL).integers(&[p, r])))
    }

    /// The complex type of `selected_real_kind(p, r)` (`MPI_Type_create_f90_complex`).
    pub fn f90_complex(p: i32, r: i32) -> Result<Datatype> {
        let &(_, _, _, complex) = real_kind(p, r)?;
        Ok(chosen(complex, Contents::new(mpi::MPI_COMBINER_F90_COMPLEX).integers(&[p, r])))
    }

    /// The integer type of `selected_int_kind(r)` (`MPI_Type_create_f90_integer`).
    pub fn f90_integer(r: i32) -> Result<Datatype> {
        let kind = INTEGERS.iter().find(|kind| r <= kind.0);
        let &(_, integer) = kind.ok_or_else(|| no_kind(format!("integers of {r} digits")))?;
        Ok(chosen(integer, Contents::new(mpi::MPI_COMBINER_F90_INTEGER).integers(&[r])))
    }

    /// The sized datatype of this class and size in bytes (`MPI_Type_match_size`).
    pub fn match_size(class: i32, size: i32) -> Result<&'static Arc<Datatype>> {
        let known = LOGICALS.iter().chain(&SIZED);
        let mut of_class = known.filter(|entry| entry.0 == class).peekable();
        if of_class.peek().is_none() {
            return Err(bad(mpi::MPI_ERR_ARG, "typeclass", class, "pass one of MPI_TYPECLASS_*"));
        }
        let entry = of_class.find(|entry| entry.1 == size);
        let entry =
            entry.ok_or_else(|| bad(mpi::MPI_ERR_ARG, "size", size, "no datatype of that class has it"))?;
        Ok(predefined::predefined(entry.2).expect("the table names predefined datatypes"))
    }

    /// The pair of these two for `MPI_MAXLOC` and `MPI_MINLOC` (`MPI_Type_get_value_index`); `None`
    /// if the ABI has none. The standard would allow pairs without a name too; there are none here.
    pub fn value_index(value: &Datatype, index: &Datatype) -> Option<&'static Arc<Datatype>> {
        let (value, index) = (value.handle()?, index.handle()?);
        let pair = predefined::PAIRS.iter().find(|pair| pair.2 == value && pair.3 == index)?;
        predefined::predefined(pair.0)
    }
}

/// `MPIX_TYPECLASS_LOGICAL` of the ABI's header.
const TYPECLASS_LOGICAL: i32 = 191;

/// Logical types by size, as in [`SIZED`].
const LOGICALS: [(i32, i32, usize); 5] = [
    (TYPECLASS_LOGICAL, 1, mpi::MPI_LOGICAL1),
    (TYPECLASS_LOGICAL, 2, mpi::MPI_LOGICAL2),
    (TYPECLASS_LOGICAL, 4, mpi::MPI_LOGICAL4),
    (TYPECLASS_LOGICAL, 8, mpi::MPI_LOGICAL8),
    (TYPECLASS_LOGICAL, 16, mpi::MPI_LOGICAL16),
];

fn real_kind(p: i32, r: i32) -> Result<&'static (i32, i32, usize, usize)> {
    let undefined = mpi::MPI_UNDEFINED;
    if p == undefined && r == undefined {
        return Err(no_kind("real numbers with neither precision nor range".into()));
    }
    let fits = |want: i32, have: i32| want == undefined || want <= have;
    let kind = REALS.iter().find(|kind| fits(p, kind.0) && fits(r, kind.1));
    kind.ok_or_else(|| no_kind(format!("real numbers of precision {p} and range {r}")))
}

fn chosen(handle: usize, contents: Contents) -> Datatype {
    let basic = predefined::basic_of(handle).expect("the table names basic datatypes");
    let mut datatype = Datatype::of_basic(basic);
    datatype.kind = Kind::Chosen(basic);
    datatype.contents = Some(contents);
    datatype.set_name("");
    datatype
}

#[cold]
fn no_kind(on: String) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no such kind",
        on,
        "no Fortran kind of this machine is that large",
        "pass what selected_int_kind or selected_real_kind accepts",
    )
}
