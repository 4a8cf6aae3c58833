//! Paper 1 up to section 6.3.2: operations of the device, the design, messages between two
//! processes.

use super::Claimed::{About, Above, AtLeast, AtMost, Below};
use super::{Item, against, ratio, value};
use crate::report::pick::At::{Most, Row, Size};
use crate::report::pick::{Pick, pick};

const DRAWING: &str = "a drawing of the design, without numbers";
/// A value of the bare device by `verbena bench verbs`.
const fn bare(experiment: &'static str, variant: &'static str, at: usize) -> Pick {
    pick(experiment, variant, "", Size(at))
}

const OTHER_DEVICE: &str = "a number of the paper's adapter alone, which no other device must reach; table 2 has it beside the model";
const EMULATED: &str = "Soft-RoCE: every post is a system call, so that eager and send/receive differ less than on the paper's adapter";

const fn rc_latency(series: &'static str, bytes: usize) -> Pick {
    pick("rc latency", series, "latency", Size(bytes))
}

const fn rc_small(series: &'static str, bytes: usize) -> Pick {
    pick("rc small", series, "bandwidth", Size(bytes))
}

const fn sim(experiment: &'static str, series: &'static str, bytes: usize) -> Pick {
    pick(experiment, series, "", Size(bytes))
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [operations(), design(), base(), compared(), pairs(), overhead()].concat()
}

/// The device's work for a message that goes by RDMA write after the match, counted.
const fn work(operations: &'static str) -> Pick {
    pick("sim pipe work", operations, "", Row("zero-copy write after the match"))
}

fn operations() -> Vec<Item> {
    vec![
        Item::new(1, "figure 1", "2.1", "Latency of the device's own operations by size: send/receive, RDMA write, and RDMA write with immediate data")
            .claim("small messages: RDMA write to send/receive, bare device", Below(1.0), [
                ratio(rc_latency("ib_write", 8), rc_latency("ib_send", 8)),
                ratio(rc_latency("ib_write", 1024), rc_latency("ib_send", 1024)),
            ])
            .claim("8 B: write to send, by our own program", Below(1.0), [
                ratio(bare("verbs latency", "write", 8), bare("verbs latency", "send", 8)),
            ])
            .ours("8 B: write with immediate data to write", [
                ratio(bare("verbs latency", "write with immediate", 8), bare("verbs latency", "write", 8)),
            ])
            .show("rc latency", "latency").show("verbs latency", ""),
        Item::new(1, "figure 2", "3", "The messages of the eager and of the rendezvous protocol")
            .claim("an eager message of 4 B: RDMA writes of a message", About(1.0), [against(work("writes, 4 B"), 1.0)])
            .claim("64 KiB by rendezvous and write: request, reply, data, end", About(1.0), [against(work("writes, 64 KiB"), 4.0)])
            .show_over("design", "sim pipe work", ""),
        Item::new(1, "figure 3", "3.1", "Time of a look at the completion queue by the number of connections: constant")
            .claim("an empty look: 64 connections on the queue to 1", About(1.0), [
                ratio(bare("verbs look", "empty", 64), bare("verbs look", "empty", 1)),
            ])
            .claim("a look that finds a completion: 64 to 1", About(1.0), [
                ratio(bare("verbs look", "found", 64), bare("verbs look", "found", 1)),
            ])
            .show_over("connections", "verbs look", ""),
        Item::new(1, "figure 4", "3.2", "Latency by size with one RDMA write and with two in a row")
            .ours("two writes (a pointer by itself) to one (piggybacked), whole messages", [
                ratio(pick("sim ladder latency", "here", "", Row("basic")), pick("sim ladder latency", "here", "", Row("piggyback")))
                    .but("the text gives no number of this figure; paper 2, figure 6, has one, and the row"),
            ])
            .claim("8 B: two bare writes in a row to one, longer", Above(1.0), [
                ratio(bare("verbs latency", "two writes", 8), bare("verbs latency", "write", 8)),
            ])
            .show_over("design", "sim ladder latency", "").show("verbs latency", ""),
    ]
}

