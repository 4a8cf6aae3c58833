//! The time until a message is discovered (paper 3, figures 1 and 3), by stamps of the common
//! clock.
//!
//! Rank 0 has a partner on its node, rank 1, and one beyond the network, rank 2. They send it
//! bursts in turn, and it answers each message; who is not in turn naps. Before each message the
//! sender computes for a moment, so that messages do not come in step with the looks, and then
//! writes the time into it. Rank 0 reads the clock when its receive has returned.
//!
//! The difference is the way, and what passed until somebody looked. The quickest message of a
//! sender in the whole job was found at once, or nearly; what the others took longer is the time of
//! their discovery. The value is the mean of all messages of a run in microseconds, from the node
//! and from the network alike.
//!
//! The clock must be the same for all: processes of one host, whatever their network namespace, or
//! of one guest. That is checked.

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, Samples, measure};
use super::turns::{call, nap};
use crate::buffer::Buffer;
use crate::mpi::World;
use anyhow::{Context, Result, ensure};
use nix::time::{ClockId, clock_gettime};

/// Ranks that take part.
const RANKS: i32 = 3;
/// Bytes of a message: its stamp.
const BYTES: usize = size_of::<u64>();
/// Exchanges that connect two ranks before anything is measured.
const CONNECTING: usize = 50;
/// The longest that a sender computes before a message, in nanoseconds.
const COMPUTES_NS_MAX: u64 = 1000;
/// A message that took longer than a tick of the kernel (HZ 250) was held up by the kernel, and
/// counts for nothing.
const TICK_NS: u64 = 4_000_000;
/// The identity of the running kernel, 36 letters.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const BOOT_ID_BYTES: usize = 36;

/// The ways of the messages of one sender in one run, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ways {
    sum_ns: u64,
    count: u64,
    least_ns: Option<u64>,
}

impl Ways {
    fn add(&mut self, ns: u64) {
        if ns <= TICK_NS {
            self.sum_ns += ns;
            self.count += 1;
            self.least_ns = Some(self.least_ns.map_or(ns, |least| least.min(ns)));
        }
    }
}

/// The ways of the messages of ranks 1 and 2 in one run.
type Run = [Ways; 2];

/// Measures one point: samples in microseconds, iterations.
///
/// # Errors
/// MPI fails, there are too few ranks, or they have no clock in common.
pub(crate) fn run(world: &World, point: Point, effort: Effort) -> Result<(Vec<f64>, u64)> {
    ensure!(world.size() >= RANKS, "{point} needs {RANKS} ranks, two of them on one node");
    ensure!(point.bytes > 0, "a burst has one message at least");
    compare_kernels(world)?;
    let mut talk =
        Talk { world, buffer: Buffer::new(BYTES), any: point.metric == Metric::DiscoveryAny, seed: 1 };
    (0..2).try_for_each(|_| talk.turn(CONNECTING, &mut Run::default()))?;
    let mut runs: Vec<Run> = Vec::new();
    let samples = measure(world, effort, Clock::Root, |_, iterations| {
        let mut run = Run::default();
        (0..iterations).try_for_each(|_| talk.turn(point.bytes, &mut run))?;
        runs.push(run);
        Ok(())
    })?;
    Ok((in_us(&runs, &samples), samples.iterations))
}

/// Makes sure that all ranks run on one kernel, and so read one clock.
fn compare_kernels(world: &World) -> Result<()> {
    let own = std::fs::read(BOOT_ID).with_context(|| format!("cannot read {BOOT_ID}"))?;
    let buffer = Buffer::new(BOOT_ID_BYTES);
    let bytes = || (0..BOOT_ID_BYTES).map(|at| buffer.get(at)).collect::<Vec<u8>>();
    own.iter().take(BOOT_ID_BYTES).enumerate().for_each(|(at, byte)| buffer.set(at, *byte));
    if world.rank() > 0 {
        return world.send(&buffer, BOOT_ID_BYTES, 0);
    }
    for rank in 1..world.size() {
        world.recv(&buffer, BOOT_ID_BYTES, rank)?;
        ensure!(bytes() == own[..BOOT_ID_BYTES], "rank {rank} is on another host, whose clock is another");
    }
    Ok(())
}

