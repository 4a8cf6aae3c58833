//! The tables: for each figure of the papers the designs that it compares, and the sizes.

use super::design::Design;
use super::sizes::{CHUNKS, LONG, WINDOW_LONG};
use super::table::{Table, size};
use crate::verbs::Costs;

/// A window of paper 1's bandwidth test (section 6.3.1).
const WINDOW: usize = 100;
const SMALL: [usize; 5] = [4, 16, 64, 256, 1024];
/// Lengths and window of the ladder as it is measured between nodes.
const PREDICTED: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
const WINDOW_PREDICTED: usize = 8;
const MIDDLE: [usize; 4] = [32 << 10, 64 << 10, 128 << 10, 256 << 10];

/// Makes all tables.
///
/// # Errors
/// What hung or failed.
pub fn tables() -> Result<Vec<Table>, String> {
    Ok(vec![
        latency()?,
        small_bandwidth()?,
        device_work()?,
        ladder_latency()?,
        ladder_bandwidth()?,
        chunks()?,
        directions()?,
        super::pipe_latency()?,
        super::pipe_bandwidth()?,
        super::pipe_chunks()?,
        super::pipe_work()?,
        super::rails()?,
        super::pairs()?,
    ])
}

fn gain_percent(from: f64, to: f64) -> f64 {
    (to / from - 1.0) * 100.0
}

/// Small messages by send and receive, and by RDMA write: latency.
///
/// # Errors
/// What hung or failed.
pub fn latency() -> Result<Table, String> {
    let title = "Latency of small messages, us (paper 1, figure 12: 24% less)";
    let mut table = Table::new(title, ["size", "send/receive", "RDMA eager", "change, %"]);
    for bytes in SMALL {
        let [one, other] =
            [Design::SendReceive, Design::RdmaEager].map(|design| design.latency_us(bytes, Costs::PAPER_1));
        let (one, other) = (one?, other?);
        table.add(size(bytes), vec![one, other, gain_percent(one, other)]);
    }
    Ok(table)
}

/// Like [`latency`], for the bandwidth of windows of 100 messages.
///
/// # Errors
/// What hung or failed.
pub fn small_bandwidth() -> Result<Table, String> {
    let title = "Bandwidth of small messages in windows of 100, MB/s (paper 1, figure 13: 104% more)";
    let mut table = Table::new(title, ["size", "send/receive", "RDMA eager", "change, %"]);
    for bytes in SMALL {
        let measured = [Design::SendReceive, Design::RdmaEager]
            .map(|design| design.bandwidth_mb_s(bytes, WINDOW, Costs::PAPER_1));
        let [one, other] = measured;
        let (one, other) = (one?, other?);
        table.add(size(bytes), vec![one, other, gain_percent(one, other)]);
    }
    Ok(table)
}

/// Counts the device's work for a small message, by design.
///
/// # Errors
/// What hung or failed.
pub fn device_work() -> Result<Table, String> {
    let title = "Work of the devices for a message of 4 bytes in a ping-pong";
    let mut table = Table::new(title, ["design", "sends", "writes", "asked for a completion"]);
    for design in [Design::SendReceive, Design::RdmaEager, Design::Basic] {
        let (counts, messages) = design.device_work(4, Costs::PAPER_1)?;
        let each = |count: u64| count as f64 / messages as f64;
        table.add(design.name(), vec![each(counts.sends), each(counts.writes), each(counts.signalled)]);
    }
    Ok(table)
}

/// The rungs of paper 2's ladder: latency of the smallest message.
///
/// # Errors
/// What hung or failed.
pub fn ladder_latency() -> Result<Table, String> {
    let title = "Latency of 4 bytes, us (paper 2, figures 4, 6 and 13)";
    let mut table = Table::new(title, ["design", "here", "paper"]);
    for (design, paper) in Design::LADDER.into_iter().zip([18.6, 7.4, 7.4, 7.6, 7.6]) {
        table.add(design.name(), vec![design.latency_us(4, Costs::PAPER_2)?, paper]);
    }
    Ok(table)
}

/// The rungs of paper 2's ladder: bandwidth.
///
/// # Errors
/// What hung or failed.
pub fn ladder_bandwidth() -> Result<Table, String> {
    let title = "Bandwidth, MB/s (paper 2, figures 5, 8, 11 and 14: at most 230, over 500, 857 and 857)";
    let names = Design::LADDER.map(Design::name);
    let mut table = Table::new(title, std::iter::once("size".to_string()).chain(names));
    for bytes in LONG {
        let values = Design::LADDER.map(|design| design.bandwidth_mb_s(bytes, WINDOW_LONG, Costs::PAPER_2));
        table.add(size(bytes), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

/// Predicts the ladder as it is measured between nodes (`verbena-papers rc ladder`: latency of 8
/// bytes in us, bandwidth in windows of 8 in MB/s) over a device of these costs.
///
/// # Errors
/// What hung or failed.
pub fn predicted_ladder(costs: Costs) -> Result<Table, String> {
    let names = Design::LADDER.map(Design::name);
    let title = "The ladder, predicted: latency of 8 bytes in us, bandwidth in MB/s";
    let mut table = Table::new(title, std::iter::once("point".to_string()).chain(names));
    let latency = Design::LADDER.map(|design| design.latency_us(8, costs));
    table.add("8 B", latency.into_iter().collect::<Result<_, _>>()?);
    for bytes in PREDICTED {
        let values = Design::LADDER.map(|design| design.bandwidth_mb_s(bytes, WINDOW_PREDICTED, costs));
        table.add(size(bytes), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

/// The pipeline by the size of its chunks.
///
/// # Errors
/// What hung or failed.
pub fn chunks() -> Result<Table, String> {
    let title = "Bandwidth of the pipeline by its chunks, MB/s (paper 2, figure 9: bad at 1 KiB and 32 KiB, alike from 2 to 16)";
    let names = CHUNKS.map(size);
    let mut table = Table::new(title, std::iter::once("size".to_string()).chain(names));
    for bytes in [64 << 10, 256 << 10, 1 << 20] {
        let values =
            CHUNKS.map(|chunk| Design::Pipeline(chunk).bandwidth_mb_s(bytes, WINDOW_LONG, Costs::PAPER_2));
        table.add(size(bytes), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

/// RDMA read against RDMA write, and what the channel's costs choose.
///
/// # Errors
/// What hung or failed.
pub fn directions() -> Result<Table, String> {
    let title = "Zero-copy of middle sizes, MB/s (paper 2, figures 14 and 15: writes are ahead)";
    let designs = [Design::ZeroCopyRead, Design::ZeroCopyWrite, Design::Automatic];
    let names = designs.map(Design::name);
    let mut table = Table::new(title, std::iter::once("size".to_string()).chain(names));
    for bytes in MIDDLE {
        let values = designs.map(|design| design.bandwidth_mb_s(bytes, WINDOW_LONG, Costs::PAPER_2));
        table.add(size(bytes), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}
