//! MG: a periodic Poisson problem on a cube, by multigrid cycles. The cube is divided in three
//! dimensions; on each of ever coarser grids the six faces go to the neighbors, dimension by
//! dimension so that edges and corners come along, until a rank has a single point in some
//! dimension. The solution is random, so that all frequencies are in it.

use super::Kernel;
use super::comm::Comm;
use super::grid::{Line, cube, edge, noise};
use anyhow::{Result, ensure};

/// Cycles of a round.
const CYCLES: usize = 4;
/// Relaxations before and after a coarser grid, and on the coarsest one.
const RELAXATIONS: usize = 2;
const RELAXATIONS_LAST: usize = 12;
/// The weight of a relaxation (damped Jacobi).
const WEIGHT: f64 = 6.0 / 7.0;
/// The error must fall to this.
const FALLS_TO: f64 = 0.05;

/// Values of a rank on one grid, with a layer of the neighbors' around them.
struct Grid {
    own: [usize; 3],
    values: Vec<f64>,
}

impl Grid {
    fn new(own: [usize; 3]) -> Grid {
        Grid { own, values: vec![0.0; own.iter().map(|own| own + 2).product()] }
    }

    /// The place of a point; the layer has the numbers 0 and one above the last.
    #[inline]
    fn at(&self, x: usize, y: usize, z: usize) -> usize {
        (z * (self.own[1] + 2) + y) * (self.own[0] + 2) + x
    }

    fn points(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [nx, ny, nz] = self.own;
        (1..=nz).flat_map(move |z| (1..=ny).flat_map(move |y| (1..=nx).map(move |x| [x, y, z])))
    }

    fn neighbors(&self, at: usize) -> f64 {
        let (row, plane) = (self.own[0] + 2, (self.own[0] + 2) * (self.own[1] + 2));
        let values = &self.values;
        values[at - 1]
            + values[at + 1]
            + values[at - row]
            + values[at + row]
            + values[at - plane]
            + values[at + plane]
    }

    /// The places of a face with its rim: the points with this number in a dimension.
    fn face(&self, dimension: usize, number: usize) -> Vec<usize> {
        let mut ends = self.own.map(|own| 0..own + 2);
        ends[dimension] = number..number + 1;
        let [xs, ys, zs] = ends;
        let row = |z: usize, y: usize| xs.clone().map(move |x| (x, y, z));
        let places =
            zs.flat_map(|z| ys.clone().flat_map(move |y| row(z, y).collect::<Vec<_>>()).collect::<Vec<_>>());
        places.map(|(x, y, z)| self.at(x, y, z)).collect()
    }

    /// Gets the layer from the neighbors.
    fn refresh(&mut self, comm: &dyn Comm, lines: &[Line; 3]) -> Result<()> {
        for (dimension, line) in lines.iter().enumerate() {
            let last = self.own[dimension];
            let face = |number: usize| -> Vec<f64> {
                self.face(dimension, number).iter().map(|place| self.values[*place]).collect()
            };
            let (low, high) = (face(1), face(last));
            let (mut below, mut above) = (vec![0.0; low.len()], vec![0.0; high.len()]);
            if line.len == 1 {
                (below, above) = (high, low);
            } else {
                let (previous, next) = (line.previous(), line.next());
                // If both neighbors are one rank, its first message is the one that it sends
                // downwards.
                comm.exchange(
                    &[(previous, &low), (next, &high)],
                    &mut [(next, &mut above), (previous, &mut below)],
                )?;
            }
            for (number, came) in [(0, below), (last + 1, above)] {
                let places = self.face(dimension, number);
                places.into_iter().zip(came).for_each(|(place, value)| self.values[place] = value);
            }
        }
        Ok(())
    }
}

/// The solver.
pub(super) struct Multigrid {
    lines: [Line; 3],
    edge: usize,
    own: [usize; 3],
    found: Vec<f64>,
}

