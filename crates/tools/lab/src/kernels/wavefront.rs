//! LU: a lower and an upper sweep through a cube whose first two dimensions are divided among a
//! plane of ranks. Each value follows from those before it in all three dimensions, so plane after
//! plane a rank waits for a line of its two neighbours and sends one to the two others: a wave of
//! short messages runs through the ranks, and back again.

use super::Kernel;
use super::comm::Comm;
use super::grid::{Line, edge, plane};
use anyhow::{Result, ensure};

/// Values of a point, as in the original.
const PARTS: usize = 5;
/// The rise of the solution from point to point in each dimension.
const SLOPES: [f64; 3] = [1.0, 2.0, 3.0];
/// The amount by which a value exceeds the mean of the three before it.
const STEP: f64 = (SLOPES[0] + SLOPES[1] + SLOPES[2]) / 3.0;
/// The solution must be as near as this, in parts of its size.
const ERROR_MAX: f64 = 1e-11;

/// The sweeps.
pub(super) struct Wavefront {
    lines: [Line; 2],
    /// Points of this rank in each dimension.
    own: [usize; 3],
    values: Vec<[f64; PARTS]>,
    /// The result of the lower sweep at its last corner.
    lower_corner: f64,
}

/// The direction of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

impl Wavefront {
    /// The part of this rank.
    ///
    /// # Errors
    /// The number of ranks is no power of two.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize) -> Result<Wavefront> {
        let lines = plane(rank, ranks)?;
        let edge = edge(bytes * ranks / (PARTS * size_of::<f64>()), 2 * lines[0].len);
        let own = [edge / lines[0].len, edge / lines[1].len, edge];
        Ok(Wavefront { lines, own, values: vec![[0.0; PARTS]; own.iter().product()], lower_corner: 0.0 })
    }

    /// The known solution at a point of this rank; the point may be one before the first or one
    /// after the last.
    fn truth(&self, at: [isize; 3], part: usize) -> f64 {
        let first = |dimension: usize| (self.lines[dimension].at * self.own[dimension]) as isize;
        let global = [at[0] + first(0), at[1] + first(1), at[2]];
        part as f64 + global.iter().zip(SLOPES).map(|(at, slope)| *at as f64 * slope).sum::<f64>()
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.own[1] + y) * self.own[0] + x
    }

    fn sweep(&mut self, comm: &dyn Comm, way: Way) -> Result<()> {
        for step in 0..self.own[2] {
            let z = if way == Way::Up { step } else { self.own[2] - 1 - step };
            let before = [self.receive(comm, way, 0, z)?, self.receive(comm, way, 1, z)?];
            self.compute(way, z, &before);
            self.send(comm, way, 0, z)?;
            self.send(comm, way, 1, z)?;
        }
        Ok(())
    }

    /// The values of a plane just before this rank's in a dimension: the neighbour's, or at the
    /// edge the known ones.
    fn receive(&self, comm: &dyn Comm, way: Way, dimension: usize, z: usize) -> Result<Vec<f64>> {
        let length = self.own[1 - dimension];
        let neighbour = match way {
            Way::Up => self.lines[dimension].before(1),
            Way::Down => self.lines[dimension].after(1),
        };
        let mut values = vec![0.0; length * PARTS];
        if let Some(neighbour) = neighbour {
            comm.recv(&mut values, neighbour)?;
            return Ok(values);
        }
        let outside = if way == Way::Up { -1 } else { self.own[dimension] as isize };
        for (at, value) in values.iter_mut().enumerate() {
            let mut place = [0, 0, z as isize];
            (place[dimension], place[1 - dimension]) = (outside, (at / PARTS) as isize);
            *value = self.truth(place, at % PARTS);
        }
        Ok(values)
    }

    fn compute(&mut self, way: Way, z: usize, before: &[Vec<f64>; 2]) {
        let [nx, ny, nz] = self.own;
        let (sign, first) = if way == Way::Up { (1.0, 0) } else { (-1.0, usize::MAX) };
        for step in 0..nx * ny {
            let at = if way == Way::Up { step } else { nx * ny - 1 - step };
            let (x, y) = (at % nx, at / nx);
            let is_first = |at: usize, len: usize| at == if first == 0 { 0 } else { len - 1 };
            let previous = |at: usize| if way == Way::Up { at.wrapping_sub(1) } else { at + 1 };
            for part in 0..PARTS {
                let value = |place: [usize; 3]| self.values[self.index(place)][part];
                let west =
                    if is_first(x, nx) { before[0][y * PARTS + part] } else { value([previous(x), y, z]) };
                let south =
                    if is_first(y, ny) { before[1][x * PARTS + part] } else { value([x, previous(y), z]) };
                let below = match is_first(z, nz) {
                    true => {
                        self.truth([x as isize, y as isize, if first == 0 { -1 } else { nz as isize }], part)
                    }
                    false => value([x, y, previous(z)]),
                };
                let index = self.index([x, y, z]);
                self.values[index][part] = (west + south + below) / 3.0 + sign * STEP;
            }
        }
    }

    /// Sends the last line of a plane to the next rank in a dimension, if there is one.
    fn send(&self, comm: &dyn Comm, way: Way, dimension: usize, z: usize) -> Result<()> {
        let (neighbour, last) = match way {
            Way::Up => (self.lines[dimension].after(1), self.own[dimension] - 1),
            Way::Down => (self.lines[dimension].before(1), 0),
        };
        let Some(neighbour) = neighbour else { return Ok(()) };
        let line = (0..self.own[1 - dimension]).flat_map(|at| {
            let mut place = [0, 0, z];
            (place[dimension], place[1 - dimension]) = (last, at);
            self.values[self.index(place)]
        });
        comm.send(&line.collect::<Vec<_>>(), neighbour)
    }
}

impl Kernel for Wavefront {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        self.values.fill([0.0; PARTS]);
        self.sweep(comm, Way::Up)?;
        self.lower_corner = self.values[self.values.len() - 1][PARTS - 1];
        self.sweep(comm, Way::Down)
    }

    fn verify(&mut self, comm: &dyn Comm) -> Result<()> {
        let [nx, ny, nz] = self.own;
        let near = |value: f64, truth: f64| (value - truth).abs() <= ERROR_MAX * (1.0 + truth.abs());
        let mut sum = 0.0;
        for (at, values) in self.values.iter().enumerate() {
            let place = [at % nx, at / nx % ny, at / (nx * ny)].map(|at| at as isize);
            for (part, &value) in values.iter().enumerate() {
                let truth = self.truth(place, part);
                ensure!(near(value, truth), "the upper sweep gave {value} where {truth} is right");
                sum += value;
            }
        }
        let corner = self.truth([nx as isize - 1, ny as isize - 1, nz as isize - 1], PARTS - 1);
        ensure!(
            near(self.lower_corner, corner),
            "the lower sweep gave {} where {corner} is right",
            self.lower_corner
        );
        let mut all = [sum];
        comm.sum(&mut all)?;
        let (points, middle) = ((nz * nz * nz) as f64, (nz - 1) as f64 / 2.0);
        let mean = (PARTS - 1) as f64 / 2.0 + middle * SLOPES.iter().sum::<f64>();
        let right = points * PARTS as f64 * mean;
        ensure!((all[0] / right - 1.0).abs() < 1e-9, "the sum of all is {}, not {right}", all[0]);
        Ok(())
    }
}
