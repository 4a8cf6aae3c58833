//! SP and BT: systems along all lines of a cube, in each of its three dimensions. The ranks are a
//! square; each has as many cells as the square's edge is long, on a diagonal of the cube, so that
//! in every dimension each slab of cells keeps all ranks busy (the multipartition scheme: N. Naik,
//! V. Naik and M. Nicoules, Parallelization of a class of implicit finite difference schemes,
//! 1993). First all faces go to the six neighbors; then elimination runs forward through the cells
//! of a line, and substitution back, with a message from each cell to the next. In SP the five
//! values of a point are systems of their own, in BT a point is a block of five by five.

use super::Kernel;
use super::comm::Comm;
use super::grid::noise;
use anyhow::{Result, ensure};

/// Values of a point.
const PARTS: usize = 5;
/// Values of a point.
type Point = [f64; PARTS];
/// A block.
type Block = [Point; PARTS];
/// The solution must be as near as this.
const ERROR_MAX: f64 = 1e-10;

/// The kind of a point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Five systems (SP).
    Scalar,
    /// One system of blocks (BT).
    Blocks,
}

impl Kind {
    /// Numbers that go on from a point to the next one in elimination.
    fn state(self) -> usize {
        match self {
            Kind::Scalar => 2 * PARTS,
            Kind::Blocks => PARTS * PARTS + PARTS,
        }
    }

    /// The diagonal of the systems; beside it is minus one (times the unit matrix).
    fn diagonal(self) -> Block {
        let entry = |row: usize, column: usize| match (self, row == column) {
            (_, true) => 4.0 + 0.2 * row as f64,
            (Kind::Scalar, false) => 0.0,
            (Kind::Blocks, false) => 0.1 + 0.02 * (row * PARTS + column) as f64 / PARTS as f64,
        };
        std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
    }

    /// The state of a point from that of the one before: the upper block and the right side after
    /// elimination. `before` is zero for the first.
    fn eliminate(self, diagonal: &Block, right: &Point, before: &[f64], state: &mut [f64]) {
        match self {
            Kind::Scalar => {
                for part in 0..PARTS {
                    let pivot = diagonal[part][part] + before[part];
                    state[part] = -1.0 / pivot;
                    state[PARTS + part] = (right[part] + before[PARTS + part]) / pivot;
                }
            }
            Kind::Blocks => {
                let (upper, sides) = before.split_at(PARTS * PARTS);
                let pivot: Block = std::array::from_fn(|row| {
                    std::array::from_fn(|column| diagonal[row][column] + upper[row * PARTS + column])
                });
                let inverse = inverse(pivot);
                for row in 0..PARTS {
                    (0..PARTS).for_each(|column| state[row * PARTS + column] = -inverse[row][column]);
                    let sum = (0..PARTS).map(|at| inverse[row][at] * (right[at] + sides[at]));
                    state[PARTS * PARTS + row] = sum.sum();
                }
            }
        }
    }

    /// The values of a point from its state and the values of the next one, zero for the last.
    fn substitute(self, state: &[f64], next: &Point) -> Point {
        match self {
            Kind::Scalar => std::array::from_fn(|part| state[PARTS + part] - state[part] * next[part]),
            Kind::Blocks => std::array::from_fn(|row| {
                let above: f64 = (0..PARTS).map(|at| state[row * PARTS + at] * next[at]).sum();
                state[PARTS * PARTS + row] - above
            }),
        }
    }
}

/// The inverse of a block whose diagonal dominates (Gauss and Jordan; such a block needs no
/// exchange of rows).
fn inverse(mut block: Block) -> Block {
    let mut inverse: Block =
        std::array::from_fn(|row| std::array::from_fn(|column| f64::from(u8::from(row == column))));
    for pivot in 0..PARTS {
        let scale = 1.0 / block[pivot][pivot];
        (0..PARTS).for_each(|at| {
            block[pivot][at] *= scale;
            inverse[pivot][at] *= scale;
        });
        let (one, other) = (block[pivot], inverse[pivot]);
        for row in (0..PARTS).filter(|row| *row != pivot) {
            let factor = block[row][pivot];
            (0..PARTS).for_each(|at| {
                block[row][at] -= factor * one[at];
                inverse[row][at] -= factor * other[at];
            });
        }
    }
    inverse
}

/// The systems.
pub(super) struct Lines {
    kind: Kind,
    /// Place in the square.
    place: [usize; 2],
    /// The square's edge, and so the cells of a rank.
    square: usize,
    /// The edge of a cell.
    edge: usize,
    /// The values of each cell.
    cells: Vec<Vec<Point>>,
}

