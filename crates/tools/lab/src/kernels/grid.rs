//! Ranks in lines, planes and cubes, and shapes that fit a size.

use anyhow::{Result, ensure};

/// A line of ranks through this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The place of this rank there.
    pub at: usize,
    /// The number of ranks of the line.
    pub len: usize,
    /// The distance from one rank to the next.
    stride: usize,
    /// The first one.
    first: usize,
}

impl Line {
    /// The rank at a place of the line.
    pub(super) fn rank(&self, at: usize) -> usize {
        self.first + at * self.stride
    }

    /// The rank so far before this one, if there is one.
    pub(super) fn before(&self, distance: usize) -> Option<usize> {
        self.at.checked_sub(distance).map(|at| self.rank(at))
    }

    /// The rank so far after this one, if there is one.
    pub(super) fn after(&self, distance: usize) -> Option<usize> {
        let at = self.at + distance;
        (at < self.len).then(|| self.rank(at))
    }

    /// The next one, and from the last one the first.
    pub(super) fn next(&self) -> usize {
        self.rank((self.at + 1) % self.len)
    }

    /// The one before, and from the first one the last.
    pub(super) fn previous(&self) -> usize {
        self.rank((self.at + self.len - 1) % self.len)
    }
}

/// The lines through a rank in a grid of that shape; the first dimension changes first.
fn lines<const N: usize>(rank: usize, shape: [usize; N]) -> [Line; N] {
    let mut stride = 1;
    shape.map(|len| {
        let at = rank / stride % len;
        let line = Line { at, len, stride, first: rank - at * stride };
        stride *= len;
        line
    })
}

/// The exponent of a number of ranks.
///
/// # Errors
/// It is no power of two.
pub(super) fn exponent(ranks: usize) -> Result<u32> {
    ensure!(
        ranks.is_power_of_two(),
        "this kernel needs a number of ranks that is a power of two, not {ranks}"
    );
    Ok(ranks.ilog2())
}

/// The two lines through a rank in a plane that is as square as can be.
///
/// # Errors
/// The number is no power of two.
pub(super) fn plane(rank: usize, ranks: usize) -> Result<[Line; 2]> {
    let exponent = exponent(ranks)?;
    Ok(lines(rank, [1 << exponent.div_ceil(2), 1 << (exponent / 2)]))
}

/// The three lines through a rank in a grid that is as much of a cube as can be.
///
/// # Errors
/// The number is no power of two.
pub(super) fn cube(rank: usize, ranks: usize) -> Result<[Line; 3]> {
    let exponent = exponent(ranks)?;
    let longest = exponent.div_ceil(3);
    let middle = (exponent - longest).div_ceil(2);
    Ok(lines(rank, [1 << longest, 1 << middle, 1 << (exponent - longest - middle)]))
}

/// The edge of the largest cube of `values` at most whose edge is a power of two, but at least
/// `least`.
pub(super) fn edge(values: usize, least: usize) -> usize {
    let mut edge = least.next_power_of_two();
    while (edge * 2).pow(3) <= values {
        edge *= 2;
    }
    edge
}

/// Returns sixty-four bits that look random, the same for the same number (the finaliser of
/// SplitMix64: G. Steele et al., Fast splittable pseudorandom number generators, 2014).
pub(super) fn hash(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number between -0.5 and 0.5 that looks like chance.
pub(super) fn noise(number: u64) -> f64 {
    (hash(number) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_its_place_in_each_line() {
        let [x, y, z] = cube(13, 16).expect("a power of two");
        assert_eq!([x.len, y.len, z.len], [4, 2, 2]);
        assert_eq!([x.at, y.at, z.at], [1, 1, 1]);
        assert_eq!((x.before(1), x.after(3), z.before(1), z.next()), (Some(12), None, Some(5), 5));
        assert!(plane(0, 6).is_err());
    }

    #[test]
    fn a_cube_is_no_larger_than_asked_for() {
        assert_eq!((edge(4096, 4), edge(4095, 4), edge(1, 4)), (16, 8, 4));
    }
}
