//! The cost of a look at a set of rings when nothing has come (paper 1, 6.5 and figure 23). It runs
//! the code of the channel `rc`, over memory in the layout of the default settings, so that caches
//! and address translation count.

use std::hint::black_box;
use std::time::{Duration, Instant};
use verbena_infiniband::rc::polling::PollingSet;
use verbena_infiniband::rc::settings::Order;

/// Bytes of a ring: 32 slots of 2 KiB, and room behind them for the longest packet.
pub const RING_BYTES: usize = (32 + 8) * 2048;
/// Looks between two looks at the clock.
const BATCH: u64 = 256;

/// Microseconds for a look at all rings, one for each repetition; and the looks of the last one.
pub(super) fn poll(rings: usize, share: Duration, repetitions: usize) -> (Vec<f64>, u64) {
    let memory: Vec<Vec<u64>> = (0..rings).map(|_| vec![0; RING_BYTES / size_of::<u64>()]).collect();
    let mut set = PollingSet::new(Order::Sequential);
    for (peer, ring) in (0..).zip(&memory) {
        set.add(peer, (ring.as_ptr() as u64, 0));
    }
    let mut looks = 0;
    let mut once = || {
        let start = Instant::now();
        looks = 0;
        while start.elapsed() < share || looks == 0 {
            for _ in 0..BATCH {
                assert!(black_box(&set).find(black_box(0)).is_none(), "nothing was written");
            }
            looks += BATCH;
        }
        start.elapsed().as_secs_f64() * 1e6 / looks as f64
    };
    once();
    ((0..repetitions).map(|_| once()).collect(), looks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rings_take_longer() {
        let of = |rings| poll(rings, Duration::from_millis(2), 3).0.into_iter().fold(f64::INFINITY, f64::min);
        assert!(of(256) > of(1));
    }
}
