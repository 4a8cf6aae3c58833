//! Paper 2 from section 5 on: zero-copy, read against write, programs.

use super::Claimed::{About, Above, AtLeast, AtMost, Below, Within};
use super::{Item, Seen, against, mean, over_nodes, ratio, value};
use crate::report::pick::At::{self, Most, Row, Size};
use crate::report::pick::{Pick, pick};

const READ: &str = "zero-copy read after the match";
/// Control packets are written into rings, so that the device's writes count them.
const CONTROLS: &str = "writes, 64 KiB";
const SHARE: usize = 64 << 10;

const fn peak(series: &'static str) -> Pick {
    pick("rc ladder", series, "bandwidth", Most)
}

const fn sim_peak(series: &'static str) -> Pick {
    pick("sim ladder", series, "", Most)
}

const fn direction(series: &'static str, kib: usize) -> Pick {
    pick("rc direction", series, "bandwidth", Size(kib << 10))
}

const fn sim_direction(series: &'static str, kib: usize) -> Pick {
    pick("sim direction", series, "", Size(kib << 10))
}

/// The device's work for a message, counted.
const fn work(design: &'static str, operations: &'static str) -> Pick {
    pick("sim pipe work", operations, "", Row(design))
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [zero_copy(), interfaces(), directions(), programs()].concat()
}

fn zero_copy() -> Vec<Item> {
    let sim_latency = |series| pick("sim ladder latency", "here", "", Row(series));
    vec![
        Item::new(2, "figure 10", "5", "A control packet, an RDMA read, and a control packet back")
            .claim(
                "64 KiB by read after the match: control packets of a message",
                About(1.0),
                [against(work(READ, CONTROLS), 2.0)],
            )
            .claim("the same: RDMA reads of a message", About(1.0), [against(work(READ, "reads, 64 KiB"), 1.0)])
            .ours(
                "64 KiB through the pipe: RDMA writes of a message",
                [value(work("pipe: zero-copy", CONTROLS))
                    .but("the engine's question and the answer, the packet's head, the special packet and its acknowledgement: the last two are the control packets as drawn")],
            )
            .ours("the same: RDMA reads of a message", [value(work("pipe: zero-copy", "reads, 64 KiB"))])
            .show_over("design", "sim pipe work", ""),
        Item::new(
            2,
            "figure 11",
            "5",
            "Bandwidth by size: long messages read by the receiver where they lie, beside the pipeline",
        )
        .number("peak, zero-copy", 857.0, "MB/s")
        .number("peak, pipeline, more than", 500.0, "MB/s")
        .number("the device", 870.0, "MB/s")
        .number("small messages, zero-copy", 7.6, "us")
        .claim(
            "peak: zero-copy by read to pipeline",
            AtLeast(1.71),
            [
                ratio(peak("zero-copy read"), peak("pipeline")),
                ratio(sim_peak("zero-copy read"), sim_peak("pipeline 16 KiB")),
            ],
        )
        .claim(
            "peak: zero-copy by read to the bare device",
            AtLeast(0.985),
            [ratio(peak("zero-copy read"), peak("ib_write"))
                .but("Soft-RoCE in an emulated machine; the device writes")],
        )
        .claim(
            "small messages: zero-copy to piggybacked",
            About(1.03),
            [ratio(sim_latency("zero-copy read"), sim_latency("piggyback"))
                .but("below the threshold both are one path, here and in the model")],
        )
        .claim(
            "the cost model's peak to the paper's 857 MB/s",
            About(1.0),
            [against(sim_peak("zero-copy read"), 857.0)],
        )
        .show("rc ladder", "bandwidth")
        .show("sim ladder", "bandwidth"),
    ]
}

fn interfaces() -> Vec<Item> {
    vec![
        Item::new(2, "figure 12", "6", "A handshake, the sender's RDMA write, and a last control packet")
            .claim(
                "64 KiB by write after the match: RDMA writes of a message, three control packets and one of data",
                About(1.0),
                [against(work("zero-copy write after the match", CONTROLS), 4.0)],
            )
            .show_over("design", "sim pipe work", ""),
        Item::new(2, "figure 13", "6", "Latency by size of zero-copy by read and by write: alike")
            .claim(
                "small messages: by write to by read",
                About(1.0),
                [ratio(
                    pick("sim ladder latency", "here", "", Row("zero-copy write")),
                    pick("sim ladder latency", "here", "", Row("zero-copy read")),
                )
                .but("below the threshold both are one path, here and in the model")],
            )
            .claim(
                "64 KiB: by write to by read",
                About(1.0),
                [ratio(
                    pick("rc direction", "write", "latency", Size(64 << 10)),
                    pick("rc direction", "read", "latency", Size(64 << 10)),
                )],
            )
            .show("rc direction", "latency")
            .show_over("design", "sim ladder latency", ""),
    ]
}

fn directions() -> Vec<Item> {
    vec![
        Item::new(
            2,
            "figure 14",
            "6",
            "Bandwidth by size of zero-copy by read and by write: write is ahead from 32 to 256 KiB",
        )
        .claim(
            "64 KiB: by write to by read",
            Above(1.0),
            [
                ratio(direction("write", 64), direction("read", 64))
                    .but("on Soft-RoCE a read of middle size is the quicker one; the library learns which"),
                ratio(sim_direction("zero-copy write", 64), sim_direction("zero-copy read", 64)),
            ],
        )
        .claim(
            "1 MiB: by write to by read",
            About(1.0),
            [
                ratio(
                    pick("rc ladder", "zero-copy write", "bandwidth", Size(1 << 20)),
                    pick("rc ladder", "zero-copy read", "bandwidth", Size(1 << 20)),
                ),
                ratio(
                    pick("sim ladder", "zero-copy write", "", Size(1 << 20)),
                    pick("sim ladder", "zero-copy read", "", Size(1 << 20)),
                ),
            ],
        )
        .ours(
            "64 KiB: the library's own choice to the write",
            [
                ratio(direction("automatic", 64), direction("write", 64)),
                ratio(sim_direction("automatic", 64), sim_direction("zero-copy write", 64)),
            ],
        )
        .show("rc direction", "bandwidth")
        .show("sim direction", "bandwidth"),
        bare_directions(),
    ]
}

