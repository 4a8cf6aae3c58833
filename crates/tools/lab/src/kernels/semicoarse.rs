//! SMG: a Poisson problem with fixed edges, by multigrid that coarsens one dimension only, in the
//! manner of S. Schaffer (A semicoarsening multigrid method for elliptic partial differential
//! equations, 1998): planes are relaxed in two colours, each by a cycle that coarsens the second
//! dimension and relaxes lines in two colours, each by elimination. Second and third dimension are
//! divided among a plane of ranks. Coarse points are every second, fourth, eighth, ... of the fine
//! ones and stay where they are, so that on coarse grids a rank speaks with ranks ever further
//! away, in very many short messages.

use super::Kernel;
use super::comm::Comm;
use super::grid::{Line, edge, noise, plane};
use anyhow::{Result, ensure};

/// Cycles of a round.
const CYCLES: usize = 3;
/// The error must fall to this.
const FALLS_TO: f64 = 0.05;

/// A dimension that is coarsened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dimension {
    /// The second: lines.
    Rows,
    /// The third: planes.
    Planes,
}

/// The solver.
pub(super) struct Semicoarse {
    /// The ranks along rows and along planes.
    lines: [Line; 2],
    edge: usize,
    /// Rows and planes of this rank.
    own: [usize; 2],
    found: Vec<f64>,
}

/// The points of one dimension that take part on one grid.
struct Level {
    dimension: Dimension,
    /// The distance from one point to the next.
    stride: usize,
    /// Points of this rank, by their numbers here.
    points: Vec<usize>,
    /// The points of the other dimension, where only some take part.
    others: Vec<usize>,
}

