//! CG: a sparse system is solved by conjugate gradients on a plane of ranks. A rank has the block
//! of the matrix that belongs to its row and column of ranks. After the product the parts of a row
//! are added up by exchanges in the row, and each rank gets the part of its column from one other
//! rank (the transpose); sums of products go through the row eight bytes at a time.

use super::Kernel;
use super::comm::Comm;
use super::grid::{Line, hash, plane};
use anyhow::{Result, ensure};
use std::collections::BTreeSet;

/// Distances of the entries of a row from the diagonal, on both sides and round the end.
const DISTANCES: [usize; 7] = [1, 3, 10, 31, 101, 303, 1009];
/// Steps of a round.
const STEPS: usize = 20;
/// The solution must be as near as this.
const ERROR_MAX: f64 = 1e-5;
/// Bytes that a row of the matrix takes.
const ROW_BYTES: usize = (2 * DISTANCES.len() + 1) * 16;

/// An entry of the matrix: column within the block, and value.
type Entry = (u32, f64);

/// The solver.
pub(super) struct Gradient {
    row: Line,
    transpose: usize,
    /// The part of the row's segment that goes to the transpose.
    part: usize,
    columns: std::ops::Range<usize>,
    unknowns: usize,
    /// The place where the entries of each row of the block begin, and one more.
    starts: Vec<usize>,
    entries: Vec<Entry>,
    found: Vec<f64>,
}

/// The plane of ranks: the row through this one, the number of rows, and the rank that has the
/// transpose.
fn layout(rank: usize, ranks: usize) -> Result<(Line, Line, usize)> {
    let [row, column] = plane(rank, ranks)?;
    // There are as many columns as rows, or twice as many.
    let wide = row.len / column.len;
    let other = (row.at / wide, column.at * wide + row.at % wide);
    Ok((row, column, other.0 * row.len + other.1))
}

/// The ranks from which one gets messages between pairs.
///
/// # Errors
/// The number of ranks is no power of two.
pub(super) fn partners(rank: usize, ranks: usize) -> Result<BTreeSet<usize>> {
    let (row, _, transpose) = layout(rank, ranks)?;
    let bits = (0..row.len.ilog2()).map(|bit| row.rank(row.at ^ (1 << bit)));
    Ok(bits.chain([transpose]).filter(|other| *other != rank).collect())
}

/// An entry of the matrix, the same from both sides.
fn weight(one: usize, other: usize) -> f64 {
    let key = ((one.min(other) as u64) << 32) | one.max(other) as u64;
    -0.5 - (hash(key) >> 54) as f64 / 2048.0
}

/// The entries of a row: column and value.
fn row_of(at: usize, unknowns: usize) -> Vec<(usize, f64)> {
    let sides = DISTANCES.iter().flat_map(|distance| {
        let distance = distance % unknowns;
        [(at + distance) % unknowns, (at + unknowns - distance) % unknowns]
    });
    let mut entries: Vec<(usize, f64)> = sides.map(|column| (column, weight(at, column))).collect();
    // So the matrix is positive definite, and its condition about five.
    let all: f64 = entries.iter().map(|(_, value)| value.abs()).sum();
    entries.push((at, 1.5 * all + weight(at, at).abs()));
    entries
}

/// The solution.
fn truth(at: usize) -> f64 {
    1.0 + (at % 7) as f64 / 7.0
}

