//! Paper 3: how often each channel is polled, and the uses of each.

use super::Claimed::{About, Above, AtLeast, AtMost, Below, Within};
use super::{Item, Seen, against, ratio, value};
use crate::report::pick::At::{Row, Size};
use crate::report::pick::{Pick, pick};

const THREE: &str = "from any source, as in the paper's library; a look at ofi is a system call; the less it costs, the less there is to save";
const GUEST: &str = "over rc between emulated nodes: the three ranks share two processors with the threads of the device in software, and the noise of a quick run was a factor of 39";
const NAMED: &str = "where receives name their sender, which this library looks for first";
const BEATS: &str = "the model's curve is not smooth, as the paper's is: where the turns of the network fall upon a message in each round trip, a ratio that is better elsewhere is worse";
const PRICE: &str = "the number beside the name is the price in ns of each update, or of a change alone; it is a guess: the paper gives none";
const GUESS: &str = "an update's price is a guess: the paper gives none";

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
            .ours("bursts of 100, a whole exchange: update rate 1 to both in every round", [
                ratio(burst("update every 1", "discovery_100"), burst("all", "discovery_100")).but("the exchange's time; figure 3 has the discovery by itself"),
            ])
            .ours("bursts of 200, a whole exchange: the same", [
                ratio(burst("update every 1", "discovery_200"), burst("all", "discovery_200")),
            ])
            .lacks("a drawing, without numbers"),
        ratios(),
        discovery(),
        histories(),
        looks(),
    ]
}

fn ratios() -> Item {
    let any = |series, metric| pick("polling ratios", series, metric, Size(8));
    Item::new(
        3,
        "figure 2",
        "3.3.1",
        "Latency within the node and over the network by the ratio of polls, 1:1 to 1000:1",
    )
    .number("gain within the node at 1000:1, up to", 37.0, "%")
    .number("a good ratio", 50.0, ": 1")
    .claim(
        "within the node: 1000:1 to both in every round",
        AtMost(0.63),
        [
            ratio(any("1000:1", "node_latency_any"), any("all", "node_latency_any")).but(THREE),
            ratio(near("1000:1"), near("all")).but(NAMED),
            ratio(
                sim("sim ratios", "within the node", "1000:1"),
                sim("sim ratios", "within the node", "1:1"),
            ),
            ratio(
                sim("sim ratios", "within the node, named", "1000:1"),
                sim("sim ratios", "within the node, named", "1:1"),
            )
            .but(NAMED),
        ],
    )
    .claim(
        "over the network: 50:1 to both in every round, hardly worse",
        About(1.0),
        [
            ratio(any("50:1", "network_latency_any"), any("all", "network_latency_any")),
            ratio(far("50:1"), far("all")).but(NAMED),
            ratio(sim("sim ratios", "network", "50:1"), sim("sim ratios", "network", "1:1")),
            ratio(sim("sim ratios", "network, named", "50:1"), sim("sim ratios", "network, named", "1:1"))
                .but(NAMED),
        ],
    )
    .ours(
        "by the model, named: 5:1 to both in every round, within the node",
        [ratio(
            sim("sim ratios", "within the node, named", "5:1"),
            sim("sim ratios", "within the node, named", "1:1"),
        )
        .but(BEATS)],
    )
    .claim("between nodes with connections, within the node: 1000:1 to both in every round", AtMost(0.63), [])
    .claim("between nodes with connections, over the network: 50:1 to both in every round", About(1.0), [])
    .lacks(GUEST)
    .show_over("scheme", "polling ratios", "node_latency_any")
    .show_over("scheme", "polling ratios", "network_latency_any")
    .show_over("scheme", "polling ratios", "node_latency")
    .show_over("scheme", "polling ratios", "network_latency")
    .show_over("ratio of polls", "sim ratios", "latency")
}

