//! The kernels over simulated nodes: rows of paper 1, figures 20 and 21, and of paper 2, figures 16
//! and 17.
//!
//! Each ratio stands twice: with the time that a kernel computes, which is an input, and of the
//! communication alone.

use super::Claimed::{AtMost, Below, Within};
use super::{Item, Seen, mean, ratio};
use crate::report::pick::At::Row;
use crate::report::pick::{Pick, pick};

/// A kernel's row in the tables, with what the reader sees of it: communication alone, and with
/// computing.
type Place = (&'static str, [&'static str; 2]);

const TWO: [Place; 5] = [
    ("IS, 2", ["IS, 2 nodes by the model, communication alone", "IS, 2 nodes by the model"]),
    ("MG, 2", ["MG, 2 nodes by the model, communication alone", "MG, 2 nodes by the model"]),
    ("LU, 2", ["LU, 2 nodes by the model, communication alone", "LU, 2 nodes by the model"]),
    ("CG, 2", ["CG, 2 nodes by the model, communication alone", "CG, 2 nodes by the model"]),
    ("FT, 2", ["FT, 2 nodes by the model, communication alone", "FT, 2 nodes by the model"]),
];
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

const COMPUTING: &str = "our kernels; with the time that they compute";
const ALONE: &str = "our kernels without the time that they compute";
const OF_TWO: &str = "the papers have 4 nodes and 8";
const LONG: &str = "LU's messages are 1280 B at most on 4 nodes and on 8, which no design for long messages touches; on 2 nodes they have 2560 B, more than the 2 KiB from which the designs differ, and the pipeline is the quickest of the three there";
const SIZES: &str = "over simulated nodes IS, LU, SP and BT have class A's sizes, CG has 8192 rows, MG and FT have 128^3 points, on 2, 4 and 8 nodes alike; one rank is on each. A few microseconds decide in which order the long blocks of IS and FT pass each other: so each is played with five starts, some microseconds apart, and how far the ratios move is their noise";

/// The experiments with computing and without.
const EAGER: [&str; 2] = ["sim kernels", "sim kernels alone"];
const LARGE: [&str; 2] = ["sim large", "sim large alone"];

fn at(experiment: &'static str, series: &'static str, row: &'static str) -> Pick {
    pick(experiment, series, "", Row(row))
}

/// RDMA eager to send and receive, over this many nodes.
pub(super) fn eager(item: Item, nodes: usize) -> Item {
    let [computing, alone] = EAGER;
    let average = average(computing, "RDMA eager", "send/receive", places(nodes));
    each_eager(item, nodes, "")
        .claim(
            "the kernels by the model on average: better, by no more than the best improvement, 7%",
            Within(0.93, 1.0),
            [average.but(COMPUTING)],
        )
        .show_over("kernel and nodes", computing, "")
        .show_over("kernel and nodes", alone, "")
        .lacks(SIZES)
}

/// RDMA eager to send and receive over 2 nodes, which the papers do not have.
pub(super) fn eager_of_two(item: Item) -> Item {
    each_eager(item, 2, OF_TWO)
}

/// The paper's improvements are 0 to 7%: no kernel is slower.
fn each_eager(item: Item, nodes: usize, other: &'static str) -> Item {
    let [computing, alone] = EAGER;
    let compared = |item: Item, (row, [of_alone, of_all]): &Place| {
        let of = |experiment| ratio(at(experiment, "RDMA eager", row), at(experiment, "send/receive", row));
        item.claim(of_alone, AtMost(1.0), [of(alone).but(either(other, ALONE))]).claim(
            of_all,
            AtMost(1.0),
            [of(computing).but(either(other, COMPUTING))],
        )
    };
    places(nodes).iter().fold(item, compared)
}

fn either(one: &'static str, other: &'static str) -> &'static str {
    if one.is_empty() { other } else { one }
}

/// Zero-copy to the pipeline, and by write to by read, over this many nodes.
pub(super) fn large(item: Item, nodes: usize) -> Item {
    let [computing, alone] = LARGE;
    let write = |experiment| average(experiment, "zero-copy write", "zero-copy read", &long(nodes));
    each_large(item, nodes, "")
        .claim(
            "on average by the model: by write to by read, better by less than 1%",
            Within(0.99, 1.0),
            [write(computing).but(COMPUTING), write(alone).but(ALONE)],
        )
        .show_over("kernel and nodes", computing, "")
        .show_over("kernel and nodes", alone, "")
        .lacks(SIZES)
        .lacks(LONG)
}

/// Zero-copy to the pipeline over 2 nodes, where LU's messages pass the threshold too.
pub(super) fn large_of_two(item: Item) -> Item {
    each_large(item, 2, OF_TWO)
}

/// The paper has the pipeline last everywhere.
fn each_large(item: Item, nodes: usize, other: &'static str) -> Item {
    let [computing, alone] = LARGE;
    let compared = |item: Item, (row, [of_alone, of_all]): &Place| {
        let of = |experiment, design| ratio(at(experiment, design, row), at(experiment, "pipeline", row));
        let both = |experiment, remark| {
            ["zero-copy read", "zero-copy write"]
                .map(|design| of(experiment, design).but(either(other, remark)))
        };
        item.claim(of_alone, Below(1.0), both(alone, ALONE)).claim(
            of_all,
            Below(1.0),
            both(computing, COMPUTING),
        )
    };
    long(nodes).iter().fold(item, compared)
}

/// The kernels whose messages pass the threshold of 2 KiB on this many nodes.
fn long(nodes: usize) -> Vec<Place> {
    let is_long = |(row, _): &&Place| nodes == 2 || !row.starts_with(LU);
    places(nodes).iter().filter(is_long).copied().collect()
}

fn places(nodes: usize) -> &'static [Place] {
    match nodes {
        2 => &TWO,
        4 => &FOUR,
        _ => &EIGHT,
    }
}

fn average(experiment: &'static str, one: &'static str, other: &'static str, all: &[Place]) -> Seen {
    let of = |place: &Place| (at(experiment, one, place.0), at(experiment, other, place.0));
    mean(of(&all[0]), all[1..].iter().map(of).collect())
}
