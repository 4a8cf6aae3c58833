//! The parts of a message's time (paper 1, figure 16): a ping-pong whose ranks write traces, by
//! `VERBENA_TRACE`.

use super::measure::Budget;
use super::record::Record;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use verbena_lab::components::{COMPONENTS, logs, rows};
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::variant::{How, Place, Set, set};
use verbena_lab::metric::{Metric, Point};
use verbena_sim::figures::Table;

/// Sizes of the messages.
const SIZES: [usize; 3] = [8, 256, 1024];
/// Messages of each length that are left out at the beginning.
const SKIP: usize = 20;
/// A time long enough for many more messages than these, on an emulated machine too.
const POINT_MS_MIN: u64 = 100;
/// The stages of the receiver until the message is handed over.
const RECEIVER: [&str; 2] = ["r_completion", "r_protocol"];

/// Runs both traces: within a node, and between nodes if there are any.
///
/// # Errors
/// The file cannot be written. A trace that fails is noted.
pub(super) fn run(between: &Between, budget: &Budget, folder: &Path, record: &mut Record) -> Result<()> {
    let node = [("shared memory", Place::Node, vec![set("CHANNELS", "shm")])];
    noted("node trace", &node, between, budget, folder, record)?;
    if !between.has_nodes() {
        return record.skip("rc trace", super::measure::NO_NODES);
    }
    let rc = set("CHANNELS", "rc");
    let designs = [
        ("RDMA eager", Place::Nodes, vec![rc.clone()]),
        ("send/receive", Place::Nodes, vec![rc, set("RC_POLL_POLICY", "none")]),
    ];
    noted("rc trace", &designs, between, budget, folder, record)
}

type Design = (&'static str, Place, Vec<Set>);

fn noted(
    name: &str,
    designs: &[Design],
    between: &Between,
    budget: &Budget,
    folder: &Path,
    record: &mut Record,
) -> Result<()> {
    if budget.is_up() {
        return record.skip(name, "the time for this run was up before its turn");
    }
    eprintln!("{name}");
    match table(designs, between, folder) {
        Ok(table) => record.table(name, "time", "us", &table),
        Err(error) => record.skip(name, &format!("{error:#}")),
    }
}

/// A column for each design and size, a row for each part.
fn table(designs: &[Design], between: &Between, folder: &Path) -> Result<Table> {
    let mut columns: Vec<(String, [f64; 7], f64)> = Vec::new();
    for (number, (design, place, settings)) in designs.iter().enumerate() {
        let files = folder.join(format!("trace-{number}-{}", std::process::id()));
        let trace = set("TRACE", files.display());
        let how = How::Ours(*place, settings.iter().cloned().chain([trace]).collect());
        let mut launch = between.launch(&how, 2, 1)?.context("our library has a launcher")?;
        launch.point_ms = launch.point_ms.max(POINT_MS_MIN);
        let points = SIZES.map(|bytes| Point { metric: Metric::Latency, bytes });
        let end = launch.run(2, &points, &mut |_| {})?;
        ensure!(end == verbena_lab::job::End::Finished, "the traced job ended otherwise: {end:?}");
        let files = [0, 1].map(|rank| files.with_extension(format!("{rank}.json")));
        let rows = rows(&logs(&files)?, SKIP);
        files.iter().try_for_each(std::fs::remove_file).context("cannot remove a trace")?;
        for bytes in SIZES {
            let row = rows.iter().find(|row| row.bytes == bytes as u64);
            let row = row.with_context(|| format!("no message of {bytes} bytes was traced by both sides"))?;
            columns.push((format!("{design}, {bytes} B"), row.components_ns, row.total_ns));
        }
    }
    Ok(as_table(&columns))
}

fn as_table(columns: &[(String, [f64; 7], f64)]) -> Table {
    let names = std::iter::once("part".to_string()).chain(columns.iter().map(|(name, ..)| name.clone()));
    let mut table = Table::new("Where the time of a message goes", names);
    for (at, component) in COMPONENTS.iter().enumerate() {
        table.add(*component, columns.iter().map(|(_, parts, _)| parts[at] / 1e3).collect());
    }
    let of_receiver = |parts: &[f64; 7]| -> f64 {
        let own = COMPONENTS.iter().zip(parts).filter(|(name, _)| RECEIVER.contains(name));
        own.map(|(_, ns)| ns).sum()
    };
    table.add("receiver", columns.iter().map(|(_, parts, _)| of_receiver(parts) / 1e3).collect());
    table.add("total", columns.iter().map(|(.., total_ns)| total_ns / 1e3).collect());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receivers_parts_are_added_up() {
        let parts = [1.0, 2.0, 3.0, 4.0, 500.0, 600.0, 7.0];
        let table = as_table(&[("a".into(), parts, 1117.0)]);
        assert_eq!((table.value("receiver", "a"), table.value("total", "a")), (1.1, 1.117));
    }
}
