//! The figures of paper 3, section 3.3: the polling scheduler's effect on latency and on the time
//! until a message is discovered.
//!
//! The real engines and their scheduler run over two sorts of channels that cost what the paper
//! says: shared memory, which is cheap to look at, and a network whose completion queue takes 0.3
//! us to find empty (3.1.1). Every rank spins; each look moves its clock on. Nothing is measured
//! here: the model says what the scheme does where polling is that dear.
//!
//! A receive that names its sender looks at the front of the sender's queue in shared memory before
//! each round, as in the library; one from any source finds messages only by rounds, as everything
//! did in the paper's library. An update of the periods costs time too ([`Manner`]), without which
//! the paper's trade-off of the update rate could not appear.

mod benchmark;
mod claims;
mod node;

use super::table::Table;
use benchmark::{discovery_ns, latency_ns};
pub use claims::{claims, good_rates};
use verbena_engine::{Polling, Scheme};

/// The costs of one sort of channel.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Time of a packet, one way.
    pub latency_ns: u64,
    /// A poll that finds nothing.
    pub empty_ns: u64,
    /// The CPU's work for a packet, on each side.
    pub packet_ns: u64,
}

/// Shared memory: a look reads a byte for each process (paper 3, 3.1.2). Costs that the paper does
/// not give are estimates for its hosts (Xeon 3 GHz): two copies and two cache misses for a packet.
pub const SHARED: Costs = Costs { latency_ns: 200, empty_ns: 20, packet_ns: 100 };
/// The network: 0.3 us for an empty completion queue (3.1.1), latency "below 5 us" (1).
pub const NETWORK: Costs = Costs { latency_ns: 4_500, empty_ns: 300, packet_ns: 400 };
/// The time of a calculation of all periods in nanoseconds. The paper gives none: a guess of a
/// division and some branches for each channel on its hosts.
pub const CALCULATION_NS: u64 = 100;

/// The ratios of figure 2.
pub const RATIOS: [u32; 9] = [1, 2, 5, 10, 20, 50, 100, 500, 1000];
/// The update rates of figure 3.
pub const UPDATES: [u32; 12] = [1, 2, 4, 8, 10, 16, 20, 50, 80, 100, 150, 200];
/// The lengths of bursts.
pub const BURSTS: [u32; 2] = [100, 200];
/// The lengths of the history.
pub const HISTORIES: [u32; 7] = [1, 2, 4, 8, 16, 64, 256];

/// The manner of receiving, and the costs of learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// True if rank 0 receives from any source; else it names the sender.
    pub any_source: bool,
    /// The time of each update, whether or not the history has changed, in nanoseconds.
    pub update_ns: u64,
    /// The time of each update after which something is calculated, in nanoseconds.
    pub calculation_ns: u64,
}

impl Manner {
    /// The paper's library: it polls whatever is waited for, and each update calculates.
    pub const PAPER: Manner = Manner { any_source: true, update_ns: CALCULATION_NS, calculation_ns: 0 };
    /// This library, from any source: it calculates only what a changed history changes.
    pub const ANY: Manner = Manner { any_source: true, update_ns: 0, calculation_ns: CALCULATION_NS };
    /// This library, where receives name their sender.
    pub const NAMED: Manner = Manner { any_source: false, ..Manner::ANY };
    /// The manners of the figures, with their names.
    pub const ALL: [(&str, Manner); 3] =
        [("as the paper", Manner::PAPER), ("any source", Manner::ANY), ("named", Manner::NAMED)];
}

fn static_of(ratio: u32) -> Polling {
    Polling { scheme: Scheme::Ratio, ratio, ..Polling::AUTO }
}

/// The latencies within the node and over the network, in microseconds.
fn latencies(polling: Polling, manner: Manner) -> Result<[f64; 2], String> {
    let us = |peer| latency_ns(polling, peer, manner).map(|ns| ns as f64 / 1e3);
    Ok([us(1)?, us(2)?])
}

