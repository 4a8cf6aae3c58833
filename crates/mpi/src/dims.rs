//! Balanced grids of processes (`MPI_Dims_create`; MPI-5.0, 8.5.2).

use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// Sets the entries of `dims` that are 0 so that all multiply to `nodes`: as close to each other as possible,
/// and in non-increasing order. Of all such grids the largest entry is the least possible, then the next.
///
/// # Errors
/// `MPI_ERR_ARG` if `nodes` is not positive, `MPI_ERR_DIMS` if an entry is negative or the given ones do not
/// divide `nodes` (or do not multiply to it when all are given).
pub fn create(nodes: i32, dims: &mut [i32]) -> Result<()> {
    if nodes < 1 {
        return Err(wrong(mpi::MPI_ERR_ARG, nodes, dims, "the number of nodes is not positive"));
    }
    if dims.iter().any(|&d| d < 0) {
        return Err(wrong(mpi::MPI_ERR_DIMS, nodes, dims, "an entry is negative"));
    }
    let given: i64 =
        dims.iter().filter(|&&d| d > 0).fold(1, |product: i64, &d| product.saturating_mul(d.into()));
    let free = dims.iter().filter(|&&d| d == 0).count();
    if i64::from(nodes) % given != 0 || (free == 0 && !dims.is_empty() && given != i64::from(nodes)) {
        return Err(wrong(
            mpi::MPI_ERR_DIMS,
            nodes,
            dims,
            "the given entries do not divide the number of nodes",
        ));
    }
    let rest = nodes / given as i32;
    let divisors: Vec<i32> = divisors(rest);
    let factors = balanced(rest, free, rest, &divisors).unwrap_or_default();
    for (slot, factor) in dims.iter_mut().filter(|d| **d == 0).zip(factors) {
        *slot = factor;
    }
    Ok(())
}

/// All divisors in rising order.
fn divisors(n: i32) -> Vec<i32> {
    let low: Vec<i32> =
        (1..).take_while(|&d: &i32| i64::from(d) * i64::from(d) <= n.into()).filter(|d| n % d == 0).collect();
    let high: Vec<i32> = low.iter().rev().map(|d| n / d).filter(|d| !low.contains(d)).collect();
    [low, high].concat()
}

/// `n` as a product of `count` factors of at most `limit`, in falling order, the first as small as can be.
fn balanced(n: i32, count: usize, limit: i32, divisors: &[i32]) -> Option<Vec<i32>> {
    if count == 0 {
        return (n == 1).then(Vec::new);
    }
    let large_enough = |d: i32| i64::from(d).saturating_pow(count as u32) >= n.into();
    let candidates = divisors.iter().filter(|&&d| d <= limit && n % d == 0 && large_enough(d));
    candidates.into_iter().find_map(|&first| {
        let mut factors = vec![first];
        factors.extend(balanced(n / first, count - 1, first, divisors)?);
        Some(factors)
    })
}

#[cold]
fn wrong(class: i32, nodes: i32, dims: &[i32], cause: &str) -> Error {
    Error::new(
        class,
        "there is no such grid of processes",
        format!("{nodes} nodes, dimensions {dims:?}"),
        cause,
        "set the entries to be chosen to 0, and others to divisors of the number of nodes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(nodes: i32, given: &[i32]) -> Vec<i32> {
        let mut dims = given.to_vec();
        create(nodes, &mut dims).unwrap();
        dims
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(grid(6, &[0, 0]), [3, 2]);
        assert_eq!(grid(7, &[0, 0]), [7, 1]);
        assert_eq!(grid(6, &[0, 3, 0]), [2, 3, 1]);
        assert_eq!(create(7, &mut [0, 3, 0]).unwrap_err().class, mpi::MPI_ERR_DIMS);
    }

    #[test]
    fn grids_are_complete_falling_and_balanced() {
        for nodes in 1..400 {
            for count in 1..5 {
                let dims = grid(nodes, &vec![0; count]);
                assert_eq!(dims.iter().product::<i32>(), nodes);
                assert!(dims.is_sorted_by(|a, b| a >= b), "{dims:?}");
            }
        }
        assert_eq!(grid(36, &[0, 0, 0]), [4, 3, 3]);
        assert_eq!(grid(1024, &[0, 0, 0]), [16, 8, 8]);
        assert_eq!(grid(223_092_870, &[0, 0]), [15_015, 14_858]);
        assert_eq!(grid(1 << 30, &[0; 10]), [8; 10]);
    }

    #[test]
    fn wrong_arguments_give_the_classes() {
        assert_eq!(create(0, &mut [0]).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(create(4, &mut [-1, 0]).unwrap_err().class, mpi::MPI_ERR_DIMS);
        assert_eq!(create(4, &mut [2, 1]).unwrap_err().class, mpi::MPI_ERR_DIMS);
        assert_eq!(create(4, &mut [i32::MAX, i32::MAX, i32::MAX]).unwrap_err().class, mpi::MPI_ERR_DIMS);
    }
}