impl Semicoarse {
    /// The part of this rank.
    ///
    /// # Errors
    /// The number of ranks is no power of two.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize) -> Result<Semicoarse> {
        let lines = plane(rank, ranks)?;
        let edge = edge(bytes * ranks / size_of::<f64>(), (2 * lines[0].len).max(4));
        Ok(Semicoarse { lines, edge, own: lines.map(|line| edge / line.len), found: Vec::new() })
    }

    fn line(&self, dimension: Dimension) -> (&Line, usize) {
        match dimension {
            Dimension::Rows => (&self.lines[0], self.own[0]),
            Dimension::Planes => (&self.lines[1], self.own[1]),
        }
    }

    fn level(&self, dimension: Dimension, stride: usize, others: &[usize]) -> Level {
        let (line, own) = self.line(dimension);
        let takes_part = |point: &usize| (line.at * own + point + 1).is_multiple_of(stride);
        Level { dimension, stride, points: (0..own).filter(takes_part).collect(), others: others.to_vec() }
    }

    /// Returns whether a point of a level is only on this grid and on no coarser one.
    fn is_fine(&self, level: &Level, point: usize) -> bool {
        let (line, own) = self.line(level.dimension);
        !(line.at * own + point + 1).is_multiple_of(2 * level.stride)
    }

    /// The places of a point's values: rows of the third dimension's planes.
    fn places(&self, level: &Level, point: usize) -> Vec<std::ops::Range<usize>> {
        let row = |plane: usize, row: usize| {
            let start = (plane * self.own[0] + row) * self.edge;
            start..start + self.edge
        };
        match level.dimension {
            Dimension::Rows => level.others.iter().map(|plane| row(*plane, point)).collect(),
            Dimension::Planes => (0..self.own[0]).map(|at| row(point, at)).collect(),
        }
    }

    fn values(&self, level: &Level, point: usize, field: &[f64]) -> Vec<f64> {
        self.places(level, point).into_iter().flat_map(|place| field[place].iter().copied()).collect()
    }

    /// The values beyond the first and the last point of a level, from the ranks that have them;
    /// nothing at the edges.
    fn beyond(&self, comm: &dyn Comm, level: &Level, field: &[f64]) -> Result<[Option<Vec<f64>>; 2]> {
        let (line, own) = self.line(level.dimension);
        let (Some(&first), Some(&last)) = (level.points.first(), level.points.last()) else {
            return Ok([None, None]);
        };
        let owner = |at: Option<usize>| at.filter(|at| *at < self.edge).map(|at| line.rank(at / own));
        let start = line.at * own;
        let owners =
            [owner((start + first).checked_sub(level.stride)), owner(Some(start + last + level.stride))];
        let sent = [first, last].map(|point| self.values(level, point, field));
        let mut came = owners.map(|owner| owner.map(|_| vec![0.0; sent[0].len()]));
        let sends: Vec<(usize, &[f64])> = owners
            .iter()
            .zip(&sent)
            .filter_map(|(owner, values)| Some(((*owner)?, values.as_slice())))
            .collect();
        let mut receives: Vec<(usize, &mut [f64])> = owners
            .iter()
            .zip(&mut came)
            .filter_map(|(owner, values)| Some(((*owner)?, values.as_mut()?.as_mut_slice())))
            .collect();
        if !sends.is_empty() {
            comm.exchange(&sends, &mut receives)?;
        }
        Ok(came)
    }

    /// Returns the sum of both neighbors for some points of a level.
    fn neighbors(
        &self,
        comm: &dyn Comm,
        level: &Level,
        wanted: &[usize],
        field: &[f64],
    ) -> Result<Vec<Vec<f64>>> {
        let beyond = self.beyond(comm, level, field)?;
        let (first, last) = (level.points.first().copied(), level.points.last().copied());
        let of = |&point: &usize| {
            let below = if Some(point) == first {
                beyond[0].clone()
            } else {
                Some(self.values(level, point - level.stride, field))
            };
            let above = if Some(point) == last {
                beyond[1].clone()
            } else {
                Some(self.values(level, point + level.stride, field))
            };
            match (below, above) {
                (Some(one), Some(other)) => one.iter().zip(&other).map(|(one, other)| one + other).collect(),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => vec![0.0; self.values(level, point, field).len()],
            }
        };
        Ok(wanted.iter().map(of).collect())
    }

    /// Adds a factor times values to points of a field.
    fn add(&self, level: &Level, points: &[usize], field: &mut [f64], factor: f64, values: &[Vec<f64>]) {
        for (point, values) in points.iter().zip(values) {
            let places = self.places(level, *point).into_iter().flatten();
            places.zip(values).for_each(|(place, value)| field[place] += factor * value);
        }
    }

    /// Solves at some points, with their neighbors as they are: planes by a cycle over rows, rows
    /// by elimination. `diagonal` is the share of the dimensions before this one.
    fn relax(
        &self,
        comm: &dyn Comm,
        level: &Level,
        points: &[usize],
        diagonal: f64,
        right: &[f64],
        found: &mut [f64],
    ) -> Result<()> {
        let weight = 1.0 / (level.stride * level.stride) as f64;
        let neighbors = self.neighbors(comm, level, points, found)?;
        let mut side = vec![0.0; right.len()];
        for point in points {
            self.places(level, *point)
                .into_iter()
                .for_each(|place| side[place.clone()].copy_from_slice(&right[place]));
        }
        self.add(level, points, &mut side, weight, &neighbors);
        for point in points {
            self.places(level, *point).into_iter().for_each(|place| found[place].fill(0.0));
        }
        match level.dimension {
            Dimension::Planes => {
                self.cycle(comm, Dimension::Rows, 1, points, diagonal + 2.0 * weight, &side, found)
            }
            Dimension::Rows => {
                for place in points.iter().flat_map(|point| self.places(level, *point)) {
                    eliminate(diagonal + 2.0 * weight, &side[place.clone()], &mut found[place]);
                }
                Ok(())
            }
        }
    }

    /// A cycle over the grids of a dimension from a stride on, for a solution that is zero at
    /// first.
    #[allow(clippy::too_many_arguments, reason = "the grid, and the system on it")]
    fn cycle(
        &self,
        comm: &dyn Comm,
        dimension: Dimension,
        stride: usize,
        others: &[usize],
        diagonal: f64,
        right: &[f64],
        found: &mut [f64],
    ) -> Result<()> {
        let level = self.level(dimension, stride, others);
        let (fine, coarse): (Vec<usize>, Vec<usize>) =
            level.points.iter().partition(|point| self.is_fine(&level, **point));
        if 2 * stride > self.edge {
            return self.relax(comm, &level, &level.points, diagonal, right, found);
        }
        self.relax(comm, &level, &fine, diagonal, right, found)?;
        self.relax(comm, &level, &coarse, diagonal, right, found)?;
        let rest = self.rest(comm, &level, &fine, &coarse, diagonal, right, found)?;
        let mut better = vec![0.0; right.len()];
        self.cycle(comm, dimension, 2 * stride, others, diagonal, &rest, &mut better)?;
        let halves = self.neighbors(comm, &level, &fine, &better)?;
        self.add(&level, &fine, found, 0.5, &halves);
        let own: Vec<Vec<f64>> = coarse.iter().map(|point| self.values(&level, *point, &better)).collect();
        self.add(&level, &coarse, found, 1.0, &own);
        self.relax(comm, &level, &fine, diagonal, right, found)?;
        self.relax(comm, &level, &coarse, diagonal, right, found)
    }

    /// Returns the residual at the coarse points: half of it, and a quarter of each fine
    /// neighbor's.
    #[allow(clippy::too_many_arguments, reason = "the grid, and the system on it")]
    fn rest(
        &self,
        comm: &dyn Comm,
        level: &Level,
        fine: &[usize],
        coarse: &[usize],
        diagonal: f64,
        right: &[f64],
        found: &[f64],
    ) -> Result<Vec<f64>> {
        let weight = 1.0 / (level.stride * level.stride) as f64;
        let mut left = vec![0.0; right.len()];
        let neighbors = self.neighbors(comm, level, &level.points, found)?;
        self.add(level, &level.points, &mut left, weight, &neighbors);
        let within = self.within(comm, level, found)?;
        for point in &level.points {
            for place in self.places(level, *point).into_iter().flatten() {
                left[place] += right[place] + within[place] - (diagonal + 2.0 * weight) * found[place];
            }
        }
        let mut rest = vec![0.0; right.len()];
        let quarters = self.neighbors(comm, level, coarse, &left)?;
        self.add(level, coarse, &mut rest, 0.25, &quarters);
        let own: Vec<Vec<f64>> = coarse.iter().map(|point| self.values(level, *point, &left)).collect();
        self.add(level, coarse, &mut rest, 0.5, &own);
        debug_assert_eq!(fine.len() + coarse.len(), level.points.len());
        Ok(rest)
    }

    /// The neighbors in the dimensions before this one, at all points of a level: along the line,
    /// and for planes across the rows, with the rows' own share of the diagonal.
    fn within(&self, comm: &dyn Comm, level: &Level, found: &[f64]) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; found.len()];
        for place in level.points.iter().flat_map(|point| self.places(level, *point)) {
            for at in place.clone() {
                let before = if at > place.start { found[at - 1] } else { 0.0 };
                let after = if at + 1 < place.end { found[at + 1] } else { 0.0 };
                sums[at] = before + after;
            }
        }
        if level.dimension == Dimension::Planes {
            let rows = self.level(Dimension::Rows, 1, &level.points);
            if !level.points.is_empty() {
                let across = self.neighbors(comm, &rows, &rows.points, found)?;
                self.add(&rows, &rows.points, &mut sums, 1.0, &across);
                for place in level.points.iter().flat_map(|point| self.places(level, *point)).flatten() {
                    sums[place] -= 2.0 * found[place];
                }
            }
        }
        Ok(sums)
    }

    /// The known solution, at a place of this rank or one beside it; zero outside of the cube.
    fn truth(&self, [x, row, plane]: [isize; 3]) -> f64 {
        let global = [
            x,
            (self.lines[0].at * self.own[0]) as isize + row,
            (self.lines[1].at * self.own[1]) as isize + plane,
        ];
        let edge = self.edge as isize;
        if global.iter().any(|at| !(0..edge).contains(at)) {
            return 0.0;
        }
        noise(((global[2] * edge + global[1]) * edge + global[0]) as u64)
    }

    fn place(&self, at: usize) -> [isize; 3] {
        [at % self.edge, at / self.edge % self.own[0], at / (self.edge * self.own[0])].map(|at| at as isize)
    }

    /// The right side, without any message.
    fn right_side(&self) -> Vec<f64> {
        let of = |at: usize| {
            let [x, y, z] = self.place(at);
            let beside =
                [[x - 1, y, z], [x + 1, y, z], [x, y - 1, z], [x, y + 1, z], [x, y, z - 1], [x, y, z + 1]];
            6.0 * self.truth([x, y, z]) - beside.map(|place| self.truth(place)).iter().sum::<f64>()
        };
        (0..self.edge * self.own[0] * self.own[1]).map(of).collect()
    }
}

