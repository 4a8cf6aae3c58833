//! Floating-point formats that the processor or the language has no arithmetic for: IEEE binary16
//! and binary128, and the 80-bit extended format of the x87. Addition and multiplication are exact
//! and then rounded to nearest, ties to even, as IEEE 754-2019 (4.3.1) and the x87 do by default.

use std::cmp::Ordering;

/// A binary interchange format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    exponent_bits: u32,
    fraction_bits: u32,
    /// True if the leading bit of the significand is stored (x87), false if it is understood
    /// (IEEE).
    stores_leading: bool,
}

/// IEEE binary16.
pub const HALF: Format = Format { exponent_bits: 5, fraction_bits: 10, stores_leading: false };
/// IEEE binary64.
pub const DOUBLE: Format = Format { exponent_bits: 11, fraction_bits: 52, stores_leading: false };
/// The x87's extended format.
pub const EXTENDED: Format = Format { exponent_bits: 15, fraction_bits: 63, stores_leading: true };
/// IEEE binary128.
pub const QUAD: Format = Format { exponent_bits: 15, fraction_bits: 112, stores_leading: false };

/// A number taken apart. If it is finite and not zero, it is `significand / 2^127 * 2^exponent`,
/// and the top bit of its significand is set.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number {
    negative: bool,
    magnitude: Magnitude,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Magnitude {
    Zero,
    Finite { exponent: i32, significand: u128 },
    Infinite,
    NotANumber,
}

use Magnitude::{Finite, Infinite, NotANumber, Zero};

