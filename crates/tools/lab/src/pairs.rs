//! Several pairs of ranks at once (paper 5, Multi PingPong): rank `i` of the lower half and rank
//! `i + size / 2`, which lie on two nodes where each has half of the ranks.
//!
//! All pairs play ping-pong at the same time; payload bytes of a message over half the round trip
//! of the slowest pair, times the pairs.

use super::metric::Point;
use super::timing::{Clock, Effort, measure};
use crate::buffer::Buffer;
use crate::mpi::World;
use anyhow::{Result, ensure};

/// Measures one point: samples in GB/s, iterations.
///
/// # Errors
/// MPI fails, or the number of ranks is odd.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    let half = world.size() / 2;
    ensure!(half > 0 && world.size() % 2 == 0, "{point} needs an even number of ranks");
    let (from, to) = (Buffer::new(point.bytes), Buffer::new(point.bytes));
    let is_lower = world.rank() < half;
    let peer = if is_lower { world.rank() + half } else { world.rank() - half };
    let samples = measure(world, effort, Clock::Slowest, |world, iterations| {
        (0..iterations).try_for_each(|_| {
            if is_lower {
                world.send(&from, point.bytes, peer)?;
                world.recv(&to, point.bytes, peer)
            } else {
                world.recv(&to, point.bytes, peer)?;
                world.send(&from, point.bytes, peer)
            }
        })
    })?;
    let all = |seconds: &f64| gigabytes_per_second(half, point.bytes, *seconds);
    Ok((samples.seconds.iter().map(all).collect(), samples.iterations))
}

/// Returns the speed of this many pairs whose round trip takes this many seconds.
fn gigabytes_per_second(pairs: i32, bytes: usize, round_trip_s: f64) -> f64 {
    f64::from(pairs) * 2.0 * bytes as f64 / round_trip_s / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_add_up() {
        assert!((gigabytes_per_second(4, 1_000_000, 0.002) - 4.0).abs() < 1e-9);
    }
}