fn design() -> Vec<Item> {
    let sources = |place| pick("sim sources", "ours", "", Row(place));
    vec![
        Item::new(1, "table 1", "3.3", "Processes that a process hears from, by program, at 64 and 1024 processes")
            .number("sPPM, 64", 5.5, "peers").number("sPPM, 1024", 6.0, "peers")
            .number("Sphot, 64", 0.98, "peers").number("Sphot, 1024", 1.0, "peers")
            .number("Sweep3D, 64", 3.5, "peers").number("Sweep3D, 1024", 4.0, "peers")
            .number("Samrai4, 64", 4.94, "peers").number("Samrai4, 1024", 10.0, "peers")
            .number("CG, 64", 6.36, "peers").number("CG, 1024", 11.0, "peers")
            .ours("our kernel LU, a wavefront over a plane of processes as Sweep3D's, 64", [value(sources("LU, 64")).but("counted from the kernel's own list of partners")])
            .ours("the same, 1024", [value(sources("LU, 1024"))])
            .ours("our kernel CG, messages between pairs only, 64", [value(sources("CG, 64")).but("without the sources of a library's collectives, which the paper counts in")])
            .ours("the same, 1024", [value(sources("CG, 1024"))])
            .ours("our kernel SMG, 64", [value(sources("SMG, 64")).but("not in the paper's table: the program of paper 4 with many peers")])
            .show_over("kernel and processes", "sim sources", "")
            .lacks("sPPM, Sphot, Sweep3D and Samrai are programs that are not here"),
        Item::new(1, "figure 5", "3.3", "The polling set: who has a ring, and who is heard by the completion queue").lacks(DRAWING),
        Item::new(1, "figure 6", "4.1", "A ring of buffers at either end, each joined to one of the other end").lacks(DRAWING),
        held(),
        Item::new(1, "figure 7", "4.2", "Latency by size of one RDMA write that gathers two pieces, beside a contiguous one: gathering costs time")
            .claim("1 KiB: gathered from 2 pieces to one piece, longer", Above(1.0), [
                ratio(bare("verbs latency", "write gathered from 2", 1024), bare("verbs latency", "write", 1024)),
            ])
            .show("verbs latency", ""),
        Item::new(1, "figure 8", "4.2", "Head flag, size, data and tail flag of a buffer").lacks(DRAWING),
    ]
}

/// The figures behind our copying unexpected messages out of their slots, where the paper lets them
/// stay and frees slots out of order.
fn held() -> Item {
    let most = |kernel, what| value(pick("sim held", what, "", Row(kernel)));
    Item::new(1, "text", "4.1", "Slots freed out of order: here an unexpected message is copied out, so that its slot is free at once")
        .ours("copying 4 KiB, two slots, by one processor", [
            value(pick("node floor", "memcpy", "copy", Size(4 << 10)))
                .but("the price, as a rate: a slot has 2 KiB, from the cache"),
        ])
        .ours("most messages of all its peers that a rank of 8 holds: IS", [most("IS", "messages")])
        .ours("the same: MG", [most("MG", "messages")])
        .ours("the same: LU", [most("LU", "messages").but("from two or three neighbours, each with a ring of 32 slots, of which those behind a held one would be lost too")])
        .ours("the same: CG", [most("CG", "messages")])
        .ours("the same in KiB: LU", [most("LU", "KiB")])
        .show_over("kernel", "sim held", "")
        .lacks("slots that are freed out of order, since that design is not built: the rows say what the copy costs, and how many slots would be taken")
}