const NAN: Number = Number { negative: false, magnitude: NotANumber };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn exponent_max(self) -> u32 {
        (1 << self.exponent_bits) - 1
    }

    /// The number of bits below the exponent.
    fn low_bits(self) -> u32 {
        self.fraction_bits + self.stores_leading as u32
    }

    fn unpack(self, bits: u128) -> Number {
        let negative = bits >> (self.low_bits() + self.exponent_bits) & 1 == 1;
        let exponent = (bits >> self.low_bits()) as u32 & self.exponent_max();
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let leading =
            if self.stores_leading { bits >> self.fraction_bits & 1 } else { (exponent != 0) as u128 };
        let magnitude = if exponent == self.exponent_max() {
            if fraction == 0 { Infinite } else { NotANumber }
        } else {
            let significand = (leading << self.fraction_bits | fraction) << (127 - self.fraction_bits);
            normalised(exponent.max(1) as i32 - self.bias(), significand)
        };
        Number { negative, magnitude }
    }

    /// Rounds to this format. If bits were lost before, the lowest bit of the significand must be
    /// one; no format keeps that bit.
    fn pack(self, number: Number) -> u128 {
        let sign = (number.negative as u128) << (self.low_bits() + self.exponent_bits);
        let infinite = self.assemble(self.exponent_max(), 1 << self.fraction_bits);
        let rest = match number.magnitude {
            Zero => 0,
            Infinite => infinite,
            NotANumber => infinite | 1 << (self.fraction_bits - 1),
            Finite { exponent, significand } => self.round(exponent, significand),
        };
        sign | rest
    }

    fn round(self, exponent: i32, significand: u128) -> u128 {
        let mut biased = exponent + self.bias();
        let below_normal = if biased < 1 { (1 - biased) as u32 } else { 0 };
        let drop = (127 - self.fraction_bits).saturating_add(below_normal);
        biased = biased.max(1);
        let (mut kept, remainder) = match drop {
            0..=127 => (significand >> drop, significand << (128 - drop)),
            128 => (0, significand),
            _ => (0, 1),
        };
        let half = 1u128 << 127;
        kept += (remainder > half || (remainder == half && kept & 1 == 1)) as u128;
        if kept >> (self.fraction_bits + 1) != 0 {
            kept >>= 1;
            biased += 1;
        }
        let subnormal = kept >> self.fraction_bits == 0;
        if biased >= self.exponent_max() as i32 {
            return self.assemble(self.exponent_max(), 1 << self.fraction_bits);
        }
        self.assemble(if subnormal { 0 } else { biased as u32 }, kept)
    }

    /// Puts the exponent field and the significand (with its leading bit) together.
    fn assemble(self, exponent: u32, significand: u128) -> u128 {
        let stored =
            if self.stores_leading { significand } else { significand & ((1 << self.fraction_bits) - 1) };
        (exponent as u128) << self.low_bits() | stored
    }

    /// The sum, rounded.
    pub fn add(self, a: u128, b: u128) -> u128 {
        let (a, b) = (self.unpack(a), self.unpack(b));
        self.pack(match (a.magnitude, b.magnitude) {
            (NotANumber, _) | (_, NotANumber) => NAN,
            (Infinite, Infinite) if a.negative != b.negative => NAN,
            (Infinite, _) | (_, Zero) if a.magnitude != Zero => a,
            (_, Infinite) | (Zero, Finite { .. }) => b,
            (Finite { .. }, Finite { .. }) => add_finite(a, b),
            _ => Number { negative: a.negative && b.negative, magnitude: Zero },
        })
    }

    /// The product, rounded.
    pub fn multiply(self, a: u128, b: u128) -> u128 {
        let (a, b) = (self.unpack(a), self.unpack(b));
        let negative = a.negative != b.negative;
        let magnitude = match (a.magnitude, b.magnitude) {
            (NotANumber, _) | (_, NotANumber) | (Infinite, Zero) | (Zero, Infinite) => NotANumber,
            (Infinite, _) | (_, Infinite) => Infinite,
            (Zero, _) | (_, Zero) => Zero,
            (Finite { exponent: ea, significand: sa }, Finite { exponent: eb, significand: sb }) => {
                let (high, low) = wide_product(sa, sb);
                // The product of two numbers in [1, 2) lies in [1, 4); read like an operand, `high`
                // is half of it.
                normalised(ea + eb + 1, high | (low != 0) as u128)
            }
        };
        self.pack(Number { negative, magnitude })
    }

    /// The number with the other sign.
    pub fn negate(self, a: u128) -> u128 {
        a ^ 1 << (self.low_bits() + self.exponent_bits)
    }

    /// The order of two numbers; `None` if one is not a number.
    pub fn compare(self, a: u128, b: u128) -> Option<Ordering> {
        let (a, b) = (self.unpack(a), self.unpack(b));
        let rank = |n: Number| match n.magnitude {
            NotANumber => None,
            Zero => Some((0, 0, 0)),
            Finite { exponent, significand } => Some((1, exponent, significand)),
            Infinite => Some((2, 0, 0)),
        };
        let (ra, rb) = (rank(a)?, rank(b)?);
        Some(match (a.negative, b.negative) {
            _ if ra.0 == 0 && rb.0 == 0 => Ordering::Equal,
            (false, false) => ra.cmp(&rb),
            (true, true) => rb.cmp(&ra),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }

    /// Converts a number of another format, rounded.
    pub fn convert(self, from: Format, bits: u128) -> u128 {
        self.pack(from.unpack(bits))
    }
}

fn normalised(exponent: i32, significand: u128) -> Magnitude {
    match significand.leading_zeros() {
        128 => Zero,
        zeros => Finite { exponent: exponent - zeros as i32, significand: significand << zeros },
    }
}

/// The sum of two finite numbers that are not zero.
fn add_finite(a: Number, b: Number) -> Number {
    let (Finite { exponent: ea, significand: sa }, Finite { exponent: eb, significand: sb }) =
        (a.magnitude, b.magnitude)
    else {
        unreachable!("both are finite")
    };
    if (ea, sa) < (eb, sb) {
        return add_finite(b, a);
    }
    // One bit of room for a carry; formats leave at least 14 low bits free, so what is shifted out
    // can be folded into the lowest bit without changing how the result rounds.
    let (large, small) = (sa >> 1, shifted_right(sb >> 1, (ea - eb) as u32));
    let total = if a.negative == b.negative { large + small } else { large - small };
    match normalised(ea + 1, total) {
        Zero => Number { negative: false, magnitude: Zero },
        magnitude => Number { negative: a.negative, magnitude },
    }
}

/// Shifts right and sets the lowest bit if anything was lost.
fn shifted_right(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => value >> by | (value << (128 - by) != 0) as u128,
        _ => (value != 0) as u128,
    }
}

/// The 256-bit product as high and low half.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    let mask = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & mask, b >> 64, b & mask);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let cross = a0 * b1 + (middle & mask);
    (a1 * b1 + (middle >> 64) + (cross >> 64), cross << 64 | low & mask)
}

