//! Paper 1 from section 6.3.3 on: collectives, programs, memory, and the cost of polling.

use super::Claimed::{About, AtLeast, AtMost, Below, Within};
use super::{Item, Seen, against, mean, over_nodes, ratio};
use crate::report::pick::At::{Ranks, Size, SizeRanks};
use crate::report::pick::{At, Pick, pick};

/// Bytes of a rank's share of a kernel's data in `rc kernels`.
const SHARE: usize = 64 << 10;
const EIGHT: &str = "the paper has 8 nodes with two processors each; here are 2 cores, and the nodes are 4 ranks in an emulated machine";
const OURS: &str = "our kernels with the communication of the originals, not the originals";
const ORIGINAL: &str = "the original program of class S or W, between nodes";
const NO_CLASS_A: &str = "class A needs minutes a program here, and an emulated machine hours: smaller classes and our kernels stand in; the originals run where --npb DIR names them";

const fn rc(metric: &'static str, series: &'static str, at: At) -> Pick {
    pick("rc collectives", series, metric, at)
}

const fn kernel(metric: &'static str, series: &'static str) -> Pick {
    pick("rc kernels", series, metric, Size(SHARE))
}

const SCHEDULES: &str = "the library's own schedules over its engine and channel";

/// RDMA eager to send/receive, by the model of the paper's device.
fn modelled(experiment: &'static str, row: &'static str) -> Seen {
    let of = |series| pick(experiment, series, "", At::Row(row));
    ratio(of("RDMA eager"), of("send/receive"))
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [collectives(), sized_collectives(), programs(), scale()].concat()
}

fn collectives() -> Vec<Item> {
    vec![
        Item::new(
            1,
            "figure 17",
            "6.3.3",
            "Time of a barrier by the number of nodes, RDMA design beside send/receive: much less",
        )
        .claim(
            "4 ranks: RDMA eager to send/receive",
            Below(1.0),
            [ratio(rc("barrier", "RDMA eager", Ranks(4)), rc("barrier", "send/receive", Ranks(4)))],
        )
        .claim(
            "8 nodes: RDMA eager to send/receive, by the model",
            Below(1.0),
            [modelled("sim barrier", "8").but(SCHEDULES)],
        )
        .show_over("ranks", "rc collectives", "barrier")
        .show_over("nodes", "sim barrier", "")
        .lacks(EIGHT),
    ]
}

fn sized_collectives() -> Vec<Item> {
    vec![
        Item::new(
            1,
            "figure 18",
            "6.3.3",
            "Time of an allreduce by size on 8 nodes, RDMA design beside send/receive",
        )
        .claim(
            "8 B, 4 ranks: RDMA eager to send/receive",
            Below(1.0),
            [ratio(
                rc("allreduce", "RDMA eager", SizeRanks(8, 4)),
                rc("allreduce", "send/receive", SizeRanks(8, 4)),
            )],
        )
        .claim(
            "1 KiB, 4 ranks: RDMA eager to send/receive",
            Below(1.0),
            [ratio(
                rc("allreduce", "RDMA eager", SizeRanks(1024, 4)),
                rc("allreduce", "send/receive", SizeRanks(1024, 4)),
            )],
        )
        .claim(
            "4 B, 8 nodes: RDMA eager to send/receive, by the model",
            Below(1.0),
            [modelled("sim allreduce", "4 B").but(SCHEDULES)],
        )
        .claim("1 KiB, 8 nodes: the same", Below(1.0), [modelled("sim allreduce", "1 KiB").but(SCHEDULES)])
        .show("rc collectives", "allreduce")
        .show("sim allreduce", "")
        .lacks(EIGHT),
        Item::new(
            1,
            "figure 19",
            "6.3.3",
            "Time of a broadcast by size on 8 nodes, RDMA design beside send/receive",
        )
        .claim(
            "8 B, 4 ranks: RDMA eager to send/receive",
            Below(1.0),
            [ratio(rc("bcast", "RDMA eager", SizeRanks(8, 4)), rc("bcast", "send/receive", SizeRanks(8, 4)))],
        )
        .claim(
            "1 KiB, 4 ranks: RDMA eager to send/receive",
            Below(1.0),
            [ratio(
                rc("bcast", "RDMA eager", SizeRanks(1024, 4)),
                rc("bcast", "send/receive", SizeRanks(1024, 4)),
            )],
        )
        .claim(
            "4 B, 8 nodes: RDMA eager to send/receive, by the model",
            Below(1.0),
            [modelled("sim bcast", "4 B").but(SCHEDULES)],
        )
        .claim("1 KiB, 8 nodes: the same", Below(1.0), [modelled("sim bcast", "1 KiB").but(SCHEDULES)])
        .show("rc collectives", "bcast")
        .show("sim bcast", "")
        .lacks(EIGHT),
    ]
}

