//! Paper 1 from section 6.3.3 on: collectives, programs, memory, and the cost of polling.

use super::Claimed::{About, AtMost};
use super::{Item, against, ratio, value};
use crate::report::pick::At::{Ranks, Size, SizeRanks};
use crate::report::pick::{At, Pick, pick};

/// Bytes of a rank's share of a kernel's data in `rc kernels`.
const SHARE: usize = 64 << 10;
const EIGHT: &str = "the paper has 8 nodes with two processors each; here are 2 cores, and the nodes are 4 ranks in an emulated machine";
const OURS: &str =
    "our kernels with the communication of the originals, not the originals: `--npb DIR` runs those";

const fn rc(metric: &'static str, series: &'static str, at: At) -> Pick {
    pick("rc collectives", series, metric, at)
}

const fn kernel(metric: &'static str, series: &'static str) -> Pick {
    pick("rc kernels", series, metric, Size(SHARE))
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [collectives(), sized_collectives(), programs(), scale()].concat()
}

fn collectives() -> Vec<Item> {
    let node = |metric, series, at| pick("node collectives", series, metric, at);
    vec![
        Item::new(
            1,
            "figure 17",
            "6.3.3",
            "Time of a barrier by the number of nodes, RDMA design beside send/receive: much less",
        )
        .claim(
            "4 ranks: RDMA eager to send/receive",
            AtMost(1.0),
            [ratio(rc("barrier", "RDMA eager", Ranks(4)), rc("barrier", "send/receive", Ranks(4)))],
        )
        .ours(
            "4 ranks of a node",
            [ratio(node("barrier", "boards", Ranks(4)), node("barrier", "messages", Ranks(4)))
                .but("our own two ways: over a board in shared memory, and by messages")],
        )
        .show_over("ranks", "rc collectives", "barrier")
        .show_over("ranks", "node collectives", "barrier")
        .lacks(EIGHT),
    ]
}

fn sized_collectives() -> Vec<Item> {
    let node = |metric, series, at| pick("node collectives", series, metric, at);
    vec![
        Item::new(
            1,
            "figure 18",
            "6.3.3",
            "Time of an allreduce by size on 8 nodes, RDMA design beside send/receive",
        )
        .claim(
            "8 B, 4 ranks: RDMA eager to send/receive",
            AtMost(1.0),
            [ratio(
                rc("allreduce", "RDMA eager", SizeRanks(8, 4)),
                rc("allreduce", "send/receive", SizeRanks(8, 4)),
            )],
        )
        .claim(
            "1 KiB, 4 ranks: RDMA eager to send/receive",
            AtMost(1.0),
            [ratio(
                rc("allreduce", "RDMA eager", SizeRanks(1024, 4)),
                rc("allreduce", "send/receive", SizeRanks(1024, 4)),
            )],
        )
        .ours(
            "8 B, 8 ranks of a node: over a board, to by messages",
            [ratio(
                node("allreduce", "boards", SizeRanks(8, 8)),
                node("allreduce", "messages", SizeRanks(8, 8)),
            )],
        )
        .show("rc collectives", "allreduce")
        .show("node collectives", "allreduce")
        .lacks(EIGHT),
        Item::new(
            1,
            "figure 19",
            "6.3.3",
            "Time of a broadcast by size on 8 nodes, RDMA design beside send/receive",
        )
        .claim(
            "8 B, 4 ranks: RDMA eager to send/receive",
            AtMost(1.0),
            [ratio(rc("bcast", "RDMA eager", SizeRanks(8, 4)), rc("bcast", "send/receive", SizeRanks(8, 4)))],
        )
        .claim(
            "1 KiB, 4 ranks: RDMA eager to send/receive",
            AtMost(1.0),
            [ratio(
                rc("bcast", "RDMA eager", SizeRanks(1024, 4)),
                rc("bcast", "send/receive", SizeRanks(1024, 4)),
            )],
        )
        .ours(
            "8 B, 8 ranks of a node: over a board, to by messages",
            [ratio(node("bcast", "boards", SizeRanks(8, 8)), node("bcast", "messages", SizeRanks(8, 8)))],
        )
        .show("rc collectives", "bcast")
        .show("node collectives", "bcast")
        .lacks(EIGHT),
    ]
}

