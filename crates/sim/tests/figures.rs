//! The main relations of papers 1 and 2, by the cost model of their device, with the real engine and channel above it.

use verbena_sim::figures::Design;
use verbena_sim::verbs::Costs;

#[test]
fn show() {
    for d in [Design::SendReceive, Design::RdmaEager, Design::Basic, Design::Piggyback] {
        println!(
            "{d:?} lat {:?} bw {:?}",
            d.latency_us(4, Costs::PAPERS),
            d.bandwidth_mb_s(64, 100, Costs::PAPERS)
        );
        println!("  {:?}", d.device_work(4, Costs::PAPERS));
    }
    for d in Design::LADDER {
        println!("{d:?} {:?}", d.bandwidth_mb_s(1 << 20, 16, Costs::PAPERS));
    }
}
