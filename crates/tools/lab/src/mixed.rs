//! The loops of paper 3: a process with one partner on its node and another beyond the network.
//!
//! Rank 0 is that process, rank 1 shares its node, and rank 2 is on another. Every point begins
//! with messages between all of them, so that each channel is connected and must be polled.
//!
//! - *Latency* within the node (ranks 0 and 1) and over the network (0 and 2): half of the mean
//!   round trip, with receives that name their sender, or from any source. Other ranks nap.
//! - *Exchange* (figure 1): ranks 2 and 1 send a burst of messages in turn, each of which rank 0
//!   answers before the next one is sent. The value is the mean time of such an exchange: two
//!   discoveries and two ways. The discovery alone is measured in `discovery`.

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, Samples, measure};
use super::turns::alone_with;
use crate::buffer::Buffer;
use crate::mpi::World;
use anyhow::{Result, ensure};

/// Ranks that take part.
const RANKS: i32 = 3;
/// Round trips that connect two ranks: enough that the receiver gives the sender a ring.
const CONNECTING: usize = 50;
/// Bytes of a message of a burst.
const BURST_BYTES: usize = 8;

/// Measures one point: samples in microseconds, iterations.
///
/// # Errors
/// MPI fails, or there are too few ranks.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    ensure!(world.size() >= RANKS, "{point} needs {RANKS} ranks, two of them on one node");
    let buffer = Buffer::new(point.bytes.max(BURST_BYTES));
    let any = matches!(point.metric, Metric::NodeLatencyAny | Metric::NetworkLatencyAny);
    let near = Between { world, buffer: &buffer, one: 0, other: 1, any };
    let far = Between { other: 2, ..near };
    for _ in 0..CONNECTING {
        near.round_trip(BURST_BYTES)?;
        far.round_trip(BURST_BYTES)?;
    }
    let samples = measure(world, effort, Clock::Root, |_, iterations| match burst(point.metric) {
        Some(messages) => (0..iterations).try_for_each(|_| {
            far.burst(messages)?;
            near.burst(messages)
        }),
        None => {
            let pair = if is_near(point.metric) { near } else { far };
            let talk = || (0..iterations).try_for_each(|_| pair.round_trip(point.bytes));
            alone_with(world, &buffer, pair.other, talk)
        }
    })?;
    Ok((in_unit(point, &samples), samples.iterations))
}

fn is_near(metric: Metric) -> bool {
    matches!(metric, Metric::NodeLatency | Metric::NodeLatencyAny)
}

/// Messages of a burst, where the metric is about bursts.
fn burst(metric: Metric) -> Option<usize> {
    match metric {
        Metric::Discovery100 => Some(100),
        Metric::Discovery200 => Some(200),
        _ => None,
    }
}

/// Microseconds of a way, or of an exchange.
fn in_unit(point: Point, samples: &Samples) -> Vec<f64> {
    let parts = burst(point.metric).map_or(2, |messages| 2 * messages) as f64;
    samples.seconds.iter().map(|seconds| seconds / parts * 1e6).collect()
}

/// Two ranks that talk; the others do nothing.
#[derive(Clone, Copy)]
struct Between<'a> {
    world: &'a World,
    buffer: &'a Buffer,
    one: i32,
    other: i32,
    /// True if they receive from any source.
    any: bool,
}

impl Between<'_> {
    /// Passes messages from the first rank to the other and back.
    #[inline]
    fn round_trip(&self, bytes: usize) -> Result<()> {
        self.ask_or_answer(self.one, self.other, bytes)
    }

    /// Sends messages from the other rank; the first one answers each.
    #[inline]
    fn burst(&self, messages: usize) -> Result<()> {
        (0..messages).try_for_each(|_| self.ask_or_answer(self.other, self.one, BURST_BYTES))
    }

    #[inline]
    fn ask_or_answer(&self, asks: i32, answers: i32, bytes: usize) -> Result<()> {
        let (world, buffer) = (self.world, self.buffer);
        if world.rank() == asks {
            world.send(buffer, bytes, answers)?;
            self.receive(bytes, answers)
        } else if world.rank() == answers {
            self.receive(bytes, asks)?;
            world.send(buffer, bytes, asks)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn receive(&self, bytes: usize, peer: i32) -> Result<()> {
        match self.any {
            true => self.world.recv_any(self.buffer, bytes),
            false => self.world.recv(self.buffer, bytes, peer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_counts_its_messages_from_both_sides() {
        let samples = Samples { seconds: vec![400e-6], iterations: 1 };
        let value = |metric| in_unit(Point { metric, bytes: 0 }, &samples)[0];
        assert!((value(Metric::Discovery100) - 2.0).abs() < 1e-9);
        assert!((value(Metric::NodeLatency) - 200.0).abs() < 1e-9);
    }
}
