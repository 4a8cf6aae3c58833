//! Paper 5: RDMA for long messages on IBM's switch.

use super::Claimed::{AtLeast, AtMost};
use super::{Item, ratio, value};
use crate::report::pick::At::{Most, Size};
use crate::report::pick::pick;

const ONE_DEVICE: &str = "the paper's gain comes from using both adapters of a node at once; the nodes here have one device, or several that share one processor";

/// The items.
pub(super) fn items() -> Vec<Item> {
    let at = |series, bytes| pick("bulk ping-pong", series, "ping_pong", Size(bytes));
    let ladder = |series| pick("rc ladder", series, "bandwidth", Most);
    let multi = |series| pick("bulk multi", series, "multi_ping_pong", Most);
    vec![
        Item::new(5, "figure 1", "5", "Bandwidth of a ping-pong by size: eager limit 0 and 64 KiB, and with RDMA for messages from 150 KB on: almost double")
            .number("with RDMA, about 1 MB, just under", 3.0, "GB/s").number("gain for long messages, almost", 2.0, "times")
            .number("shortest message by RDMA", 150.0, "KB").number("eager limit", 64.0, "KB")
            .claim("1 MiB: RDMA to copying", AtLeast(1.9), [
                ratio(at("eager 64 KiB + bulk", 1 << 20), at("eager 64 KiB", 1 << 20)).but(ONE_DEVICE),
                ratio(ladder("zero-copy write"), ladder("piggyback")).but("the ladder of paper 2: RDMA write of long messages, to copying them whole"),
                ratio(pick("sim ladder", "zero-copy write", "", Most), pick("sim ladder", "piggyback", "", Most)),
                ratio(pick("sim rails", "two", "", Size(1 << 20)), pick("sim rails", "one", "", Size(1 << 20))).but("RDMA over two rails to one, which is where the paper's gain comes from; by the cost model"),
            ])
            .claim("16 KiB: eager limit 64 KiB to 0", AtLeast(1.0), [
                ratio(at("eager 64 KiB", 16 << 10), at("eager 0", 16 << 10)),
            ])
            .ours("between ranks of a node, peak", [value(pick("node pair", "Verbena", "bandwidth", Most))])
            .show("bulk ping-pong", "ping_pong").show("rc ladder", "bandwidth").show("sim rails", "bandwidth"),
        Item::new(5, "figure 2", "5", "The same by 32 pairs of processes at once on two nodes: about a quarter more with RDMA")
            .number("with RDMA, most", 7.5, "GB/s").number("gain for long messages", 25.0, "%").number("pairs", 32.0, "pairs")
            .claim("most: RDMA to copying", AtLeast(1.25), [ratio(multi("eager 64 KiB + bulk"), multi("eager 64 KiB")).but(ONE_DEVICE)])
            .show("bulk multi", "multi_ping_pong")
            .lacks("32 pairs on 2 cores would show the scheduler: fewer pairs stand in"),
        Item::new(5, "text", "2 and 6", "RDMA leaves the processor free, and costs registration where memory keeps changing")
            .claim("a computation beside 4 MiB: what it loses with RDMA write, to copying through shared memory", AtMost(1.0), [
                ratio(pick("threshold overlap", "rc write + thread", "overlap_loss", Size(4 << 20)), pick("threshold overlap", "rc stream + thread", "overlap_loss", Size(4 << 20))),
            ])
            .lacks("the paper announces this measurement and has no numbers of it"),
    ]
}
