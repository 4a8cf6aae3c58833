//! Paper 3: how often each channel is polled, and the uses of each.

use super::Claimed::{About, AtLeast, AtMost};
use super::{Item, against, ratio, value};
use crate::report::pick::At::{Row, Size};
use crate::report::pick::{Pick, pick};

const THREE: &str = "Soft-RoCE: looking at the network costs what looking at memory costs, so there is little to save; the paper's completion queue takes 0.3 us to find empty";

const fn near(series: &'static str) -> Pick {
    pick("polling ratios", series, "node_latency", Size(8))
}

const fn far(series: &'static str) -> Pick {
    pick("polling ratios", series, "network_latency", Size(8))
}

const fn sim(experiment: &'static str, series: &'static str, row: &'static str) -> Pick {
    pick(experiment, series, "", Row(row))
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [polling(), thresholds()].concat()
}

fn polling() -> Vec<Item> {
    let burst = |series, metric| pick("polling discovery", series, metric, Size(0));
    vec![
        Item::new(3, "figure 1", "3.3.2", "The benchmark of discovery: bursts from the node and from the network in turn, each message answered")
            .lacks("a drawing; the benchmark itself is `verbena-papers polling`, metrics discovery_100 and discovery_200"),
        Item::new(3, "figure 2", "3.3.1", "Latency within the node and over the network by the ratio of polls, 1:1 to 1000:1")
            .number("gain within the node at 1000:1, up to", 37.0, "%").number("a good ratio", 50.0, ": 1")
            .claim("within the node: 1000:1 to both in every round", AtMost(0.63), [
                ratio(near("1000:1"), near("all")).but(THREE),
                ratio(sim("sim ratios", "within the node", "1000:1"), sim("sim ratios", "within the node", "1:1")),
            ])
            .claim("over the network: 50:1 to both in every round, hardly worse", About(1.0), [
                ratio(far("50:1"), far("all")),
                ratio(sim("sim ratios", "network", "50:1"), sim("sim ratios", "network", "1:1")),
            ])
            .show_over("scheme", "polling ratios", "node_latency").show_over("scheme", "polling ratios", "network_latency")
            .show_over("ratio of polls", "sim ratios", "latency"),
        Item::new(3, "figure 3", "3.3.2", "Time until a message is discovered by the update rate of the dynamic scheme, bursts of 100 and 200")
            .number("gain with bursts of 100, up to", 37.0, "%").number("gain with bursts of 200, up to", 45.0, "%").number("a good update rate", 10.0, "messages")
            .claim("bursts of 100: update rate 1 to both in every round", AtMost(0.63), [
                ratio(burst("update every 1", "discovery_100"), burst("all", "discovery_100")).but(THREE),
                ratio(sim("sim discovery", "bursts of 100", "1"), sim("sim discovery", "bursts of 100", "1:1")),
            ])
            .claim("bursts of 200: update rate 1 to both in every round", AtMost(0.55), [
                ratio(burst("update every 1", "discovery_200"), burst("all", "discovery_200")).but(THREE),
                ratio(sim("sim discovery", "bursts of 200", "1"), sim("sim discovery", "bursts of 200", "1:1")),
            ])
            .claim("bursts of 100: update rate 8 to rate 100, the burst itself, whose predictions are all wrong", AtMost(0.9), [
                ratio(sim("sim discovery", "bursts of 100", "8"), sim("sim discovery", "bursts of 100", "100")),
            ])
            .claim("bursts of 200: update rate 8 to rate 200, the same", AtMost(0.9), [
                ratio(sim("sim discovery", "bursts of 200", "8"), sim("sim discovery", "bursts of 200", "200")),
            ])
            .claim("bursts of 200: update rate 10 to rate 1, enough", AtMost(1.0), [
                ratio(sim("sim discovery", "bursts of 200", "10"), sim("sim discovery", "bursts of 200", "1")),
            ])
            .claim("bursts of 200: update rate 1 to a fixed 50:1 (the paper does not say against what it compares)", AtMost(0.55), [
                ratio(sim("sim discovery", "bursts of 200", "1"), sim("sim discovery", "bursts of 200", "50:1")),
            ])
            .show_over("scheme", "polling discovery", "discovery_100").show_over("scheme", "polling discovery", "discovery_200")
            .show_over("update rate", "sim discovery", "discovery"),
        Item::new(3, "text", "3.1.1", "Time to find a completion queue empty, and latency of networks of the day")
            .number("empty completion queue", 0.3, "us").number("latency, below", 5.0, "us")
            .ours("latency within the node to that of the network, 8 B", [ratio(near("all"), far("all"))])
            .ours("an empty look at a completion queue, bare device: ours to the paper's 300 ns", [
                against(pick("verbs look", "empty", "", Size(1)), 300.0),
            ]),
    ]
}

