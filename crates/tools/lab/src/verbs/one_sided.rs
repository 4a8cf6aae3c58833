//! RDMA writes and reads at which the peer takes no part: their speed in a stream, the time from a
//! post to its completion, and the processor's time in the call that posts.

use super::memory::{LANDING, OUT, Part};
use super::outcome::{Row, Subject};
use super::pair::{Pair, Work};
use super::session::Session;
use super::waiting::until;
use crate::timing::Samples;
use anyhow::Result;
use std::sync::Arc;
use std::time::Instant;

/// Work under way in a stream, and posts that are timed together, of short messages.
const WINDOW: u64 = 16;
/// The most bytes under way: a software device that has more sends late acknowledgements, and its
/// peer gives it up.
const UNDER_WAY_BYTES_MAX: usize = 2 << 20;

/// An operation of rank 0 on the memory of rank 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// An RDMA write.
    Write,
    /// An RDMA read.
    Read,
}

impl Operation {
    /// Both.
    pub(super) const ALL: [Operation; 2] = [Operation::Write, Operation::Read];

    fn name(self) -> &'static str {
        match self {
            Operation::Write => "write",
            Operation::Read => "read",
        }
    }

    fn work(self) -> Work {
        match self {
            Operation::Write => Work::Write { to: LANDING },
            Operation::Read => Work::Read { from: OUT },
        }
    }

    /// Returns the part of rank 0's memory.
    fn part(self, bytes: usize) -> Part {
        Part { offset: if self == Operation::Write { OUT } else { LANDING }, bytes }
    }
}

/// Measures one row. The rank in whose memory the bytes land compares them.
///
/// # Errors
/// The device refuses, or bytes did not arrive.
pub(super) fn run(
    session: &mut Session,
    subject: Subject,
    operation: Operation,
    bytes: usize,
) -> Result<Row> {
    let pair = session.connect_one(1)?;
    let (memory, seed) = (Arc::clone(&session.memory), session.seed());
    memory.lay(&[Part { offset: OUT, bytes }], seed);
    memory.clear(bytes);
    session.barrier()?;
    let lands_here = session.is_first() == (operation == Operation::Read);
    let times = match session.is_first() {
        true => measure(session, &pair, subject, operation, bytes)?,
        false => Samples { seconds: Vec::new(), iterations: 0 },
    };
    session.barrier()?;
    let right = if lands_here { memory.check(bytes, seed, None)? } else { 0 };
    let checked = session.sum(right)?;
    Ok(Row::new(subject, operation.name(), bytes, &times, checked))
}

fn measure(
    session: &Session,
    pair: &Pair,
    subject: Subject,
    operation: Operation,
    bytes: usize,
) -> Result<Samples> {
    let window = window(session, bytes);
    let (work, part) = (operation.work(), [operation.part(bytes)]);
    match subject {
        Subject::Completed => session.alone(|count| stream(pair, (work, &part), count, 1)),
        Subject::Post => posts(session, pair, (work, &part), window),
        _ => session.alone(|count| stream(pair, (work, &part), count, window)),
    }
}

/// Returns how many operations of this length are under way at a time.
fn window(session: &Session, bytes: usize) -> u64 {
    let fits = (UNDER_WAY_BYTES_MAX / bytes).max(1) as u64;
    WINDOW.min(u64::from(session.port.reads_max)).min(fits)
}

/// Carries out so many operations, at most `window` at a time.
///
/// # Errors
/// The device refuses or fails.
pub(super) fn stream(pair: &Pair, (work, parts): (Work, &[Part]), count: u64, window: u64) -> Result<()> {
    let (mut posted, mut ended) = (0, 0);
    while ended < count {
        if posted < count && posted - ended < window {
            pair.post(work, parts, true)?;
            posted += 1;
        } else {
            until("a completion", || pair.take())?;
            ended += 1;
        }
    }
    Ok(())
}

/// Measures the calls that post: batches of them, each with an empty queue before it.
fn posts(session: &Session, pair: &Pair, (work, parts): (Work, &[Part]), batch: u64) -> Result<Samples> {
    let one_batch = || {
        let start = Instant::now();
        for at in 1..=batch {
            pair.post(work, parts, at == batch)?;
        }
        let took = start.elapsed();
        until("the last completion", || pair.take()).map(|_| took)
    };
    let times = session.alone_timed(|count| (0..count).map(|_| one_batch()).sum())?;
    let seconds = times.seconds.iter().map(|seconds| seconds / batch as f64).collect();
    Ok(Samples { seconds, iterations: times.iterations * batch })
}