/// A kernel's time by RDMA eager to that by send/receive; the paper's improvements are 0 to 7%.
fn compared(item: Item, metrics: &[&'static str]) -> Item {
    metrics.iter().fold(item, |item, &metric| {
        let seen = [ratio(kernel(metric, "RDMA eager"), kernel(metric, "send/receive")).but(OURS)];
        item.claim(crate::report::kernel_title(metric), AtMost(1.0), seen)
    })
}

fn programs() -> Vec<Item> {
    let npb = |name| value(pick("npb", "Verbena", "mop_s", At::Row(name)));
    let four = Item::new(
        1,
        "figure 20",
        "6.3.3",
        "NAS programs IS, MG, LU, CG, FT, SP and BT, class A on 4 nodes, RDMA design beside send/receive",
    )
    .number("best improvement", 7.0, "%");
    let four = compared(four, &["kernel_is", "kernel_mg", "kernel_lu", "kernel_cg", "kernel_ft", "kernel_sp", "kernel_bt"])
        .ours("the originals on 4 ranks, Mop/s: IS", [npb("is, 4")])
        .ours("CG", [npb("cg, 4")])
        .ours("MG", [npb("mg, 4")])
        .ours("LU", [npb("lu, 4")])
        .ours("FT", [npb("ft, 4")])
        .ours("SP", [npb("sp, 4")])
        .ours("BT", [npb("bt, 4")])
        .show_over("kernel", "rc kernels", "").show_over("program", "npb", "mop_s")
        .lacks("class A needs minutes a program here, and an emulated machine hours: smaller classes and our kernels stand in");
    let node = |metric| {
        let of = |series| pick("node kernels", series, metric, Ranks(8));
        [ratio(of("one copy"), of("two copies"))
            .but("shared memory: long messages copied once (cma) and twice (shm)")]
    };
    let eight = Item::new(1, "figure 21", "6.3.3", "NAS programs IS, MG, LU, CG and FT, class B on 8 nodes, RDMA design beside send/receive (SP and BT need a square)")
        .number("best improvement", 7.0, "%")
        .ours("IS, 8 ranks of a node", node("kernel_is"))
        .ours("MG, 8 ranks of a node", node("kernel_mg"))
        .ours("LU, 8 ranks of a node", node("kernel_lu"))
        .ours("CG, 8 ranks of a node", node("kernel_cg"))
        .ours("FT, 8 ranks of a node", node("kernel_ft"))
        .show_over("kernel", "node kernels", "")
        .lacks(EIGHT);
    vec![four, eight]
}

fn scale() -> Vec<Item> {
    let slots = |metric, series| pick("rc slots", series, metric, At::Least);
    let five = |metric| [ratio(slots(metric, "5 slots"), slots(metric, "100 slots")).but(OURS)];
    let rings = |rings| pick("node polling set", "rings", "polling_set", Size(rings));
    vec![
        Item::new(1, "figure 22", "6.4", "IS, CG and MG, class A on 8 nodes, by the buffers of each ring: 5 are as good as 100")
            .number("default", 100.0, "buffers").number("fewest tried", 5.0, "buffers")
            .claim("IS: 5 slots to 100", About(1.0), five("kernel_is"))
            .claim("CG: 5 slots to 100", About(1.0), five("kernel_cg"))
            .claim("MG: 5 slots to 100", About(1.0), five("kernel_mg"))
            .show_over("kernel", "rc slots", "")
            .lacks(EIGHT),
        Item::new(1, "figure 23", "6.5", "Time to poll the rings of a process by their number")
            .number("16 connections", 0.14, "us").number("128 connections", 1.3, "us")
            .claim("16 rings: ours to the paper's 0.14 us", AtMost(1.0), [
                against(rings(16), 0.14).but("the code of the channel rc over memory like its rings; the paper simulated it too"),
            ])
            .claim("128 rings: ours to the paper's 1.3 us", AtMost(1.0), [against(rings(128), 1.3)])
            .show_over("rings", "node polling set", "polling_set"),
        Item::new(1, "text", "6.4", "Memory of a process among 1024 with 5 buffers a ring")
            .number("memory", 20.0, "MB")
            .claim("everyone speaks with everyone, polling set of 16: ours to the paper's 20 MB", AtMost(1.0), [])
            .lacks("what a process holds is counted by a test of the simulator with an allocator of its own, which fails above 20 MB: `cargo test -p verbena-sim --test thousand_peers`"),
    ]
}
