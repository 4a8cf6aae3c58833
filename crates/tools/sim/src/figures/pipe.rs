//! Paper 2's question by the cost model: how much does so small an interface as the RDMA Channel
//! cost (the designs of the channel `pipe`), against reading and writing memory after the match
//! (`rc`, as the paper's CH3 design does)?

use super::Design as AfterMatch;
use super::bench::{Bench, ROUNDS, WARM_ROUNDS, ping_pong, window_rounds};
use super::costed::Costed;
use super::sizes::{CHUNKS, LONG, WINDOW_LONG};
use super::table::{Table, size};

use crate::Rank;
use crate::over_pipe::{channels, keep_registrations, paper_settings};
use crate::verbs::{Costs, Counts, DeviceFaults, Subnet};
use verbena_channel::Channel;
use verbena_channel::wrapper::Wrapper;
use verbena_infiniband::pipe::{Design, Settings};

/// A design that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// A design of the pipe, with chunks of this many bytes.
    Pipe(Design, usize),
    /// Memory that is read or written after the match, over `rc`.
    AfterMatch(AfterMatch),
}

/// The chunk that paper 2 chose (section 4.4.1).
const CHUNK_BYTES: usize = 16 << 10;

impl Rung {
    /// The designs of the pipe in order, then what CH3 does, by read and by write.
    pub const ALL: [Rung; 6] = [
        Rung::Pipe(Design::Basic, CHUNK_BYTES),
        Rung::Pipe(Design::Piggyback, CHUNK_BYTES),
        Rung::Pipe(Design::Pipeline, CHUNK_BYTES),
        Rung::Pipe(Design::ZeroCopy, CHUNK_BYTES),
        Rung::AfterMatch(AfterMatch::ZeroCopyRead),
        Rung::AfterMatch(AfterMatch::ZeroCopyWrite),
    ];

    /// Returns the name in tables.
    pub fn name(self) -> String {
        match self {
            Rung::Pipe(Design::Basic, _) => "pipe: basic".into(),
            Rung::Pipe(Design::Piggyback, _) => "pipe: piggyback".into(),
            Rung::Pipe(Design::Pipeline, _) => "pipe: pipeline".into(),
            Rung::Pipe(Design::ZeroCopy, _) => "pipe: zero-copy".into(),
            Rung::AfterMatch(design) => format!("{} after the match", design.name()),
        }
    }

    /// The channels of this many ranks, each on a node of its own, their devices, and the settings
    /// of the engines.
    pub(super) fn network(
        self,
        costs: Costs,
        nodes: Rank,
    ) -> (Vec<Box<dyn Channel>>, Subnet, verbena_engine::Settings) {
        match self {
            Rung::Pipe(design, chunk) => {
                let (wires, subnet) = wires(design, chunk, costs, nodes);
                (wires, subnet, verbena_engine::Settings::default())
            }
            Rung::AfterMatch(design) => {
                let (wires, subnet) = design.wires(costs, nodes);
                (wires, subnet, design.engine_settings())
            }
        }
    }

    /// Measures half the time of a round trip of messages of this length, in microseconds.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn latency_us(self, bytes: usize, costs: Costs) -> Result<f64, String> {
        match self {
            Rung::Pipe(design, chunk) => bench(design, chunk, bytes, costs).0.latency_us(bytes),
            Rung::AfterMatch(design) => design.latency_us(bytes, costs),
        }
    }

    /// Measures bytes per microsecond (10^6 a second) of windows of messages of this length, each
    /// window answered.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn bandwidth_mb_s(self, bytes: usize, window: usize, costs: Costs) -> Result<f64, String> {
        match self {
            Rung::Pipe(design, chunk) => {
                bench(design, chunk, bytes, costs).0.bandwidth_mb_s(bytes, window, window_rounds(bytes))
            }
            Rung::AfterMatch(design) => design.bandwidth_mb_s(bytes, window, costs),
        }
    }

    /// Counts the devices' work for a message of this length in a ping-pong, and for how many.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn device_work(self, bytes: usize, costs: Costs) -> Result<(Counts, usize), String> {
        let (design, chunk) = match self {
            Rung::Pipe(design, chunk) => (design, chunk),
            Rung::AfterMatch(design) => return design.device_work(bytes, costs),
        };
        let (mut bench, subnet) = bench(design, chunk, bytes, costs);
        bench.run(ping_pong(bytes, WARM_ROUNDS, 0))?;
        let before = subnet.counts();
        bench.run(ping_pong(bytes, 0, ROUNDS))?;
        Ok((subnet.counts().since(&before), 2 * ROUNDS))
    }
}

