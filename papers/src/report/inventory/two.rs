//! Paper 2 up to section 4.4: the RDMA channel of MPICH2, from the basic design to the pipeline.

use super::Claimed::{About, Above, AtLeast, AtMost, Below};
use super::{Item, against, ratio, value};
use crate::report::pick::At::{Least, Most, Row, Size};
use crate::report::pick::{Pick, pick};

const DRAWING: &str = "a drawing of the software's layers or of the design, without numbers";
const SEMANTICS: &str = "the meaning of two calls, without numbers; `sim/tests/pipe_channel.rs` holds ours to it: bytes in order, partial counts, 0 from a full and an empty pipe";
const OWN: &str = "the claim is the model's own: no paper has this device";
const SOFT: &str = "Soft-RoCE: the processor moves every byte, so that copying beside the transfer gains less than on the paper's adapter";

const fn rung(series: &'static str) -> Pick {
    pick("rc ladder", series, "latency", Size(8))
}

const fn peak(series: &'static str) -> Pick {
    pick("rc ladder", series, "bandwidth", Most)
}

const fn sim_rung(series: &'static str) -> Pick {
    pick("sim ladder latency", "here", "", Row(series))
}

const fn sim_peak(series: &'static str) -> Pick {
    pick("sim ladder", series, "", Most)
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [layers(), basic(), piggyback(), pipeline(), vec![predicted()]].concat()
}

fn layers() -> Vec<Item> {
    vec![
        Item::new(2, "figure 1", "3.1", "The layers of MPICH2").lacks(DRAWING),
        Item::new(2, "figure 2", "3.2", "Put and get at the two ends of a pipe").lacks(SEMANTICS),
        Item::new(2, "figure 3", "3.2", "That pipe as a ring in shared memory, with head and tail pointers")
            .lacks(DRAWING),
    ]
}

fn basic() -> Vec<Item> {
    vec![
        Item::new(
            2,
            "figure 4",
            "4.2.1",
            "Latency by size of the basic design: data, head and tail pointers by three RDMA writes",
        )
        .number("small messages, basic design", 18.6, "us")
        .number("the bare device", 5.9, "us")
        .claim(
            "small messages: basic design to the bare device",
            AtLeast(3.15),
            [ratio(rung("basic"), rung("ib_write")).but("Soft-RoCE in an emulated machine")],
        )
        .claim(
            "the cost model's basic design to the paper's 18.6 us",
            About(1.0),
            [against(sim_rung("basic"), 18.6)],
        )
        .show("rc ladder", "latency")
        .show_over("design", "sim ladder latency", ""),
        Item::new(
            2,
            "figure 5",
            "4.2.1",
            "Bandwidth by size of the basic design: copied whole, then transferred",
        )
        .number("peak, basic design", 230.0, "MB/s")
        .number("the bare device", 870.0, "MB/s")
        .claim(
            "peak: basic design to the bare device",
            AtMost(0.264),
            [ratio(peak("basic"), peak("ib_write")).but(SOFT)],
        )
        .claim(
            "the cost model's basic design to the paper's 230 MB/s",
            About(1.0),
            [against(sim_peak("basic"), 230.0).held_out()],
        )
        .show("rc ladder", "bandwidth")
        .show("sim ladder", "bandwidth"),
    ]
}

fn piggyback() -> Vec<Item> {
    let at = |series, bytes| pick("rc notify", series, "bandwidth", Size(bytes));
    vec![
        Item::new(2, "figure 6", "4.3", "Latency of small messages with pointers that ride on the data")
            .number("basic design", 18.6, "us")
            .number("piggybacked", 7.4, "us")
            .claim(
                "small messages: basic to piggybacked",
                AtLeast(2.5),
                [ratio(rung("basic"), rung("piggyback")), ratio(sim_rung("basic"), sim_rung("piggyback"))],
            )
            .claim(
                "the cost model's piggybacked design to the paper's 7.4 us",
                About(1.0),
                [against(sim_rung("piggyback"), 7.4)],
            )
            .show("rc ladder", "latency")
            .show_over("design", "sim ladder latency", ""),
        Item::new(
            2,
            "figure 7",
            "4.3",
            "Bandwidth of small messages with pointers that ride on the data: higher",
        )
        .claim("64 B: piggybacked to basic", Above(1.0), [ratio(at("piggyback", 64), at("basic", 64))])
        .claim("1 KiB: piggybacked to basic", Above(1.0), [ratio(at("piggyback", 1024), at("basic", 1024))])
        .show("rc notify", "bandwidth"),
        Item::new(2, "text", "4.4", "Bandwidth of copying memory on the paper's machines")
            .number("memory copy, less than", 800.0, "MB/s")
            .ours(
                "memcpy of 4 MiB by one processor here",
                [value(pick("node floor", "memcpy", "copy", Size(4 << 20)))
                    .but("so copies cost little here beside what they cost the paper")],
            )
            .show("node floor", "copy")
            .lacks("a number of the paper's machines: a copy here need not be as slow"),
    ]
}

