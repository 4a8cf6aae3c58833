//! Paper 2, section 6 by its own question: the RDMA Channel, a byte pipe of five functions, against
//! the CH3 interface, which moves memory after the match.

use super::Claimed::{About, Above, AtLeast, AtMost, Below, Within};
use super::{Item, Seen, against, mean, ratio, value};
use crate::report::pick::At::{Most, Row, Size};
use crate::report::pick::{Pick, pick};

const PIPE: &str = "pipe: zero-copy";
/// The way of the paper's CH3 design.
const WRITE: &str = "write after the match";
const READ: &str = "read after the match";
const SIM_WRITE: &str = "zero-copy write after the match";
const SIM_READ: &str = "zero-copy read after the match";
const HANDSHAKE: &str = "not the interface alone: above the limit the engine asks over the pipe whether a receive is there and is told (RequestToSend, ClearToSend), and then the pipe sends its own special packet; a read after the match needs the first of these three only, so a part of the gap is this handshake";
const INTERFACE: &str =
    "the interface alone: the engine's handshake over the pipe is a part of what the pipe is behind";
const WHY: &str =
    "shorter messages than 32 KiB are not compared: there the two interfaces copy at other lengths";

const fn latency(series: &'static str) -> Pick {
    pick("rc pipe", series, "latency", Size(8))
}

const fn bandwidth(series: &'static str, kib: usize) -> Pick {
    pick("rc pipe", series, "bandwidth", Size(kib << 10))
}

const fn peak(series: &'static str) -> Pick {
    pick("rc pipe", series, "bandwidth", Most)
}

const fn sim_latency(series: &'static str) -> Pick {
    pick("sim pipe latency", "here", "", Row(series))
}

const fn sim_bandwidth(series: &'static str, kib: usize) -> Pick {
    pick("sim pipe", series, "", Size(kib << 10))
}

const fn sim_peak(series: &'static str) -> Pick {
    pick("sim pipe", series, "", Most)
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    vec![designs(), chunks(), against_ch3(), programs()]
}

fn designs() -> Item {
    let work = |series| pick("sim pipe work", series, "", Row("pipe: basic"));
    Item::new(
        2,
        "text",
        "4 and 5",
        "The designs of the RDMA Channel inside a byte pipe, as the paper built them",
    )
    .number("small messages, basic design", 18.6, "us")
    .number("small messages, piggybacked", 7.4, "us")
    .claim(
        "small messages: basic to piggybacked",
        AtLeast(2.5),
        [
            ratio(latency("pipe: basic"), latency("pipe: piggyback")),
            ratio(sim_latency("pipe: basic"), sim_latency("pipe: piggyback")),
        ],
    )
    .claim(
        "peak: pipeline to basic",
        AtLeast(2.17),
        [
            ratio(peak("pipe: pipeline"), peak("pipe: basic")),
            ratio(sim_peak("pipe: pipeline"), sim_peak("pipe: basic")),
        ],
    )
    .claim(
        "peak: zero-copy to pipeline",
        AtLeast(1.71),
        [ratio(peak(PIPE), peak("pipe: pipeline")), ratio(sim_peak(PIPE), sim_peak("pipe: pipeline"))],
    )
    .claim(
        "basic design, 4 B: RDMA writes of a message, to the paper's three",
        About(1.0),
        [against(work("writes, 4 B"), 3.0)],
    )
    .show("rc pipe", "bandwidth")
    .show("sim pipe", "bandwidth")
    .show_over("design", "sim pipe latency", "")
}

