//! The breakdown, and one-sided calls, as tables for people.

use comfy_table::{Cell, CellAlignment, Table, presets};
use std::fmt::Write;
use verbena_channel::trace::one_sided::{self, Call};
use verbena_channel::trace::{Log, Way};
use verbena_lab::components::{COMPONENTS, Row};
use verbena_lab::metric::format_size;
use verbena_lab::one_sided_calls::CallRow;

/// Returns the tables, each with an explanation for its reader.
pub(super) fn render(rows: &[Row], calls: &[CallRow], logs: &[Log]) -> String {
    let mut out = String::new();
    if !rows.is_empty() {
        out += &messages(rows, logs);
    }
    if !calls.is_empty() {
        out += &one_sided_calls(calls);
    }
    let dropped: u64 = logs.iter().map(|log| log.dropped).sum();
    if dropped > 0 {
        let _ = writeln!(out, "{dropped} messages or calls found no room: raise VERBENA_TRACE_RECORDS_MAX.");
    }
    out
}

fn one_sided_calls(calls: &[CallRow]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["origin", "target", "one-sided call", "size", "way", "median", "longest", "calls"]);
    for row in calls {
        let target = row.target.map_or("all".into(), |target| target.to_string());
        let size = if is_operation(row.call) { format_size(row.bytes as usize) } else { String::new() };
        let numbers = [micros(row.median_ns), micros(row.longest_ns), row.calls.to_string()];
        let head =
            [right(row.origin.to_string()), right(target), Cell::new(call_name(row.call)), right(size)];
        let way = Cell::new(row.way.map_or("", way_name));
        table.add_row(head.into_iter().chain([way]).chain(numbers.map(right)));
    }
    format!(
        "{table}\nMicroseconds from a call to its return, at its origin; that of a lock is the wait for it.\n"
    )
}

/// Returns whether a call moves bytes.
fn is_operation(call: Call) -> bool {
    use Call::{Accumulate, CompareAndSwap, FetchAndOp, Get, Put};
    matches!(call, Put | Get | Accumulate | FetchAndOp | CompareAndSwap)
}

fn call_name(call: Call) -> &'static str {
    match call {
        Call::Put => "put",
        Call::Get => "get",
        Call::Accumulate => "accumulate",
        Call::FetchAndOp => "fetch and op",
        Call::CompareAndSwap => "compare and swap",
        Call::Lock => "lock",
        Call::Unlock => "unlock",
        Call::Flush => "flush",
        Call::FlushLocal => "flush local",
        Call::Fence => "fence",
        Call::Complete => "complete",
        Call::Wait => "wait",
    }
}

fn way_name(way: one_sided::Way) -> &'static str {
    match way {
        one_sided::Way::Mapped => "mapped memory",
        one_sided::Way::Neighbor => "kernel's copies",
        one_sided::Way::Messages => "messages",
        one_sided::Way::Device => "device",
    }
}

fn messages(rows: &[Row], logs: &[Log]) -> String {
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