fn thresholds() -> Vec<Item> {
    let at = |series, metric, bytes| pick("threshold node", series, metric, Size(bytes));
    let far = |series, metric, bytes| pick("threshold network", series, metric, Size(bytes));
    let beside = |series, metric| pick("threshold overlap", series, metric, Size(4 << 20));
    let near = |series, metric| pick("threshold overlap node", series, metric, Size(4 << 20));
    vec![
        Item::new(3, "figure 4", "4.2", "Use of the processor by each channel: network close to 1%, the two that copy far more")
            .number("network, close to", 1.0, "%")
            .ours("beside a computation, 4 MiB received: shared memory", [value(near("shm", "processor")).but("processor time beyond the computation's, in parts of the transfer's time")])
            .ours("the kernel's copy (cma)", [value(near("cma", "processor"))])
            .ours("the network, read by the receiver", [value(beside("rc read", "processor")).but("Soft-RoCE is software: the kernel's threads copy, and are not counted here")])
            .ours("the network, written by the sender", [value(beside("rc write", "processor"))])
            .show_over("channel", "threshold overlap", "processor").show_over("channel", "threshold overlap", "overlap_loss"),
        Item::new(3, "figure 5", "4.2", "Latency and bandwidth by size of shared memory, the kernel's copy and the network: up to 4 KiB shared memory, beyond it the kernel")
            .number("threshold between shared memory and the kernel's copy", 4.0, "KiB")
            .claim("1 KiB: latency of shared memory to the kernel's copy", AtMost(1.0), [ratio(at("shm", "latency", 1 << 10), at("cma", "latency", 1 << 10))])
            .claim("64 KiB: latency of shared memory to the kernel's copy", AtLeast(1.0), [ratio(at("shm", "latency", 64 << 10), at("cma", "latency", 64 << 10)).but("copies in cache are quick here: `verbena tune` finds the machine's own threshold")])
            .claim("1 MiB: bandwidth of the kernel's copy to shared memory", AtLeast(1.0), [ratio(at("cma", "bandwidth", 1 << 20), at("shm", "bandwidth", 1 << 20))])
            .claim("64 KiB: latency of the network to shared memory", AtLeast(1.0), [ratio(far("rc read", "latency", 64 << 10), at("shm", "latency", 64 << 10))])
            .ours("our default threshold, 12 KiB: shm to cma at 16 KiB", [ratio(at("shm", "latency", 16 << 10), at("cma", "latency", 16 << 10))])
            .show("threshold node", "latency").show("threshold node", "bandwidth").show("threshold network", "latency"),
        Item::new(3, "text", "abstract and 6", "Latency within the node up to 37% less, discovery up to 45% less")
            .number("static scheme", 37.0, "%").number("dynamic scheme", 45.0, "%")
            .claim("the cost model's gain at 1000:1 to the paper's 0.63", About(1.0), [
                against(pick("sim ratios gain", "within the node", "", Row("1000:1")), 0.63),
            ])
            .lacks("the same as figures 2 and 3"),
    ]
}