impl Gradient {
    /// The block of this rank.
    ///
    /// # Errors
    /// The number of ranks is no power of two.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize) -> Result<Gradient> {
        let (row, column, transpose) = layout(rank, ranks)?;
        let rows = (bytes * ranks / ROW_BYTES).max(1);
        let unknowns = (1 << rows.ilog2()).max(4 * row.len);
        let part = |len: usize, at: usize| at * (unknowns / len)..(at + 1) * (unknowns / len);
        let (rows, columns) = (part(column.len, column.at), part(row.len, row.at));
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for at in rows {
            let own = row_of(at, unknowns).into_iter().filter(|(column, _)| columns.contains(column));
            entries.extend(own.map(|(column, value)| ((column - columns.start) as u32, value)));
            starts.push(entries.len());
        }
        let part = row.at % (row.len / column.len);
        Ok(Gradient { row, transpose, part, columns, unknowns, starts, entries, found: Vec::new() })
    }

    /// The matrix times a vector that lies in columns; so does the result.
    fn product(&self, comm: &dyn Comm, vector: &[f64]) -> Result<Vec<f64>> {
        let of_row = |range: &[usize]| -> f64 {
            self.entries[range[0]..range[1]]
                .iter()
                .map(|(column, value)| value * vector[*column as usize])
                .sum()
        };
        let mut sums: Vec<f64> = self.starts.windows(2).map(of_row).collect();
        self.add_up(comm, &mut sums)?;
        let each = self.columns.len();
        let own = &sums[self.part * each..(self.part + 1) * each];
        if self.transpose == comm.rank() {
            return Ok(own.to_vec());
        }
        let mut came = vec![0.0; each];
        comm.exchange(&[(self.transpose, own)], &mut [(self.transpose, &mut came)])?;
        Ok(came)
    }

    /// Adds values up over the row of ranks, by exchanges with one partner after another.
    fn add_up(&self, comm: &dyn Comm, values: &mut [f64]) -> Result<()> {
        let mut came = vec![0.0; values.len()];
        for bit in 0..self.row.len.ilog2() {
            let partner = self.row.rank(self.row.at ^ (1 << bit));
            comm.exchange(&[(partner, values)], &mut [(partner, &mut came)])?;
            values.iter_mut().zip(&came).for_each(|(value, other)| *value += other);
        }
        Ok(())
    }

    fn dot(&self, comm: &dyn Comm, one: &[f64], other: &[f64]) -> Result<f64> {
        let mut sum = [one.iter().zip(other).map(|(one, other)| one * other).sum()];
        self.add_up(comm, &mut sum)?;
        Ok(sum[0])
    }

    /// The right side: the matrix times the known solution, without any message.
    fn right_side(&self) -> Vec<f64> {
        let of = |at| row_of(at, self.unknowns).iter().map(|(column, value)| value * truth(*column)).sum();
        self.columns.clone().map(of).collect()
    }
}

impl Kernel for Gradient {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        let mut rest = self.right_side();
        let (mut found, mut direction) = (vec![0.0; rest.len()], rest.clone());
        let mut length = self.dot(comm, &rest, &rest)?;
        for _ in 0..STEPS {
            let moved = self.product(comm, &direction)?;
            let step = length / self.dot(comm, &direction, &moved)?;
            found.iter_mut().zip(&direction).for_each(|(found, way)| *found += step * way);
            rest.iter_mut().zip(&moved).for_each(|(rest, moved)| *rest -= step * moved);
            let now = self.dot(comm, &rest, &rest)?;
            let turn = now / length;
            direction.iter_mut().zip(&rest).for_each(|(way, rest)| *way = rest + turn * *way);
            length = now;
        }
        self.found = found;
        Ok(())
    }

    fn verify(&mut self, _: &dyn Comm) -> Result<()> {
        let errors = self.columns.clone().zip(&self.found).map(|(at, found)| (found - truth(at)).abs());
        let worst = errors.fold(0.0, f64::max);
        ensure!(
            worst < ERROR_MAX && self.found.iter().all(|value| value.is_finite()),
            "the solution is off by {worst}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transpose_is_mutual() {
        for ranks in [1, 2, 4, 8, 16, 32] {
            for rank in 0..ranks {
                let (_, _, other) = layout(rank, ranks).expect("a power of two");
                assert_eq!(layout(other, ranks).expect("a power of two").2, rank, "{ranks} ranks");
            }
        }
    }

    #[test]
    fn the_matrix_is_symmetric() {
        let entry = |row: usize, column: usize| -> f64 {
            row_of(row, 64).iter().filter(|(at, _)| *at == column).map(|(_, value)| value).sum()
        };
        for row in 0..64 {
            assert!((0..64).all(|column| (entry(row, column) - entry(column, row)).abs() < 1e-12));
        }
    }
}
