//! The constructors, called with arguments that came from outside.

use crate::datatype::array::Distribution;
use crate::datatype::construct::Unit;
use crate::datatype::{Contents, Datatype, Form};
use crate::generated::constants as mpi;
use std::sync::Arc;
use std::vec::IntoIter;

/// The datatype that this call makes; `None` if there is no such constructor, or it does not take
/// these arguments.
pub(super) fn make(form: Form, contents: Contents) -> Option<Datatype> {
    let combiner = contents.combiner;
    let mut arguments = Arguments::new(form, contents);
    let made = match combiner {
        mpi::MPI_COMBINER_CONTIGUOUS => arguments.contiguous(),
        mpi::MPI_COMBINER_VECTOR => arguments.vector(Unit::Extent),
        mpi::MPI_COMBINER_HVECTOR => arguments.vector(Unit::Byte),
        mpi::MPI_COMBINER_INDEXED => arguments.indexed(Unit::Extent),
        mpi::MPI_COMBINER_HINDEXED => arguments.indexed(Unit::Byte),
        mpi::MPI_COMBINER_INDEXED_BLOCK => arguments.indexed_block(Unit::Extent),
        mpi::MPI_COMBINER_HINDEXED_BLOCK => arguments.indexed_block(Unit::Byte),
        mpi::MPI_COMBINER_STRUCT => arguments.structure(),
        mpi::MPI_COMBINER_SUBARRAY => arguments.subarray(),
        mpi::MPI_COMBINER_DARRAY => arguments.distributed(),
        mpi::MPI_COMBINER_RESIZED => arguments.resized(),
        _ => None,
    };
    made.filter(|_| arguments.are_used_up())
}

/// The arguments that were not used yet, in the order of [`Contents`].
struct Arguments {
    form: Form,
    integers: IntoIter<i32>,
    addresses: IntoIter<isize>,
    counts: IntoIter<i64>,
    datatypes: Vec<Arc<Datatype>>,
}

impl Arguments {
    fn new(form: Form, contents: Contents) -> Arguments {
        Arguments {
            form,
            integers: contents.integers.into_iter(),
            addresses: contents.addresses.into_iter(),
            counts: contents.counts.into_iter(),
            datatypes: contents.datatypes,
        }
    }

    fn are_used_up(&self) -> bool {
        self.integers.len() + self.addresses.len() + self.counts.len() == 0
    }

    /// Takes an argument that is an `int` in both forms.
    fn integer(&mut self) -> Option<i32> {
        self.integers.next()
    }

    /// Takes an argument that is an `int` in one form and a count in the other.
    fn number(&mut self) -> Option<i64> {
        match self.form {
            Form::Int => self.integers.next().map(i64::from),
            Form::Large => self.counts.next(),
        }
    }

    /// Takes an argument that is an address in one form and a count in the other.
    fn address(&mut self) -> Option<i64> {
        match self.form {
            Form::Int => self.addresses.next().map(|address| address as i64),
            Form::Large => self.counts.next(),
        }
    }

    /// Takes a displacement in this unit.
    fn displacement(&mut self, unit: Unit) -> Option<i64> {
        match unit {
            Unit::Extent => self.number(),
            Unit::Byte => self.address(),
        }
    }

    /// Takes `len` arguments of one sort.
    fn list<T>(&mut self, len: i64, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let left = self.integers.len() + self.addresses.len() + self.counts.len();
        let len = usize::try_from(len).ok().filter(|&len| len <= left)?;
        (0..len).map(|_| each(self)).collect()
    }

    /// The datatype, if there is one.
    fn old(&self) -> Option<Arc<Datatype>> {
        let [old] = &self.datatypes[..] else { return None };
        Some(old.clone())
    }

    fn contiguous(&mut self) -> Option<Datatype> {
        Datatype::contiguous(self.form, self.number()?, &self.old()?).ok()
    }

    fn vector(&mut self, unit: Unit) -> Option<Datatype> {
        let (count, length) = (self.number()?, self.number()?);
        let stride = self.displacement(unit)?;
        Datatype::vector(self.form, count, length, stride, unit, &self.old()?).ok()
    }

    fn indexed(&mut self, unit: Unit) -> Option<Datatype> {
        let count = self.number()?;
        let lengths = self.list(count, Arguments::number)?;
        let displacements = self.list(count, |arguments| arguments.displacement(unit))?;
        Datatype::indexed(self.form, &lengths, &displacements, unit, &self.old()?).ok()
    }

    fn indexed_block(&mut self, unit: Unit) -> Option<Datatype> {
        let (count, length) = (self.number()?, self.number()?);
        let displacements = self.list(count, |arguments| arguments.displacement(unit))?;
        Datatype::indexed_block(self.form, length, &displacements, unit, &self.old()?).ok()
    }

    fn structure(&mut self) -> Option<Datatype> {
        let count = self.number()?;
        let lengths = self.list(count, Arguments::number)?;
        let displacements = self.list(count, Arguments::address)?;
        if self.datatypes.len() != lengths.len() {
            return None;
        }
        Datatype::structure(self.form, &lengths, &displacements, &self.datatypes).ok()
    }

    fn resized(&mut self) -> Option<Datatype> {
        let (lb, extent) = (self.address()?, self.address()?);
        Datatype::resized(self.form, lb, extent, &self.old()?).ok()
    }

    fn subarray(&mut self) -> Option<Datatype> {
        let dimensions = self.integer()?.into();
        let sizes = self.list(dimensions, Arguments::number)?;
        let subsizes = self.list(dimensions, Arguments::number)?;
        let starts = self.list(dimensions, Arguments::number)?;
        let order = self.integer()?;
        Datatype::subarray(self.form, &sizes, &subsizes, &starts, order, &self.old()?).ok()
    }

    fn distributed(&mut self) -> Option<Datatype> {
        let (size, rank, dimensions) = (self.integer()?, self.integer()?, self.integer()?.into());
        let global = self.list(dimensions, Arguments::number)?;
        let how = self.list(dimensions, Arguments::integer)?;
        let arguments = self.list(dimensions, Arguments::integer)?;
        let grid = self.list(dimensions, Arguments::integer)?;
        let order = self.integer()?;
        let (global, how, arguments, grid) = (&global[..], &how[..], &arguments[..], &grid[..]);
        let distribution = Distribution { size, rank, global, how, arguments, grid, order };
        Datatype::distributed(self.form, &distribution, &self.old()?).ok()
    }
}
