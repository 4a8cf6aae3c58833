//! Paper 5: RDMA for long messages on IBM's switch.

use super::Claimed::{About, Above, AtLeast, Below};
use super::{Item, ratio, value};
use crate::report::pick::At::{Most, Size};
use crate::report::pick::pick;

const ONE_DEVICE: &str =
    "no claim: the paper's almost double is RDMA over both adapters of a node to copying over one";

/// The items.
pub(super) fn items() -> Vec<Item> {
    let at = |series, bytes| pick("bulk ping-pong", series, "ping_pong", Size(bytes));
    let rails = |series, bytes| pick("bulk rails", series, "bandwidth", Size(bytes));
    let array = |series, metric| pick("bulk arrays", series, metric, Size(1 << 20));
    let multi = |series| pick("bulk multi", series, "multi_ping_pong", Most);
    vec![
        Item::new(5, "figure 1", "5", "Bandwidth of a ping-pong by size: eager limit 0 and 64 KiB, and with RDMA for messages from 150 KB on: almost double")
            .number("with RDMA, about 1 MB, just under", 3.0, "GB/s").number("gain for long messages, almost", 2.0, "times")
            .number("shortest message by RDMA", 150.0, "KB").number("eager limit", 64.0, "KB")
            .ours("1 MiB: RDMA to copying, over one adapter", [
                ratio(at("eager 64 KiB + bulk", 1 << 20), at("eager 64 KiB", 1 << 20)).but(ONE_DEVICE),
                ratio(pick("sim ladder", "zero-copy write", "", Most), pick("sim ladder", "piggyback", "", Most)),
            ])
            .claim("1 MiB: RDMA over two rails to one, wires limited", AtLeast(1.9), [
                ratio(rails("2 rails", 1 << 20), rails("1 rails", 1 << 20)).but("two virtual devices a node, each wire limited to 100 Mbit/s"),
                ratio(pick("sim rails", "two", "", Size(1 << 20)), pick("sim rails", "one", "", Size(1 << 20))),
            ])
            .claim("4 MiB: the same", AtLeast(1.9), [ratio(rails("2 rails", 4 << 20), rails("1 rails", 4 << 20))])
            .claim("16 KiB: eager limit 64 KiB to 0", Above(1.0), [
                ratio(at("eager 64 KiB", 16 << 10), at("eager 0", 16 << 10)),
            ])
            .ours("between ranks of a node, peak", [value(pick("node pair", "Verbena", "bandwidth", Most))])
            .show("bulk ping-pong", "ping_pong").show("bulk rails", "bandwidth").show("sim rails", "bandwidth"),
        Item::new(5, "figure 2", "5", "The same by 32 pairs of processes at once on two nodes: about a quarter more with RDMA")
            .number("with RDMA, most", 7.5, "GB/s").number("gain for long messages", 25.0, "%").number("pairs", 32.0, "pairs")
            .claim("most: RDMA to copying", AtLeast(1.25), [
                ratio(multi("eager 64 KiB + bulk"), multi("eager 64 KiB")).but("the paper's 32 pairs have two adapters both ways; two pairs and one device here"),
            ])
            .show("bulk multi", "multi_ping_pong")
            .lacks("32 pairs on 2 cores would show the scheduler: fewer pairs stand in"),
        Item::new(5, "text", "2 and 6", "RDMA leaves the processor free, and costs registration where memory keeps changing")
            .claim("1 MiB, arrays that move: without registration kept to with it, no gain from keeping", About(1.0), [
                ratio(array("no cache", "ping_pong_moving"), array("cache", "ping_pong_moving")),
            ])
            .claim("1 MiB, the same array again: with registration kept to without", Above(1.0), [
                ratio(array("cache", "ping_pong_staying"), array("no cache", "ping_pong_staying")).but("the paper says that the cost of pinning is amortised, and no number"),
            ])
            .claim("1 MiB with registration kept: arrays that move to the same array again", Below(1.0), [
                ratio(array("cache", "ping_pong_moving"), array("cache", "ping_pong_staying")),
            ])
            .ours("a computation beside 4 MiB: what it loses by RDMA write, in %", [
                value(pick("threshold overlap", "rc write + thread", "overlap_loss", Size(4 << 20))),
            ])
            .ours("the same by copying", [
                value(pick("threshold overlap", "rc stream + thread", "overlap_loss", Size(4 << 20))),
            ])
            .show("bulk arrays", "ping_pong_moving").show("bulk arrays", "ping_pong_staying")
            .lacks("the paper recommends this measurement and has no numbers of it"),
    ]
}
