//! The figures of paper 3, section 3.3: the polling scheduler's effect on latency and on the time
//! until a message is discovered.
//!
//! The real engines and their scheduler run over two sorts of channels that cost what the paper
//! says: shared memory, which is cheap to look at, and a network whose completion queue takes 0.3
//! us to find empty (3.1.1). Every rank spins; each look moves its clock on. Nothing is measured
//! here: the model says what the scheme does where polling is that dear.

mod benchmark;
mod node;

use super::table::Table;
use benchmark::{discovery_ns, latency_ns};
use verbena_engine::{Polling, Scheme};

/// The costs of one sort of channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Time of a packet, one way.
    pub latency_ns: u64,
    /// A poll that finds nothing.
    pub empty_ns: u64,
    /// The CPU's work for a packet, on each side.
    pub packet_ns: u64,
}

/// Shared memory: a look reads a byte for each process (paper 3, 3.1.2). Costs that the paper does
/// not give are estimates for its hosts (Xeon 3 GHz): two copies and two cache misses for a packet.
const SHARED: Costs = Costs { latency_ns: 200, empty_ns: 20, packet_ns: 100 };
/// The network: 0.3 us for an empty completion queue (3.1.1), latency "below 5 us" (1).
const NETWORK: Costs = Costs { latency_ns: 4_500, empty_ns: 300, packet_ns: 400 };

/// The ratios of figure 2.
pub const RATIOS: [u32; 9] = [1, 2, 5, 10, 20, 50, 100, 500, 1000];
/// The update rates of figure 3.
pub const UPDATES: [u32; 12] = [1, 2, 4, 8, 10, 16, 20, 50, 80, 100, 150, 200];
/// The lengths of bursts.
pub const BURSTS: [u32; 2] = [100, 200];

fn static_of(ratio: u32) -> Polling {
    Polling { scheme: Scheme::Ratio, ratio, ..Polling::AUTO }
}

/// Compares latency within a node and over the network by the ratio at which they are polled.
///
/// # Errors
/// What hung.
pub fn ratios() -> Result<Table, String> {
    let title = "Latency by the ratio of polls, us (paper 3, figure 2: within the node up to 37% less)";
    let mut table = Table::new(title, ["ratio", "within the node", "change, %", "network", "change, %"]);
    let measure = |polling| -> Result<[f64; 2], String> {
        Ok([latency_ns(polling, 1)? as f64 / 1e3, latency_ns(polling, 2)? as f64 / 1e3])
    };
    let first = measure(static_of(1))?;
    let mut add = |name: &str, [near, far]: [f64; 2]| {
        let change = |now: f64, then: f64| (now / then - 1.0) * 100.0;
        table.add(name, vec![near, change(near, first[0]), far, change(far, first[1])]);
    };
    for ratio in RATIOS {
        add(&format!("{ratio}:1"), measure(static_of(ratio))?);
    }
    add("dynamic", measure(Polling::AUTO)?);
    Ok(table)
}

/// Compares the mean time from a message's arrival to its discovery, by the update rate of the
/// dynamic scheme.
///
/// # Errors
/// What hung.
pub fn discovery() -> Result<Table, String> {
    let title = "Discovery of a message by the update rate, ns (paper 3, figure 3: up to 45% less)";
    let names = BURSTS.map(|burst| format!("bursts of {burst}"));
    let mut table = Table::new(title, std::iter::once("update rate".to_string()).chain(names));
    let mut add = |name: &str, polling| -> Result<(), String> {
        let values = BURSTS.map(|burst| discovery_ns(polling, burst));
        table.add(name, values.into_iter().collect::<Result<_, _>>()?);
        Ok(())
    };
    add("1:1", Polling::ALL)?;
    add("50:1", static_of(50))?;
    for update_every in UPDATES {
        add(&update_every.to_string(), Polling { update_every, ..Polling::AUTO })?;
    }
    Ok(table)
}
