//! A stream of sends: windows of them, each window answered by an empty message, as the papers'
//! bandwidth tests have it.

use super::memory::{OUT, Part};
use super::outcome::{Row, Subject};
use super::pair::{Pair, Work};
use super::session::Session;
use super::waiting::until;
use anyhow::{Result, ensure};
use std::sync::Arc;

/// Sends in a window.
const WINDOW: u64 = 32;
/// Receive buffers: those of two windows, so that a send always finds one.
const RECEIVES: u32 = 2 * WINDOW as u32;

/// Measures the bandwidth of sends of this length.
///
/// # Errors
/// The device refuses, or bytes did not arrive.
pub(super) fn run(session: &mut Session, bytes: usize) -> Result<Row> {
    let pair = session.connect_one(RECEIVES)?;
    let (memory, seed) = (Arc::clone(&session.memory), session.seed());
    memory.lay(&[Part { offset: OUT, bytes }], seed);
    memory.clear(bytes);
    (0..RECEIVES).try_for_each(|_| pair.post_receive(bytes))?;
    session.barrier()?;
    let first = session.is_first();
    let mut times = session.in_step(|windows| {
        (0..windows)
            .try_for_each(|_| if first { send_window(&pair, bytes) } else { take_window(&pair, bytes) })
    })?;
    times.seconds.iter_mut().for_each(|seconds| *seconds /= WINDOW as f64);
    times.iterations *= WINDOW;
    let right = if first { 0 } else { memory.check(bytes, seed, None)? };
    let checked = session.sum(right)?;
    Ok(Row::new(Subject::Bandwidth, "send", bytes, &times, checked))
}

fn send_window(pair: &Pair, bytes: usize) -> Result<()> {
    for at in 1..=WINDOW {
        pair.post(Work::Send, &[Part { offset: OUT, bytes }], at == WINDOW)?;
    }
    let ends = [(), ()].map(|()| until("the answer and the last send", || pair.take()));
    let [one, other] = ends;
    ensure!(one?.received != other?.received, "a window ended twice");
    pair.post_receive(bytes)
}

fn take_window(pair: &Pair, bytes: usize) -> Result<()> {
    for _ in 0..WINDOW {
        let ended = until("a receive", || Ok(pair.take()?.filter(|ended| ended.received)))?;
        ensure!(ended.bytes == bytes, "{} bytes came, not {bytes}", ended.bytes);
        pair.post_receive(bytes)?;
    }
    // The completion of this answer is taken beside the next window's receives.
    pair.post(Work::Send, &[Part { offset: OUT, bytes: 0 }], true)
}
