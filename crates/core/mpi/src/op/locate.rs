//! `MPI_MAXLOC` and `MPI_MINLOC` (MPI-5.0, 6.9.4): the extreme value and, among equals, the least
//! index.

use super::number::{Extended, Ordered, Quad};
use crate::datatype::{Float, Int, Pair, Representation};
use verbena_memory::Region;

/// The value that wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    Least,
    Greatest,
}

/// The side of the operand that is only read. It counts where neither operand wins: then the result
/// is the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The places of the values and indices of `count` pairs.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a> {
    pub pair: &'a Pair,
    pub extent: usize,
    pub count: usize,
}

impl Pairs<'_> {
    /// Sets `inout[i]` to the winner of `input[i]`, on this side, and `inout[i]`. Leaves padding
    /// alone.
    ///
    /// # Panics
    /// If a region does not hold this many pairs.
    pub(super) fn locate(&self, extreme: Extreme, input: Region, inout: Region, side: Side) {
        match self.pair.value.representation {
            Representation::Integer(Int::I16) => self.locate_of::<i16>(extreme, input, inout, side),
            Representation::Integer(Int::I32) => self.locate_of::<i32>(extreme, input, inout, side),
            Representation::Integer(Int::I64) => self.locate_of::<i64>(extreme, input, inout, side),
            Representation::Float(Float::F32) => self.locate_of::<f32>(extreme, input, inout, side),
            Representation::Float(Float::F64) => self.locate_of::<f64>(extreme, input, inout, side),
            Representation::Float(Float::X87) => self.locate_of::<Extended>(extreme, input, inout, side),
            Representation::Float(Float::F128) => self.locate_of::<Quad>(extreme, input, inout, side),
            other => unreachable!("no pair of the ABI has values like {other:?}"),
        }
    }

    /// Locates in any pair: Fortran's have floating-point indices.
    fn locate_of<V: Ordered>(&self, extreme: Extreme, input: Region, inout: Region, side: Side) {
        match self.pair.index.representation {
            Representation::Integer(Int::I32) => self.run::<V, i32>(extreme, input, inout, side),
            Representation::Float(Float::F32) => self.run::<V, f32>(extreme, input, inout, side),
            Representation::Float(Float::F64) => self.run::<V, f64>(extreme, input, inout, side),
            other => unreachable!("no pair of the ABI has indices like {other:?}"),
        }
    }

    fn run<V: Ordered, I: Ordered>(&self, extreme: Extreme, input: Region, inout: Region, side: Side) {
        for at in (0..self.count).map(|i| i * self.extent) {
            let index_at = at + self.pair.index_at;
            let (value, index) = (input.load(at), input.load(index_at));
            let (a, b) = (V::of(value), V::of(inout.load(at)));
            let (wins, loses) = match extreme {
                Extreme::Least => (a.less(b), b.less(a)),
                Extreme::Greatest => (b.less(a), a.less(b)),
            };
            let (own, other) = (I::of(index), I::of(inout.load(index_at)));
            let takes = match side {
                Side::Left => wins || (!loses && own.less(other)),
                Side::Right => wins || (!loses && !other.less(own)),
            };
            if takes {
                inout.store(at, value);
                inout.store(index_at, index);
            }
        }
    }
}
