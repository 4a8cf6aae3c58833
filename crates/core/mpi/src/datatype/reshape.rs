//! Datatypes with elements of other sizes: the form of a filetype in a data representation that
//! has sizes of its own (MPI-5.0, 14.5.1).
//!
//! The datatype is made once more by the calls that made it, with other elements at the bottom. So
//! displacements in extents follow the new extents, and those in bytes stay as they are.

use super::{Contents, Datatype, Form, wire};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::collections::HashMap;
use std::sync::Arc;

/// The most constructors one within the other.
const DEPTH_MAX: usize = 500;

/// The datatype with bytes in the place of its predefined datatypes, as many as `bytes_of` says of
/// each.
///
/// # Errors
/// Those of `bytes_of`; `MPI_ERR_TYPE` if the datatype cannot have such elements.
pub fn reshape(
    datatype: &Arc<Datatype>,
    bytes_of: &dyn Fn(&Arc<Datatype>) -> Result<usize>,
) -> Result<Arc<Datatype>> {
    Reshaping { bytes_of, made: HashMap::new() }.of(datatype, 0)
}

/// A datatype in the making.
struct Reshaping<'a> {
    bytes_of: &'a dyn Fn(&Arc<Datatype>) -> Result<usize>,
    /// The datatypes that were made, by the address of the one that they stand for.
    made: HashMap<*const Datatype, Arc<Datatype>>,
}

impl Reshaping<'_> {
    fn of(&mut self, datatype: &Arc<Datatype>, depth: usize) -> Result<Arc<Datatype>> {
        let address = Arc::as_ptr(datatype);
        if let Some(made) = self.made.get(&address) {
            return Ok(made.clone());
        }
        let made = match datatype.contents().filter(|_| !datatype.is_predefined()) {
            None => element((self.bytes_of)(datatype)?)?,
            Some(contents) if depth < DEPTH_MAX => self.constructed(contents, depth)?,
            Some(_) => return Err(no_such(datatype)),
        };
        let made = made.ok_or_else(|| no_such(datatype))?;
        self.made.insert(address, made.clone());
        Ok(made)
    }

    /// The datatype of a constructor's call; `None` if it takes no such arguments.
    fn constructed(&mut self, contents: &Contents, depth: usize) -> Result<Option<Arc<Datatype>>> {
        let mut datatypes = Vec::with_capacity(contents.datatypes.len());
        for datatype in &contents.datatypes {
            datatypes.push(self.of(datatype, depth + 1)?);
        }
        if contents.combiner == mpi::MPI_COMBINER_DUP {
            return Ok(datatypes.pop());
        }
        Ok(wire::rebuild(Contents { datatypes, ..contents.clone() }).map(Arc::new))
    }
}

/// An element of so many bytes.
fn element(bytes: usize) -> Result<Option<Arc<Datatype>>> {
    let byte = Datatype::predefined(mpi::MPI_BYTE).expect("MPI_BYTE is predefined");
    Ok(Some(Arc::new(Datatype::contiguous(Form::Large, bytes as i64, byte)?)))
}

#[cold]
fn no_such(datatype: &Datatype) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "the datatype has no form in this data representation",
        format!("a datatype of {} bytes", datatype.size()),
        "it lies beyond the address space there, or is made of too many datatypes",
        "use a simpler datatype, or the representation \"native\"",
    )
}

#[cfg(test)]
mod tests {
    use super::super::construct::Unit;
    use super::*;

    fn predefined(handle: usize) -> &'static Arc<Datatype> {
        Datatype::predefined(handle).unwrap()
    }

    fn runs(datatype: &Datatype) -> Vec<(isize, usize)> {
        let mut runs = Vec::new();
        datatype.layout().for_each_run(1, 0, datatype.size(), |at, len| runs.push((at, len)));
        runs
    }

    #[test]
    fn displacements_in_extents_follow_the_elements_and_those_in_bytes_do_not() {
        let long = predefined(mpi::MPI_LONG);
        let four = |_: &Arc<Datatype>| Ok(4);
        let by_extent = Datatype::vector(Form::Int, 2, 1, 3, Unit::Extent, long).unwrap();
        assert_eq!(runs(&reshape(&Arc::new(by_extent), &four).unwrap()), [(0, 4), (12, 4)]);
        let by_bytes = Datatype::vector(Form::Int, 2, 1, 24, Unit::Byte, long).unwrap();
        assert_eq!(runs(&reshape(&Arc::new(by_bytes), &four).unwrap()), [(0, 4), (24, 4)]);
    }

    #[test]
    fn every_predefined_datatype_is_asked_for_and_copies_are_looked_through() {
        let parts = [predefined(mpi::MPI_CHAR).clone(), predefined(mpi::MPI_LONG).clone()];
        let pair = Datatype::structure(Form::Int, &[1, 1], &[0, 8], &parts).unwrap();
        let copy = Arc::new(Datatype::duplicate(&Arc::new(pair)).unwrap());
        let sizes = |datatype: &Arc<Datatype>| Ok(if datatype.size() == 1 { 2 } else { 4 });
        let made = reshape(&copy, &sizes).unwrap();
        assert_eq!(runs(&made), [(0, 2), (8, 4)]);
        assert_eq!((made.size(), made.extent()), (6, 12));
        let alone = reshape(predefined(mpi::MPI_LONG), &sizes).unwrap();
        assert_eq!((alone.size(), alone.extent()), (4, 4));
    }
}