fn base() -> Vec<Item> {
    vec![
        Item::new(1, "figure 9", "6.2", "Latency of MPI by size")
            .number("small messages", 6.8, "us")
            .ours(
                "smallest message",
                [
                    value(pick("node pair", "Verbena", "latency", Size(8)))
                        .but("shared memory, not a network"),
                    value(rc_latency("RDMA eager", 8)).but("Soft-RoCE in an emulated machine"),
                    value(sim("sim latency", "RDMA eager", 4)).but("cost model of the paper's adapter"),
                ],
            )
            .show("node pair", "latency")
            .show("rc latency", "latency")
            .show("sim latency", "latency")
            .lacks(OTHER_DEVICE),
        Item::new(1, "figure 10", "6.2", "Bandwidth of MPI by size")
            .number("peak", 871.0, "MB/s")
            .ours(
                "peak",
                [
                    value(pick("node pair", "Verbena", "bandwidth", Most))
                        .but("shared memory, not a network"),
                    value(pick("rc ladder", "zero-copy write", "bandwidth", Most))
                        .but("Soft-RoCE in an emulated machine"),
                    value(pick("sim ladder", "zero-copy write", "", Most))
                        .but("cost model of the paper's adapter"),
                ],
            )
            .show("node pair", "bandwidth")
            .show("rc ladder", "bandwidth")
            .show("sim ladder", "bandwidth")
            .lacks(OTHER_DEVICE),
    ]
}

fn compared() -> Vec<Item> {
    vec![
        Item::new(1, "table 2", "6.2", "Least latency and peak bandwidth beside two other networks")
            .number("this design, latency", 6.8, "us")
            .number("Quadrics Elan3, latency", 4.7, "us")
            .number("Myrinet with GM, latency", 7.3, "us")
            .number("this design, bandwidth", 871.0, "MB/s")
            .number("Quadrics Elan3, bandwidth", 323.0, "MB/s")
            .number("Myrinet with GM, bandwidth", 242.0, "MB/s")
            .claim(
                "latency by the cost model of the paper's adapter, to the paper's",
                About(1.0),
                [against(sim("sim latency", "RDMA eager", 4), 6.8)],
            )
            .claim(
                "bandwidth by that model, to the paper's",
                About(1.0),
                [against(pick("sim ladder", "zero-copy write", "", Most), 871.0)],
            )
            .lacks("Quadrics and Myrinet cards are not here, and nobody sells them any more"),
        Item::new(
            1,
            "figure 11",
            "6.2.1",
            "Latency by size with several thresholds between eager and rendezvous",
        )
        .number("default threshold", 2.0, "KiB")
        .number("threshold with a smooth transition", 13.0, "KiB")
        .claim(
            "4 KiB, above the smaller threshold: threshold 13 KiB to 2 KiB",
            Below(1.0),
            [ratio(eager("13 KiB", 4), eager("2 KiB", 4))],
        )
        .claim(
            "12 KiB, where the transition is smooth: eager to rendezvous",
            About(1.0),
            [ratio(eager("13 KiB", 12), eager("2 KiB", 12))],
        )
        .claim(
            "the length from which rendezvous is quicker, to the paper's 13 KiB",
            About(1.0),
            [against(pick("sim threshold", "RDMA eager", "", Row("smooth")), 13.0).held_out()],
        )
        .ours(
            "16 KiB, where all but one go by rendezvous: threshold 32 KiB to 13 KiB",
            [ratio(eager("32 KiB", 16), eager("13 KiB", 16))],
        )
        .show("rc eager", "latency"),
    ]
}

/// Latency between nodes by the threshold.
const fn eager(threshold: &'static str, kib: usize) -> Pick {
    pick("rc eager", threshold, "latency", Size(kib << 10))
}

