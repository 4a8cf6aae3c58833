//! The messages of a kernel, written down while it runs: which calls each rank makes, in order,
//! with partners and lengths. The simulator of `verbena-sim` plays such scripts on other nodes than
//! this machine has.
//!
//! A kernel calls the same in each round, whatever the time of its messages is, so one round says
//! all. The ranks are threads here, and every rank checks what it computed.

use super::comm::Comm;
use super::{kernel, threads};
use crate::metric::Metric;
use anyhow::{Context, Result};
use std::cell::RefCell;

/// A partner, with the bytes of a message.
pub type Part = (usize, usize);

/// A call of a rank. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A send to another rank, which may wait until that one receives.
    Send(Part),
    /// A receive from another rank.
    Receive(Part),
    /// All of these sends and receives at once.
    Exchange {
        /// The messages to others.
        sends: Vec<Part>,
        /// The messages from others.
        receives: Vec<Part>,
    },
    /// A block of this length for each rank and from each.
    Alltoall(usize),
    /// Blocks of these lengths for each rank, and from each.
    Alltoallv {
        /// The lengths of the blocks for others.
        sends: Vec<usize>,
        /// The lengths of the blocks from others.
        receives: Vec<usize>,
    },
    /// A sum of values of this length together over all ranks.
    Sum(usize),
}

/// Hands calls on, and writes them down.
struct Scribe<'a> {
    comm: &'a dyn Comm,
    calls: RefCell<Vec<Call>>,
}

/// Runs a round of a kernel on ranks of this process, with this many bytes in the main array of
/// each, and returns the calls of each rank.
///
/// # Errors
/// The kernel cannot be divided among this many ranks, or its result is wrong.
pub fn script(metric: Metric, bytes: usize, ranks: usize) -> Result<Vec<Vec<Call>>> {
    kernel(metric, bytes, 0, ranks)?;
    let of = |comm: &dyn Comm| {
        let mut kernel = kernel(metric, bytes, comm.rank(), ranks)?;
        let scribe = Scribe { comm, calls: RefCell::default() };
        kernel.round(&scribe)?;
        kernel.verify(comm).context("after the round")?;
        Ok(scribe.calls.into_inner())
    };
    threads::run(ranks, of).into_iter().collect()
}

impl Scribe<'_> {
    fn note(&self, call: Call) {
        self.calls.borrow_mut().push(call);
    }
}

impl Comm for Scribe<'_> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn send(&self, values: &[f64], to: usize) -> Result<()> {
        self.note(Call::Send((to, size_of_val(values))));
        self.comm.send(values, to)
    }

    fn recv(&self, values: &mut [f64], from: usize) -> Result<()> {
        self.note(Call::Receive((from, size_of_val(values))));
        self.comm.recv(values, from)
    }

    fn exchange(&self, sends: &[(usize, &[f64])], receives: &mut [(usize, &mut [f64])]) -> Result<()> {
        let out = sends.iter().map(|(to, values)| (*to, size_of_val(*values)));
        let back = receives.iter().map(|(from, values)| (*from, size_of_val(&**values)));
        self.note(Call::Exchange { sends: out.collect(), receives: back.collect() });
        self.comm.exchange(sends, receives)
    }

    fn alltoall(&self, own: &[f64], to: &mut [f64]) -> Result<()> {
        self.note(Call::Alltoall(size_of_val(own) / self.size()));
        self.comm.alltoall(own, to)
    }

    fn counts(&self, own: &[u64], to: &mut [u64]) -> Result<()> {
        self.note(Call::Alltoall(size_of::<u64>()));
        self.comm.counts(own, to)
    }

    fn keys(&self, own: &[u32], own_counts: &[usize], to: &mut [u32], to_counts: &[usize]) -> Result<()> {
        let bytes = |counts: &[usize]| counts.iter().map(|count| count * size_of::<u32>()).collect();
        self.note(Call::Alltoallv { sends: bytes(own_counts), receives: bytes(to_counts) });
        self.comm.keys(own, own_counts, to, to_counts)
    }

    fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.note(Call::Sum(size_of_val(values)));
        self.comm.sum(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends and receives between two ranks, in the order in which they match.
    fn between(scripts: &[Vec<Call>], from: usize, to: usize) -> [Vec<usize>; 2] {
        let sends = scripts[from].iter().flat_map(|call| match call {
            Call::Send(part) => vec![*part],
            Call::Exchange { sends, .. } => sends.clone(),
            _ => Vec::new(),
        });
        let receives = scripts[to].iter().flat_map(|call| match call {
            Call::Receive(part) => vec![*part],
            Call::Exchange { receives, .. } => receives.clone(),
            _ => Vec::new(),
        });
        let of = |peer: usize, parts: Vec<Part>| {
            parts.into_iter().filter(|part| part.0 == peer).map(|part| part.1).collect()
        };
        [of(to, sends.collect()), of(from, receives.collect())]
    }

    #[test]
    fn what_one_rank_sends_the_other_receives() {
        for metric in [Metric::KernelLu, Metric::KernelMg, Metric::KernelCg, Metric::KernelSp] {
            let scripts = script(metric, 16 << 10, 4).expect("a script");
            let mut messages = 0;
            for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
                let [sent, received] = between(&scripts, from, to);
                assert_eq!(sent, received, "{} from {from} to {to}", metric.name());
                messages += sent.len();
            }
            assert!(messages > 0, "{}", metric.name());
        }
    }

    /// A wave goes through 8 planes and back; in each a rank of a square of 2 by 2 sends to its two
    /// neighbours in one direction only, a line of 4 points of 5 values.
    #[test]
    fn a_wave_sends_a_line_of_each_plane() {
        let scripts = script(Metric::KernelLu, 8 * 8 * 8 * 40 / 4, 4).expect("a script");
        let sends = |rank: usize| scripts[rank].iter().filter(|call| matches!(call, Call::Send((_, 160))));
        assert_eq!((0..4).map(|rank| sends(rank).count()).collect::<Vec<_>>(), [16; 4]);
    }

    #[test]
    fn a_kernel_that_cannot_be_divided_has_no_script() {
        assert!(script(Metric::KernelSp, 4096, 2).is_err());
        assert!(script(Metric::Latency, 4096, 2).is_err());
    }
}
