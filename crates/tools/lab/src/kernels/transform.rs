//! FT: a cube is transformed to its frequencies and back. It is divided into slabs along its third
//! dimension; after the transforms within the slabs one alltoall turns it, so that the third
//! dimension lies whole on each rank. Between the two transforms the frequencies are multiplied by
//! those of a shift by one point, so that the field comes back moved, and the energy must be the
//! same in both forms.

use super::Kernel;
use super::comm::Comm;
use super::grid::{edge, exponent, noise};
use anyhow::{Result, ensure};
use std::f64::consts::TAU;

/// A complex number.
type Complex = [f64; 2];
/// The field must come back as near as this.
const ERROR_MAX: f64 = 1e-10;

/// The transform.
pub(super) struct Transform {
    rank: usize,
    ranks: usize,
    edge: usize,
    /// Half of the roots of one.
    roots: Vec<Complex>,
    /// The values, by plane, row and column.
    field: Vec<Complex>,
    energy: f64,
}

fn times(one: Complex, other: Complex) -> Complex {
    [one[0] * other[0] - one[1] * other[1], one[0] * other[1] + one[1] * other[0]]
}

/// Transforms a line in place (J. Cooley and J. Tukey, 1965); `back` conjugates the roots and does
/// not divide.
fn line(values: &mut [Complex], roots: &[Complex], back: bool) {
    let count = values.len();
    let shift = usize::BITS - count.trailing_zeros();
    for at in 0..count {
        let other = if count > 1 { at.reverse_bits() >> shift } else { at };
        if at < other {
            values.swap(at, other);
        }
    }
    let mut half = 1;
    while half < count {
        for start in (0..count).step_by(2 * half) {
            for at in 0..half {
                let [re, im] = roots[at * (count / (2 * half))];
                let root = if back { [re, -im] } else { [re, im] };
                let (one, other) = (values[start + at], times(root, values[start + at + half]));
                values[start + at] = [one[0] + other[0], one[1] + other[1]];
                values[start + at + half] = [one[0] - other[0], one[1] - other[1]];
            }
        }
        half *= 2;
    }
}

impl Transform {
    /// The slab of this rank.
    ///
    /// # Errors
    /// The number of ranks is no power of two.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize) -> Result<Transform> {
        exponent(ranks)?;
        let edge = edge(bytes * ranks / size_of::<Complex>(), ranks.max(4));
        let root = |at: usize| {
            let angle = -TAU * at as f64 / edge as f64;
            [angle.cos(), angle.sin()]
        };
        let mut transform = Transform {
            rank,
            ranks,
            edge,
            roots: (0..edge / 2).map(root).collect(),
            field: Vec::new(),
            energy: 0.0,
        };
        transform.field = transform.original(0);
        Ok(transform)
    }

    fn planes(&self) -> usize {
        self.edge / self.ranks
    }

    /// The field before, moved so far along its rows.
    fn original(&self, moved: usize) -> Vec<Complex> {
        let (edge, planes) = (self.edge, self.planes());
        let value = |at: usize| {
            let (x, row) = (at % edge, at / edge + self.rank * planes * edge);
            let at = (row * edge + (x + edge - moved) % edge) as u64;
            [noise(2 * at), noise(2 * at + 1)]
        };
        (0..planes * edge * edge).map(value).collect()
    }

    /// Rows and columns of each plane.
    fn within(&mut self, back: bool) {
        let edge = self.edge;
        let mut column = vec![[0.0; 2]; edge];
        for plane in self.field.chunks_mut(edge * edge) {
            plane.chunks_mut(edge).for_each(|row| line(row, &self.roots, back));
            for x in 0..edge {
                (0..edge).for_each(|y| column[y] = plane[y * edge + x]);
                line(&mut column, &self.roots, back);
                (0..edge).for_each(|y| plane[y * edge + x] = column[y]);
            }
        }
    }

    /// Turns slabs of planes into slabs of columns, in which the third dimension is whole, or back.
    /// In the first form a value lies at (z, y, x), in the second at (x, y, z), each with its own
    /// part of the first number.
    fn turn(&mut self, comm: &dyn Comm) -> Result<()> {
        let (edge, planes) = (self.edge, self.planes());
        let mut own = Vec::with_capacity(2 * self.field.len());
        for rank in 0..self.ranks {
            for row in self.field.chunks(edge) {
                own.extend(row[rank * planes..(rank + 1) * planes].iter().flatten());
            }
        }
        let mut came = vec![0.0; own.len()];
        comm.alltoall(&own, &mut came)?;
        let mut values = came.chunks_exact(2);
        for rank in 0..self.ranks {
            for z in rank * planes..(rank + 1) * planes {
                for y in 0..edge {
                    for x in 0..planes {
                        let value = values.next().map_or([0.0; 2], |value| [value[0], value[1]]);
                        self.field[(x * edge + y) * edge + z] = value;
                    }
                }
            }
        }
        Ok(())
    }

    /// The third dimension, when it lies in rows.
    fn along(&mut self, back: bool) {
        self.field.chunks_mut(self.edge).for_each(|row| line(row, &self.roots, back));
    }

    /// Multiplies by the frequencies of a shift by one along the first dimension, whose own part
    /// this rank has now.
    fn shift(&mut self) {
        let (edge, first) = (self.edge, self.rank * self.planes());
        for (at, value) in self.field.iter_mut().enumerate() {
            let angle = -TAU * (at / (edge * edge) + first) as f64 / edge as f64;
            *value = times(*value, [angle.cos(), angle.sin()]);
        }
    }
}

fn energy(field: &[Complex]) -> f64 {
    field.iter().map(|[re, im]| re * re + im * im).sum()
}

impl Kernel for Transform {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        self.field = self.original(0);
        self.within(false);
        self.turn(comm)?;
        self.along(false);
        self.energy = energy(&self.field);
        self.shift();
        self.along(true);
        self.turn(comm)?;
        self.within(true);
        let points = self.edge.pow(3) as f64;
        self.field.iter_mut().flatten().for_each(|value| *value /= points);
        Ok(())
    }

    fn verify(&mut self, comm: &dyn Comm) -> Result<()> {
        let right = self.original(1);
        let off =
            |(one, other): (&Complex, &Complex)| (one[0] - other[0]).abs().max((one[1] - other[1]).abs());
        let worst = self.field.iter().zip(&right).map(off).fold(0.0, f64::max);
        let mut energies = [self.energy, energy(&right) * self.edge.pow(3) as f64];
        comm.sum(&mut energies)?;
        ensure!(
            worst < ERROR_MAX && self.field.iter().flatten().all(|value| value.is_finite()),
            "the field came back off by {worst}"
        );
        ensure!((energies[0] / energies[1] - 1.0).abs() < 1e-9, "the energies differ: {energies:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_has_one_frequency() {
        let roots: Vec<Complex> = (0..4)
            .map(|at| {
                let angle = -TAU * f64::from(at) / 8.0;
                [angle.cos(), angle.sin()]
            })
            .collect();
        let mut wave: Vec<Complex> = (0..8)
            .map(|at| {
                let angle = TAU * 3.0 * f64::from(at) / 8.0;
                [angle.cos(), angle.sin()]
            })
            .collect();
        line(&mut wave, &roots, false);
        for (at, value) in wave.iter().enumerate() {
            let right = if at == 3 { 8.0 } else { 0.0 };
            assert!((value[0] - right).abs() < 1e-12 && value[1].abs() < 1e-12, "{wave:?}");
        }
    }
}
