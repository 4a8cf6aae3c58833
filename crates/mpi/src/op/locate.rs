//! `MPI_MAXLOC` and `MPI_MINLOC` (MPI-5.0, 6.9.4): the extreme value and, among equals, the least index.

use super::number::{Extended, Ordered, Quad};
use crate::datatype::{Float, Int, Pair, Representation};
use verbena_memory::Region;

/// Which value wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    Least,
    Greatest,
}

/// Where the members of `count` pairs lie.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a> {
    pub pair: &'a Pair,
    pub extent: usize,
    pub count: usize,
}

impl Pairs<'_> {
    /// `inout[i]` becomes the winner of `input[i]` and `inout[i]`. Padding is left alone.
    ///
    /// # Panics
    /// If a region does not hold so many pairs.
    pub fn locate(&self, extreme: Extreme, input: Region, inout: Region) {
        match self.pair.value.representation {
            Representation::Integer(Int::I16) => self.locate_of::<i16>(extreme, input, inout),
            Representation::Integer(Int::I32) => self.locate_of::<i32>(extreme, input, inout),
            Representation::Integer(Int::I64) => self.locate_of::<i64>(extreme, input, inout),
            Representation::Float(Float::F32) => self.locate_of::<f32>(extreme, input, inout),
            Representation::Float(Float::F64) => self.locate_of::<f64>(extreme, input, inout),
            Representation::Float(Float::X87) => self.locate_of::<Extended>(extreme, input, inout),
            Representation::Float(Float::F128) => self.locate_of::<Quad>(extreme, input, inout),
            other => unreachable!("no pair of the ABI has values like {other:?}"),
        }
    }

    /// Fortran's pairs have floating-point indices.
    fn locate_of<V: Ordered>(&self, extreme: Extreme, input: Region, inout: Region) {
        match self.pair.index.representation {
            Representation::Integer(Int::I32) => self.run::<V, i32>(extreme, input, inout),
            Representation::Float(Float::F32) => self.run::<V, f32>(extreme, input, inout),
            Representation::Float(Float::F64) => self.run::<V, f64>(extreme, input, inout),
            other => unreachable!("no pair of the ABI has indices like {other:?}"),
        }
    }

    fn run<V: Ordered, I: Ordered>(&self, extreme: Extreme, input: Region, inout: Region) {
        for at in (0..self.count).map(|i| i * self.extent) {
            let index_at = at + self.pair.index_at;
            let (value, index) = (input.load(at), input.load(index_at));
            let (a, b) = (V::of(value), V::of(inout.load(at)));
            let (wins, loses) = match extreme {
                Extreme::Least => (a.less(b), b.less(a)),
                Extreme::Greatest => (b.less(a), a.less(b)),
            };
            if wins || (!loses && I::of(index).less(I::of(inout.load(index_at)))) {
                inout.store(at, value);
                inout.store(index_at, index);
            }
        }
    }
}
