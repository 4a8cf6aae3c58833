//! The loops of predefined operations on contiguous elements, three for each operation and machine
//! type.
//!
//! The order of the operands counts, also in operations that commute: of numbers without an order
//! (NaN, or zeros with unlike signs) the extreme is the right one. Ranks that compute the same
//! result from the same operands in the same order get the same bits.
//!
//! Elements need not be aligned; the compiler turns the loops on native numbers into vector code.
//! Regions may be the same or overlap, as [`verbena_memory::fold`] says.
//!
//! [`select`] finds the machine type and the operator for whatever is made of both, by [`Make`].

use super::Builtin;
use super::number::{Arithmetic, Bits, Complex, Extended, Half, Number, Ordered, Quad};
use crate::datatype::{Basic, Family, Float, Int, Representation};
use verbena_memory::Region;
use verbena_memory::atomic::Native;

/// The loops of one operation on one machine type.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// Computes `inout[i] = input[i] op inout[i]`.
    pub two: fn(Region, Region),
    /// Computes `inout[i] = inout[i] op input[i]`, for `inout` and `input`.
    pub first: fn(Region, Region),
    /// Computes `out[i] = a[i] op b[i]`.
    pub three: fn(Region, Region, Region),
}

pub(super) trait Operator<T> {
    /// The instruction of processors that does the same to an integer in memory, if there is one.
    const NATIVE: Option<Native>;
    fn combine(a: T, b: T) -> T;
}

/// Things that are made for an operator on a machine type.
pub(super) trait Make {
    fn make<T: Number, O: Operator<T>>() -> Self;
}

macro_rules! operators {
    ($($name:ident: $bound:ident, $native:expr, |$a:ident, $b:ident| $result:expr;)*) => {$(
        struct $name;
        impl<T: $bound> Operator<T> for $name {
            const NATIVE: Option<Native> = $native;
            #[inline(always)]
            fn combine($a: T, $b: T) -> T {
                $result
            }
        }
    )*};
}

operators! {
    Sum: Arithmetic, T::SUM, |a, b| a.add(b);
    Product: Arithmetic, None, |a, b| a.multiply(b);
    Least: Ordered, None, |a, b| if a.less(b) { a } else { b };
    Greatest: Ordered, None, |a, b| if b.less(a) { a } else { b };
    BitAnd: Bits, Some(Native::And), |a, b| a.and(b);
    BitOr: Bits, Some(Native::Or), |a, b| a.or(b);
    BitXor: Bits, Some(Native::Xor), |a, b| a.xor(b);
    LogicalAnd: Bits, None, |a, b| T::of_truth(a.truth() & b.truth());
    LogicalOr: Bits, None, |a, b| T::of_truth(a.truth() | b.truth());
    LogicalXor: Bits, None, |a, b| T::of_truth(a.truth() ^ b.truth());
}

/// Computes `inout[i] = input[i] op inout[i]`.
pub(super) fn two<T: Number, O: Operator<T>>(input: Region, inout: Region) {
    verbena_memory::fold(input, inout, |a, b| O::combine(T::of(a), T::of(b)).bytes());
}

fn first<T: Number, O: Operator<T>>(inout: Region, input: Region) {
    verbena_memory::fold(input, inout, |b, a| O::combine(T::of(a), T::of(b)).bytes());
}

fn three<T: Number, O: Operator<T>>(a: Region, b: Region, out: Region) {
    verbena_memory::combine(a, b, out, |a, b| O::combine(T::of(a), T::of(b)).bytes());
}

impl Make for Kernel {
    fn make<T: Number, O: Operator<T>>() -> Kernel {
        Kernel { two: two::<T, O>, first: first::<T, O>, three: three::<T, O> }
    }
}

/// Makes something for `op` on `basic`; `None` where the standard does not define it (MPI-5.0,
/// 6.9.2).
pub(super) fn select<M: Make>(op: Builtin, basic: &Basic) -> Option<M> {
    if !is_defined(op, basic.family) {
        return None;
    }
    match basic.representation {
        Representation::Opaque => bits::<u8, M>(op),
        Representation::Integer(int) => integer(op, int),
        Representation::Float(Float::F16) => real::<Half, M>(op),
        Representation::Float(Float::F32) => real::<f32, M>(op),
        Representation::Float(Float::F64) => real::<f64, M>(op),
        Representation::Float(Float::X87) => real::<Extended, M>(op),
        Representation::Float(Float::F128) => real::<Quad, M>(op),
        Representation::Complex(Float::F16) => arithmetic::<Complex<Half>, M>(op),
        Representation::Complex(Float::F32) => arithmetic::<Complex<f32>, M>(op),
        Representation::Complex(Float::F64) => arithmetic::<Complex<f64>, M>(op),
        Representation::Complex(Float::X87) => arithmetic::<Complex<Extended>, M>(op),
        Representation::Complex(Float::F128) => arithmetic::<Complex<Quad>, M>(op),
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

fn integer<M: Make>(op: Builtin, int: Int) -> Option<M> {
    match int {
        Int::I8 => whole::<i8, M>(op),
        Int::U8 => whole::<u8, M>(op),
        Int::I16 => whole::<i16, M>(op),
        Int::U16 => whole::<u16, M>(op),
        Int::I32 => whole::<i32, M>(op),
        Int::U32 => whole::<u32, M>(op),
        Int::I64 => whole::<i64, M>(op),
        Int::U64 => whole::<u64, M>(op),
        Int::I128 => whole::<i128, M>(op),
    }
}

fn whole<T: Arithmetic + Ordered + Bits, M: Make>(op: Builtin) -> Option<M> {
    real::<T, M>(op).or_else(|| bits::<T, M>(op))
}

fn real<T: Arithmetic + Ordered, M: Make>(op: Builtin) -> Option<M> {
    match op {
        Builtin::Min => Some(M::make::<T, Least>()),
        Builtin::Max => Some(M::make::<T, Greatest>()),
        _ => arithmetic::<T, M>(op),
    }
}

fn arithmetic<T: Arithmetic, M: Make>(op: Builtin) -> Option<M> {
    match op {
        Builtin::Sum => Some(M::make::<T, Sum>()),
        Builtin::Prod => Some(M::make::<T, Product>()),
        _ => None,
    }
}

fn bits<T: Bits, M: Make>(op: Builtin) -> Option<M> {
    match op {
        Builtin::Band => Some(M::make::<T, BitAnd>()),
        Builtin::Bor => Some(M::make::<T, BitOr>()),
        Builtin::Bxor => Some(M::make::<T, BitXor>()),
        Builtin::Land => Some(M::make::<T, LogicalAnd>()),
        Builtin::Lor => Some(M::make::<T, LogicalOr>()),
        Builtin::Lxor => Some(M::make::<T, LogicalXor>()),
        _ => None,
    }
}
