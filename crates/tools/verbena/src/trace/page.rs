//! The breakdown, and one-sided calls, as tables for people.

use super::summary::{CallsRow, Summary};
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

/// Returns the profile as tables: of the calls, as many lines as that.
pub(super) fn summary(summary: &Summary, lines: usize) -> String {
    let mut ranks = Table::new();
    ranks.load_style(presets::UTF8_FULL_CONDENSED);
    ranks.set_header(["rank", "host", "run s", "MPI s", "MPI %", "calls", "sent", "bytes", "unexpected"]);
    for row in &summary.ranks {
        let percent = 100.0 * row.mpi_ns / row.run_ns.max(1.0);
        let numbers = [
            format!("{:.3}", row.run_ns / 1e9),
            format!("{:.3}", row.mpi_ns / 1e9),
            format!("{percent:.1}"),
            row.calls.to_string(),
            row.sent.to_string(),
            format_size(row.sent_bytes as usize),
            format!("{} of {}", row.unexpected, row.came),
        ];
        ranks.add_row(
            [right(row.rank.to_string()), Cell::new(&row.host)].into_iter().chain(numbers.map(right)),
        );
    }
    let mut calls = Table::new();
    calls.load_style(presets::UTF8_FULL_CONDENSED);
    calls.set_header([
        "call",
        "on",
        "size",
        "calls",
        "ranks",
        "total ms",
        "MPI %",
        "mean us",
        "longest us",
        "spread",
    ]);
    summary.calls.iter().take(lines).for_each(|row| {
        calls.add_row(call_cells(row));
    });
    let mut out = format!(
        "{ranks}\nRun: from the beginning of MPI_Init to the end of MPI_Finalize, both in MPI. Sent: messages of this rank, those of collectives too; \
         those that collectives\nexchange by shared memory are none. Unexpected: messages that came before their receive.\n\n{calls}\n"
    );
    if summary.calls.len() > lines {
        let _ = writeln!(out, "{} more lines: --top {}.", summary.calls.len() - lines, summary.calls.len());
    }
    out + "Size: bytes in the buffer that the call names. A call that only receives, MPI_Recv for example, names room: less may\n\
           have come. Spread: how unlike the ranks' times are (standard deviation by mean).\n\n"
}

fn call_cells(row: &CallsRow) -> Vec<Cell> {
    let on = match (&row.on, row.ranks_of_it) {
        (Some(name), Some(ranks)) => format!("{name} ({ranks})"),
        _ => String::new(),
    };
    let size = match row.bytes {
        [0, 0] => String::new(),
        [least, most] if least == most => format_size(most as usize),
        [least, most] => format!("{} to {}", format_size(least as usize), format_size(most as usize)),
    };
    let numbers = [
        row.calls.to_string(),
        row.ranks.to_string(),
        format!("{:.3}", row.total_ns / 1e6),
        format!("{:.1}", 100.0 * row.share),
        micros(row.total_ns / row.calls.max(1) as f64),
        micros(row.longest_ns),
        format!("{:.2}", row.spread),
    ];
    let head = [Cell::new(&row.call), Cell::new(on), right(size)];
    head.into_iter().chain(numbers.map(right)).collect()
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
         The sender: s_mpitoadi from the program's call to the engine, s_protocol in the engine, s_post handing the \
         packet\nto the channel. IBA: on its way over the channel, whichever that is. The receiver: r_completion finding \
         it, r_protocol\nin its engine, r_aditompi back in the program. The names are those of paper 1 (docs/PAPERS.md).\n\
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
