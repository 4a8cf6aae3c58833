//! Plain values in regions, and the loops that combine them element by element.
//!
//! Everything goes by address, and nothing need be aligned. So the regions of a loop may be one and
//! the same, as when a program names one buffer twice, or overlap: elements are then taken in their
//! order, each read before its result is written. The compiler makes vector code for regions that
//! lie apart.

use super::Region;

/// Values for which any bytes are valid, without padding.
///
/// # Safety
/// Every pattern of bits is a value of the type, and it has no padding.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($t:ty),*) => {$(
        // SAFETY: a number: any bits are a value.
        unsafe impl Plain for $t {}
    )*};
}

plain!(i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f32, f64);

// SAFETY: elements side by side, and nothing else.
unsafe impl<P: Plain, const N: usize> Plain for [P; N] {}

impl Region {
    /// The value at `offset`. Panics if out of range.
    #[inline(always)]
    pub fn load<P: Plain>(&self, offset: usize) -> P {
        // SAFETY: within the region, which is valid by its creator's promise; any bytes will do.
        unsafe { self.part(offset, size_of::<P>()).address.cast::<P>().read_unaligned() }
    }

    /// Writes the value to `offset`. Panics if out of range.
    #[inline(always)]
    pub fn store<P: Plain>(&self, offset: usize, value: P) {
        // SAFETY: as in `load`.
        unsafe { self.part(offset, size_of::<P>()).address.cast::<P>().write_unaligned(value) }
    }
}

/// `inout[i] = combine(input[i], inout[i])` for all values of `inout`.
///
/// # Panics
/// If `input` is shorter.
#[inline(always)]
pub fn fold<P: Plain>(input: Region, inout: Region, combine: impl Fn(P, P) -> P) {
    assert!(input.len >= inout.len, "operands of {} and {} bytes", input.len, inout.len);
    let (a, b) = (input.address.cast::<P>(), inout.address.cast::<P>());
    let count = inout.len / size_of::<P>();
    #[cfg(target_arch = "x86_64")]
    if size_of::<P>() <= size_of::<u64>() && inout.len >= WIDE_BYTES_MIN && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions; the rest is as below.
        return unsafe { each_wide(count, a, b, combine) };
    }
    // SAFETY: within both regions by the checks, which are valid by their creators' promises.
    unsafe { each(count, a, b, combine) }
}

/// From this length on, the instructions of newer processors gain more than the look whether they
/// are there costs.
#[cfg(target_arch = "x86_64")]
const WIDE_BYTES_MIN: usize = 256;

/// Does the same as [`each`], by instructions for 32 bytes.
///
/// # Safety
/// As [`each`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn each_wide<P: Plain>(count: usize, a: *const P, b: *mut P, combine: impl Fn(P, P) -> P) {
    // SAFETY: the caller's promise.
    unsafe { each(count, a, b, combine) }
}

/// Computes `b[i] = combine(a[i], b[i])` for the first `count` values.
///
/// # Safety
/// There are as many values at either address, aligned or not.
#[inline(always)]
unsafe fn each<P: Plain>(count: usize, a: *const P, b: *mut P, combine: impl Fn(P, P) -> P) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { b.add(i).write_unaligned(combine(a.add(i).read_unaligned(), b.add(i).read_unaligned())) }
    }
}

/// `out[i] = combine(a[i], b[i])` for all values of `out`.
///
/// # Panics
/// If `a` or `b` is shorter.
#[inline(always)]
pub fn combine<P: Plain>(a: Region, b: Region, out: Region, combine: impl Fn(P, P) -> P) {
    let shorter = a.len.min(b.len);
    assert!(shorter >= out.len, "operands of {shorter} bytes for {}", out.len);
    let (a, b, result) = (a.address.cast::<P>(), b.address.cast::<P>(), out.address.cast::<P>());
    let count = out.len / size_of::<P>();
    #[cfg(target_arch = "x86_64")]
    if size_of::<P>() <= size_of::<u64>() && out.len >= WIDE_BYTES_MIN && is_x86_feature_detected!("avx2") {
        // SAFETY: as in `fold`.
        return unsafe { each_of_two_wide(count, a, b, result, combine) };
    }
    // SAFETY: as in `fold`.
    unsafe { each_of_two(count, a, b, result, combine) }
}

/// Does the same as [`each_of_two`], by instructions for 32 bytes.
///
/// # Safety
/// As [`each_of_two`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn each_of_two_wide<P: Plain>(
    count: usize,
    a: *const P,
    b: *const P,
    out: *mut P,
    combine: impl Fn(P, P) -> P,
) {
    // SAFETY: the caller's promise.
    unsafe { each_of_two(count, a, b, out, combine) }
}

/// Computes `out[i] = combine(a[i], b[i])` for the first `count` values.
///
/// # Safety
/// There are as many values at each address, aligned or not.
#[inline(always)]
unsafe fn each_of_two<P: Plain>(
    count: usize,
    a: *const P,
    b: *const P,
    out: *mut P,
    combine: impl Fn(P, P) -> P,
) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { out.add(i).write_unaligned(combine(a.add(i).read_unaligned(), b.add(i).read_unaligned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Owned;

    fn numbers(owned: &Owned) -> Vec<u32> {
        (0..owned.len() / 4).map(|i| owned.lend().load(4 * i)).collect()
    }

    fn counting(count: u32) -> Owned {
        let owned = Owned::zeroed(4 * count as usize);
        (0..count).for_each(|i| owned.lend().store(4 * i as usize, i));
        owned
    }

    #[test]
    fn an_operand_may_be_the_result() {
        let owned = counting(100);
        let all = owned.lend();
        fold::<u32>(all, all, |a, b| a + b);
        assert_eq!(numbers(&owned), (0..100).map(|i| 2 * i).collect::<Vec<_>>());
        combine::<u32>(all, all, all, |a, b| a * b);
        assert_eq!(numbers(&owned), (0..100).map(|i| 4 * i * i).collect::<Vec<_>>());
    }

    #[test]
    fn operands_that_overlap_are_taken_in_their_order() {
        let owned = counting(100);
        let (input, inout) = (owned.lend().part(0, 396), owned.lend().part(4, 396));
        fold::<u32>(input, inout, |a, b| a + b);
        assert_eq!(numbers(&owned), (0..100).map(|i| i * (i + 1) / 2).collect::<Vec<_>>());
    }

    #[test]
    fn values_need_no_alignment_and_stay_within() {
        let owned = Owned::zeroed(12);
        owned.lend().store(3, 0x0102_0304_0506_0708u64);
        assert_eq!(owned.lend().load::<u64>(3), 0x0102_0304_0506_0708);
        assert_eq!(owned.lend().load::<[u8; 2]>(4), [7, 6]);
        assert!(std::panic::catch_unwind(|| owned.lend().load::<u64>(5)).is_err());
    }
}
