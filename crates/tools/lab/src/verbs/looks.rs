//! Looks at a completion queue by the number of connections on it (paper 1, section 3.1, figure 3):
//! looks that find nothing, and looks that find something.

use super::memory::{LANDING, OUT, Part};
use super::outcome::{Row, Subject};
use super::pair::{Pair, Work};
use super::session::{Session, Wanted};
use crate::timing::Samples;
use anyhow::{Result, bail, ensure};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of each write.
const BYTES: usize = 8;
/// Writes whose completions are taken together, over all pairs.
const WRITES: usize = 64;
/// Looks that are timed together.
const LOOKS: u64 = 64;
/// The time within which the first writes are expected to be complete; twice that if they are not,
/// and so on.
const SETTLE_TIME: Duration = Duration::from_millis(2);
/// The number of times that the time is doubled.
const SETTLE_TRIES: u32 = 8;

/// Measures empty looks and looks that find a completion, on a queue with this many connections.
///
/// # Errors
/// The device refuses, or completions do not come.
pub(super) fn run(session: &mut Session, connections: usize) -> Result<Vec<Row>> {
    let pairs = session.connect(Wanted { pairs: connections, receives: 1, shared: false })?;
    let (memory, seed) = (Arc::clone(&session.memory), session.seed());
    memory.lay(&[Part { offset: OUT, bytes: BYTES }], seed);
    memory.clear(BYTES);
    session.barrier()?;
    let (mut times, mut found) = (Vec::new(), 0);
    if session.is_first() {
        times.push(empty(session, &pairs[0])?);
        let mut full = Full { pairs: &pairs, wait: SETTLE_TIME, found: 0 };
        times.push(full.measure(session)?);
        found = full.found;
    }
    session.barrier()?;
    let right = if session.is_first() { 0 } else { memory.check(BYTES, seed, None)? };
    let landed = session.sum(right)?;
    let variants = [("empty", landed), ("found", landed + found)];
    let row = |((name, checked), times)| Row::new(Subject::Look, name, connections, times, checked);
    Ok(variants.into_iter().zip(&times).map(row).collect())
}

fn empty(session: &Session, pair: &Pair) -> Result<Samples> {
    let times = session.alone(|count| {
        for _ in 0..count * LOOKS {
            ensure!(pair.take()?.is_none(), "a look found what nobody posted");
        }
        Ok(())
    })?;
    let seconds = times.seconds.iter().map(|seconds| seconds / LOOKS as f64).collect();
    Ok(Samples { seconds, iterations: times.iterations * LOOKS })
}

/// Looks that find something.
struct Full<'a> {
    pairs: &'a [Pair],
    /// The time given to the device to complete all.
    wait: Duration,
    /// Completions found, each of a pair of ours.
    found: u64,
}

impl Full<'_> {
    fn measure(&mut self, session: &Session) -> Result<Samples> {
        let times = session.alone_timed(|count| (0..count).map(|_| self.batch()).sum())?;
        let seconds = times.seconds.iter().map(|seconds| seconds / WRITES as f64).collect();
        Ok(Samples { seconds, iterations: times.iterations * WRITES as u64 })
    }

    /// Lets all pairs write, waits without a look until that is complete, and times the looks that
    /// take the completions. A batch in which a look came too early does not count.
    fn batch(&mut self) -> Result<Duration> {
        for _ in 0..SETTLE_TRIES {
            for at in 0..WRITES {
                let part = [Part { offset: OUT, bytes: BYTES }];
                self.pairs[at % self.pairs.len()].post(Work::Write { to: LANDING }, &part, true)?;
            }
            std::thread::sleep(self.wait);
            if let Some(took) = self.take_all()? {
                return Ok(took);
            }
            self.wait *= 2;
        }
        bail!("{WRITES} writes are not complete after {} ms", self.wait.as_millis())
    }

    /// Takes all completions of a batch; returns the time, unless a look found nothing.
    fn take_all(&mut self) -> Result<Option<Duration>> {
        let mut numbers = [0; WRITES];
        let (mut taken, mut empty) = (0, 0);
        let start = Instant::now();
        while taken < WRITES {
            match self.pairs[0].take()? {
                Some(ended) => {
                    numbers[taken] = ended.pair;
                    taken += 1;
                }
                None => empty += 1,
            }
            ensure!(empty < 1 << 24, "{taken} of {WRITES} completions came");
        }
        let took = start.elapsed();
        let came: BTreeSet<u32> = numbers.into_iter().collect();
        let ours: BTreeSet<u32> = self.pairs.iter().take(WRITES).map(Pair::number).collect();
        ensure!(came == ours, "completions of queue pairs {came:?} came, not of {ours:?}");
        self.found += WRITES as u64;
        Ok((empty == 0).then_some(took))
    }
}
