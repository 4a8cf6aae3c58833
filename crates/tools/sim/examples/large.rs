//! Prints what a rank costs in jobs of these sizes, 64 ranks on a node, and the times of first
//! messages, barriers and allreduces by the cost model:
//! `cargo run -p verbena-sim --example large -- 1024 65536`.

use verbena_sim::large::account::Counting;
use verbena_sim::large::{Costs, Job, Step};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Ranks on a node.
const NODE_SIZE: u32 = 64;
/// The steps, with their names. The first barrier and the first sums meet peers.
const STEPS: [(&str, Step); 6] = [
    ("first messages", Step::Neighbors),
    ("first barrier", Step::Barrier),
    ("barrier", Step::Barrier),
    ("first allreduce, 8 B", Step::Sum(8)),
    ("allreduce, 8 B", Step::Sum(8)),
    ("allreduce, 1 KiB", Step::Sum(1024)),
];

/// The memory of this process in KiB.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn run(ranks: u32) -> Result<(), String> {
    let before_kib = resident_kib();
    let mut job = Job::start(ranks, NODE_SIZE, Costs::PAPERS);
    let each_kib = || resident_kib().saturating_sub(before_kib) as f64 / f64::from(ranks);
    let start = job.held();
    println!(
        "{ranks} ranks on nodes of {NODE_SIZE}; {} bytes a process for the list of all",
        start.list_bytes
    );
    println!("| | us | packets in nodes | between them | bytes a rank | at most | resident KiB a rank |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    println!("| start | | | | {} | {} | {:.1} |", start.mean_bytes, start.most_bytes, each_kib());
    for (name, step) in STEPS {
        let took = job.take(step)?;
        let ([near, far], us) = (took.packets, took.time_ns as f64 / 1e3);
        let (mean, most) = (took.mean_bytes, took.high_bytes);
        println!("| {name} | {us:.1} | {near} | {far} | {mean} | {most} | {:.1} |", each_kib());
    }
    println!("peers met by rank 0: {}\n", job.met(0));
    Ok(())
}

fn main() -> Result<(), String> {
    let sizes: Result<Vec<u32>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let sizes = sizes.map_err(|error| format!("numbers of ranks, please: {error}"))?;
    let sizes = if sizes.is_empty() { vec![1024, 4096, 16_384] } else { sizes };
    sizes.into_iter().try_for_each(run)
}
