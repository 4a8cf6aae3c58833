//! The loops of predefined operations on contiguous elements, one pair for each operation and
//! machine type.
//!
//! Elements need not be aligned; the compiler turns the loops on native numbers into vector code.
//! Regions may be the same or overlap, as [`verbena_memory::fold`] says.

use super::Builtin;
use super::number::{Arithmetic, Bits, Complex, Extended, Half, Number, Ordered, Quad};
use crate::datatype::{Basic, Family, Float, Int, Representation};
use verbena_memory::Region;

/// The loops of one operation on one machine type.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// Computes `inout[i] = input[i] op inout[i]`.
    pub two: fn(Region, Region),
    /// Computes `out[i] = a[i] op b[i]`.
    pub three: fn(Region, Region, Region),
}

trait Operator<T> {
    fn combine(a: T, b: T) -> T;
}

macro_rules! operators {
    ($($name:ident: $bound:ident, |$a:ident, $b:ident| $result:expr;)*) => {$(
        struct $name;
        impl<T: $bound> Operator<T> for $name {
            #[inline(always)]
            fn combine($a: T, $b: T) -> T {
                $result
            }
        }
    )*};
}

operators! {
    Sum: Arithmetic, |a, b| a.add(b);
    Product: Arithmetic, |a, b| a.multiply(b);
    Least: Ordered, |a, b| if a.less(b) { a } else { b };
    Greatest: Ordered, |a, b| if b.less(a) { a } else { b };
    BitAnd: Bits, |a, b| a.and(b);
    BitOr: Bits, |a, b| a.or(b);
    BitXor: Bits, |a, b| a.xor(b);
    LogicalAnd: Bits, |a, b| T::of_truth(a.truth() & b.truth());
    LogicalOr: Bits, |a, b| T::of_truth(a.truth() | b.truth());
    LogicalXor: Bits, |a, b| T::of_truth(a.truth() ^ b.truth());
}

fn two<T: Number, O: Operator<T>>(input: Region, inout: Region) {
    verbena_memory::fold(input, inout, |a, b| O::combine(T::of(a), T::of(b)).bytes());
}

fn three<T: Number, O: Operator<T>>(a: Region, b: Region, out: Region) {
    verbena_memory::combine(a, b, out, |a, b| O::combine(T::of(a), T::of(b)).bytes());
}

fn kernel<T: Number, O: Operator<T>>() -> Kernel {
    Kernel { two: two::<T, O>, three: three::<T, O> }
}

/// The loops of `op` on `basic`; `None` where the standard does not define it (MPI-5.0, 6.9.2).
pub(super) fn select(op: Builtin, basic: &Basic) -> Option<Kernel> {
    if !is_defined(op, basic.family) {
        return None;
    }
    match basic.representation {
        Representation::Opaque => bits::<u8>(op),
        Representation::Integer(int) => integer(op, int),
        Representation::Float(Float::F16) => real::<Half>(op),
        Representation::Float(Float::F32) => real::<f32>(op),
        Representation::Float(Float::F64) => real::<f64>(op),
        Representation::Float(Float::X87) => real::<Extended>(op),
        Representation::Float(Float::F128) => real::<Quad>(op),
        Representation::Complex(Float::F16) => arithmetic::<Complex<Half>>(op),
        Representation::Complex(Float::F32) => arithmetic::<Complex<f32>>(op),
        Representation::Complex(Float::F64) => arithmetic::<Complex<f64>>(op),
        Representation::Complex(Float::X87) => arithmetic::<Complex<Extended>>(op),
        Representation::Complex(Float::F128) => arithmetic::<Complex<Quad>>(op),
    }
}

/// Returns whether the standard defines `op` (the table of MPI-5.0, 6.9.2). Also true for logical
/// operations on `MPI_AINT`, `MPI_OFFSET` and `MPI_COUNT`, which the table leaves out and MPICH and
/// Open MPI have.
pub(super) fn is_defined(op: Builtin, family: Family) -> bool {
    use Builtin::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Min, Prod, Sum};
    let integer = matches!(family, Family::CInteger | Family::FortranInteger | Family::MultiLanguage);
    match op {
        Max | Min => integer || family == Family::Floating,
        Sum | Prod => integer || matches!(family, Family::Floating | Family::Complex),
        Land | Lor | Lxor => matches!(family, Family::CInteger | Family::Logical | Family::MultiLanguage),
        Band | Bor | Bxor => integer || family == Family::Byte,
        _ => false,
    }
}

fn integer(op: Builtin, int: Int) -> Option<Kernel> {
    match int {
        Int::I8 => whole::<i8>(op),
        Int::U8 => whole::<u8>(op),
        Int::I16 => whole::<i16>(op),
        Int::U16 => whole::<u16>(op),
        Int::I32 => whole::<i32>(op),
        Int::U32 => whole::<u32>(op),
        Int::I64 => whole::<i64>(op),
        Int::U64 => whole::<u64>(op),
        Int::I128 => whole::<i128>(op),
    }
}

fn whole<T: Arithmetic + Ordered + Bits>(op: Builtin) -> Option<Kernel> {
    real::<T>(op).or_else(|| bits::<T>(op))
}

fn real<T: Arithmetic + Ordered>(op: Builtin) -> Option<Kernel> {
    match op {
        Builtin::Min => Some(kernel::<T, Least>()),
        Builtin::Max => Some(kernel::<T, Greatest>()),
        _ => arithmetic::<T>(op),
    }
}

fn arithmetic<T: Arithmetic>(op: Builtin) -> Option<Kernel> {
    match op {
        Builtin::Sum => Some(kernel::<T, Sum>()),
        Builtin::Prod => Some(kernel::<T, Product>()),
        _ => None,
    }
}

fn bits<T: Bits>(op: Builtin) -> Option<Kernel> {
    match op {
        Builtin::Band => Some(kernel::<T, BitAnd>()),
        Builtin::Bor => Some(kernel::<T, BitOr>()),
        Builtin::Bxor => Some(kernel::<T, BitXor>()),
        Builtin::Land => Some(kernel::<T, LogicalAnd>()),
        Builtin::Lor => Some(kernel::<T, LogicalOr>()),
        Builtin::Lxor => Some(kernel::<T, LogicalXor>()),
        _ => None,
    }
}