fn pipeline() -> Vec<Item> {
    let chunk = |series, bytes| pick("rc chunks", series, "bandwidth", Size(bytes));
    let sim = |series| pick("sim chunks", series, "", Size(64 << 10));
    let both = |of| [ratio(chunk(of, 64 << 10), chunk("16 KiB", 64 << 10)), ratio(sim(of), sim("16 KiB"))];
    vec![
        Item::new(
            2,
            "figure 8",
            "4.4",
            "Bandwidth by size: long messages copied and transferred chunk by chunk, beside the basic design",
        )
        .number("peak, basic design", 230.0, "MB/s")
        .number("peak, pipeline, more than", 500.0, "MB/s")
        .number("the device", 870.0, "MB/s")
        .claim(
            "peak: pipeline to basic",
            AtLeast(2.17),
            [
                ratio(peak("pipeline"), peak("basic")).but(SOFT),
                ratio(sim_peak("pipeline 16 KiB"), sim_peak("basic")),
            ],
        )
        .show("rc ladder", "bandwidth")
        .show("sim ladder", "bandwidth"),
        Item::new(
            2,
            "figure 9",
            "4.4.1",
            "Bandwidth of the pipeline by its chunks, 1 to 32 KiB: bad at both ends, alike from 2 to 16",
        )
        .number("chosen chunk", 16.0, "KiB")
        .claim("64 KiB: chunks of 1 KiB to chunks of 16 KiB, bad", AtMost(0.9), both("1 KiB"))
        .claim("64 KiB: chunks of 2 KiB to chunks of 16 KiB, alike", About(1.0), {
            let [measured, modelled] = both("2 KiB");
            [measured, modelled.held_out()]
        })
        .claim("64 KiB: chunks of 4 KiB to chunks of 16 KiB, alike", About(1.0), both("4 KiB"))
        .claim("64 KiB: chunks of 8 KiB to chunks of 16 KiB, alike", About(1.0), both("8 KiB"))
        .claim("64 KiB: chunks of 32 KiB to chunks of 16 KiB, worse", Below(1.0), both("32 KiB"))
        .ours(
            "chunks of 1 KiB: the lowest bandwidth",
            [value(pick("rc chunks", "1 KiB", "bandwidth", Least))],
        )
        .show("rc chunks", "bandwidth")
        .show("sim chunks", "bandwidth"),
    ]
}

/// The ladder on the device of this machine, by the model that the bare device calibrates: a row
/// for each prediction that the report measures too.
fn predicted() -> Item {
    let latency = |row, design| ratio(pick("sim predicted latency", "predicted", "", Row(row)), rung(design));
    let bandwidth = |(row, design, bytes)| {
        let measured = pick("rc ladder", design, "bandwidth", Size(bytes));
        ratio(pick("sim predicted bandwidth", "predicted", "", Row(row)), measured).but(OWN)
    };
    let item = Item::new(
        2,
        "text",
        "4 to 6",
        "The ladder on this device: the model, calibrated on the bare device, to what was measured",
    )
    .claim("basic design, 8 B", About(1.0), [latency("basic, 8 B", "basic").but(OWN)])
    .ours(
        "piggybacked design, 8 B: the one number of the ladder that the model is fitted to",
        [latency("piggyback, 8 B", "piggyback")],
    );
    PREDICTED.into_iter().fold(item, |item, point| item.claim(point.0, About(1.0), [bandwidth(point)]))
}

const SIZES: [usize; 3] = [64 << 10, 256 << 10, 1 << 20];
/// The bandwidths: the row's name, the measured variant, and the size.
const PREDICTED: [(&str, &str, usize); 15] = [
    ("basic, 64 KiB", "basic", SIZES[0]),
    ("basic, 256 KiB", "basic", SIZES[1]),
    ("basic, 1 MiB", "basic", SIZES[2]),
    ("piggyback, 64 KiB", "piggyback", SIZES[0]),
    ("piggyback, 256 KiB", "piggyback", SIZES[1]),
    ("piggyback, 1 MiB", "piggyback", SIZES[2]),
    ("pipeline, 64 KiB", "pipeline", SIZES[0]),
    ("pipeline, 256 KiB", "pipeline", SIZES[1]),
    ("pipeline, 1 MiB", "pipeline", SIZES[2]),
    ("zero-copy read, 64 KiB", "zero-copy read", SIZES[0]),
    ("zero-copy read, 256 KiB", "zero-copy read", SIZES[1]),
    ("zero-copy read, 1 MiB", "zero-copy read", SIZES[2]),
    ("zero-copy write, 64 KiB", "zero-copy write", SIZES[0]),
    ("zero-copy write, 256 KiB", "zero-copy write", SIZES[1]),
    ("zero-copy write, 1 MiB", "zero-copy write", SIZES[2]),
];