impl Lines {
    /// The cells of this rank.
    ///
    /// # Errors
    /// The number of ranks is no square.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize, kind: Kind) -> Result<Lines> {
        let square = ranks.isqrt();
        ensure!(
            square * square == ranks,
            "this kernel needs a number of ranks that is a square, not {ranks}"
        );
        let mut edge = 2;
        while (edge + 1usize).pow(3) * square * size_of::<Point>() <= bytes {
            edge += 1;
        }
        let cells = vec![vec![[0.0; PARTS]; edge.pow(3)]; square];
        Ok(Lines { kind, place: [rank % square, rank / square], square, edge, cells })
    }

    /// Returns the place of a cell, in cells.
    fn cell_place(&self, cell: usize) -> [usize; 3] {
        let [one, other] = self.place;
        [cell, (one + cell) % self.square, (other + cell) % self.square]
    }

    /// The cell of this rank in a slab of a dimension.
    fn in_slab(&self, dimension: usize, slab: usize) -> usize {
        match dimension {
            0 => slab,
            _ => (slab + self.square - self.place[dimension - 1]) % self.square,
        }
    }

    /// The rank that has the next cells in a dimension, or those before.
    fn neighbor(&self, dimension: usize, next: bool) -> usize {
        let (forth, back) = if next { (1, self.square - 1) } else { (self.square - 1, 1) };
        let moves = match dimension {
            0 => [back, back],
            1 => [forth, 0],
            _ => [0, forth],
        };
        let [one, other] = [0, 1].map(|at| (self.place[at] + moves[at]) % self.square);
        other * self.square + one
    }

    /// The place in a cell of a point at depth `along` in a dimension, and `line` of those across.
    fn index(&self, dimension: usize, line: usize, along: usize) -> usize {
        let (one, other, edge) = (line % self.edge, line / self.edge, self.edge);
        match dimension {
            0 => (other * edge + one) * edge + along,
            1 => (other * edge + along) * edge + one,
            _ => (along * edge + other) * edge + one,
        }
    }

    fn truth(&self, cell: usize, index: usize) -> Point {
        let edge = self.edge;
        let place = self.cell_place(cell);
        let global = |dimension: usize, at: usize| place[dimension] * edge + at;
        let all = self.square * edge;
        let at = (global(2, index / (edge * edge)) * all + global(1, index / edge % edge)) * all
            + global(0, index % edge);
        std::array::from_fn(|part| 1.0 + noise((at * PARTS + part) as u64))
    }

    /// Faces of all cells at one of their ends, in the order of the cells, without those at that
    /// end of the cube.
    fn faces(&self, dimension: usize, high: bool) -> Vec<f64> {
        let (outermost, along) = if high { (self.square - 1, self.edge - 1) } else { (0, 0) };
        let inner = (0..self.square).filter(|cell| self.cell_place(*cell)[dimension] != outermost);
        inner
            .flat_map(|cell| {
                (0..self.edge.pow(2))
                    .flat_map(move |line| self.cells[cell][self.index(dimension, line, along)])
            })
            .collect()
    }

    /// The neighbors' faces in a dimension: before, and after.
    fn exchange(&self, comm: &dyn Comm, dimension: usize) -> Result<[Vec<f64>; 2]> {
        let (low, high) = (self.faces(dimension, false), self.faces(dimension, true));
        let (mut before, mut after) = (vec![0.0; high.len()], vec![0.0; low.len()]);
        if self.square > 1 {
            let [next, previous] = [true, false].map(|next| self.neighbor(dimension, next));
            comm.exchange(
                &[(next, &high), (previous, &low)],
                &mut [(previous, &mut before), (next, &mut after)],
            )?;
        }
        Ok([before, after])
    }

    /// The right sides: the systems of a dimension times the values.
    fn right_sides(
        &self,
        dimension: usize,
        diagonal: &Block,
        [before, after]: &[Vec<f64>; 2],
    ) -> Vec<Vec<Point>> {
        let lines = self.edge.pow(2);
        let (mut befores, mut afters) =
            (before.chunks_exact(lines * PARTS), after.chunks_exact(lines * PARTS));
        let mut sides = Vec::with_capacity(self.square);
        for (cell, values) in self.cells.iter().enumerate() {
            let slab = self.cell_place(cell)[dimension];
            // A cell that lies at an end of the cube has nothing beyond it.
            let low = if slab == 0 { None } else { befores.next() };
            let high = if slab == self.square - 1 { None } else { afters.next() };
            let beside = |face: Option<&[f64]>, line: usize, part: usize| {
                face.map_or(0.0, |face| face[line * PARTS + part])
            };
            let mut side = vec![[0.0; PARTS]; values.len()];
            for line in 0..lines {
                for along in 0..self.edge {
                    let at = |along: usize| &values[self.index(dimension, line, along)];
                    let own = at(along);
                    side[self.index(dimension, line, along)] = std::array::from_fn(|part| {
                        let one = if along == 0 { beside(low, line, part) } else { at(along - 1)[part] };
                        let other = if along + 1 == self.edge {
                            beside(high, line, part)
                        } else {
                            at(along + 1)[part]
                        };
                        (0..PARTS).map(|at| diagonal[part][at] * own[at]).sum::<f64>() - one - other
                    });
                }
            }
            sides.push(side);
        }
        sides
    }

    /// Solves all lines of a dimension: values for each cell.
    fn solve(
        &self,
        comm: &dyn Comm,
        dimension: usize,
        diagonal: &Block,
        sides: &[Vec<Point>],
    ) -> Result<Vec<Vec<Point>>> {
        let (lines, size) = (self.edge.pow(2), self.kind.state());
        let (previous, next) = (self.neighbor(dimension, false), self.neighbor(dimension, true));
        let mut states = vec![vec![0.0; self.edge.pow(3) * size]; self.square];
        let mut edges = vec![0.0; lines * size];
        for slab in 0..self.square {
            let cell = self.in_slab(dimension, slab);
            for line in 0..lines {
                let own = &mut edges[line * size..(line + 1) * size];
                for along in 0..self.edge {
                    let index = self.index(dimension, line, along);
                    let state = &mut states[cell][index * size..(index + 1) * size];
                    self.kind.eliminate(diagonal, &sides[cell][index], own, state);
                    own.copy_from_slice(state);
                }
            }
            if slab + 1 < self.square {
                edges = pass_on(comm, &edges, next, previous)?;
            }
        }
        let mut solved = vec![vec![[0.0; PARTS]; self.edge.pow(3)]; self.square];
        let mut firsts = vec![0.0; lines * PARTS];
        for slab in (0..self.square).rev() {
            let cell = self.in_slab(dimension, slab);
            for line in 0..lines {
                let last = &mut firsts[line * PARTS..(line + 1) * PARTS];
                for along in (0..self.edge).rev() {
                    let index = self.index(dimension, line, along);
                    let above: Point = std::array::from_fn(|part| last[part]);
                    let values =
                        self.kind.substitute(&states[cell][index * size..(index + 1) * size], &above);
                    solved[cell][index] = values;
                    last.copy_from_slice(&values);
                }
            }
            if slab > 0 {
                firsts = pass_on(comm, &firsts, previous, next)?;
            }
        }
        Ok(solved)
    }
}