fn pairs() -> Vec<Item> {
    let long = |series| pick("rc long", series, "latency", Size(64 << 10));
    vec![
        Item::new(1, "figure 12", "6.3.1", "Latency by size, RDMA design beside send/receive")
            .number("gain for small messages, more than", 2.0, "us")
            .number("gain for long messages, more than", 6.0, "us")
            .claim(
                "small messages: RDMA eager to send/receive (24% less)",
                AtMost(0.76),
                [
                    ratio(rc_latency("RDMA eager", 8), rc_latency("send/receive", 8)).but(EMULATED),
                    ratio(rc_latency("RDMA eager", 64), rc_latency("send/receive", 64)).but(EMULATED),
                    ratio(sim("sim latency", "RDMA eager", 4), sim("sim latency", "send/receive", 4)),
                ],
            )
            .claim(
                "64 KiB by rendezvous: the control messages gain too",
                Below(1.0),
                [ratio(long("RDMA eager"), long("send/receive")).but(EMULATED)],
            )
            .claim(
                "64 KiB by rendezvous: microseconds less, to the paper's 6",
                Above(1.0),
                [against(sim("sim control gain", "gain", 64 << 10), 6.0).held_out()],
            )
            .show("rc latency", "latency")
            .show("sim latency", "latency")
            .show("sim control gain", "latency")
            .show("rc long", "latency"),
        Item::new(
            1,
            "figure 13",
            "6.3.1",
            "Bandwidth of small messages in windows of 100, RDMA design beside send/receive",
        )
        .number("gain for small messages, more than", 104.0, "%")
        .claim(
            "RDMA eager to send/receive",
            AtLeast(2.04),
            [
                ratio(rc_small("RDMA eager", 8), rc_small("send/receive", 8)).but(EMULATED),
                ratio(rc_small("RDMA eager", 256), rc_small("send/receive", 256)).but(EMULATED),
                ratio(sim("sim small", "RDMA eager", 4), sim("sim small", "send/receive", 4)),
                ratio(sim("sim small", "RDMA eager", 256), sim("sim small", "send/receive", 256)),
            ],
        )
        .show("rc small", "bandwidth")
        .show("sim small", "bandwidth"),
        up_to_long_messages(),
    ]
}

fn up_to_long_messages() -> Item {
    let long = |series| pick("rc long", series, "bandwidth", Size(64 << 10));
    Item::new(
        1,
        "figure 14",
        "6.3.1",
        "Bandwidth by size up to long messages, RDMA design beside send/receive: better everywhere",
    )
    .claim(
        "1 KiB: RDMA eager to send/receive",
        Above(1.0),
        [
            ratio(rc_small("RDMA eager", 1024), rc_small("send/receive", 1024)).but(EMULATED),
            ratio(sim("sim small", "RDMA eager", 1024), sim("sim small", "send/receive", 1024)),
        ],
    )
    .claim(
        "64 KiB: RDMA eager to send/receive",
        Above(1.0),
        [
            ratio(long("RDMA eager"), long("send/receive")).but(EMULATED),
            ratio(
                pick("sim long", "RDMA eager", "", Size(64 << 10)),
                pick("sim long", "send/receive", "", Size(64 << 10)),
            ),
        ],
    )
    .show("sim long", "bandwidth")
    .show("sim small", "bandwidth")
}

fn overhead() -> Vec<Item> {
    let instructions = |design| pick("counted instructions", design, "", Row("send and receive"));
    vec![
        Item::new(1, "figure 15", "6.3.1", "Time of the processor for a message of the latency test, RDMA design beside send/receive")
            .number("less for small messages, up to", 22.0, "%")
            .claim("8 bytes: instructions of a send and a receive, RDMA eager to send/receive", AtMost(0.78), [
                ratio(instructions("RDMA eager"), instructions("send/receive"))
                    .but("callgrind over Soft-RoCE, user space; each receive finds its message there"),
            ])
            .show_over("call", "counted instructions", ""),
        Item::new(1, "figure 16", "6.3.2", "Latency divided into seven parts from call to return, RDMA design beside send/receive, several sizes")
            .ours("sum of the seven parts, 8 B", [
                value(pick("node trace", "shared memory, 8 B", "", Row("total"))).but("traced by VERBENA_TRACE, which slows small messages down"),
                value(pick("rc trace", "RDMA eager, 8 B", "", Row("total"))),
                value(pick("rc trace", "send/receive, 8 B", "", Row("total"))),
            ])
            .claim("the receiver's protocol and completion: RDMA eager to send/receive", Below(1.0), [
                ratio(pick("rc trace", "RDMA eager, 8 B", "", Row("receiver")), pick("rc trace", "send/receive, 8 B", "", Row("receiver"))).but(EMULATED),
            ])
            .show_over("part", "node trace", "").show_over("part", "rc trace", ""),
        Item::new(1, "text", "6.2", "Peak bandwidth in binary megabytes")
            .number("peak", 831.0, "MiB/s")
            .ours(
                "peak by the cost model of the paper's adapter (831 MiB/s are 871 MB/s)",
                [value(pick("sim ladder", "zero-copy write", "", Most))],
            )
            .lacks("the same measurement as figure 10 in another unit"),
    ]
}
