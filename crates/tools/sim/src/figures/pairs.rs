//! Datagrams over several sending queue pairs (paper 4, section 4 and figure 2): one pair receives,
//! and messages go out over the others in turn. The device starts work of several pairs side by
//! side; that it does so for four of them is an input of the model
//! ([`pairs_at_once`](crate::verbs::Costs::pairs_at_once)), what the library gains by it is not.

use super::bench::{Bench, windows};
use super::costed::Costed;
use super::table::Table;
use crate::over_ud;
use crate::verbs::{Costs, DeviceFaults, Subnet};
use verbena_channel::Channel;
use verbena_channel::wrapper::Wrapper;
use verbena_infiniband::ud::Settings;
use verbena_infiniband::ud::adapter::Limits;

/// Numbers of sending queue pairs.
const SENDERS: [usize; 5] = [1, 2, 4, 8, 16];
/// Bytes of a datagram: the largest MTU of the papers' adapters.
const DATAGRAM_BYTES: usize = 2048;
/// Bytes of a message, and how many go in a row before the answer.
const BYTES: usize = 64 << 10;
const WINDOW: usize = 16;
/// Windows before the clock starts, and measured ones.
const WINDOWS: usize = 4;

/// Measures the bandwidth of datagrams by the number of sending queue pairs.
///
/// # Errors
/// What hung or failed.
pub fn pairs() -> Result<Table, String> {
    let title =
        "Bandwidth of datagrams by sending queue pairs, MB/s (paper 4, figure 2: four are near the best)";
    let mut table = Table::new(title, ["pairs", "four started side by side", "one started at a time"]);
    for senders in SENDERS {
        let values =
            [4, 1].map(|at_once| bandwidth_mb_s(senders, Costs { pairs_at_once: at_once, ..Costs::PAPER_1 }));
        table.add(senders.to_string(), values.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(table)
}

fn bandwidth_mb_s(senders: usize, costs: Costs) -> Result<f64, String> {
    let subnet = Subnet::new(1, 2, costs, DeviceFaults::NONE);
    let settings = Settings { senders, ..Settings::current() };
    let limits = Limits { senders, datagram_bytes_max: DATAGRAM_BYTES, ..over_ud::LIMITS };
    let mut uds = over_ud::channels(&subnet, limits, |_| settings.clone(), 2).into_iter();
    let wire = |rank| {
        let inner: Box<dyn Channel> = Box::new(uds.next().expect("one for each rank"));
        vec![Box::new(Wrapper { inner, tap: Costed { rank, subnet: subnet.clone(), copies: true } })
            as Box<dyn Channel>]
    };
    let mut bench = Bench::new(subnet.clone(), BYTES, verbena_engine::Settings::default(), wire);
    let marks = bench.run(windows(BYTES, WINDOW, WINDOWS, WINDOWS))?;
    Ok((BYTES * WINDOW * WINDOWS) as f64 * 1e3 / (marks[1] - marks[0]) as f64)
}