/// Compares latency within a node and over the network by the ratio at which they are polled: from
/// any source, and in the last columns where receives name their sender.
///
/// # Errors
/// What hung.
pub fn ratios() -> Result<Table, String> {
    let title = "Latency by the ratio of polls, us (paper 3, figure 2: within the node up to 37% less)";
    let columns =
        ["within the node", "change, %", "network", "change, %", "within the node, named", "network, named"];
    let mut table = Table::new(title, std::iter::once("ratio").chain(columns));
    let first = latencies(static_of(1), Manner::ANY)?;
    let mut add = |name: &str, polling| -> Result<(), String> {
        let [near, far] = latencies(polling, Manner::ANY)?;
        let [near_named, far_named] = latencies(polling, Manner::NAMED)?;
        let change = |now: f64, then: f64| (now / then - 1.0) * 100.0;
        let changes = [change(near, first[0]), change(far, first[1])];
        table.add(name, vec![near, changes[0], far, changes[1], near_named, far_named]);
        Ok(())
    };
    for ratio in RATIOS {
        add(&format!("{ratio}:1"), static_of(ratio))?;
    }
    add("dynamic", Polling::AUTO)?;
    Ok(table)
}

/// The lengths of bursts by which the default is chosen, from single messages of either side in
/// turn: each history meets the length that it predicts worst, its own.
const MIXED: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The ratios and histories among which the default is chosen.
const RATIOS_TRIED: [u32; 6] = [5, 10, 20, 50, 100, 1000];
const HISTORIES_TRIED: [u32; 5] = [1, 2, 4, 8, 16];

/// Compares what the default could be: discovery over bursts of all lengths, in nanoseconds, by the
/// largest ratio (rows) and the history (columns), at an update rate of 1; the mean of receives
/// from any source and of those that name their sender.
///
/// # Errors
/// What hung.
pub fn defaults() -> Result<Table, String> {
    let title = "Discovery by largest ratio and history, bursts of 1 to 256, ns";
    let names = HISTORIES_TRIED.map(|history| format!("history {history}"));
    let mut table = Table::new(title, std::iter::once("ratio".to_string()).chain(names));
    for ratio in RATIOS_TRIED {
        let of = |history| mixed(Polling { ratio, history, ..Polling::AUTO });
        table.add(format!("{ratio}:1"), HISTORIES_TRIED.map(of).into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

/// The mean of discovery in nanoseconds over bursts of all lengths, from any source and by name.
fn mixed(polling: Polling) -> Result<f64, String> {
    let manners = [Manner::ANY, Manner::NAMED];
    let all = MIXED.into_iter().flat_map(|burst| manners.map(|manner| (burst, manner)));
    let times: Vec<f64> =
        all.map(|(burst, manner)| discovery_ns(polling, burst, manner)).collect::<Result<_, _>>()?;
    Ok(times.iter().sum::<f64>() / times.len() as f64)
}

/// The times until discovery in nanoseconds: bursts of each length, in each manner.
fn discoveries(polling: Polling) -> Result<Vec<f64>, String> {
    let all = Manner::ALL.into_iter().flat_map(|(_, manner)| BURSTS.map(|burst| (burst, manner)));
    all.map(|(burst, manner)| discovery_ns(polling, burst, manner)).collect()
}

/// The name of a column of [`discovery`] and [`histories`].
fn column(burst: u32, manner: &str) -> String {
    match manner {
        "any source" => format!("bursts of {burst}"),
        manner => format!("bursts of {burst}, {manner}"),
    }
}

/// A table of discovery in nanoseconds, by what its rows name: first both in each round and 50:1.
fn by(title: &str, rows: &str, all: impl Iterator<Item = (String, Polling)>) -> Result<Table, String> {
    let columns = Manner::ALL.into_iter().flat_map(|(name, _)| BURSTS.map(|burst| column(burst, name)));
    let mut table = Table::new(title, std::iter::once(rows.to_string()).chain(columns));
    let fixed = [("1:1".to_string(), Polling::ALL), ("50:1".to_string(), static_of(50))];
    for (name, polling) in fixed.into_iter().chain(all) {
        table.add(name, discoveries(polling)?);
    }
    Ok(table)
}

/// Compares the mean time from a message's arrival to its discovery, by the update rate of the
/// dynamic scheme.
///
/// # Errors
/// What hung.
pub fn discovery() -> Result<Table, String> {
    let title = "Discovery of a message by the update rate, ns (paper 3, figure 3: up to 45% less)";
    let of = |update_every: u32| (update_every.to_string(), Polling { update_every, ..Polling::AUTO });
    by(title, "update rate", UPDATES.into_iter().map(of))
}

/// Compares the same by the length of the history, at the update rate of the default.
///
/// # Errors
/// What hung.
pub fn histories() -> Result<Table, String> {
    let title = "Discovery of a message by the length of the history, ns (paper 3, 3.2.2)";
    let of = |history: u32| (history.to_string(), Polling { history, ..Polling::AUTO });
    by(title, "messages", HISTORIES.into_iter().map(of))
}
