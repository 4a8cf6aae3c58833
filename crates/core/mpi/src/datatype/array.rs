//! Parts of arrays: `MPI_Type_create_subarray` and `MPI_Type_create_darray` (MPI-5.0, 5.1.3 and
//! 5.1.4).

use super::Datatype;
use super::contents::{Contents, Form};
use super::parts::{Assembly, Parts, bad, too_large};
use crate::error::Result;
use crate::generated::constants as mpi;
use std::sync::Arc;

/// `MPI_ORDER_C`: the last dimension runs fastest.
pub const ORDER_C: i32 = 12;
/// `MPI_ORDER_FORTRAN`: the first dimension runs fastest.
pub const ORDER_FORTRAN: i32 = 15;

/// The arguments of `MPI_Type_create_darray`: how an array is dealt out to a grid of processes.
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'a> {
    /// Number of processes.
    pub size: i32,
    /// The rank of the process whose part is described.
    pub rank: i32,
    /// Extent of the whole array in each dimension.
    pub global: &'a [i64],
    /// The `MPI_DISTRIBUTE_*` of each dimension.
    pub how: &'a [i32],
    /// Block length in each dimension, or `MPI_DISTRIBUTE_DFLT_DARG`.
    pub arguments: &'a [i32],
    /// The number of processes in each dimension.
    pub grid: &'a [i32],
    /// The order: `MPI_ORDER_C` or `MPI_ORDER_FORTRAN`.
    pub order: i32,
}

impl Datatype {
    /// A box out of an array (`MPI_Type_create_subarray`).
    ///
    /// # Panics
    /// If the three lists differ in length.
    pub fn subarray(
        form: Form,
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: i32,
        old: &Arc<Datatype>,
    ) -> Result<Datatype> {
        assert!(sizes.len() == subsizes.len() && sizes.len() == starts.len());
        check_box(sizes, subsizes, starts)?;
        let mut parts = Parts::of(old);
        for dimension in fastest_first(sizes.len(), order)? {
            let (size, subsize, start) = (sizes[dimension], subsizes[dimension], starts[dimension]);
            parts = slab(&parts, size, subsize, start).ok_or_else(too_large)?;
        }
        let contents = Contents::new(mpi::MPI_COMBINER_SUBARRAY).integers(&[sizes.len() as i32]);
        let contents = contents.numbers(form, sizes).numbers(form, subsizes).numbers(form, starts);
        Ok(parts.into_datatype(contents.integers(&[order]).datatypes(std::slice::from_ref(old))))
    }

    /// One process's part of a distributed array (`MPI_Type_create_darray`).
    ///
    /// # Panics
    /// If the lists differ in length.
    pub fn distributed(form: Form, d: &Distribution<'_>, old: &Arc<Datatype>) -> Result<Datatype> {
        let dimensions = d.global.len();
        assert!([d.how.len(), d.arguments.len(), d.grid.len()] == [dimensions; 3]);
        let place = place_in_grid(d)?;
        let mut parts = Parts::of(old);
        for i in fastest_first(dimensions, d.order)? {
            let block = block_length(d, i)?;
            parts = cyclic(&parts, d.global[i], block, place[i], d.grid[i] as i64).ok_or_else(too_large)?;
        }
        let contents = Contents::new(mpi::MPI_COMBINER_DARRAY)
            .integers(&[d.size, d.rank, dimensions as i32])
            .numbers(form, d.global)
            .integers(d.how)
            .integers(d.arguments)
            .integers(d.grid)
            .integers(&[d.order]);
        Ok(parts.into_datatype(contents.datatypes(std::slice::from_ref(old))))
    }
}

/// The dimensions, from the one that runs fastest.
fn fastest_first(dimensions: usize, order: i32) -> Result<Vec<usize>> {
    match order {
        _ if dimensions == 0 => Err(bad(mpi::MPI_ERR_ARG, "ndims", 0, "an array has at least one dimension")),
        ORDER_C => Ok((0..dimensions).rev().collect()),
        ORDER_FORTRAN => Ok((0..dimensions).collect()),
        _ => Err(bad(mpi::MPI_ERR_ARG, "order", order, "pass MPI_ORDER_C or MPI_ORDER_FORTRAN")),
    }
}

