//! Long messages over several rails (paper 5: "almost doubling" with both adapters of a node), by
//! the cost model of papers 1 and 2.
//!
//! Each rail has a device and a wire of its own. The work of a rank's CPU is charged to the device
//! that it is done for, so the CPU's work for two rails goes on side by side; at these lengths that
//! is next to nothing.

use super::bench::{Bench, windows};
use super::costed::Costed;
use super::table::{Table, size};
use crate::Rank;
use crate::over_rails::NAMES;
use crate::over_rc::{keep_registrations, open, paper_settings};
use crate::verbs::{Costs, DeviceFaults, Subnet};
use verbena_channel::wrapper::Wrapper;
use verbena_channel::{Channel, Cost};
use verbena_engine::{Large, Settings};
use verbena_infiniband::device::Address;
use verbena_infiniband::rc::adapter::Adapter;

const LENGTHS: [usize; 6] = [128 << 10, 150 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20];
/// Messages in a row.
const WINDOW: usize = 4;
/// Windows before the clock starts (the rails connect, and their speeds are learnt), and measured
/// ones.
const WARM: usize = 12;
const WINDOWS: usize = 4;

/// Measures the bandwidth of long messages over one rail, over two equal ones, and over two with a
/// slower second one.
///
/// # Errors
/// What hung or failed.
pub fn rails() -> Result<Table, String> {
    let title = "Long messages over rails, MB/s (paper 5, figure 1: RDMA over both adapters almost doubles it; from 150 KiB on)";
    let columns =
        ["size", "one", "two", "ratio", "second half as fast", "ratio ", "second a fifth", "ratio  "];
    let mut table = Table::new(title, columns);
    for bytes in LENGTHS {
        let one = bandwidth_mb_s(bytes, &[1], Large::Write)?;
        let mut row = vec![one];
        for slower in [1, 2, 5] {
            let two = bandwidth_mb_s(bytes, &[1, slower], Large::Write)?;
            row.extend([two, two / one]);
        }
        table.add(size(bytes), row);
    }
    Ok(table)
}

/// Measures bytes per microsecond (10^6 a second) over rails that are `slower` times slower than
/// the costs say.
///
/// # Errors
/// What hung or failed.
pub fn bandwidth_mb_s(bytes: usize, slower: &[u64], large: Large) -> Result<f64, String> {
    let costs = Costs::PAPER_1;
    let subnet = Subnet::of_rails(1, 2, slower.len() as Rank, costs, DeviceFaults::NONE);
    (0..).zip(slower).for_each(|(rail, times)| subnet.slow_down(rail, *times));
    let mut channels = [Vec::new(), Vec::new()];
    for rail in 0..slower.len() as Rank {
        let [first, second] = channels_on(rail, &subnet);
        channels[0].push(first);
        channels[1].push(second);
    }
    let settings = Settings { large, ..Settings::default() };
    let wires = |rank: Rank| std::mem::take(&mut channels[rank as usize]);
    let mut bench = Bench::new(subnet.clone(), bytes, settings, wires);
    let marks = bench.run(windows(bytes, WINDOW, WARM, WINDOWS))?;
    Ok((bytes * WINDOW * WINDOWS) as f64 * 1e3 / (marks[1] - marks[0]) as f64)
}

/// The channels of both ranks on a rail.
fn channels_on(rail: Rank, subnet: &Subnet) -> [Box<dyn Channel>; 2] {
    let cost = Cost { start_ns: 10_000, byte_ps: Costs::PAPER_1.byte_ps as u32 };
    let settings = verbena_infiniband::rc::Settings { read: cost, write: cost, ..paper_settings() };
    let adapters = [0, 1].map(|rank| (rank, subnet.rail(rank, rail)));
    let cards: Vec<Option<Address>> = adapters.iter().map(|(_, adapter)| Some(adapter.address())).collect();
    adapters.map(|(rank, adapter)| {
        let mut rc = open(rank, 2, adapter, &cards, settings.clone()).named(NAMES[rail as usize]);
        keep_registrations(&mut rc);
        let inner: Box<dyn Channel> = Box::new(rc);
        Box::new(Wrapper { inner, tap: Costed { rank, subnet: subnet.clone(), copies: true } })
            as Box<dyn Channel>
    })
}
