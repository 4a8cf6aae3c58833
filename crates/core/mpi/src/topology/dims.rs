//! Balanced grids (`MPI_Dims_create`; MPI-5.0, 8.5.2).

use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// Fills in the zeros of `dims` so that the product is `nodes`, in decreasing order. The largest
/// and the smallest are as close as possible; among such products the smallest is the largest
/// possible, then the next smallest, and so on. `MPI_ERR_ARG` if `nodes` is not positive,
/// `MPI_ERR_DIMS` if a size is negative or the given ones do not divide `nodes`.
pub fn balance(nodes: i32, dims: &mut [i32]) -> Result<()> {
    if nodes < 1 {
        return Err(no_nodes(nodes));
    }
    let given = dims
        .iter()
        .filter(|&&dim| dim != 0)
        .try_fold(1_i32, |product, &dim| product.checked_mul(dim).filter(|_| dim > 0));
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let rest = given.filter(|&given| nodes % given == 0).map(|given| nodes / given);
    let rest = rest.filter(|&rest| free > 0 || rest == 1).ok_or_else(|| not_divisible(nodes, dims))?;
    let factors = Search::flattest(rest, free);
    dims.iter_mut().filter(|dim| **dim == 0).zip(factors).for_each(|(dim, factor)| *dim = factor);
    Ok(())
}

/// A search among the products of decreasing factors that make a number.
struct Search {
    /// All divisors of the number, increasing.
    divisors: Vec<i32>,
    /// The factors chosen so far.
    chosen: Vec<i32>,
    /// The flattest product yet.
    best: Option<Vec<i32>>,
}

impl Search {
    fn flattest(number: i32, count: usize) -> Vec<i32> {
        let mut search = Search { divisors: divisors(number), chosen: Vec::new(), best: None };
        search.extend(number, count);
        search.best.expect("the number itself and ones are such a product")
    }

    /// Tries all ways to go on with `count` factors whose product is `number`.
    fn extend(&mut self, number: i32, count: usize) {
        if count == 0 {
            return self.offer();
        }
        let bound = self.chosen.last().copied().unwrap_or(number);
        let first = self.divisors.partition_point(|&factor| power(factor, count) < i64::from(number));
        for i in first..self.divisors.partition_point(|&factor| factor <= bound) {
            let factor = self.divisors[i];
            if number % factor == 0 && self.may_go_on(factor, number, count) {
                self.chosen.push(factor);
                self.extend(number / factor, count - 1);
                self.chosen.pop();
            }
        }
    }

    /// Returns whether a product with this factor next can still be as flat as the best: none of
    /// its `count` factors may be smaller than that leaves room for.
    fn may_go_on(&self, factor: i32, number: i32, count: usize) -> bool {
        let largest = self.chosen.first().copied().unwrap_or(factor);
        let least = self.best.as_deref().map_or(1, |best| (largest - spread(best)).max(1));
        let smallest = i64::from(factor).checked_mul(power(least, count - 1));
        factor >= least && smallest.is_some_and(|product| product <= i64::from(number))
    }

    fn offer(&mut self) {
        let rank = |factors: &[i32]| (-spread(factors), factors.iter().rev().copied().collect::<Vec<_>>());
        if self.best.as_deref().is_none_or(|best| rank(&self.chosen) > rank(best)) {
            self.best = Some(self.chosen.clone());
        }
    }
}

/// The distance of the largest of decreasing factors from the smallest.
fn spread(factors: &[i32]) -> i32 {
    factors.first().zip(factors.last()).map_or(0, |(largest, smallest)| largest - smallest)
}

fn power(base: i32, exponent: usize) -> i64 {
    i64::from(base).saturating_pow(exponent as u32)
}

/// All divisors of a positive number, increasing.
fn divisors(number: i32) -> Vec<i32> {
    let small = (1..).take_while(|d| d * d <= i64::from(number)).filter(|d| i64::from(number) % d == 0);
    let small: Vec<i32> = small.map(|d| d as i32).collect();
    let large = small.iter().rev().map(|d| number / d).filter(|large| !small.contains(large));
    small.iter().copied().chain(large).collect()
}

#[cold]
fn no_nodes(nodes: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a grid needs at least one process",
        format!("{nodes} processes"),
        "the number was not set, or is meant as the number of dimensions",
        "pass the size of a communicator",
    )
}

#[cold]
fn not_divisible(nodes: i32, dims: &[i32]) -> Error {
    Error::new(
        mpi::MPI_ERR_DIMS,
        format!("{nodes} processes cannot be laid out in this grid"),
        format!("the dimensions {dims:?}, where 0 means free"),
        "a size is negative, or the product of the given sizes does not divide the number of processes",
        "set sizes to 0 that the call shall choose",
    )
}