/// A statement of section 3.3 to its number in the paper, by the model in each manner.
fn stated(statement: &'static str, number: f64) -> [Seen; 3] {
    let by = |manner| against(sim("sim polling claims", manner, statement), number);
    [by("any source"), by("named").but(NAMED), by("as the paper").but(GUESS)]
}

fn discovery() -> Item {
    let found = |series, metric, burst| pick("polling discovery", series, metric, Size(burst));
    let gain = |metric, burst| ratio(found("update every 1", metric, burst), found("all", metric, burst));
    let spike = |metric, burst: &'static str, size| {
        let worst = if burst == "100" { "update every 100" } else { "update every 200" };
        ratio(found(worst, metric, size), found("update every 10", metric, size))
    };
    let enough = |column| ratio(sim("sim discovery", column, "10"), sim("sim discovery", column, "1"));
    let item = Item::new(
        3,
        "figure 3",
        "3.3.2",
        "Time until a message is discovered by the update rate of the dynamic scheme, bursts of 100 and 200",
    )
    .number("gain with bursts of 100, up to", 37.0, "%")
    .number("gain with bursts of 200, up to", 45.0, "%")
    .number("a good update rate", 10.0, "messages")
    .claim("between nodes with connections: update rate 1 to both in every round", AtMost(0.63), [])
    .lacks(GUEST)
    .claim(
        "bursts of 100: update rate 1 to both in every round",
        AtMost(0.63),
        [gain("discovery_any", 100).but(THREE), gain("discovery_named", 100).but(NAMED)],
    )
    .claim(
        "bursts of 200: update rate 1 to both in every round",
        AtMost(0.55),
        [gain("discovery_any", 200).but(THREE), gain("discovery_named", 200).but(NAMED)],
    )
    .claim(
        "bursts of 100: update rate 100 to rate 10, a spike",
        Above(1.0),
        [spike("discovery_any", "100", 100).but(THREE), spike("discovery_named", "100", 100).but(NAMED)],
    )
    .claim(
        "bursts of 200: update rate 200 to rate 10, a spike",
        Above(1.0),
        [spike("discovery_any", "200", 200).but(THREE), spike("discovery_named", "200", 200).but(NAMED)],
    )
    .claim(
        "bursts of 200: update rate 10 to rate 1, enough: no slower",
        AtMost(1.0),
        [
            ratio(
                found("update every 10", "discovery_any", 200),
                found("update every 1", "discovery_any", 200),
            ),
            enough("bursts of 200"),
            enough("bursts of 200, named").but(NAMED),
            enough("bursts of 200, as the paper"),
        ],
    )
    .ours(
        "bursts of 200: update rate 1 to a fixed 50:1 (the paper does not say against what it compares)",
        [ratio(sim("sim discovery", "bursts of 200", "1"), sim("sim discovery", "bursts of 200", "50:1"))],
    )
    .show_over("scheme", "polling discovery", "discovery_any")
    .show_over("scheme", "polling discovery", "discovery_named")
    .show_over("update rate", "sim discovery", "discovery");
    by_model(item)
}

/// Adds what the paper states of that figure, computed.
fn by_model(item: Item) -> Item {
    item.claim(
        "bursts of 100: percent less at the best rate than with both in every round, to the paper's 37",
        AtLeast(1.0),
        stated("bursts of 100: best rate against 1:1, less by %", 37.0),
    )
    .claim(
        "bursts of 200: the same, to the paper's 45",
        AtLeast(1.0),
        stated("bursts of 200: best rate against 1:1, less by %", 45.0),
    )
    .claim(
        "bursts of 100: update rate 100 to rate 10, the spike where all predictions are wrong",
        Above(1.0),
        stated("bursts of 100: rate 100 to rate 10 (a spike)", 1.0),
    )
    .claim(
        "bursts of 200: update rate 200 to rate 10, the same",
        Above(1.0),
        stated("bursts of 200: rate 200 to rate 10 (a spike)", 1.0),
    )
    .claim(
        "bursts of 200: the best update rate, to the upper one of 8 and 10, which the paper finds enough",
        Within(0.8, 1.0),
        rates(),
    )
}

