//! The things that the two ranks share: the line to the launcher, by which they agree, and their
//! connections.

use super::memory::{Far, Memory};
use super::pair::{PARTS_MAX, Pair, WORK_MAX};
use super::port::{OpenPort, Site};
use crate::timing::{Effort, Samples};
use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use verbena_boot::Boot;
use verbena_verbs::pair::{Plan, Service};
use verbena_verbs::{CompletionQueue, QueuePair, SharedReceiveQueue};

/// Operations before the clock starts, and those by which their time is judged.
const WARM: u64 = 32;

/// One rank's part of the run.
pub(super) struct Session {
    boot: Boot,
    /// The open port.
    pub port: OpenPort,
    /// The registered memory.
    pub memory: Arc<Memory>,
    /// The time for a row.
    pub effort: Effort,
    /// The devices of both ranks in words, rank 0's first.
    pub places: Vec<String>,
    site: Site,
    far: Far,
    seeds: u64,
}

/// The first words of a rank to the other.
#[derive(Serialize, Deserialize)]
enum Hello {
    Ready { place: String, site: Site, far: Far },
    Refused(String),
}

/// The connections that a row needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The number of queue pairs, all on one completion queue.
    pub pairs: usize,
    /// The receive buffers of each pair, or of the queue that they share.
    pub receives: u32,
    /// True if they share a receive queue.
    pub shared: bool,
}

impl Session {
    /// Opens the port, and meets the other rank. `Err` within holds a refusal in words: there is
    /// no device here or there, or there are not two ranks.
    ///
    /// # Errors
    /// The launcher does not answer.
    pub(super) fn open(effort: Effort) -> Result<Result<Session, String>> {
        let mut boot = Boot::start()?;
        if boot.size() != 2 {
            return Ok(Err(format!("the bare device is measured between two ranks, not {}", boot.size())));
        }
        let opened = open_port();
        let own = match &opened {
            Ok((port, memory)) => {
                Hello::Ready { place: port.place.clone(), site: port.site(), far: memory.far() }
            }
            Err(error) => Hello::Refused(format!("{error:#}")),
        };
        let theirs: Hello = tell(&mut boot, &own)?;
        let ((port, memory), (place, site, far)) = match (opened, theirs) {
            (Ok(own), Hello::Ready { place, site, far }) => (own, (place, site, far)),
            (Err(error), _) => return Ok(refuse(boot, format!("{error:#}"))),
            (_, Hello::Refused(why)) => return Ok(refuse(boot, format!("the other rank says: {why}"))),
        };
        let mut places = vec![port.place.clone(), place];
        if boot.rank() == 1 {
            places.reverse();
        }
        Ok(Ok(Session { boot, port, memory: Arc::new(memory), effort, places, site, far, seeds: 0 }))
    }

    /// Ends it.
    ///
    /// # Errors
    /// The launcher does not answer.
    pub(super) fn close(self) -> Result<()> {
        Ok(self.boot.finalize()?)
    }

    /// Returns whether this is the rank that begins and measures.
    pub(super) fn is_first(&self) -> bool {
        self.boot.rank() == 0
    }

    /// Returns the next seed of a message: both ranks get the same one.
    pub(super) fn seed(&mut self) -> u64 {
        self.seeds += 1;
        self.seeds
    }

    /// Waits until the other rank is here too.
    ///
    /// # Errors
    /// The launcher does not answer.
    pub(super) fn barrier(&mut self) -> Result<()> {
        Ok(self.boot.barrier()?)
    }

    /// Tells the other rank this, and returns what it told.
    ///
    /// # Errors
    /// The launcher does not answer, or the other rank speaks another tongue.
    pub(super) fn tell<T: Serialize + DeserializeOwned>(&mut self, own: &T) -> Result<T> {
        tell(&mut self.boot, own)
    }

    /// Returns rank 0's number, on both.
    ///
    /// # Errors
    /// Those of [`Session::tell`].
    fn agree(&mut self, own: u64) -> Result<u64> {
        let theirs = self.tell(&own)?;
        Ok(if self.is_first() { own } else { theirs })
    }

    /// Returns the sum of both ranks' numbers.
    ///
    /// # Errors
    /// Those of [`Session::tell`].
    pub(super) fn sum(&mut self, own: u64) -> Result<u64> {
        Ok(own + self.tell(&own)?)
    }

