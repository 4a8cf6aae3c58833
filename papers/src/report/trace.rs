//! The parts of a message's time (paper 1, figure 16): a ping-pong whose ranks write traces, by
//! `VERBENA_TRACE`, one job a round.

use super::job_table::JobTable;
use super::measure::{Budget, ROUNDS_MORE, disturbed, order};
use super::noise::again;
use super::record::Record;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use verbena_lab::components::{COMPONENTS, logs, rows};
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::variant::{How, Place, Set, set};
use verbena_lab::metric::{Metric, Point};
use verbena_lab::witness::Witness;
use verbena_lab::worker::Line;

/// Ranks of a job.
const RANKS: usize = 2;
/// Sizes of the messages.
const SIZES: [usize; 3] = [8, 256, 1024];
/// Messages of each length that are left out at the beginning.
const SKIP: usize = 20;
/// A time long enough for many more messages than these, on an emulated machine too. Within a node
/// it is long enough for messages of one length to fill a trace: there each length has a job of its
/// own.
const POINT_MS_MIN: u64 = 100;
/// The stages of the receiver until the message is handed over.
const RECEIVER: [&str; 2] = ["r_completion", "r_protocol"];

/// A design, and whether it is the first one's twin.
struct Design {
    name: &'static str,
    is_twin: bool,
    place: Place,
    settings: Vec<Set>,
}

/// Runs the trace between nodes if there are any, else that within this node.
///
/// # Errors
/// The file cannot be written. A trace that fails is noted.
pub(super) fn run(between: &Between, budget: &Budget, folder: &Path, record: &mut Record) -> Result<()> {
    let node = |is_twin| Design {
        name: "shared memory",
        is_twin,
        place: Place::Node,
        settings: vec![set("CHANNELS", "shm")],
    };
    if !between.has_nodes() {
        record.skip("rc trace", super::measure::NO_NODES)?;
        return noted("node trace", &[node(false), node(true)], between, budget, folder, record);
    }
    let rc = |name, is_twin, more: &[(&str, &str)]| Design {
        name,
        is_twin,
        place: Place::Nodes,
        settings: std::iter::once(&("CHANNELS", "rc"))
            .chain(more)
            .map(|(name, value)| set(name, value))
            .collect(),
    };
    let designs = [
        rc("RDMA eager", false, &[("RC_LEARN_PATH", "0")]),
        rc("send/receive", false, &[("RC_LEARN_PATH", "0"), ("RC_POLL_POLICY", "none")]),
        rc("RDMA eager", true, &[("RC_LEARN_PATH", "0")]),
    ];
    noted("rc trace", &designs, between, budget, folder, record)
}

fn noted(
    name: &str,
    designs: &[Design],
    between: &Between,
    budget: &Budget,
    folder: &Path,
    record: &mut Record,
) -> Result<()> {
    let mut table = JobTable::new("Where the time of a message goes", "part").of_ranks(RANKS);
    for round in 0..budget.rounds + ROUNDS_MORE {
        let is_more = round >= budget.rounds;
        if budget.is_up() && !is_more {
            record.skip(name, "the time for this run was up before its turn")?;
        }
        if budget.is_up() || is_more && disturbed(name, "", record) == 0 {
            break;
        }
        eprintln!("{name}, round {} of {}", round + 1, budget.rounds);
        for at in order(designs.len(), round) {
            if let Err(error) = traced(&designs[at], between, folder, &mut table) {
                return record.skip(name, &format!("{error:#}"));
            }
        }
        record.jobs(name, "time", "us", &table)?;
    }
    Ok(())
}

/// Runs the traced jobs of a design: a column for each size, a row for each part.
fn traced(design: &Design, between: &Between, folder: &Path, table: &mut JobTable) -> Result<()> {
    let together = if design.place == Place::Node { 1 } else { SIZES.len() };
    SIZES.chunks(together).try_for_each(|sizes| one(design, sizes, between, folder, table))
}

/// Runs one traced job of these sizes.
fn one(
    design: &Design,
    sizes: &[usize],
    between: &Between,
    folder: &Path,
    table: &mut JobTable,
) -> Result<()> {
    let files = folder.join(format!("trace-{}", std::process::id()));
    let trace = set("TRACE", files.display());
    let how = How::Ours(design.place, design.settings.iter().cloned().chain([trace]).collect());
    let mut launch = between.launch(&how, RANKS, 1)?.context("our library has a launcher")?;
    launch.point_ms = launch.point_ms.max(POINT_MS_MIN);
    let points: Vec<Point> = sizes.iter().map(|&bytes| Point { metric: Metric::Latency, bytes }).collect();
    let mut witnesses: Vec<(usize, Witness)> = Vec::new();
    let mut note = |line: Line| {
        if let Line::Point { point, witness: Some(witness), .. } = line {
            witnesses.push((point.bytes, witness));
        }
    };
    let end = launch.run(RANKS, &points, &mut note)?;
    ensure!(end == verbena_lab::job::End::Finished, "the traced job ended otherwise: {end:?}");
    let files = [0, 1].map(|rank| files.with_extension(format!("{rank}.json")));
    let rows = rows(&logs(&files)?, SKIP);
    files.iter().try_for_each(std::fs::remove_file).context("cannot remove a trace")?;
    for &bytes in sizes {
        let row = rows.iter().find(|row| row.bytes == bytes as u64);
        let row = row.with_context(|| format!("no message of {bytes} bytes was traced by both sides"))?;
        let column = format!("{}, {bytes} B", design.name);
        let column = if design.is_twin { again(&column) } else { column };
        let witness = witnesses.iter().find(|(of, _)| *of == bytes).map(|(_, witness)| witness);
        parts(&row.components_ns, row.total_ns)
            .for_each(|(part, us)| table.add_seen(part, &column, us, witness.cloned()));
    }
    Ok(())
}

/// The parts in microseconds, with the receiver's together, and the sum.
fn parts(components_ns: &[f64; 7], total_ns: f64) -> impl Iterator<Item = (&'static str, f64)> {
    let own = COMPONENTS.iter().zip(components_ns).filter(|(name, _)| RECEIVER.contains(name));
    let receiver_ns: f64 = own.map(|(_, ns)| ns).sum();
    let more = [("receiver", receiver_ns), ("total", total_ns)];
    let all: Vec<(&str, f64)> = COMPONENTS.into_iter().zip(*components_ns).chain(more).collect();
    all.into_iter().map(|(name, ns)| (name, ns / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receivers_parts_are_added_up() {
        let all: Vec<(&str, f64)> = parts(&[1.0, 2.0, 3.0, 4.0, 500.0, 600.0, 7.0], 1117.0).collect();
        assert!(all.contains(&("receiver", 1.1)) && all.contains(&("total", 1.117)), "{all:?}");
    }
}
