//! Many ranks with a connection, of which few talk (paper 1, 3.3 and 4.7): what the polling set is
//! for.
//!
//! Every rank sends rank 0 some messages first, in the order of ranks, so that whoever is early has
//! a place in its polling set. Then rank 0 and the last two ranks talk, with each in turn; the rest
//! nap. Rank 0 receives from any source, since it does not know who comes next: a receive that
//! names its sender would look at that one's ring alone. The value is half of the mean round trip
//! in microseconds.

use super::metric::Point;
use super::timing::{Clock, Effort, measure};
use super::turns::{call, nap};
use crate::buffer::Buffer;
use crate::mpi::World;
use anyhow::{Result, ensure};

/// Ranks that talk with rank 0.
const TALKERS: i32 = 2;
/// Round trips of each rank at the beginning.
const CONNECTING: usize = 4;
/// Round trips of each talker before the clock starts: enough that the policy `most` reviews the
/// polling set a few times by its default.
const SETTLING: usize = 2000;
/// Round trips with one talker until the other has its turn: so many that the end of its nap, which
/// is timed too, takes hardly any of it.
const TURN: usize = 500;

/// Measures one point: samples in microseconds, iterations.
///
/// # Errors
/// MPI fails, or there are too few ranks.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    ensure!(world.size() > TALKERS, "{point} needs {} ranks at least", TALKERS + 1);
    let talk = Talk { world, buffer: Buffer::new(point.bytes.max(1)), bytes: point.bytes };
    (1..world.size()).try_for_each(|peer| talk.round_trips(peer, CONNECTING))?;
    talk.alternate(SETTLING / TURN)?;
    let samples = measure(world, effort, Clock::Root, |_, iterations| talk.alternate(iterations as usize))?;
    let ways = (2 * TURN * TALKERS as usize) as f64;
    Ok((samples.seconds.iter().map(|seconds| seconds / ways * 1e6).collect(), samples.iterations))
}

struct Talk<'a> {
    world: &'a World,
    buffer: Buffer,
    bytes: usize,
}

impl Talk<'_> {
    /// Lets the talkers have so many turns each, while all others nap.
    fn alternate(&self, turns: usize) -> Result<()> {
        let (world, size) = (self.world, self.world.size());
        if world.rank() > 0 && world.rank() < size - TALKERS {
            return nap(world, &self.buffer);
        }
        for _ in 0..turns {
            (size - TALKERS..size).try_for_each(|peer| self.round_trips(peer, TURN))?;
        }
        match world.rank() {
            0 => (1..size - TALKERS).try_for_each(|rank| call(world, &self.buffer, rank)),
            _ => Ok(()),
        }
    }

    /// Passes messages from a rank to rank 0 and back; the rank naps until it is called.
    fn round_trips(&self, peer: i32, times: usize) -> Result<()> {
        let (world, buffer, bytes) = (self.world, &self.buffer, self.bytes);
        if world.rank() == 0 {
            call(world, buffer, peer)?;
            (0..times).try_for_each(|_| {
                world.recv_any(buffer, bytes)?;
                world.send(buffer, bytes, peer)
            })
        } else if world.rank() == peer {
            nap(world, buffer)?;
            (0..times).try_for_each(|_| {
                world.send(buffer, bytes, 0)?;
                world.recv(buffer, bytes, 0)
            })
        } else {
            Ok(())
        }
    }
}