    /// Makes connections; both ranks call it with the same. Both ends are ready when it returns,
    /// and no receive buffer is posted yet.
    ///
    /// # Errors
    /// The device refuses, or the other rank does not answer.
    pub(super) fn connect(&mut self, wanted: Wanted) -> Result<Vec<Pair>> {
        let domain = &self.port.domain;
        let entries = wanted.pairs as u32 * (WORK_MAX + wanted.receives);
        let completions = CompletionQueue::new(domain.context(), entries)?;
        let shared = wanted.shared.then(|| SharedReceiveQueue::new(domain, wanted.receives)).transpose()?;
        let plan = plan(&completions, shared.as_ref(), wanted.receives);
        let queues: Vec<QueuePair> =
            (0..wanted.pairs).map(|_| self.port.open_pair(&plan)).collect::<Result<_>>()?;
        let numbers: Vec<u32> = queues.iter().map(QueuePair::number).collect();
        let theirs = self.tell(&numbers)?;
        ensure!(theirs.len() == queues.len(), "the other rank opened {} queue pairs", theirs.len());
        for (queue, &remote) in queues.iter().zip(&theirs) {
            queue.connect(&self.port.connection(queue.number(), &self.site, remote))?;
        }
        self.barrier()?;
        let pair = |queue| {
            Pair::new(queue, Arc::clone(&completions), shared.clone(), Arc::clone(&self.memory), self.far)
        };
        Ok(queues.into_iter().map(pair).collect())
    }

    /// Makes one connection with so many receive buffers of its own.
    ///
    /// # Errors
    /// Those of [`Session::connect`].
    pub(super) fn connect_one(&mut self, receives: u32) -> Result<Pair> {
        self.connect(Wanted { pairs: 1, receives, shared: false })?.pop().context("one pair")
    }

    /// Returns the way to the other rank's port.
    pub(super) fn far_site(&self) -> Site {
        self.site.clone()
    }

    /// Repeats something that both ranks do in step: `body` runs so many rounds of it.
    ///
    /// # Errors
    /// The first error of a round.
    pub(super) fn in_step(&mut self, mut body: impl FnMut(u64) -> Result<()>) -> Result<Samples> {
        body(WARM)?;
        let each = timed(|| body(WARM))?.as_secs_f64() / WARM as f64;
        let rounds = self.agree(rounds_within(self.effort, each))?;
        repeat(self.effort, rounds, |count| timed(|| body(count)))
    }

    /// Repeats something that this rank does alone.
    ///
    /// # Errors
    /// The first error of a round.
    pub(super) fn alone(&self, mut body: impl FnMut(u64) -> Result<()>) -> Result<Samples> {
        self.alone_timed(|count| timed(|| body(count)))
    }

    /// Repeats something that this rank does alone. `body` runs so many rounds and returns the time
    /// that counts, which may be a part of what it took.
    ///
    /// # Errors
    /// The first error of a round.
    pub(super) fn alone_timed(&self, mut body: impl FnMut(u64) -> Result<Duration>) -> Result<Samples> {
        body(1)?;
        let each = timed(|| body(2).map(drop))?.as_secs_f64() / 2.0;
        repeat(self.effort, rounds_within(self.effort, each), body)
    }
}

fn open_port() -> Result<(OpenPort, Memory)> {
    let port = OpenPort::open()?;
    let memory = Memory::new(&port.domain)?;
    Ok((port, memory))
}

fn refuse(boot: Boot, why: String) -> Result<Session, String> {
    // The refusal is the message; a launcher that is gone could not hear more.
    let _ = boot.finalize();
    Err(why)
}

fn tell<T: Serialize + DeserializeOwned>(boot: &mut Boot, own: &T) -> Result<T> {
    let cards = boot.exchange(&serde_json::to_vec(own)?)?;
    let theirs = cards.get(1 - boot.rank() as usize).context("the other rank gave no card")?;
    serde_json::from_slice(theirs).context("the other rank's card cannot be read")
}

/// Returns the plan of a queue pair.
pub(super) fn plan(
    completions: &Arc<CompletionQueue>,
    shared: Option<&Arc<SharedReceiveQueue>>,
    receives: u32,
) -> Plan {
    Plan {
        service: Service::ReliableConnection,
        completions: Arc::clone(completions),
        shared: shared.cloned(),
        work_max: WORK_MAX,
        receives_max: if shared.is_some() { 0 } else { receives },
        inline_bytes_max: 0,
        segments_max: PARTS_MAX as u32,
    }
}

impl OpenPort {
    /// Opens a queue pair that takes receive buffers, not connected yet.
    ///
    /// # Errors
    /// The refusal of the device.
    pub(super) fn open_pair(&self, plan: &Plan) -> Result<QueuePair> {
        let queue = match QueuePair::new(&self.domain, plan) {
            Ok(queue) => queue,
            Err(number) => bail!(QueuePair::refusal(&self.domain, plan, number)),
        };
        self.initialise(&queue)?;
        Ok(queue)
    }
}

/// Returns how many rounds that take so many seconds fill a repetition.
fn rounds_within(effort: Effort, each_s: f64) -> u64 {
    let share = effort.point.as_secs_f64() / effort.repetitions as f64;
    ((share / each_s.max(1e-9)) as u64).clamp(1, 1_000_000)
}

fn timed(body: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    body()?;
    Ok(start.elapsed())
}

fn repeat(effort: Effort, rounds: u64, mut body: impl FnMut(u64) -> Result<Duration>) -> Result<Samples> {
    let each = |_| Ok(body(rounds)?.as_secs_f64() / rounds as f64);
    Ok(Samples { seconds: (0..effort.repetitions).map(each).collect::<Result<_>>()?, iterations: rounds })
}
