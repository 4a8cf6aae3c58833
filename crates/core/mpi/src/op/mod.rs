//! Reduction operations (MPI-5.0, 6.9): the predefined ones by [`kernel`] and [`locate`], and the
//! program's own. [`change`] does to the memory of a window what they mean.

pub mod change;
mod kernel;
mod locate;
mod number;
pub mod soft;
#[cfg(test)]
mod tests;

use crate::datatype::{Datatype, Element};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use kernel::Kernel;
use locate::{Extreme, Pairs, Side};
use std::sync::{Arc, OnceLock};
use verbena_memory::elements::Elements;
use verbena_memory::scratch::Scratch;
use verbena_memory::{Region, layout};

/// The predefined operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Builtin {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Maxloc,
    Minloc,
    /// Takes the origin's value; for accumulate calls only.
    Replace,
    /// Leaves the target as it is; for accumulate calls only.
    NoOp,
}

/// The predefined operations with their handles and names.
pub const BUILTINS: [(Builtin, usize, &str); 14] = [
    (Builtin::Max, mpi::MPI_MAX, "MPI_MAX"),
    (Builtin::Min, mpi::MPI_MIN, "MPI_MIN"),
    (Builtin::Sum, mpi::MPI_SUM, "MPI_SUM"),
    (Builtin::Prod, mpi::MPI_PROD, "MPI_PROD"),
    (Builtin::Land, mpi::MPI_LAND, "MPI_LAND"),
    (Builtin::Band, mpi::MPI_BAND, "MPI_BAND"),
    (Builtin::Lor, mpi::MPI_LOR, "MPI_LOR"),
    (Builtin::Bor, mpi::MPI_BOR, "MPI_BOR"),
    (Builtin::Lxor, mpi::MPI_LXOR, "MPI_LXOR"),
    (Builtin::Bxor, mpi::MPI_BXOR, "MPI_BXOR"),
    (Builtin::Maxloc, mpi::MPI_MAXLOC, "MPI_MAXLOC"),
    (Builtin::Minloc, mpi::MPI_MINLOC, "MPI_MINLOC"),
    (Builtin::Replace, mpi::MPI_REPLACE, "MPI_REPLACE"),
    (Builtin::NoOp, mpi::MPI_NO_OP, "MPI_NO_OP"),
];

/// A program's own reduction: `inout[i] = input[i] op inout[i]` for `count` elements of the
/// datatype. The regions' addresses are those of their first origins.
pub type Function = Box<dyn Fn(Region, Region, i64, &Arc<Datatype>) + Send + Sync>;

/// A reduction operation. Shared by `Arc`.
pub struct Op {
    kind: Kind,
    commutative: bool,
}

enum Kind {
    Builtin(Builtin),
    User(Function),
}