/// The channels of this many ranks, each on a node of its own, and their devices.
fn wires(design: Design, chunk_bytes: usize, costs: Costs, nodes: Rank) -> (Vec<Box<dyn Channel>>, Subnet) {
    let subnet = Subnet::new(1, nodes, costs, DeviceFaults::NONE);
    let settings = Settings { chunk_bytes, piece_bytes: usize::MAX, ..paper_settings(design) }.sound();
    let mut pipes = channels(&subnet, |_| settings.clone(), nodes);
    pipes.iter_mut().for_each(keep_registrations);
    let wire = |(rank, pipe)| {
        let tap = Costed { rank, subnet: subnet.clone(), copies: false };
        Box::new(Wrapper { inner: Box::new(pipe) as Box<dyn Channel>, tap }) as Box<dyn Channel>
    };
    ((0..nodes).zip(pipes).map(wire).collect(), subnet)
}

fn bench(design: Design, chunk_bytes: usize, bytes: usize, costs: Costs) -> (Bench, Subnet) {
    let (wires, subnet) = wires(design, chunk_bytes, costs, 2);
    let mut wires = wires.into_iter();
    let wire = |_| vec![wires.next().expect("one for each rank")];
    let bench = Bench::new(subnet.clone(), bytes, verbena_engine::Settings::default(), wire);
    (bench, subnet)
}

/// Latency of the smallest message.
///
/// # Errors
/// What hung or failed.
pub fn pipe_latency() -> Result<Table, String> {
    let title =
        "Latency of 4 bytes through the RDMA Channel and beside it, us (paper 2, figures 4, 6 and 13)";
    let mut table = Table::new(title, ["design", "here", "paper"]);
    for (rung, paper) in Rung::ALL.into_iter().zip([18.6, 7.4, 7.4, 7.6, 7.6, 7.6]) {
        table.add(rung.name(), vec![rung.latency_us(4, Costs::PAPER_2)?, paper]);
    }
    Ok(table)
}

/// Bandwidth by size, and what the zero-copy pipe has of the quickest design after the match.
///
/// # Errors
/// What hung or failed.
pub fn pipe_bandwidth() -> Result<Table, String> {
    let title = "Bandwidth through the RDMA Channel and beside it, MB/s (paper 2, figures 5, 8, 11 and 14)";
    let names = Rung::ALL.map(Rung::name);
    let mut table = Table::new(title, std::iter::once("size".to_string()).chain(names));
    for bytes in LONG {
        let values = Rung::ALL.map(|rung| rung.bandwidth_mb_s(bytes, WINDOW_LONG, Costs::PAPER_2));
        table.add(size(bytes), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

/// The pipeline inside the pipe by the size of its chunks.
///
/// # Errors
/// What hung or failed.
pub fn pipe_chunks() -> Result<Table, String> {
    let title = "Bandwidth of the pipeline inside the pipe by its chunks, MB/s (paper 2, figure 9: alike from 2 to 16 KiB)";
    let mut table = Table::new(title, std::iter::once("size".to_string()).chain(CHUNKS.map(size)));
    for bytes in [64 << 10, 256 << 10, 1 << 20] {
        let values = CHUNKS.map(|chunk| {
            Rung::Pipe(Design::Pipeline, chunk).bandwidth_mb_s(bytes, WINDOW_LONG, Costs::PAPER_2)
        });
        table.add(size(bytes), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

/// The device's work for a message, short and long.
///
/// # Errors
/// What hung or failed.
pub fn pipe_work() -> Result<Table, String> {
    let title = "Work of the devices for a message through the RDMA Channel and beside it (paper 2, 4.2: three writes)";
    let mut table = Table::new(title, ["design", "writes, 4 B", "writes, 64 KiB", "reads, 64 KiB"]);
    for rung in Rung::ALL {
        let [short, long] = [4, 64 << 10].map(|bytes| rung.device_work(bytes, Costs::PAPER_2));
        let ((short, messages), (long, _)) = (short?, long?);
        let each = |count: u64| count as f64 / messages as f64;
        table.add(rung.name(), vec![each(short.writes), each(long.writes), each(long.reads)]);
    }
    Ok(table)
}
