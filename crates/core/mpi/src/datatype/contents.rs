//! The call that made a datatype: envelope and contents (MPI-5.0, 5.1.13).

use super::Datatype;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::Arc;

/// The form of the call that gave the arguments. `MPI_Type_get_contents` reports the arguments of
/// an `int` form as integers and addresses, those of a `_c` form as large counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `int` counts and `MPI_Aint` displacements.
    Int,
    /// `MPI_Count` counts and displacements.
    Large,
}

/// The arguments of the call that made a datatype.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The constructor: `MPI_COMBINER_*`.
    pub combiner: i32,
    /// Arguments of type `int`.
    pub integers: Vec<i32>,
    /// Arguments of type `MPI_Aint`.
    pub addresses: Vec<isize>,
    /// Arguments of type `MPI_Count`.
    pub counts: Vec<i64>,
    /// The datatypes.
    pub datatypes: Vec<Arc<Datatype>>,
}

impl Contents {
    /// Makes the contents of a constructor without arguments yet.
    pub fn new(combiner: i32) -> Contents {
        Contents { combiner, integers: vec![], addresses: vec![], counts: vec![], datatypes: vec![] }
    }

    /// Adds values that are of type `int` in both forms.
    pub fn integers(mut self, values: &[i32]) -> Contents {
        self.integers.extend(values);
        self
    }

    /// Adds values that are `int` in the `Int` form and `MPI_Count` in the other.
    pub fn numbers(mut self, form: Form, values: &[i64]) -> Contents {
        match form {
            Form::Int => self.integers.extend(values.iter().map(|&v| v as i32)),
            Form::Large => self.counts.extend(values),
        }
        self
    }

    /// Adds values that are `MPI_Aint` in the `Int` form and `MPI_Count` in the other.
    pub fn addresses(mut self, form: Form, values: &[i64]) -> Contents {
        match form {
            Form::Int => self.addresses.extend(values.iter().map(|&v| v as isize)),
            Form::Large => self.counts.extend(values),
        }
        self
    }

    /// Adds datatypes.
    pub fn datatypes(mut self, datatypes: &[Arc<Datatype>]) -> Contents {
        self.datatypes.extend_from_slice(datatypes);
        self
    }

    /// Checks that this form of `MPI_Type_get_envelope` can tell all: the `int` form has no place
    /// for large counts.
    pub fn check_form(&self, form: Form) -> Result<()> {
        if form == Form::Large || self.counts.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            mpi::MPI_ERR_TYPE,
            "the int form cannot report large counts",
            "a datatype that was made by a _c constructor",
            "its arguments are of type MPI_Count",
            "use the _c form of this call",
        ))
    }
}