impl Multigrid {
    /// The part of this rank.
    ///
    /// # Errors
    /// The number of ranks is no power of two.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize) -> Result<Multigrid> {
        let lines = cube(rank, ranks)?;
        let edge = edge(bytes * ranks / size_of::<f64>(), (2 * lines[0].len).max(4));
        let own = lines.map(|line| edge / line.len);
        Ok(Multigrid { lines, edge, own, found: Vec::new() })
    }

    /// The solution at a point of this rank; numbers begin with 1, and go on round the end.
    fn truth(&self, point: [usize; 3]) -> f64 {
        let global = |dimension: usize| {
            (self.lines[dimension].at * self.own[dimension] + point[dimension] + self.edge - 1) % self.edge
        };
        noise(((global(2) * self.edge + global(1)) * self.edge + global(0)) as u64)
    }

    /// The right side, without any message: six times a value less its neighbors.
    fn right_side(&self) -> Grid {
        let mut right = Grid::new(self.own);
        for point in right.points() {
            let beside = |dimension: usize| {
                let moved = |to: usize| {
                    let mut other = point;
                    other[dimension] = to;
                    self.truth(other)
                };
                moved(point[dimension] - 1) + moved(point[dimension] + 1)
            };
            let at = right.at(point[0], point[1], point[2]);
            right.values[at] = 6.0 * self.truth(point) - beside(0) - beside(1) - beside(2);
        }
        right
    }

    /// Relaxes some times; `scale` is the square of the distance of points.
    fn relax(
        &self,
        comm: &dyn Comm,
        values: &mut Grid,
        right: &Grid,
        scale: f64,
        times: usize,
    ) -> Result<()> {
        for _ in 0..times {
            values.refresh(comm, &self.lines)?;
            let mut next = values.values.clone();
            for [x, y, z] in values.points() {
                let at = values.at(x, y, z);
                let rest = scale * right.values[at] - 6.0 * values.values[at] + values.neighbors(at);
                next[at] += WEIGHT / 6.0 * rest;
            }
            values.values = next;
        }
        Ok(())
    }

    /// Improves values on one grid by the coarser ones.
    fn cycle(&self, comm: &dyn Comm, values: &mut Grid, right: &Grid, scale: f64) -> Result<()> {
        if values.own.iter().any(|own| own % 2 == 1) {
            return self.relax(comm, values, right, scale, RELAXATIONS_LAST);
        }
        self.relax(comm, values, right, scale, RELAXATIONS)?;
        values.refresh(comm, &self.lines)?;
        let coarse_right = coarser(values, right, scale);
        let mut coarse = Grid::new(coarse_right.own);
        self.cycle(comm, &mut coarse, &coarse_right, 4.0 * scale)?;
        coarse.refresh(comm, &self.lines)?;
        add_finer(values, &coarse);
        self.relax(comm, values, right, scale, RELAXATIONS)
    }
}

/// Returns the residual on the coarser grid, each value as the mean of eight points.
fn coarser(values: &Grid, right: &Grid, scale: f64) -> Grid {
    let mut coarse = Grid::new(values.own.map(|own| own / 2));
    for [x, y, z] in values.points() {
        let at = values.at(x, y, z);
        let rest = right.values[at] - (6.0 * values.values[at] - values.neighbors(at)) / scale;
        let up = coarse.at(x.div_ceil(2), y.div_ceil(2), z.div_ceil(2));
        coarse.values[up] += rest / 8.0;
    }
    coarse
}

/// Adds a coarse grid's values to a fine one's: three quarters of the point's own and a quarter of
/// the next one's, in each dimension.
fn add_finer(values: &mut Grid, coarse: &Grid) {
    for point in values.points() {
        let own = point.map(|at| at.div_ceil(2));
        let next = [0, 1, 2]
            .map(|dimension| if point[dimension] % 2 == 1 { own[dimension] - 1 } else { own[dimension] + 1 });
        let mut sum = 0.0;
        for corner in 0..8 {
            let of = |dimension: usize| match corner >> dimension & 1 {
                0 => (own[dimension], 0.75),
                _ => (next[dimension], 0.25),
            };
            let [(x, one), (y, two), (z, three)] = [of(0), of(1), of(2)];
            sum += one * two * three * coarse.values[coarse.at(x, y, z)];
        }
        let at = values.at(point[0], point[1], point[2]);
        values.values[at] += sum;
    }
}

impl Kernel for Multigrid {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        let (right, mut values) = (self.right_side(), Grid::new(self.own));
        (0..CYCLES).try_for_each(|_| self.cycle(comm, &mut values, &right, 1.0))?;
        self.found = values.points().map(|[x, y, z]| values.values[values.at(x, y, z)]).collect();
        Ok(())
    }

    /// The solution is known but for a constant, so both are compared around their means.
    fn verify(&mut self, comm: &dyn Comm) -> Result<()> {
        let truth: Vec<f64> = Grid::new(self.own).points().map(|point| self.truth(point)).collect();
        let mut means = [self.found.iter().sum::<f64>(), truth.iter().sum::<f64>()];
        comm.sum(&mut means)?;
        let [found_mean, mean] = means.map(|sum| sum / self.edge.pow(3) as f64);
        let off = |(found, truth): (&f64, &f64)| (found - found_mean - truth + mean).powi(2);
        let mut squares = [
            self.found.iter().zip(&truth).map(off).sum::<f64>(),
            truth.iter().map(|truth| (truth - mean).powi(2)).sum::<f64>(),
        ];
        comm.sum(&mut squares)?;
        let left = (squares[0] / squares[1]).sqrt();
        ensure!(left < FALLS_TO, "after {CYCLES} cycles {left} of the error is left, not {FALLS_TO}");
        Ok(())
    }
}
