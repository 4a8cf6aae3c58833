//! The kernels over simulated nodes: rows of paper 1, figures 20 and 21, and of paper 2, figures 16
//! and 17.
//!
//! Each ratio stands twice: with the time that a kernel computes, which is an input, and of the
//! communication alone.

use super::Claimed::{AtLeast, AtMost};
use super::{Claimed, Item, Seen, mean, ratio};
use crate::report::pick::At::Row;
use crate::report::pick::{Pick, pick};

/// A kernel's row in the tables, with what the reader sees of it: communication alone, and with
/// computing.
type Place = (&'static str, [&'static str; 2]);

const FOUR: [Place; 7] = [
    ("IS, 4", ["IS, 4 nodes by the model, communication alone", "IS, 4 nodes by the model"]),
    ("MG, 4", ["MG, 4 nodes by the model, communication alone", "MG, 4 nodes by the model"]),
    ("LU, 4", ["LU, 4 nodes by the model, communication alone", "LU, 4 nodes by the model"]),
    ("CG, 4", ["CG, 4 nodes by the model, communication alone", "CG, 4 nodes by the model"]),
    ("FT, 4", ["FT, 4 nodes by the model, communication alone", "FT, 4 nodes by the model"]),
    ("SP, 4", ["SP, 4 nodes by the model, communication alone", "SP, 4 nodes by the model"]),
    ("BT, 4", ["BT, 4 nodes by the model, communication alone", "BT, 4 nodes by the model"]),
];
const EIGHT: [Place; 5] = [
    ("IS, 8", ["IS, 8 nodes by the model, communication alone", "IS, 8 nodes by the model"]),
    ("MG, 8", ["MG, 8 nodes by the model, communication alone", "MG, 8 nodes by the model"]),
    ("LU, 8", ["LU, 8 nodes by the model, communication alone", "LU, 8 nodes by the model"]),
    ("CG, 8", ["CG, 8 nodes by the model, communication alone", "CG, 8 nodes by the model"]),
    ("FT, 8", ["FT, 8 nodes by the model, communication alone", "FT, 8 nodes by the model"]),
];
/// The row of LU, whose messages are short.
const LU: &str = "LU";

const COMPUTING: &str =
    "our kernels; that a byte takes 1 ns in each pass over the main array is a guessed input";
const ALONE: &str = "our kernels without the time that they compute";
const LU_ALONE: &str = "our kernel without the time that it computes; send.receive_ns, which is fitted to the 104% of figure 13, bounds it by send and receive";
const LONG: &str = "LU's messages are 1280 B at most, which no design for long messages touches";
const SIZES: &str = "over simulated nodes IS, LU, SP and BT have class A's sizes, CG has 8192 rows, MG and FT have 128^3 points, on 4 nodes and on 8; one rank is on each. A few microseconds decide in which order the long blocks of IS and FT pass each other, and so up to a fifth of their ratios";

/// The experiments with computing and without.
const EAGER: [&str; 2] = ["sim kernels", "sim kernels alone"];
const LARGE: [&str; 2] = ["sim large", "sim large alone"];

fn at(experiment: &'static str, series: &'static str, row: &'static str) -> Pick {
    pick(experiment, series, "", Row(row))
}

/// RDMA eager to send and receive, over this many nodes.
pub(super) fn eager(item: Item, nodes: usize) -> Item {
    let [computing, alone] = EAGER;
    let compared = |item: Item, (row, [of_alone, of_all]): &Place| {
        let of = |experiment| ratio(at(experiment, "RDMA eager", row), at(experiment, "send/receive", row));
        let remark = if row.starts_with(LU) { LU_ALONE } else { ALONE };
        item.claim(of_alone, AtMost(1.0), [of(alone).but(remark)]).claim(
            of_all,
            AtMost(1.0),
            [of(computing).but(COMPUTING)],
        )
    };
    let item = places(nodes).iter().fold(item, compared);
    let average = average(computing, "RDMA eager", "send/receive", places(nodes));
    item.claim(
        "the kernels by the model on average: no more than the best improvement, 7%",
        AtLeast(0.93),
        [average.but(COMPUTING)],
    )
    .show_over("kernel and nodes", computing, "")
    .show_over("kernel and nodes", alone, "")
    .lacks(SIZES)
}

/// Zero-copy to the pipeline, and by write to by read, over this many nodes.
pub(super) fn large(item: Item, nodes: usize) -> Item {
    let [computing, alone] = LARGE;
    let long: Vec<Place> = places(nodes).iter().filter(|(row, _)| !row.starts_with(LU)).copied().collect();
    let compared = |item: Item, (row, [of_alone, of_all]): &Place| {
        let of = |experiment, design| ratio(at(experiment, design, row), at(experiment, "pipeline", row));
        let both = |experiment, remark| {
            ["zero-copy read", "zero-copy write"].map(|design| of(experiment, design).but(remark))
        };
        item.claim(of_alone, AtMost(1.0), both(alone, ALONE)).claim(
            of_all,
            AtMost(1.0),
            both(computing, COMPUTING),
        )
    };
    let item = long.iter().fold(item, compared);
    let write = |experiment| average(experiment, "zero-copy write", "zero-copy read", &long);
    let less: (&str, Claimed) =
        ("on average by the model: by write to by read, less than 1% better", AtLeast(0.99));
    item.claim(less.0, less.1, [write(computing).but(COMPUTING), write(alone).but(ALONE)])
        .show_over("kernel and nodes", computing, "")
        .show_over("kernel and nodes", alone, "")
        .lacks(SIZES)
        .lacks(LONG)
}

fn places(nodes: usize) -> &'static [Place] {
    if nodes == 8 { &EIGHT } else { &FOUR }
}

fn average(experiment: &'static str, one: &'static str, other: &'static str, all: &[Place]) -> Seen {
    let of = |place: &Place| (at(experiment, one, place.0), at(experiment, other, place.0));
    mean(of(&all[0]), all[1..].iter().map(of).collect())
}