fn chunks() -> Item {
    let to_chosen = |chunk| {
        let at = |series| pick("rc pipe-chunks", series, "bandwidth", Size(64 << 10));
        [ratio(at(chunk), at("16 KiB"))]
    };
    Item::new(
        2,
        "text",
        "4.4.1",
        "Figure 9 inside the byte pipe: its pipeline by chunks, bad at 1 and 32 KiB, alike from 2 to 16",
    )
    .number("chosen chunk", 16.0, "KiB")
    .claim("64 KiB: chunks of 1 KiB to chunks of 16 KiB, bad", AtMost(0.9), to_chosen("1 KiB"))
    .claim("64 KiB: chunks of 2 KiB to chunks of 16 KiB, alike", About(1.0), to_chosen("2 KiB"))
    .claim("64 KiB: chunks of 4 KiB to chunks of 16 KiB, alike", About(1.0), to_chosen("4 KiB"))
    .claim("64 KiB: chunks of 8 KiB to chunks of 16 KiB, alike", About(1.0), to_chosen("8 KiB"))
    .claim("64 KiB: chunks of 32 KiB to chunks of 16 KiB, worse", Below(1.0), to_chosen("32 KiB"))
    .show("rc pipe-chunks", "bandwidth")
}

fn against_ch3() -> Item {
    let to_read = |kib| ratio(sim_bandwidth(PIPE, kib), sim_bandwidth(SIM_READ, kib)).but(HANDSHAKE);
    let natively = |kib| ratio(bandwidth(PIPE, kib), bandwidth(READ, kib)).but(HANDSHAKE);
    let measured = |kib, other| ratio(bandwidth(other, kib), bandwidth(PIPE, kib));
    let modelled = |kib, other| ratio(sim_bandwidth(other, kib), sim_bandwidth(PIPE, kib));
    Item::new(
        2,
        "text",
        "6",
        "The RDMA Channel against CH3: what so small an interface costs, from 32 KiB on",
    )
    .claim(
        "small messages: CH3's way to the pipe",
        About(1.0),
        [ratio(latency(WRITE), latency(PIPE)), ratio(sim_latency(SIM_WRITE), sim_latency(PIPE))],
    )
    .claim("32 KiB: CH3's way, by write, to the pipe", Above(1.0), [modelled(32, SIM_WRITE)])
    .claim("64 KiB: by write to the pipe", Above(1.0), [measured(64, WRITE), modelled(64, SIM_WRITE)])
    .claim("256 KiB: by write to the pipe", Above(1.0), [measured(256, WRITE), modelled(256, SIM_WRITE)])
    .claim("1 MiB: by write to the pipe", About(1.0), [measured(1024, WRITE), modelled(1024, SIM_WRITE)])
    .ours(
        "64 KiB: the pipe with the engine's handshake to reads after the match",
        [natively(64), to_read(64)],
    )
    .ours("256 KiB: the same", [natively(256), to_read(256)])
    .ours("1 MiB: the same", [natively(1024), to_read(1024)])
    .ours(
        "a short packet through the pipe: the pipe's handshake has two more than reads after the match",
        [value(latency(PIPE)), value(sim_latency(PIPE))],
    )
    .lacks(INTERFACE)
    .lacks(WHY)
    .show("rc pipe", "bandwidth")
    .show("sim pipe", "bandwidth")
}

/// The mean of one design to another over the kernels.
fn average(one: &'static str, other: &'static str) -> Seen {
    let of = |metric| {
        let of = |series| pick("rc pipe-kernels", series, metric, Size(64 << 10));
        (of(one), of(other))
    };
    let more = ["kernel_cg", "kernel_mg", "kernel_ft", "kernel_sp", "kernel_bt"];
    mean(of("kernel_is"), more.map(of).to_vec())
}

fn programs() -> Item {
    Item::new(2, "text", "7", "Programs over the RDMA Channel and over CH3: on average less than 1% apart")
        .number("CH3 better than the RDMA Channel, on average less than", 1.0, "%")
        .claim(
            "our kernels on average: the pipe to CH3's way, by write: slower by less than 1%",
            Within(1.0, 1.01),
            [average(PIPE, WRITE)],
        )
        .claim("the same, by read", Within(1.0, 1.01), [average(PIPE, READ)])
        .claim(
            "the same: zero-copy to the pipeline, inside the pipe",
            Below(1.0),
            [average(PIPE, "pipe: pipeline")],
        )
        .show_over("kernel", "rc pipe-kernels", "")
}
