//! The simulator's figures, and what is counted rather than measured.

use super::record::Record;
use anyhow::{Result, anyhow};
use verbena_lab::kernels::partners::mean_sources;
use verbena_lab::metric::{Metric, format_size};
use verbena_sim::Rank;
use verbena_sim::figures::everyone::{self, By};
use verbena_sim::figures::{Design, Table, collectives, held_out, pairs, polling, set};
use verbena_sim::figures::{
    chunks, directions, ladder_bandwidth, ladder_latency, latency, pipe_bandwidth, pipe_latency, pipe_work,
    rails, small_bandwidth,
};
use verbena_sim::verbs::Costs;

/// Sizes of messages that go by rendezvous.
const LONG: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Windows of long messages.
const WINDOW: usize = 16;
/// Processes that speak to each other for the first time; only the first ones with `--quick`.
const PROCESSES: [Rank; 6] = [2, 16, 64, 256, 1024, 4096];
const PROCESSES_QUICK: usize = 5;
/// Processes of which each has a ring for each other one (paper 1, 6.4).
const RING_PROCESSES: Rank = 1024;

fn made(table: Result<Table, String>) -> Result<Table> {
    table.map_err(|reason| anyhow!("the simulator: {reason}"))
}

/// A table without the columns that only compare.
fn kept(table: &Table, columns: &[&str]) -> Table {
    let wanted: Vec<usize> =
        columns.iter().filter_map(|name| table.columns.iter().position(|column| column == name)).collect();
    let names =
        std::iter::once(table.columns[0].clone()).chain(wanted.iter().map(|at| table.columns[*at].clone()));
    let mut other = Table::new(&table.title, names);
    for row in &table.rows {
        other.add(row.name.clone(), wanted.iter().map(|at| row.values[at - 1]).collect());
    }
    other
}

/// Runs all figures of the simulator.
///
/// # Errors
/// The simulator hung, or the file cannot be written.
pub(super) fn run(record: &mut Record, quick: bool) -> Result<()> {
    let both = ["send/receive", "RDMA eager"];
    record.table("sim latency", "latency", "us", &kept(&made(latency())?, &both))?;
    record.table("sim small", "bandwidth", "MB/s", &kept(&made(small_bandwidth())?, &both))?;
    record.table("sim ladder latency", "latency", "us", &kept(&made(ladder_latency())?, &["here"]))?;
    record.table("sim ladder", "bandwidth", "MB/s", &made(ladder_bandwidth())?)?;
    record.table("sim chunks", "bandwidth", "MB/s", &made(chunks())?)?;
    record.table("sim direction", "bandwidth", "MB/s", &made(directions())?)?;
    let control = long("Latency of long messages", |design, bytes| design.latency_us(bytes, Costs::PAPER_1));
    record.table("sim control gain", "latency", "us", &gain(&made(control)?))?;
    let smooth_kib = held_out::smooth_threshold_kib().map_err(|reason| anyhow!("the simulator: {reason}"))?;
    let mut threshold = Table::new("The length from which rendezvous is quicker", ["place", "RDMA eager"]);
    threshold.add("smooth", vec![smooth_kib]);
    record.table("sim threshold", "length", "KiB", &threshold)?;
    let bandwidth = long("Bandwidth of long messages", |design, bytes| {
        design.bandwidth_mb_s(bytes, WINDOW, Costs::PAPER_1)
    });
    record.table("sim long", "bandwidth", "MB/s", &made(bandwidth)?)?;
    record.table("sim rails", "bandwidth", "MB/s", &kept(&made(rails())?, &["one", "two"]))?;
    schemes(record)?;
    pipe(record)?;
    record.table("sim pairs", "bandwidth", "MB/s", &made(pairs())?)?;
    over_nodes(record)?;
    super::kernels::run(record)?;
    record.table("sim sources", "sources", "peers", &sources())?;
    scale(record, quick)
}

/// Returns the microseconds that RDMA eager takes less than send and receive.
fn gain(table: &Table) -> Table {
    let mut other = Table::new("Microseconds less by RDMA eager", ["size", "gain"]);
    table.rows.iter().for_each(|row| other.add(row.name.clone(), vec![row.values[0] - row.values[1]]));
    other
}

