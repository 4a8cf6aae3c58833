//! The cost of making things: registrations, queue pairs, shared receive queues; and of posting
//! receive buffers. Rank 0 does it alone.

use super::outcome::{Row, Subject};
use super::pair::WORK_MAX;
use super::session::{Session, plan};
use crate::buffer::Buffer;
use crate::timing::Samples;
use anyhow::{Result, anyhow};
use std::time::{Duration, Instant};
use verbena_verbs::domain::Access;
use verbena_verbs::explain::fault;
use verbena_verbs::queues::ReceiveBuffer;
use verbena_verbs::{CompletionQueue, MemoryRegion, QueuePair, SharedReceiveQueue};

/// Receive buffers that are posted together.
const BUFFERS: u32 = 64;

/// The time of each step of something that is made, used and ended, summed over the rounds.
struct Steps<const COUNT: usize>([Duration; COUNT]);

impl<const COUNT: usize> Steps<COUNT> {
    /// Repeats `round`, which returns the times of its steps, and returns those of each step for
    /// each repetition.
    ///
    /// # Errors
    /// The first error of a round.
    fn measure(
        session: &Session,
        mut round: impl FnMut() -> Result<[Duration; COUNT]>,
    ) -> Result<[Samples; COUNT]> {
        let mut all: Vec<([Duration; COUNT], u64)> = Vec::new();
        let whole = session.alone(|count| {
            let mut steps = Steps([Duration::ZERO; COUNT]);
            (0..count).try_for_each(|_| round().map(|times| steps.add(times)))?;
            all.push((steps.0, count));
            Ok(())
        })?;
        // The first calls only warmed up.
        let measured = &all[all.len() - whole.seconds.len()..];
        Ok(std::array::from_fn(|at| Samples {
            seconds: measured.iter().map(|(steps, count)| steps[at].as_secs_f64() / *count as f64).collect(),
            iterations: whole.iterations,
        }))
    }

    fn add(&mut self, times: [Duration; COUNT]) {
        self.0.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }
}

/// Returns the time since `start`, which begins anew.
fn lap(start: &mut Instant) -> Duration {
    let now = Instant::now();
    now.duration_since(std::mem::replace(start, now))
}

/// Makes rows of the steps of something. An object is counted as checked if it was made.
fn rows<const COUNT: usize>(
    subject: Subject,
    names: [&str; COUNT],
    at: usize,
    times: [Samples; COUNT],
) -> Vec<Row> {
    let row = |(name, times): (&str, Samples)| Row::new(subject, name, at, &times, times.iterations);
    names.into_iter().zip(times).map(row).collect()
}

/// Measures registering this many bytes and ending that; rank 1 only waits.
///
/// # Errors
/// The limit on locked memory.
pub(super) fn registration(session: &mut Session, bytes: usize) -> Result<Vec<Row>> {
    let times = session.is_first().then(|| {
        let memory = Buffer::new(bytes);
        let address = memory.address() as u64;
        let access =
            Access { local_write: true, remote_read: true, remote_write: true, remote_atomic: false };
        Steps::measure(session, || {
            let mut start = Instant::now();
            // SAFETY: memory of this function alone, which no peer knows the key of.
            let made = unsafe { MemoryRegion::new(&session.port.domain, address, bytes, access) };
            let refused = |number| fault("memory cannot be registered", format!("{bytes} bytes"), number);
            let made = made.map_err(refused)?;
            let register = lap(&mut start);
            drop(made);
            Ok([register, lap(&mut start)])
        })
    });
    session.barrier()?;
    let names = ["register", "deregister"];
    Ok(times.transpose()?.map_or(Vec::new(), |times| rows(Subject::Registration, names, bytes, times)))
}

/// Measures opening, connecting and closing a queue pair. Rank 1 lends one to connect to, which
/// carries nothing.
///
/// # Errors
/// The device refuses.
pub(super) fn pair(session: &mut Session) -> Result<Vec<Row>> {
    let completions = CompletionQueue::new(session.port.domain.context(), 2 * WORK_MAX)?;
    let plan = plan(&completions, None, 1);
    let lent = session.port.open_pair(&plan)?;
    let remote = session.tell(&lent.number())?;
    let site = session.far_site();
    let times = session.is_first().then(|| {
        Steps::measure(session, || {
            let mut start = Instant::now();
            let queue = session.port.open_pair(&plan)?;
            let open = lap(&mut start);
            queue.connect(&session.port.connection(queue.number(), &site, remote))?;
            let connect = lap(&mut start);
            drop(queue);
            Ok([open, connect, lap(&mut start)])
        })
    });
    session.barrier()?;
    let names = ["open", "connect", "close"];
    Ok(times.transpose()?.map_or(Vec::new(), |times| rows(Subject::Pair, names, 0, times)))
}

/// Measures making a shared receive queue, posting a buffer to it and ending it, and posting a
/// buffer to a queue pair's own receive queue; rank 1 only waits.
///
/// # Errors
/// The device refuses.
pub(super) fn receives(session: &mut Session) -> Result<Vec<Row>> {
    let times = session.is_first().then(|| measure_receives(session));
    session.barrier()?;
    times.unwrap_or_else(|| Ok(Vec::new()))
}

fn measure_receives(session: &Session) -> Result<Vec<Row>> {
    let (domain, memory) = (&session.port.domain, &session.memory);
    let (address, local_key) = (memory.far().address, memory.key());
    let buffer = ReceiveBuffer { id: 0, address, bytes: 64, local_key };
    let each = |time: Duration| time / BUFFERS;
    let shared = Steps::measure(session, || {
        let mut start = Instant::now();
        let queue = SharedReceiveQueue::new(domain, BUFFERS)?;
        let make = lap(&mut start);
        // SAFETY: registered memory of the session, read by address only.
        post_all(|| unsafe { queue.post(&buffer) })?;
        let post = each(lap(&mut start));
        drop(queue);
        Ok([make, post, lap(&mut start)])
    })?;
    let completions = CompletionQueue::new(domain.context(), WORK_MAX + BUFFERS)?;
    let plan = plan(&completions, None, BUFFERS);
    let own = Steps::measure(session, || {
        let queue: QueuePair = session.port.open_pair(&plan)?;
        let mut start = Instant::now();
        // SAFETY: as above.
        post_all(|| unsafe { queue.post_receive(&buffer) })?;
        Ok([each(lap(&mut start))])
    })?;
    let names = ["make a shared queue", "post to a shared queue", "end a shared queue"];
    let mut all = rows(Subject::Receive, names, 0, shared);
    all.extend(rows(Subject::Receive, ["post to an own queue"], 0, own));
    Ok(all)
}

fn post_all(mut post: impl FnMut() -> Result<(), i32>) -> Result<()> {
    let refused = |number| anyhow!(fault("a receive buffer cannot be posted", "a receive queue", number));
    (0..BUFFERS).try_for_each(|_| post().map_err(refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lap_begins_where_the_last_one_ended() {
        let begin = Instant::now();
        let mut start = begin;
        let sum = lap(&mut start) + lap(&mut start);
        assert_eq!(sum, start.duration_since(begin));
    }

    #[test]
    fn steps_are_summed_one_by_one() {
        let mut steps = Steps([Duration::ZERO; 2]);
        let us = Duration::from_micros;
        steps.add([us(1), us(10)]);
        steps.add([us(2), us(20)]);
        assert_eq!(steps.0, [us(3), us(30)]);
    }
}