/// Passes the values on, and returns what comes from the other side. All ranks do so at the same
/// time, in a circle, so none may wait until its own are taken before it takes the others.
fn pass_on(comm: &dyn Comm, values: &[f64], to: usize, from: usize) -> Result<Vec<f64>> {
    let mut came = vec![0.0; values.len()];
    comm.exchange(&[(to, values)], &mut [(from, &mut came)])?;
    Ok(came)
}

impl Kernel for Lines {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        for cell in 0..self.square {
            self.cells[cell] = (0..self.edge.pow(3)).map(|index| self.truth(cell, index)).collect();
        }
        let diagonal = self.kind.diagonal();
        let faces = [0, 1, 2].map(|dimension| self.exchange(comm, dimension));
        let mut sums = vec![vec![[0.0; PARTS]; self.edge.pow(3)]; self.square];
        for (dimension, faces) in faces.into_iter().enumerate() {
            let sides = self.right_sides(dimension, &diagonal, &faces?);
            let solved = self.solve(comm, dimension, &diagonal, &sides)?;
            let pairs = sums.iter_mut().flatten().flatten().zip(solved.iter().flatten().flatten());
            pairs.for_each(|(sum, value)| *sum += value / 3.0);
        }
        self.cells = sums;
        Ok(())
    }

    fn verify(&mut self, _: &dyn Comm) -> Result<()> {
        for cell in 0..self.square {
            for (index, values) in self.cells[cell].iter().enumerate() {
                let truth = self.truth(cell, index);
                let worst =
                    values.iter().zip(&truth).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
                ensure!(
                    worst < ERROR_MAX && values.iter().all(|value| value.is_finite()),
                    "the solution is off by {worst}"
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_times_its_inverse_is_one() {
        let block = Kind::Blocks.diagonal();
        let other = inverse(block);
        for (at, row) in block.iter().enumerate() {
            let product =
                |column: usize| row.iter().zip(&other).map(|(value, line)| value * line[column]).sum::<f64>();
            assert!(
                (0..PARTS).all(|column| (product(column) - f64::from(u8::from(at == column))).abs() < 1e-12)
            );
        }
    }

    #[test]
    fn cells_and_neighbours_fit_together() {
        let of = |rank: usize| Lines::new(4096, rank, 9, Kind::Scalar).expect("a square");
        for rank in 0..9 {
            for dimension in 0..3 {
                let next = of(rank).neighbor(dimension, true);
                assert_eq!(of(next).neighbor(dimension, false), rank);
                for slab in 0..2 {
                    let (mine, theirs) = (of(rank), of(next));
                    let mut place = mine.cell_place(mine.in_slab(dimension, slab));
                    assert_eq!(place[dimension], slab);
                    place[dimension] += 1;
                    assert_eq!(theirs.cell_place(theirs.in_slab(dimension, slab + 1)), place);
                }
            }
        }
    }
}
