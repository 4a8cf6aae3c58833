//! Grids (MPI-5.0, 8.5): ranks count through the coordinates, the last one fastest.

use super::Neighbors;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// A grid of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cart {
    dims: Vec<i32>,
    periods: Vec<bool>,
}

impl Cart {
    /// A grid with these sizes, periodic where `periods` says so (both as long as there are
    /// dimensions). `MPI_ERR_DIMS` if a size is not positive or there are too many processes to
    /// count.
    pub fn new(dims: &[i32], periods: &[bool]) -> Result<Cart> {
        assert_eq!(dims.len(), periods.len());
        let size = dims.iter().try_fold(1_i32, |size, &dim| size.checked_mul(dim).filter(|_| dim > 0));
        match size {
            Some(_) => Ok(Cart { dims: dims.to_vec(), periods: periods.to_vec() }),
            None => Err(bad_dims(dims)),
        }
    }

    /// Sizes of the dimensions.
    pub fn dims(&self) -> &[i32] {
        &self.dims
    }

    /// Says for each dimension whether it is periodic.
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Number of processes.
    pub fn size(&self) -> i32 {
        self.dims.iter().product()
    }

    /// The coordinates of a rank of the grid (`MPI_Cart_coords`).
    pub fn coords(&self, rank: i32) -> Vec<i32> {
        let mut rest = rank;
        let mut coords: Vec<i32> = self.dims.iter().rev().map(|dim| place(&mut rest, *dim)).collect();
        coords.reverse();
        coords
    }

    /// The rank at these coordinates, which periodic dimensions wrap (`MPI_Cart_rank`).
    /// `MPI_ERR_ARG` if they lie outside.
    pub fn rank(&self, coords: &[i32]) -> Result<i32> {
        self.find(coords).ok_or_else(|| outside(coords, &self.dims))
    }

    fn find(&self, coords: &[i32]) -> Option<i32> {
        let dimensions = self.dims.iter().zip(&self.periods).zip(coords);
        let mut rank = 0;
        for ((&dim, &periodic), &coord) in dimensions {
            let coord = if periodic { coord.rem_euclid(dim) } else { coord };
            rank = rank * dim + Some(coord).filter(|coord| (0..dim).contains(coord))?;
        }
        Some(rank)
    }

    /// The ranks that a shift by `displacement` brings data from and to, `MPI_PROC_NULL` beyond a
    /// border (`MPI_Cart_shift`). `MPI_ERR_DIMS` if there is no such direction.
    pub fn shift(&self, rank: i32, direction: i32, displacement: i32) -> Result<(i32, i32)> {
        let direction = usize::try_from(direction).ok().filter(|&d| d < self.dims.len());
        let direction = direction.ok_or_else(|| no_direction(self.dims.len()))?;
        let moved = |by: i64| self.moved(rank, direction, by).unwrap_or(mpi::MPI_PROC_NULL);
        Ok((moved(-i64::from(displacement)), moved(i64::from(displacement))))
    }

    fn moved(&self, rank: i32, direction: usize, by: i64) -> Option<i32> {
        let mut coords = self.coords(rank);
        let (dim, periodic) = (i64::from(self.dims[direction]), self.periods[direction]);
        let target = i64::from(coords[direction]) + by;
        let target = if periodic { target.rem_euclid(dim) } else { target };
        coords[direction] = i32::try_from(target).ok()?;
        self.find(&coords)
    }

    /// The neighbour below and the one above, for each dimension.
    pub(super) fn neighbors(&self, rank: i32) -> Neighbors {
        let dimensions = 0..self.dims.len();
        let both = |d| [-1, 1].map(|by| self.moved(rank, d, by).unwrap_or(mpi::MPI_PROC_NULL));
        let all: Vec<i32> = dimensions.flat_map(both).collect();
        Neighbors { sources: all.clone(), destinations: all }
    }

    /// The grid of the dimensions that remain, and a number of the part that `rank` falls in
    /// (`MPI_Cart_sub`).
    pub fn sub(&self, rank: i32, remain: &[bool]) -> (Cart, i32) {
        let kept = |d: &usize| remain[*d];
        let dimensions: Vec<usize> = (0..self.dims.len()).filter(kept).collect();
        let grid = Cart {
            dims: dimensions.iter().map(|&d| self.dims[d]).collect(),
            periods: dimensions.iter().map(|&d| self.periods[d]).collect(),
        };
        let coords = self.coords(rank);
        let dropped = (0..self.dims.len()).filter(|d| !remain[*d]);
        (grid, dropped.fold(0, |part, d| part * self.dims[d] + coords[d]))
    }
}

/// Takes the last coordinate off a rank.
fn place(rest: &mut i32, dim: i32) -> i32 {
    let coord = *rest % dim;
    *rest /= dim;
    coord
}

#[cold]
fn bad_dims(dims: &[i32]) -> Error {
    Error::new(
        mpi::MPI_ERR_DIMS,
        "the sizes of a grid are not valid",
        format!("the dimensions {dims:?}"),
        "a size is zero or negative, or there are too many processes to count",
        "give positive sizes; MPI_Dims_create chooses them",
    )
}

#[cold]
fn outside(coords: &[i32], dims: &[i32]) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the coordinates lie outside of the grid",
        format!("coordinates {coords:?}, a grid of {dims:?}"),
        "a step over the border of a dimension that is not periodic",
        "check the coordinates, or use MPI_Cart_shift, which gives MPI_PROC_NULL there",
    )
}

#[cold]
fn no_direction(dimensions: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_DIMS,
        "there is no such direction",
        format!("a grid of {dimensions} dimensions, numbered from 0"),
        "the direction is counted from 1, or meant for another communicator",
        "give a direction below the number of dimensions",
    )
}
