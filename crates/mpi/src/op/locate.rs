//! `MPI_MAXLOC` and `MPI_MINLOC` (MPI-5.0, 6.9.4): the extreme value and, among equals, the least index.

use super::number::{Extended, Number, Ordered, Quad};
use crate::datatype::{Float, Int, Pair, Representation};

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
    pub fn locate(&self, extreme: Extreme, input: &[u8], inout: &mut [u8]) {
        match self.pair.value.representation {
            Representation::Integer(Int::I16) => self.run::<i16>(extreme, input, inout),
            Representation::Integer(Int::I32) => self.run::<i32>(extreme, input, inout),
            Representation::Integer(Int::I64) => self.run::<i64>(extreme, input, inout),
            Representation::Float(Float::F32) => self.run::<f32>(extreme, input, inout),
            Representation::Float(Float::F64) => self.run::<f64>(extreme, input, inout),
            Representation::Float(Float::X87) => self.run::<Extended>(extreme, input, inout),
            Representation::Float(Float::F128) => self.run::<Quad>(extreme, input, inout),
            other => unreachable!("no pair of the ABI has values like {other:?}"),
        }
    }

    fn run<V: Ordered>(&self, extreme: Extreme, input: &[u8], inout: &mut [u8]) {
        let (index_at, index_len) = (self.pair.index_at, self.pair.index.size());
        for start in (0..self.count).map(|i| i * self.extent) {
            let end = start + index_at + index_len;
            let (a, b) = (&input[start..end], &mut inout[start..end]);
            let (va, vb) = (V::read(&a[..V::SIZE]), V::read(&b[..V::SIZE]));
            let (wins, loses) = match extreme {
                Extreme::Least => (va.less(vb), vb.less(va)),
                Extreme::Greatest => (vb.less(va), va.less(vb)),
            };
            if wins || (!loses && index_less(self.pair.index.representation, &a[index_at..], &b[index_at..]))
            {
                b[..V::SIZE].copy_from_slice(&a[..V::SIZE]);
                b[index_at..].copy_from_slice(&a[index_at..]);
            }
        }
    }
}

/// Whether index `a` is less than index `b`. Fortran's pairs have floating-point indices.
fn index_less(representation: Representation, a: &[u8], b: &[u8]) -> bool {
    fn less<T: Ordered>(a: &[u8], b: &[u8]) -> bool {
        <T as Number>::read(a).less(<T as Number>::read(b))
    }
    match representation {
        Representation::Integer(Int::I32) => less::<i32>(a, b),
        Representation::Float(Float::F32) => less::<f32>(a, b),
        Representation::Float(Float::F64) => less::<f64>(a, b),
        other => unreachable!("no pair of the ABI has indices like {other:?}"),
    }
}
