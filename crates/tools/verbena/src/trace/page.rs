//! The breakdown as a table for people.

use comfy_table::{Cell, CellAlignment, Table, presets};
use std::fmt::Write;
use verbena_channel::trace::{Log, Way};
use verbena_lab::components::{COMPONENTS, Row};
use verbena_lab::metric::format_size;

/// Returns the table, with an explanation for its reader.
pub(super) fn render(rows: &[Row], logs: &[Log]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let last = ["total", "half round trip", "messages", "overtaken"];
    table.set_header(["size", "way"].into_iter().chain(COMPONENTS).chain(last));
    for row in rows {
        let times = row.components_ns.iter().copied().chain([row.total_ns]).map(Some);
        let times =
            times.chain([row.half_round_trip_ns]).map(|ns| right(ns.map_or_else(String::new, micros)));
        let counts = [row.messages, row.overtaken].map(|count| right(count.to_string()));
        let head = [right(format_size(row.bytes as usize)), Cell::new(name(row.way))];
        table.add_row(head.into_iter().chain(times).chain(counts));
    }
    let mut out = format!("{table}\n");
    let stamp_ns = logs.iter().map(|log| log.stamp_ns).fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "Medians in microseconds. Each component includes reading the clock once: {} us here.\n\
         Overtaken: the receiver had the message before the sender's post returned; what was left of the post is not counted.",
        micros(stamp_ns)
    );
    let disordered: usize = rows.iter().map(|row| row.disordered).sum();
    if disordered > 0 {
        let _ = writeln!(
            out,
            "{disordered} messages are left out: by the clock they came before they were sent."
        );
    }
    let dropped: u64 = logs.iter().map(|log| log.dropped).sum();
    if dropped > 0 {
        let _ = writeln!(out, "{dropped} messages found no room: raise VERBENA_TRACE_RECORDS_MAX.");
    }
    out
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn micros(ns: f64) -> String {
    format!("{:.3}", ns / 1000.0)
}

fn name(way: Way) -> &'static str {
    match way {
        Way::Shm => "shared memory",
        Way::Loopback => "loopback",
        Way::RdmaEager => "RDMA eager",
        Way::SendReceive => "send/receive",
        Way::Other => "other",
    }
}
