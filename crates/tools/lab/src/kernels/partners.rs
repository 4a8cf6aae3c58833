//! The partners of a rank in each kernel, for counting (paper 1, table 1).

use super::grid::{Line, cube, plane};
use crate::metric::Metric;
use std::collections::BTreeSet;

/// Returns the mean number of ranks that send a rank messages between pairs. `None` for kernels
/// that only speak in collectives, or that cannot be divided among this many ranks.
pub fn mean_sources(metric: Metric, ranks: usize) -> Option<f64> {
    let of: fn(usize, usize) -> Option<BTreeSet<usize>> = match metric {
        Metric::KernelCg => |rank, ranks| super::gradient::partners(rank, ranks).ok(),
        Metric::KernelLu => |rank, ranks| {
            let lines = plane(rank, ranks).ok()?;
            Some(lines.iter().flat_map(|line| [line.before(1), line.after(1)]).flatten().collect())
        },
        Metric::KernelSmg => |rank, ranks| {
            let lines = cube(rank, ranks).ok()?;
            Some(lines.iter().flat_map(at_any_distance).collect())
        },
        _ => return None,
    };
    let counts: Option<Vec<usize>> = (0..ranks).map(|rank| Some(of(rank, ranks)?.len())).collect();
    Some(counts?.iter().sum::<usize>() as f64 / ranks as f64)
}

/// The ranks of a line at the distances 1, 2, 4, ...: coarse grids skip those between, if they take
/// part.
fn at_any_distance(line: &Line) -> Vec<usize> {
    let distances = std::iter::successors(Some(1), |distance| Some(distance * 2));
    let distances = distances.take_while(|distance| *distance < line.len);
    let taking_part = distances.filter(|distance| line.at.is_multiple_of(*distance));
    taking_part.flat_map(|distance| [line.before(distance), line.after(distance)]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_of_8_by_8_has_the_papers_sources() {
        assert_eq!(mean_sources(Metric::KernelLu, 64), Some(3.5));
        assert_eq!(mean_sources(Metric::KernelLu, 1024), Some(3.875));
        assert_eq!(mean_sources(Metric::KernelFt, 64), None);
    }
}