/// Nanoseconds of the clock that all processes of a host have in common.
fn now_ns() -> Result<u64> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).context("the clock cannot be read")?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// The ranks that talk.
struct Talk<'a> {
    world: &'a World,
    buffer: Buffer,
    any: bool,
    /// The state of the numbers by which senders compute.
    seed: u64,
}

impl Talk<'_> {
    /// Lets rank 2 and then rank 1 send a burst.
    fn turn(&mut self, messages: usize, run: &mut Run) -> Result<()> {
        for peer in [2, 1] {
            match self.world.rank() {
                0 => self.listen(peer, messages, &mut run[peer as usize - 1])?,
                rank if rank == peer => self.burst(messages)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Calls the peer, and answers its messages.
    fn listen(&self, peer: i32, messages: usize, ways: &mut Ways) -> Result<()> {
        let (world, buffer) = (self.world, &self.buffer);
        call(world, buffer, peer)?;
        for _ in 0..messages {
            match self.any {
                true => world.recv_any(buffer, BYTES)?,
                false => world.recv(buffer, BYTES, peer)?,
            }
            ways.add(now_ns()?.saturating_sub(buffer.word()));
            world.send(buffer, 0, peer)?;
        }
        Ok(())
    }

    /// Waits to be called, and sends a burst, each message when the one before is answered.
    fn burst(&mut self, messages: usize) -> Result<()> {
        nap(self.world, &self.buffer)?;
        for _ in 0..messages {
            let until_ns = now_ns()? + self.draw_ns();
            while now_ns()? < until_ns {
                std::hint::spin_loop();
            }
            self.buffer.set_word(now_ns()?);
            self.world.send(&self.buffer, BYTES, 0)?;
            self.world.recv(&self.buffer, 0, 0)?;
        }
        Ok(())
    }

    /// Draws how long to compute (Knuth's linear congruence).
    fn draw_ns(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % COMPUTES_NS_MAX
    }
}

/// Turns the runs that counted, the last ones, into microseconds.
fn in_us(runs: &[Run], samples: &Samples) -> Vec<f64> {
    let least_ns = [0, 1].map(|at| runs.iter().filter_map(|run| run[at].least_ns).min().unwrap_or(0));
    let counted = &runs[runs.len() - samples.seconds.len()..];
    counted.iter().map(|run| mean_us(run, least_ns)).collect()
}

/// The mean of what the messages of a run took longer than the quickest of their senders. A rank
/// that heard nothing has no part in it, and its value is not asked for.
fn mean_us(run: &Run, least_ns: [u64; 2]) -> f64 {
    let longer = |at: usize| run[at].sum_ns - run[at].count * least_ns[at];
    let count = run[0].count + run[1].count;
    (longer(0) + longer(1)) as f64 / count.max(1) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(all: &[u64]) -> Ways {
        let mut ways = Ways::default();
        all.iter().for_each(|ns| ways.add(*ns));
        ways
    }

    #[test]
    fn discovery_is_what_a_message_takes_longer_than_the_quickest_of_its_sender() {
        let first = [ways(&[1_000, 1_500]), ways(&[20_000, 20_300])];
        let second = [ways(&[1_200, 1_200]), ways(&[19_900, 20_400])];
        let samples = Samples { seconds: vec![1.0, 1.0], iterations: 1 };
        // Longer by 0, 500, 100, 400; then by 200, 200, 0, 500 nanoseconds.
        assert_eq!(in_us(&[first, second], &samples), [0.25, 0.225]);
        // A run of the calibration counts for the quickest only.
        let one = Samples { seconds: vec![1.0], ..samples };
        assert_eq!(in_us(&[first, second], &one), [0.225]);
    }

    #[test]
    fn what_the_kernel_held_up_counts_for_nothing() {
        assert_eq!(ways(&[1_000, TICK_NS + 1]), ways(&[1_000]));
    }

    #[test]
    fn the_clock_goes_forward() {
        let (one, other) = (now_ns().expect("a clock"), now_ns().expect("a clock"));
        assert!(one > 0 && other >= one);
    }
}
