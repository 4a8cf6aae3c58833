//! The numbers that kernels compute with: how each is read from bytes, and its arithmetic.

use super::soft::{self, Format};
use std::cmp::Ordering;
use verbena_memory::Plain;
use verbena_memory::atomic::Native;

/// A value of fixed size in possibly unaligned memory.
pub(super) trait Number: Copy {
    /// The form in memory.
    type Bytes: Plain;
    /// The value.
    fn of(bytes: Self::Bytes) -> Self;
    /// The value's form in memory.
    fn bytes(self) -> Self::Bytes;
}

/// Numbers with an order.
pub(super) trait Ordered: Number {
    /// Returns whether `self` is less than `other`; false if either is not a number.
    fn less(self, other: Self) -> bool;
}

/// Numbers that can be added and multiplied.
pub(super) trait Arithmetic: Number {
    /// The instruction of processors that adds to such a number in memory, if there is one.
    const SUM: Option<Native> = None;
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
}

/// Numbers made of bits that stand for themselves.
pub(super) trait Bits: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Returns whether it is not zero.
    fn truth(self) -> bool;
    /// One or zero.
    fn of_truth(truth: bool) -> Self;
}

macro_rules! native {
    ($($t:ty),*) => {$(
        impl Number for $t {
            type Bytes = $t;
            #[inline(always)]
            fn of(bytes: $t) -> $t {
                bytes
            }
            #[inline(always)]
            fn bytes(self) -> $t {
                self
            }
        }
        impl Ordered for $t {
            #[inline(always)]
            fn less(self, other: $t) -> bool {
                self < other
            }
        }
    )*};
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl Arithmetic for $t {
            const SUM: Option<Native> = Some(Native::Add);
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn multiply(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
        }
        impl Bits for $t {
            #[inline(always)]
            fn and(self, other: $t) -> $t {
                self & other
            }
            #[inline(always)]
            fn or(self, other: $t) -> $t {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: $t) -> $t {
                self ^ other
            }
            #[inline(always)]
            fn truth(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn of_truth(truth: bool) -> $t {
                truth as $t
            }
        }
    )*};
}

macro_rules! hardware_float {
    ($($t:ty),*) => {$(
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self + other
            }
            #[inline(always)]
            fn multiply(self, other: $t) -> $t {
                self * other
            }
        }
        impl Real for $t {
            #[inline(always)]
            fn negate(self) -> $t {
                -self
            }
        }
    )*};
}

native!(i8, u8, i16, u16, i32, u32, i64, u64, i128, f32, f64);
integer!(i8, u8, i16, u16, i32, u32, i64, u64, i128);
hardware_float!(f32, f64);

/// Floating-point numbers: what complex numbers are made of.
pub(super) trait Real: Arithmetic + Ordered {
    fn negate(self) -> Self;
}

macro_rules! software_float {
    ($($(#[$doc:meta])* $name:ident: $size:literal, $format:expr, $read:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name(u128);

        impl $name {
            const FORMAT: Format = $format;
        }
        impl Number for $name {
            type Bytes = [u8; $size];
            fn of(bytes: [u8; $size]) -> $name {
                $name($read(bytes))
            }
            fn bytes(self) -> [u8; $size] {
                self.0.to_le_bytes()[..$size].try_into().expect("as many bytes")
            }
        }
        impl Ordered for $name {
            fn less(self, other: $name) -> bool {
                Self::FORMAT.compare(self.0, other.0) == Some(Ordering::Less)
            }
        }
        impl Arithmetic for $name {
            fn add(self, other: $name) -> $name {
                $name(Self::FORMAT.add(self.0, other.0))
            }
            fn multiply(self, other: $name) -> $name {
                $name(Self::FORMAT.multiply(self.0, other.0))
            }
        }
        impl Real for $name {
            fn negate(self) -> $name {
                $name(Self::FORMAT.negate(self.0))
            }
        }
    )*};
}

software_float! {
    /// IEEE binary16.
    Half: 2, soft::HALF, |bytes| u16::from_le_bytes(bytes) as u128;
    /// The x87's 80 bits in 16 bytes.
    Extended: 16, soft::EXTENDED, |bytes: [u8; 16]| soft::extended_bits(&bytes);
    /// IEEE binary128.
    Quad: 16, soft::QUAD, u128::from_le_bytes;
}

/// A complex number.
#[derive(Clone, Copy)]
pub(super) struct Complex<T>(T, T);

impl<T: Number> Number for Complex<T> {
    type Bytes = [T::Bytes; 2];

    #[inline(always)]
    fn of([re, im]: [T::Bytes; 2]) -> Self {
        Complex(T::of(re), T::of(im))
    }

    #[inline(always)]
    fn bytes(self) -> [T::Bytes; 2] {
        [self.0.bytes(), self.1.bytes()]
    }
}

impl<T: Real> Arithmetic for Complex<T> {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Complex(self.0.add(other.0), self.1.add(other.1))
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        let re = self.0.multiply(other.0).add(self.1.multiply(other.1).negate());
        Complex(re, self.0.multiply(other.1).add(self.1.multiply(other.0)))
    }
}