/// Solves a line: `diagonal` plus two on the diagonal and minus one beside it (L. Thomas, 1949).
fn eliminate(diagonal: f64, right: &[f64], found: &mut [f64]) {
    let mut factors = vec![0.0; right.len()];
    let (mut factor, mut value) = (0.0, 0.0);
    for (at, right) in right.iter().enumerate() {
        let pivot = diagonal + factor;
        value = (right + value) / pivot;
        factor = -1.0 / pivot;
        (factors[at], found[at]) = (factor, value);
    }
    for at in (0..right.len().saturating_sub(1)).rev() {
        found[at] -= factors[at] * found[at + 1];
    }
}

/// The share of the undivided dimension in the diagonal.
const LINE_DIAGONAL: f64 = 2.0;

impl Kernel for Semicoarse {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        let right = self.right_side();
        let mut found = vec![0.0; right.len()];
        let mut left = right.clone();
        for cycle in 0..CYCLES {
            let mut better = vec![0.0; right.len()];
            self.cycle(comm, Dimension::Planes, 1, &[], LINE_DIAGONAL, &left, &mut better)?;
            found.iter_mut().zip(&better).for_each(|(found, better)| *found += better);
            if cycle + 1 < CYCLES {
                left = self.left_over(comm, &right, &found)?;
            }
        }
        self.found = found;
        Ok(())
    }

    fn verify(&mut self, comm: &dyn Comm) -> Result<()> {
        let truth: Vec<f64> = (0..self.found.len()).map(|at| self.truth(self.place(at))).collect();
        let off: f64 = self.found.iter().zip(&truth).map(|(found, truth)| (found - truth).powi(2)).sum();
        let mut squares = [off, truth.iter().map(|truth| truth * truth).sum()];
        comm.sum(&mut squares)?;
        let left = (squares[0] / squares[1]).sqrt();
        ensure!(left < FALLS_TO, "after {CYCLES} cycles {left} of the error is left, not {FALLS_TO}");
        Ok(())
    }
}

impl Semicoarse {
    /// Returns the residual on the finest grid.
    fn left_over(&self, comm: &dyn Comm, right: &[f64], found: &[f64]) -> Result<Vec<f64>> {
        let level = self.level(Dimension::Planes, 1, &[]);
        let mut left = self.within(comm, &level, found)?;
        let neighbors = self.neighbors(comm, &level, &level.points, found)?;
        self.add(&level, &level.points, &mut left, 1.0, &neighbors);
        let own = LINE_DIAGONAL + 2.0;
        left.iter_mut().zip(right).zip(found).for_each(|((left, right), found)| *left += right - own * found);
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elimination_solves_a_line() {
        let (right, mut found) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
        eliminate(4.0, &right, &mut found);
        for at in 0..4 {
            let before = if at > 0 { found[at - 1] } else { 0.0 };
            let after = if at < 3 { found[at + 1] } else { 0.0 };
            assert!((4.0 * found[at] - before - after - right[at]).abs() < 1e-12);
        }
    }
}
