//! Every rank speaks to every other for the first time (paper 4, 5.2.2). In step `s`, each rank
//! sends an empty message to the rank `s` behind it and receives one from the rank `s` before it.
//!
//! - *Connect*: the time from the end of `MPI_Init` to the end of the last step, the mean of all
//!   ranks. There is no barrier before it, since that would already make connections. So a late
//!   start of some ranks counts too, for every library alike.
//! - *Connect processor*: the processor time that a process takes for it, the mean of all. Where
//!   ranks share processors, this shows how start-up grows: the clock also counts the time of the
//!   others.
//! - *Connect memory*: the private pages of a process after that (`/proc/self/smaps_rollup`), the
//!   mean of all ranks. Memory that the kernel holds for it (queue pairs on Soft-RoCE) is not in
//!   it.
//!
//! A job can do that only once, so there is one sample a round. What the library counted meanwhile
//! is told with each metric.

use super::metric::{Metric, Point};
use super::spent::Spent;
use crate::buffer::Buffer;
use crate::mpi::{Message, Window, World};
use crate::watch;
use crate::witness::Witness;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The tag of the messages.
const TAG: i32 = 9;

/// The first exchange, which happens once in a process; each metric reports the same one.
static FIRST: OnceLock<First> = OnceLock::new();

/// The time of the first exchange, and its counts.
struct First {
    spent: Spent,
    /// The library's counts before it, of this rank.
    before: Vec<u64>,
    /// The counts of all ranks, asked for when the memory was looked at, since that takes messages.
    counted: OnceLock<BTreeMap<String, f64>>,
}

/// Measures one point: a sample in milliseconds or MiB, and one iteration.
///
/// # Errors
/// MPI fails, or the kernel does not tell about memory.
pub(crate) fn run(world: &World, point: Point) -> Result<(Vec<f64>, u64)> {
    let first = match FIRST.get() {
        Some(first) => first,
        None => {
            let before = world.count()?;
            let spent = Spent::by(|| ring(world))?;
            FIRST.get_or_init(|| First { spent, before, counted: OnceLock::new() })
        }
    };
    let own = match point.metric {
        Metric::Connect => first.spent.wall_s * 1e3,
        Metric::ConnectProcessor => first.spent.processor_s * 1e3,
        _ => private_mib()?,
    };
    let counted = match first.counted.get() {
        Some(counted) => counted,
        None => {
            let counted = watch::since(world, &first.before)?.all;
            first.counted.get_or_init(|| counted)
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    world.put_witness(Witness { processors, counted: counted.clone(), ..Witness::default() });
    Ok((vec![mean(world, own)?], 1))
}

fn ring(world: &World) -> Result<()> {
    let buffer = Buffer::new(1);
    let mut window = Window::new(world, TAG);
    let (rank, size) = (world.rank(), world.size());
    for step in 1..size {
        let message = |peer| Message { peer, bytes: 0, tag: TAG };
        let (to, from) = (message((rank + step) % size), message((rank + size - step) % size));
        window.shift(&buffer, &buffer, to, from)?;
    }
    Ok(())
}

/// The mean of the ranks' values.
fn mean(world: &World, own: f64) -> Result<f64> {
    let (from, to) = (Buffer::new(size_of::<f64>()), Buffer::new(size_of::<f64>()));
    from.fill_doubles(own);
    world.allreduce(&from, &to, size_of::<f64>())?;
    Ok(to.double(0) / f64::from(world.size()))
}

/// Returns the size of this process's private pages.
fn private_mib() -> Result<f64> {
    let path = "/proc/self/smaps_rollup";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    private_kib(&text).map(|kib| kib / 1024.0).with_context(|| format!("{path} tells no private pages"))
}

/// The sum of the lines `Private_Clean`, `Private_Dirty` and `Private_Hugetlb` (proc(5)).
fn private_kib(text: &str) -> Option<f64> {
    let of_line = |line: &str| line.split_whitespace().nth(1)?.parse::<f64>().ok();
    let private = text.lines().filter(|line| line.starts_with("Private_"));
    private.map(of_line).sum::<Option<f64>>().filter(|&kib| kib > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_pages_are_added_up() {
        let text = "Rss: 900 kB\nShared_Clean: 500 kB\nPrivate_Clean:  100 kB\nPrivate_Dirty: 200 kB\n";
        assert_eq!(private_kib(text), Some(300.0));
        assert_eq!(private_kib("Rss: 900 kB\n"), None);
        assert!(private_mib().expect("proc") > 0.0);
    }
}
