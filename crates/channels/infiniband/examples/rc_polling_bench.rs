//! Measures the cost of polling a set of rings in which nothing has come (paper 1, 6.5 and figure
//! 23: 16 rings 0.14 us, 128 rings 1.3 us). The rings have the layout of the default settings, so
//! that caches and address translation count.
//!
//! `cargo run --release -p verbena-infiniband --example rc_polling_bench`; exits with 1 if a limit
//! is missed.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use verbena_infiniband::rc::polling::PollingSet;
use verbena_infiniband::rc::settings::Order;

/// Rings, and the longest time in nanoseconds that polling them may take.
const LIMITS: [(usize, f64); 5] = [(1, 140.0), (16, 140.0), (32, 400.0), (64, 700.0), (128, 1300.0)];
/// Words of a ring: 32 slots of 2 KiB, and room behind them for the longest packet.
const RING_WORDS: usize = (32 + 8) * 2048 / 8;
/// Polls per measurement; the median of several counts.
const POLLS: u32 = 20_000;
const MEASUREMENTS: usize = 21;

fn median_ns(set: &PollingSet) -> f64 {
    let mut times: Vec<f64> = (0..MEASUREMENTS).map(|_| measure_ns(set)).collect();
    times.sort_by(f64::total_cmp);
    times[MEASUREMENTS / 2]
}

fn measure_ns(set: &PollingSet) -> f64 {
    let start = Instant::now();
    for _ in 0..POLLS {
        assert!(black_box(set).find(black_box(0)).is_none());
    }
    start.elapsed().as_nanos() as f64 / f64::from(POLLS)
}

fn main() -> ExitCode {
    let mut missed = false;
    println!("{:>6} {:>10} {:>10}", "rings", "ns", "limit");
    for (rings, limit_ns) in LIMITS {
        let memory: Vec<Vec<u64>> = (0..rings).map(|_| vec![0; RING_WORDS]).collect();
        let mut set = PollingSet::new(Order::Sequential);
        for (peer, ring) in (0..).zip(&memory) {
            set.add(peer, (ring.as_ptr() as u64, 0));
        }
        let ns = median_ns(&set);
        println!("{rings:>6} {ns:>10.1} {limit_ns:>10.0}");
        missed |= ns > limit_ns;
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