/// The best update rate to the larger of the paper's: where each update costs 100 and 500 ns, and
/// where only a change costs something, as here.
fn rates() -> [Seen; 3] {
    let rate = |column, price| against(sim("sim good rates", column, price), 10.0).but(PRICE);
    [rate("each update", "100"), rate("each update", "500"), rate("only changes", "100")]
}

fn histories() -> Item {
    let found = |series, metric| pick("polling history", series, metric, Size(200));
    let gain = |metric| ratio(found("history 256", metric), found("history 1", metric));
    Item::new(
        3,
        "text",
        "3.2.2",
        "Discovery by the length of the history: a long one changes slowly, a short one wavers; no numbers",
    )
    .ours(
        "bursts of 200: history of 256 messages to one of 1",
        [
            gain("discovery_any"),
            gain("discovery_named").but(NAMED),
            ratio(sim("sim history", "bursts of 200", "256"), sim("sim history", "bursts of 200", "1")),
            ratio(
                sim("sim history", "bursts of 200, named", "256"),
                sim("sim history", "bursts of 200, named", "1"),
            )
            .but(NAMED),
        ],
    )
    .show_over("scheme", "polling history", "discovery_any")
    .show_over("messages", "sim history", "discovery")
    .lacks("the paper has no number and no figure of it")
}

fn looks() -> Item {
    Item::new(3, "text", "3.1.1", "Time to find a completion queue empty, and latency of networks of the day")
        .number("empty completion queue", 0.3, "us")
        .number("latency, below", 5.0, "us")
        .ours("latency within the node to that of the network, 8 B", [ratio(near("all"), far("all"))])
        .ours(
            "an empty look at a completion queue, bare device: ours to the paper's 300 ns",
            [against(pick("verbs look", "empty", "", Size(1)), 300.0)],
        )
        .lacks("numbers of the paper's machines and networks, which others need not have")
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
            .show_over("channel", "threshold overlap", "processor").show_over("channel", "threshold overlap", "overlap_loss")
            .lacks("Soft-RoCE is software: what its threads spend is no process's, so the network beside the two that copy would say nothing"),
        Item::new(3, "figure 5", "4.2", "Latency and bandwidth by size of shared memory, the kernel's copy and the network: up to 4 KiB shared memory, beyond it the kernel")
            .number("threshold between shared memory and the kernel's copy", 4.0, "KiB")
            .claim("1 KiB: latency of shared memory to the kernel's copy", Below(1.0), [ratio(at("shm", "latency", 1 << 10), at("cma", "latency", 1 << 10))])
            .claim("64 KiB: latency of shared memory to the kernel's copy", Above(1.0), [ratio(at("shm", "latency", 64 << 10), at("cma", "latency", 64 << 10)).but("copies in cache are quick here: `verbena tune` finds the machine's own threshold")])
            .claim("1 MiB: bandwidth of the kernel's copy to shared memory", Above(1.0), [ratio(at("cma", "bandwidth", 1 << 20), at("shm", "bandwidth", 1 << 20))])
            .claim("64 KiB: latency of the network to shared memory", Above(1.0), [ratio(far("rc read", "latency", 64 << 10), at("shm", "latency", 64 << 10))])
            .ours("our default threshold, 12 KiB: shm to cma at 16 KiB", [ratio(at("shm", "latency", 16 << 10), at("cma", "latency", 16 << 10))])
            .show("threshold node", "latency").show("threshold node", "bandwidth").show("threshold network", "latency"),
        Item::new(3, "text", "abstract and 6", "Latency within the node up to 37% less, discovery up to 45% less")
            .number("static scheme", 37.0, "%").number("dynamic scheme", 45.0, "%")
            .lacks("the same numbers as in figures 2 and 3, where their rows stand"),
    ]
}
