//! Reduction operations (MPI-5.0, 6.9). (To be completed by the datatype work.)

use crate::datatype::Datatype;
use crate::error::Result;
use verbena_channel::memory::Region;

/// A reduction operation. Shared by `Arc`.
pub struct Op {
    commutative: bool,
}

impl Op {
    /// Whether operands may be taken in any order.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Whether this operation is defined for the datatype; else `MPI_ERR_OP`.
    pub fn check(&self, _datatype: &Datatype) -> Result<()> {
        unimplemented!()
    }

    /// `inout[i] = input[i] op inout[i]` for `count` elements in the program's layout of `datatype`
    /// (regions start at the element origins, as user functions expect; predefined types are contiguous).
    pub fn apply(&self, _input: Region, _inout: Region, _count: usize, _datatype: &Datatype) -> Result<()> {
        unimplemented!()
    }

    /// `out[i] = a[i] op b[i]` for `count` elements; `out` may be `a` or `b`.
    pub fn combine(
        &self,
        _a: Region,
        _b: Region,
        _out: Region,
        _count: usize,
        _datatype: &Datatype,
    ) -> Result<()> {
        unimplemented!()
    }
}