impl Op {
    /// The predefined operation with this handle of the ABI; the same object every time.
    pub fn predefined(handle: usize) -> Option<&'static Arc<Op>> {
        static OBJECTS: [OnceLock<Arc<Op>>; BUILTINS.len()] = [const { OnceLock::new() }; BUILTINS.len()];
        let index = BUILTINS.iter().position(|builtin| builtin.1 == handle)?;
        let builtin = BUILTINS[index].0;
        Some(OBJECTS[index].get_or_init(|| Arc::new(Op::of(builtin))))
    }

    /// A predefined operation.
    pub fn of(builtin: Builtin) -> Op {
        let commutative = !matches!(builtin, Builtin::Replace | Builtin::NoOp);
        Op { kind: Kind::Builtin(builtin), commutative }
    }

    /// A program's own operation (`MPI_Op_create`).
    pub fn user(function: Function, commutative: bool) -> Op {
        Op { kind: Kind::User(function), commutative }
    }

    /// Returns whether operands may be taken in any order.
    #[inline]
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// The predefined operation, if it is one.
    #[inline]
    pub fn builtin(&self) -> Option<Builtin> {
        match self.kind {
            Kind::Builtin(builtin) => Some(builtin),
            Kind::User(_) => None,
        }
    }

    /// Returns `MPI_ERR_OP` unless this operation is defined for the datatype in a reduction.
    pub fn check(&self, datatype: &Datatype) -> Result<()> {
        let defined = match self.builtin() {
            None => true,
            Some(Builtin::Maxloc | Builtin::Minloc) => datatype.pair().is_some(),
            Some(builtin) => {
                datatype.as_basic().is_some_and(|basic| kernel::is_defined(builtin, basic.family))
            }
        };
        if defined { Ok(()) } else { Err(self.undefined(datatype)) }
    }

    /// Returns `MPI_ERR_OP` unless this operation may be used on elements of `datatype` in an
    /// accumulate call (MPI-5.0, 12.3.4): a predefined operation, on a predefined datatype or one
    /// made of elements of a single one.
    pub fn check_accumulate(&self, datatype: &Datatype) -> Result<()> {
        let defined = match (self.builtin(), datatype.element()) {
            (Some(Builtin::Replace | Builtin::NoOp), _) => true,
            (Some(Builtin::Maxloc | Builtin::Minloc), Some(Element::Pair(_))) => true,
            (Some(op), Some(Element::Basic(basic))) => kernel::is_defined(op, basic.family),
            _ => false,
        };
        if defined { Ok(()) } else { Err(self.undefined(datatype)) }
    }

    /// Computes `inout[i] = input[i] op inout[i]` for `count` elements in the program's layout of
    /// `datatype` (regions start at the element origins, as user functions expect; predefined types
    /// are contiguous).
    ///
    /// # Panics
    /// If a region is shorter than the elements of a predefined datatype.
    pub fn apply(&self, input: Region, inout: Region, count: usize, datatype: &Arc<Datatype>) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        match &self.kind {
            Kind::User(function) => function(input, inout, count as i64, datatype),
            Kind::Builtin(Builtin::NoOp) => {}
            Kind::Builtin(Builtin::Replace) => layout::copy_elements(input, inout, count, datatype.layout()),
            Kind::Builtin(Builtin::Maxloc) => {
                self.pairs(count, datatype)?.locate(Extreme::Greatest, input, inout, Side::Left)
            }
            Kind::Builtin(Builtin::Minloc) => {
                self.pairs(count, datatype)?.locate(Extreme::Least, input, inout, Side::Left)
            }
            Kind::Builtin(op) => {
                let (kernel, bytes) = self.kernel(*op, datatype, count)?;
                (kernel.two)(input.part(0, bytes), inout.part(0, bytes));
            }
        }
        Ok(())
    }

    /// Computes `out[i] = a[i] op b[i]`, as [`apply`](Op::apply). `out` may be `a` or `b`, or apart
    /// from both.
    ///
    /// # Panics
    /// If a region is shorter than the elements of a predefined datatype.
    pub fn combine(
        &self,
        a: Region,
        b: Region,
        out: Region,
        count: usize,
        datatype: &Arc<Datatype>,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if out.address() == b.address() {
            return self.apply(a, out, count, datatype);
        }
        if out.address() == a.address() {
            return self.combine_in_first(a, b, count, datatype);
        }
        if let Some(op) = self.builtin()
            && let Some(basic) = datatype.as_basic()
            && let Some(kernel) = kernel::select::<Kernel>(op, basic)
        {
            let bytes = basic.size() * count;
            let [a, b] = [a.part(0, bytes), b.part(0, bytes)];
            (kernel.three)(a, b, out.part(0, bytes));
            return Ok(());
        }
        layout::copy_elements(b, out, count, datatype.layout());
        self.apply(a, out, count, datatype)
    }

    /// Computes `a[i] = a[i] op b[i]`.
    fn combine_in_first(&self, a: Region, b: Region, count: usize, datatype: &Arc<Datatype>) -> Result<()> {
        match self.builtin().filter(|_| self.is_commutative()) {
            Some(Builtin::Maxloc) => {
                self.pairs(count, datatype)?.locate(Extreme::Greatest, b, a, Side::Right);
                return Ok(());
            }
            Some(Builtin::Minloc) => {
                self.pairs(count, datatype)?.locate(Extreme::Least, b, a, Side::Right);
                return Ok(());
            }
            Some(op) => {
                let (kernel, bytes) = self.kernel(op, datatype, count)?;
                (kernel.first)(a.part(0, bytes), b.part(0, bytes));
                return Ok(());
            }
            None => {}
        }
        let mut scratch = Scratch::default();
        let copy = Elements::in_scratch(&mut scratch, datatype.layout(), count).origins(count);
        layout::copy_elements(b, copy, count, datatype.layout());
        self.apply(a, copy, count, datatype)?;
        layout::copy_elements(copy, a, count, datatype.layout());
        Ok(())
    }

    fn kernel(&self, op: Builtin, datatype: &Datatype, count: usize) -> Result<(Kernel, usize)> {
        let basic = datatype.as_basic().ok_or_else(|| self.undefined(datatype))?;
        let kernel = kernel::select(op, basic).ok_or_else(|| self.undefined(datatype))?;
        Ok((kernel, basic.size() * count))
    }

    fn pairs<'d>(&self, count: usize, datatype: &'d Datatype) -> Result<Pairs<'d>> {
        let pair = datatype.pair().ok_or_else(|| self.undefined(datatype))?;
        Ok(Pairs { pair, extent: datatype.extent() as usize, count })
    }

    fn name(&self) -> &'static str {
        let builtin = self.builtin();
        BUILTINS
            .iter()
            .find(|entry| Some(entry.0) == builtin)
            .map_or("a user-defined operation", |entry| entry.2)
    }

    #[cold]
    pub(crate) fn undefined(&self, datatype: &Datatype) -> Error {
        let name = datatype.name();
        let of = if name.is_empty() { "a derived datatype".to_string() } else { name };
        Error::new(
            mpi::MPI_ERR_OP,
            "the operation is not defined for the datatype",
            format!("{} on {of}", self.name()),
            "MPI-5.0, 6.9.2 lists what each predefined operation takes; derived datatypes are not among them",
            "use a datatype from that list, or make an operation of your own with MPI_Op_create",
        )
    }
}