/// A kernel's time by RDMA eager to that by send/receive; the paper's improvements are 0 to 7%, so
/// the claim is that none is slower.
fn compared(item: Item, metrics: &[&'static str]) -> Item {
    metrics.iter().fold(item, |item, &metric| {
        let seen = [ratio(kernel(metric, "RDMA eager"), kernel(metric, "send/receive")).but(OURS)];
        item.claim(crate::report::kernel_title(metric), AtMost(1.0), seen)
    })
}

/// The programs of figure 20, and their rows.
const ORIGINALS: [(&str, &str); 7] = [
    ("original IS, Mop/s", "is, 4"),
    ("original CG, Mop/s", "cg, 4"),
    ("original MG, Mop/s", "mg, 4"),
    ("original LU, Mop/s", "lu, 4"),
    ("original FT, Mop/s", "ft, 4"),
    ("original SP, Mop/s", "sp, 4"),
    ("original BT, Mop/s", "bt, 4"),
];

/// The mean of RDMA eager to send/receive over the kernels of figure 20.
fn kernels_mean() -> Seen {
    let of = |metric| (kernel(metric, "RDMA eager"), kernel(metric, "send/receive"));
    let more = ["kernel_mg", "kernel_lu", "kernel_cg", "kernel_ft", "kernel_sp", "kernel_bt"];
    mean(of("kernel_is"), more.map(of).to_vec())
}

fn programs() -> Vec<Item> {
    // Mop/s: more is better, where the kernels' times are better if less.
    let original = |item: Item, &(what, row): &(&'static str, &'static str)| {
        let of = |series| pick("npb", series, "mop_s", At::Row(row));
        item.claim(what, AtLeast(1.0), [ratio(of("RDMA eager"), of("send/receive")).but(ORIGINAL)])
    };
    let four = Item::new(
        1,
        "figure 20",
        "6.3.3",
        "NAS programs IS, MG, LU, CG, FT, SP and BT, class A on 4 nodes, RDMA design beside send/receive",
    )
    .number("best improvement", 7.0, "%");
    let four = compared(
        four,
        &["kernel_is", "kernel_mg", "kernel_lu", "kernel_cg", "kernel_ft", "kernel_sp", "kernel_bt"],
    )
    .show_over("kernel", "rc kernels", "")
    .show_over("program", "npb", "mop_s")
    .lacks(NO_CLASS_A);
    let four = ORIGINALS.iter().fold(four, original);
    let four = four.claim(
        "our kernels on average: better, by no more than the best improvement, 7%",
        Within(0.93, 1.0),
        [kernels_mean()],
    );
    let four = over_nodes::eager(over_nodes::eager_of_two(four), 4);
    let eight = Item::new(1, "figure 21", "6.3.3", "NAS programs IS, MG, LU, CG and FT, class B on 8 nodes, RDMA design beside send/receive (SP and BT need a square)")
        .number("best improvement", 7.0, "%")
        .lacks(EIGHT);
    let eight = over_nodes::eager(eight, 8);
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
            .claim("time of 128 rings to that of 16", About(9.29), [
                ratio(rings(128), rings(16)).but("the code of the channel rc over memory like its rings; the paper simulated it too"),
            ])
            .ours("16 rings: ours to the paper's 0.14 us of 2003", [against(rings(16), 0.14)])
            .ours("128 rings: ours to the paper's 1.3 us of 2003", [against(rings(128), 1.3)])
            .show_over("rings", "node polling set", "polling_set"),
        Item::new(1, "text", "6.4", "Memory of a process among 1024 with 5 buffers a ring")
            .number("memory", 20.0, "MB")
            .claim("rings for all of 1024 processes, chunks of 1 KiB, registered at each: ours to the paper's 20 MB", AtMost(1.0), [
                against(pick("sim rings", "rings", "", At::Row("1024")), 20.0)
                    .but("20,983,776 bytes: 5 buffers of 2 KiB at both ends are 20 MiB less 20 KiB, and each end has 16 bytes of words besides; with the default chunks, which are longer than a slot, a ring has room for one slot more: 25.2 million; the buffers of the other path are not counted, as in the paper"),
            ])
            .lacks("what a process holds besides is counted by a test of the simulator with an allocator of its own: `cargo test -p verbena-sim --test thousand_peers`"),
        polling_set(),
    ]
}

/// The polling set, of which the paper tells the choices and no numbers.
fn polling_set() -> Item {
    let real = |one, other| {
        let of = |series| pick("rc set", series, "few_talk", Size(8));
        ratio(of(one), of(other))
    };
    let model = |one, other| {
        let of = |row| pick("sim polling set", "ours", "", At::Row(row));
        ratio(of(one), of(other)).but("64 peers of which 4 talk")
    };
    Item::new(1, "text", "4.7", "The polling set: who is in it, and in which order it is polled")
        .ours(
            "few talk: rings for those who send most to no rings",
            [real("most, 2 places", "none"), model("most, 4 places", "none")],
        )
        .ours(
            "rings for those who send most to rings for whoever came first",
            [real("most, 2 places", "first, 2 places"), model("most, 16 places", "first 16")],
        )
        .ours(
            "rings for those who send most to rings for all",
            [real("most, 2 places", "all, sequential"), model("most, 4 places", "all, sequential")],
        )
        .ours(
            "rings for all: circular order to sequential",
            [real("all, circular", "all, sequential"), model("all, circular", "all, sequential")],
        )
        .ours(
            "rings for all: by priority to sequential",
            [real("all, priority", "all, sequential"), model("all, priority", "all, sequential")],
        )
        .show_over("scheme", "rc set", "few_talk")
        .show_over("scheme", "sim polling set", "latency")
        .lacks("the paper only plans this choice, and claims nothing of it")
}