fn check_box(sizes: &[i64], subsizes: &[i64], starts: &[i64]) -> Result<()> {
    for ((&size, &subsize), &start) in sizes.iter().zip(subsizes).zip(starts) {
        if size < 1 {
            return Err(bad(mpi::MPI_ERR_ARG, "size", size, "every dimension is at least 1"));
        }
        if subsize < 1 || subsize > size {
            return Err(bad(mpi::MPI_ERR_ARG, "subsize", subsize, "it lies between 1 and the array's size"));
        }
        if start < 0 || start > size - subsize {
            return Err(bad(mpi::MPI_ERR_ARG, "start", start, "the part must end within the array"));
        }
    }
    Ok(())
}

/// `subsize` neighbours of `size`, from `start` on, with the bounds of all.
fn slab(parts: &Parts, size: i64, subsize: i64, start: i64) -> Option<Parts> {
    let extent = parts.layout.extent();
    let mut assembly = Assembly::default();
    assembly.add(extent.checked_mul(start as isize)?, subsize as usize, parts)?;
    assembly.finish()?.resized(0, extent.checked_mul(size as isize)?)
}

/// The coordinates of the rank in the grid, which is always in C order.
fn place_in_grid(d: &Distribution<'_>) -> Result<Vec<i64>> {
    let processes = d.grid.iter().try_fold(1i32, |product, &n| product.checked_mul(n).filter(|_| n > 0));
    if processes != Some(d.size) {
        return Err(bad(mpi::MPI_ERR_ARG, "size", d.size, "it must be the product of the grid's dimensions"));
    }
    if d.rank < 0 || d.rank >= d.size {
        return Err(bad(mpi::MPI_ERR_ARG, "rank", d.rank, "pass a rank below the size"));
    }
    let (mut rank, mut size) = (d.rank, d.size);
    let coordinate = |&n: &i32| {
        size /= n;
        let coordinate = rank / size;
        rank %= size;
        coordinate as i64
    };
    Ok(d.grid.iter().map(coordinate).collect())
}

fn block_length(d: &Distribution<'_>, i: usize) -> Result<i64> {
    let (global, argument, processes) = (d.global[i], d.arguments[i] as i64, d.grid[i] as i64);
    let default = d.arguments[i] == mpi::MPI_DISTRIBUTE_DFLT_DARG;
    let wrong = |what, value, remedy| Err(bad(mpi::MPI_ERR_ARG, what, value, remedy));
    match d.how[i] {
        _ if global < 1 => wrong("gsize", global, "every dimension is at least 1"),
        mpi::MPI_DISTRIBUTE_NONE if processes == 1 => Ok(global),
        mpi::MPI_DISTRIBUTE_NONE => {
            wrong("psize", processes, "a dimension that is not distributed has one process")
        }
        mpi::MPI_DISTRIBUTE_BLOCK if default => Ok((global - 1) / processes + 1),
        mpi::MPI_DISTRIBUTE_CYCLIC if default => Ok(1),
        mpi::MPI_DISTRIBUTE_BLOCK | mpi::MPI_DISTRIBUTE_CYCLIC if argument < 1 => {
            wrong("darg", argument, "a block has at least one element")
        }
        mpi::MPI_DISTRIBUTE_BLOCK if argument.saturating_mul(processes) < global => {
            wrong("darg", argument, "the blocks together must cover the array")
        }
        mpi::MPI_DISTRIBUTE_BLOCK | mpi::MPI_DISTRIBUTE_CYCLIC => Ok(argument),
        other => wrong("distribution", other as i64, "pass MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE"),
    }
}

/// The blocks of process `place` when the `global` elements are dealt out in turn, `block` at a
/// time.
fn cyclic(parts: &Parts, global: i64, block: i64, place: i64, processes: i64) -> Option<Parts> {
    let extent = parts.layout.extent();
    let at = |element: i64| extent.checked_mul(isize::try_from(element).ok()?);
    let (first, period) = (block.checked_mul(place)?, block.checked_mul(processes)?);
    let mut assembly = Assembly::default();
    if first < global {
        let whole = (global - first) / period + i64::from((global - first) % period >= block);
        let blocks = parts.repeat(block as usize, extent)?;
        let rounds = blocks.repeat(whole as usize, at(period)?)?;
        assembly.add(at(first)?, 1, &rounds)?;
        let rest = first.checked_add(whole.checked_mul(period)?)?;
        if rest < global {
            assembly.add(at(rest)?, (global - rest).min(block) as usize, parts)?;
        }
    }
    assembly.finish()?.resized(0, at(global)?)
}
