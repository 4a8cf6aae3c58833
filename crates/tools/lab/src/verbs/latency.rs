//! Half round trips of each way of sending a message.

use super::memory::mark;
use super::outcome::{Row, Subject};
use super::session::{Session, Wanted};
use super::ways::{End, Way};
use anyhow::Result;
use std::sync::Arc;

/// Receive buffers that wait for messages.
const RECEIVES: u32 = 16;

/// Measures half a round trip of messages of this length. Both ranks compare what landed last with
/// what was sent, and each round its immediate value.
///
/// # Errors
/// The device refuses, or bytes did not arrive.
pub(super) fn run(session: &mut Session, way: Way, bytes: usize) -> Result<Row> {
    let shared = way == Way::SendShared;
    let pairs = session.connect(Wanted { pairs: 1, receives: RECEIVES, shared })?;
    let (memory, parts, seed) = (Arc::clone(&session.memory), way.parts(bytes), session.seed());
    memory.lay(&parts, seed);
    memory.clear(bytes);
    for _ in 0..if way.receives() { RECEIVES } else { 0 } {
        pairs[0].post_receive(bytes)?;
    }
    session.barrier()?;
    let end = End { pair: &pairs[0], memory: &memory, way, bytes, parts: &parts };
    let (first, mut round) = (session.is_first(), 0);
    let mut times = session.in_step(|rounds| {
        for _ in 0..rounds {
            round += 1;
            one_round(&end, first, round)?;
        }
        Ok(())
    })?;
    times.seconds.iter_mut().for_each(|seconds| *seconds /= 2.0);
    let right = memory.check(bytes, seed, Some(mark(round)))?;
    let immediates = if way == Way::WriteImmediate { round } else { 0 };
    // Nobody closes its end before the other has all.
    let checked = session.sum(right + immediates)?;
    Ok(Row::new(Subject::Latency, way.name(), bytes, &times, checked))
}

#[inline]
fn one_round(end: &End<'_>, first: bool, round: u64) -> Result<()> {
    if first {
        end.send(round)?;
        return end.receive(round);
    }
    end.receive(round)?;
    end.send(round)
}
