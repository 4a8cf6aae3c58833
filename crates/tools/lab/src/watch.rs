//! The circumstances of a point in one job: whether the machine disturbed it, and what was counted.
//!
//! Around the repetitions that are timed, each rank asks the kernel how long it was ready to run
//! without a processor, how often it was made to give one up, and how much of the processors' time
//! a host took for itself. After them the body runs once more, untimed, between two looks at the
//! counters: those of our library by every rank, and those of the verbs devices by rank 0. Counters
//! are told for an iteration, so that jobs with different numbers of iterations can be compared.

use crate::devices;
use crate::mpi::World;
use crate::witness::Witness;
use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Ticks of all processors that a host took, and all ticks.
pub(crate) type Ticks = (f64, f64);

/// The kernel's numbers at one moment.
struct Moment {
    at: Instant,
    waited_ns: Option<f64>,
    preempted: f64,
    ticks: Option<Ticks>,
}

impl Moment {
    fn now() -> Result<Moment> {
        Ok(Moment {
            at: Instant::now(),
            waited_ns: waited_ns_of(Path::new("/proc/self")),
            preempted: getrusage(UsageWho::RUSAGE_SELF)?.involuntary_context_switches() as f64,
            ticks: ticks_now(),
        })
    }
}

/// Returns the nanoseconds for which a process was ready to run and had no processor, if the kernel
/// tells; the folder is that of `/proc`.
pub(crate) fn waited_ns_of(process: &Path) -> Option<f64> {
    waited_ns(&std::fs::read_to_string(process.join("schedstat")).ok()?)
}

/// Returns the ticks up to now, if the kernel tells.
pub(crate) fn ticks_now() -> Option<Ticks> {
    ticks(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The second number: nanoseconds on a queue of the scheduler (the kernel's `sched-stats`).
fn waited_ns(text: &str) -> Option<f64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

/// The eighth number of the first line, and the sum of the first eight (proc(5)).
fn ticks(text: &str) -> Option<Ticks> {
    let numbers = text.lines().next()?.split_whitespace().skip(1).take(8);
    let numbers: Vec<f64> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some((*numbers.get(7)?, numbers.iter().sum()))
}

/// A watch over repetitions that are timed.
pub(crate) struct Watch(Moment);

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// The kernel does not tell about this process.
    pub(crate) fn begin() -> Result<Watch> {
        Ok(Watch(Moment::now()?))
    }

    /// Ends it; every rank gets the same. Collective.
    ///
    /// # Errors
    /// MPI fails, or the kernel does not tell about this process.
    pub(crate) fn end(self, world: &World) -> Result<Witness> {
        let (before, now) = (self.0, Moment::now()?);
        let wall_ns = (now.at - before.at).as_nanos().max(1) as f64;
        let waited = before.waited_ns.zip(now.waited_ns).map(|(one, other)| (other - one) / wall_ns);
        let stolen = before.ticks.zip(now.ticks).map(|(one, other)| share(one, other));
        Ok(Witness {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            waited: most(world, waited)?,
            preempted: world.max(now.preempted - before.preempted)?,
            stolen: most(world, stolen)?,
            iteration_s: 0.0,
            counted: BTreeMap::new(),
            root_looks: BTreeMap::new(),
        })
    }
}

/// The part of all ticks in between that were stolen.
pub(crate) fn share(one: Ticks, other: Ticks) -> f64 {
    let all = other.1 - one.1;
    if all > 0.0 { (other.0 - one.0) / all } else { 0.0 }
}

/// The largest of the ranks' values, if any has one; none of them is negative.
fn most(world: &World, own: Option<f64>) -> Result<Option<f64>> {
    Ok(Some(world.max(own.unwrap_or(-1.0))?).filter(|most| *most >= 0.0))
}

/// Counts of an iteration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Those of the library by all ranks together, and of the devices.
    pub all: BTreeMap<String, f64>,
    /// The looks of this rank alone.
    pub own_looks: BTreeMap<String, f64>,
}

/// The end of the names of counters of looks.
const LOOKS: &str = "_looks";

/// Runs what is counted between two looks at all counters; returns the counts for an iteration.
/// Collective.
///
/// # Errors
/// MPI or the body fails.
pub(crate) fn count(world: &World, iterations: u64, body: impl FnOnce(u64) -> Result<()>) -> Result<Counted> {
    world.barrier()?;
    let device = if world.rank() == 0 { devices::counts() } else { BTreeMap::new() };
    let before = world.count()?;
    // Nobody begins while rank 0 still looks at the devices.
    world.barrier()?;
    body(iterations)?;
    let mut counted = since(world, &before)?;
    if world.rank() == 0 {
        counted.all.extend(devices::since(&device));
    }
    let values = counted.all.values_mut().chain(counted.own_looks.values_mut());
    values.for_each(|value| *value /= iterations as f64);
    Ok(counted)
}

/// Returns what the library has counted since its counters said `before`. Collective.
///
/// # Errors
/// MPI fails.
pub(crate) fn since(world: &World, before: &[u64]) -> Result<Counted> {
    let mut values: Vec<f64> =
        world.count()?.iter().zip(before).map(|(now, before)| (now - before) as f64).collect();
    let names: Vec<String> = world.counter_names().collect();
    let looks = names.iter().cloned().zip(values.iter().copied());
    let own_looks = looks.filter(|(name, _)| name.ends_with(LOOKS)).collect();
    world.sum_items(&mut values)?;
    Ok(Counted { all: names.into_iter().zip(values).collect(), own_looks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_numbers_are_read() {
        assert_eq!(waited_ns("812345 4000 12\n"), Some(4000.0));
        assert_eq!(ticks("cpu  10 0 20 60 0 0 2 8 0 0\ncpu0 1 2\n"), Some((8.0, 100.0)));
        assert_eq!((waited_ns(""), ticks("")), (None, None));
    }

    #[test]
    fn a_share_is_that_of_the_time_in_between() {
        assert_eq!(share((8.0, 100.0), (58.0, 300.0)), 0.25);
        assert_eq!(share((8.0, 100.0), (8.0, 100.0)), 0.0);
    }
}