fn bare_directions() -> Item {
    Item::new(
        2,
        "figure 15",
        "6",
        "Bandwidth by size of the bare RDMA read and RDMA write: write is ahead at middle sizes",
    )
    .claim(
        "128 KiB: bare write to bare read",
        Above(1.0),
        [
            ratio(bare("ib_write", 128), bare("ib_read", 128))
                .but("perftest; on Soft-RoCE the processor of either side moves the bytes"),
            ratio(sim_direction("zero-copy write", 128), sim_direction("zero-copy read", 128)),
        ],
    )
    .claim(
        "64 KiB: bare write to bare read, by our own program",
        Above(1.0),
        [ratio(
            pick("verbs bandwidth", "write", "", Size(64 << 10)),
            pick("verbs bandwidth", "read", "", Size(64 << 10)),
        )],
    )
    .claim("32 KiB: bare write to bare read", Above(1.0), [ratio(bare("ib_write", 32), bare("ib_read", 32))])
    .show("rc direction", "bandwidth")
    .show("sim direction", "bandwidth")
}

/// The device itself.
const fn bare(series: &'static str, kib: usize) -> Pick {
    pick("rc direction", series, "bandwidth", Size(kib << 10))
}

/// A kernel's time with zero-copy to that by the pipeline.
fn compared(item: Item, metrics: &[&'static str]) -> Item {
    metrics.iter().fold(item, |item, &metric| {
        let of = |series| pick("rc large", series, metric, Size(SHARE));
        let seen = [
            ratio(of("zero-copy read"), of("pipeline"))
                .but("our kernels with the communication of the originals"),
            ratio(of("zero-copy write"), of("pipeline")).but("the paper's CH3 design writes"),
        ];
        item.claim(crate::report::kernel_title(metric), Below(1.0), seen)
    })
}

const ORIGINAL: &str = "the original program of class S or W, between nodes";

/// The kernels whose messages pass the paper's threshold.
const LARGE: [&str; 6] = ["kernel_is", "kernel_mg", "kernel_cg", "kernel_ft", "kernel_sp", "kernel_bt"];

/// The programs, and their rows.
const ORIGINALS: [(&str, &str); 6] = [
    ("original IS, Mop/s", "is, 4"),
    ("original CG, Mop/s", "cg, 4"),
    ("original MG, Mop/s", "mg, 4"),
    ("original FT, Mop/s", "ft, 4"),
    ("original SP, Mop/s", "sp, 4"),
    ("original BT, Mop/s", "bt, 4"),
];

/// The mean of one design to another over those kernels.
fn average(one: &'static str, other: &'static str) -> Seen {
    let of = |metric| {
        let of = |series| pick("rc large", series, metric, Size(SHARE));
        (of(one), of(other))
    };
    mean(of(LARGE[0]), LARGE[1..].iter().map(|metric| of(metric)).collect())
}

/// The mean of zero-copy by write to that by read over the originals.
fn originals_mean() -> Seen {
    let of = |(_, row): &(&'static str, &'static str)| {
        let of = |series| pick("npb", series, "mop_s", At::Row(row));
        (of("zero-copy write"), of("zero-copy read"))
    };
    mean(of(&ORIGINALS[0]), ORIGINALS[1..].iter().map(of).collect())
}

fn programs() -> Vec<Item> {
    let four = Item::new(2, "figure 16", "7", "NAS programs, class A on 4 nodes: pipeline, zero-copy by read, zero-copy by write; the pipeline is last everywhere")
        .number("by write better than by read, on average less than", 1.0, "%");
    let four = compared(four, &LARGE)
        .claim("on average: by write to by read, better by less than 1%", Within(0.99, 1.0), [average("zero-copy write", "zero-copy read")])
        .claim("on average: by read to the pipeline, not much and never worse", AtMost(1.0), [average("zero-copy read", "pipeline")])
        .show_over("kernel", "rc large", "").show_over("program", "npb", "mop_s")
        .lacks("class A needs minutes a program here, and an emulated machine hours: smaller classes and our kernels stand in; the originals run where --npb DIR names them")
        .lacks("LU natively: its messages are 320 B there, which no design for long messages touches");
    let original = |item: Item, &(what, row): &(&'static str, &'static str)| {
        let of = |series| pick("npb", series, "mop_s", At::Row(row));
        item.claim(
            what,
            Above(1.0),
            [
                ratio(of("zero-copy read"), of("pipeline")).but(ORIGINAL),
                ratio(of("zero-copy write"), of("pipeline")).but(ORIGINAL),
            ],
        )
    };
    let four = ORIGINALS.iter().fold(four, original).claim(
        "the originals on average, Mop/s: by write to by read, better by less than 1%",
        Within(1.0, 1.01),
        [originals_mean().but(ORIGINAL)],
    );
    let four = over_nodes::large_of_two(four);
    let four = over_nodes::large(four, 4);
    let eight = Item::new(
        2,
        "figure 17",
        "7",
        "NAS programs IS, MG, LU, CG and FT, class B on 8 nodes, with the same three designs",
    )
    .number("by write better than by read, on average less than", 1.0, "%")
    .lacks("8 nodes of an emulated machine on 2 cores would show the scheduler");
    let eight = over_nodes::large(eight, 8);
    vec![four, eight]
}