/// The x87 number in 16 bytes (6 of them unused) as binary128, exactly.
pub fn extended_to_quad(native: &[u8]) -> [u8; 16] {
    QUAD.convert(EXTENDED, extended_bits(native)).to_le_bytes()
}

/// The binary128 number rounded to an x87 number in 16 bytes.
pub fn quad_to_extended(native: &[u8]) -> [u8; 16] {
    let bits = u128::from_le_bytes(native.try_into().expect("16 bytes"));
    EXTENDED.convert(QUAD, bits).to_le_bytes()
}

/// The 80 bits of an x87 number in 16 bytes.
pub fn extended_bits(native: &[u8]) -> u128 {
    let bits = u128::from_le_bytes(native.try_into().expect("16 bytes"));
    bits & ((1 << 80) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(value: f32) -> u128 {
        value.to_bits() as u128
    }

    const SINGLE: Format = Format { exponent_bits: 8, fraction_bits: 23, stores_leading: false };

    /// Bit patterns that cover signs, subnormals, infinities and neighbours in exponent.
    fn patterns() -> Vec<f32> {
        let mut state = 0x1234_5678u32;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let mut all =
            vec![0.0, -0.0, 1.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        all.extend((0..300).map(|_| f32::from_bits(next())));
        all.extend((0..300).map(|_| f32::from_bits(next() & 0x80ff_ffff | 0x3f00_0000)));
        all.extend((0..100).map(|_| f32::from_bits(next() & 0x80ff_ffff)));
        all
    }

    fn same(bits: u128, expected: f32) -> bool {
        let got = f32::from_bits(bits as u32);
        got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan())
    }

    #[test]
    fn single_precision_agrees_with_the_processor() {
        for a in patterns() {
            for b in patterns() {
                assert!(same(SINGLE.add(single(a), single(b)), a + b), "{a:e} + {b:e}");
                assert!(same(SINGLE.multiply(single(a), single(b)), a * b), "{a:e} * {b:e}");
                assert_eq!(SINGLE.compare(single(a), single(b)), a.partial_cmp(&b));
            }
        }
    }

    #[test]
    fn double_precision_agrees_with_the_processor() {
        let double = DOUBLE;
        for (a, b) in patterns().into_iter().zip(patterns().into_iter().rev()) {
            let (a, b) = (a as f64 * 1.000_000_123, b as f64 / 3.0);
            let sum = f64::from_bits(double.add(a.to_bits() as u128, b.to_bits() as u128) as u64);
            assert!(sum.to_bits() == (a + b).to_bits() || sum.is_nan() && (a + b).is_nan());
            let product = f64::from_bits(double.multiply(a.to_bits() as u128, b.to_bits() as u128) as u64);
            assert!(product.to_bits() == (a * b).to_bits() || product.is_nan() && (a * b).is_nan());
        }
    }

    #[test]
    fn known_extended_and_quad_numbers() {
        let one = 0x3fff_8000_0000_0000_0000u128;
        let three = 0x4000_c000_0000_0000_0000u128;
        assert_eq!(EXTENDED.add(one, EXTENDED.add(one, one)), three);
        assert_eq!(EXTENDED.multiply(three, one), three);
        let quad_three = 0x4000_8000_0000_0000_0000_0000_0000_0000u128;
        assert_eq!(QUAD.convert(EXTENDED, three), quad_three);
        assert_eq!(EXTENDED.convert(QUAD, quad_three), three);
        // 1/3 in binary128, rounded to 64 bits: the bits dropped start with 1010..., so it rounds
        // up.
        let third = 0x3ffd_5555_5555_5555_5555_5555_5555_5555u128;
        assert_eq!(EXTENDED.convert(QUAD, third), 0x3ffd_aaaa_aaaa_aaaa_aaab);
    }

    #[test]
    fn half_precision_agrees_with_single_rounded_once() {
        for a in (0..0x7c00u128).step_by(37) {
            for b in (0..0x7c00u128).step_by(97) {
                let wide = |bits| f32::from_bits(SINGLE.convert(HALF, bits) as u32);
                let narrow = |value: f32| HALF.convert(SINGLE, single(value));
                assert_eq!(HALF.add(a, b), narrow(wide(a) + wide(b)));
                assert_eq!(HALF.multiply(a, b), narrow(wide(a) * wide(b)));
            }
        }
    }
}
