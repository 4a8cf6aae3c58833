//! Balanced grids (`MPI_Dims_create`; MPI-5.0, 8.5.2).

use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// Fills in the zeros of `dims` so that the product is `nodes`: the largest as small as can be, then the next
/// largest, and so on, in decreasing order. `MPI_ERR_ARG` if `nodes` is not positive, `MPI_ERR_DIMS` if a size is negative or the given ones do not divide
/// `nodes`.
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
    let factors = factor(rest, free, rest, &divisors(rest)).expect("the number itself and ones always fit");
    dims.iter_mut().filter(|dim| **dim == 0).zip(factors).for_each(|(dim, factor)| *dim = factor);
    Ok(())
}

/// `number` as a product of `count` decreasing factors, none above `bound`: of all such products the first in
/// lexical order. `None` if there is none.
fn factor(number: i32, count: usize, bound: i32, divisors: &[i32]) -> Option<Vec<i32>> {
    if count == 0 {
        return (number == 1).then(Vec::new);
    }
    let fits = |&largest: &i32| largest <= bound && number % largest == 0 && reaches(largest, count, number);
    divisors.iter().copied().filter(fits).find_map(|largest| {
        let smaller = factor(number / largest, count - 1, largest, divisors)?;
        Some([vec![largest], smaller].concat())
    })
}

/// Whether `count` factors of at most `largest` can have the product `number`.
fn reaches(largest: i32, count: usize, number: i32) -> bool {
    i64::from(largest).saturating_pow(count as u32) >= i64::from(number)
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