fn long(title: &str, value: impl Fn(Design, usize) -> Result<f64, String>) -> Result<Table, String> {
    let designs = [Design::SendReceive, Design::RdmaEager];
    let mut table = Table::new(title, std::iter::once("size".to_string()).chain(designs.map(Design::name)));
    for bytes in LONG {
        let values = designs.map(|design| value(design, bytes)).into_iter().collect::<Result<_, _>>()?;
        table.add(format_size(bytes), values);
    }
    Ok(table)
}

/// Runs what paper 1 shows of several nodes: collectives, the polling set, the rings' memory.
fn over_nodes(record: &mut Record) -> Result<()> {
    let names = ["sim barrier", "sim bcast", "sim allreduce"];
    let tables = collectives::collectives().map_err(|reason| anyhow!("the simulator: {reason}"))?;
    for (name, table) in names.into_iter().zip(&tables) {
        record.table(name, "time", "us", &kept(table, &["send/receive", "RDMA eager"]))?;
    }
    let mut sets = kept(&made(set::polling_sets())?, &["latency, us"]);
    sets.columns[1] = "ours".into();
    record.table("sim polling set", "latency", "us", &sets)?;
    let bytes = everyone::rings_of_five(RING_PROCESSES).map_err(|reason| anyhow!(reason))?;
    let mut rings = Table::new("Registered memory of rings of 5 slots for all peers", ["processes", "rings"]);
    rings.add(RING_PROCESSES.to_string(), vec![bytes as f64 / 1e6]);
    record.table("sim rings", "memory", "MB", &rings)
}

fn pipe(record: &mut Record) -> Result<()> {
    record.table("sim pipe latency", "latency", "us", &kept(&made(pipe_latency())?, &["here"]))?;
    record.table("sim pipe", "bandwidth", "MB/s", &made(pipe_bandwidth())?)?;
    record.table("sim pipe work", "operations", "a message", &made(pipe_work())?)
}

fn schemes(record: &mut Record) -> Result<()> {
    let named = ["within the node, named", "network, named"];
    let ratios = kept(&made(polling::ratios())?, &["within the node", "network", named[0], named[1]]);
    record.table("sim ratios", "latency", "us", &ratios)?;
    record.table("sim discovery", "discovery", "ns", &made(polling::discovery())?)?;
    record.table("sim history", "discovery", "ns", &made(polling::histories())?)?;
    record.table("sim polling claims", "statement", "", &made(polling::claims())?)?;
    let rates = kept(&made(polling::good_rates())?, &["each update", "only changes"]);
    record.table("sim good rates", "rate", "messages", &rates)
}

fn sources() -> Table {
    let mut table = Table::new("Ranks from which a rank hears, counted", ["kernel", "ours"]);
    for (name, metric) in [("LU", Metric::KernelLu), ("CG", Metric::KernelCg), ("SMG", Metric::KernelSmg)] {
        for ranks in [64, 1024] {
            if let Some(mean) = mean_sources(metric, ranks) {
                table.add(format!("{name}, {ranks}"), vec![mean]);
            }
        }
    }
    table
}

fn scale(record: &mut Record, quick: bool) -> Result<()> {
    let names = ["processes", "ud", "rc SRQ", "rc no SRQ"];
    let mut times = Table::new("Everyone speaks to everyone for the first time", names);
    let mut memory = Table::new("Registered memory after that", names);
    let processes = if quick { &PROCESSES[..PROCESSES_QUICK] } else { &PROCESSES[..] };
    for &ranks in processes {
        let all = [By::Datagrams, By::SharedQueue, By::OwnQueues];
        let took = all.map(|by| everyone::connect(by, ranks, Costs::PAPER_1));
        let took = took.into_iter().collect::<Result<Vec<_>, String>>().map_err(|reason| anyhow!(reason))?;
        times.add(ranks.to_string(), took.iter().map(|took| took.time_ns as f64 / 1e6).collect());
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        memory.add(ranks.to_string(), took.iter().map(|took| mib(took.registered_bytes)).collect());
    }
    record.table("sim connect", "time", "ms", &times)?;
    record.table("sim memory", "memory", "MiB", &memory)
}
