//! Point-to-point traffic over `rc` and `ud` together, with few connections that go from peer to
//! peer, and devices of `ud` that fail, for many seeds: every message arrives once, in order,
//! nobody has more connections than it may have while `ud` works, and every run ends.
//! `VERBENA_SIM_SEEDS=10000` runs that many. To replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test over_hybrid replay -- --nocapture`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use verbena_sim::over_hybrid::HybridFaults;
use verbena_sim::seeds::Trial;
use verbena_sim::traffic::{run_over_hybrid, run_over_hybrid_under};

const TRIAL: Trial = Trial { test: "over_hybrid", run: run_over_hybrid };

/// The runs together must have met everything that they are meant to try.
#[test]
fn a_thousand_seeds() {
    TRIAL.many(
        0.05,
        &[
            ("messages", |r, _| r.messages as u64),
            ("died", |r, _| r.died as u64),
            ("rendezvous", |r, _| r.rendezvous),
            ("bytes by RDMA", |r, _| r.memory_bytes),
            ("peers that moved to another channel", |r, _| r.moves),
            ("connections given back", |r, _| r.left),
            ("datagrams lost", |_, c| c.lost),
            ("devices of ud that failed", |_, c| c.cut),
            ("failovers", |r, _| r.failovers),
            ("packets sent again", |r, _| r.sent_again),
        ],
    );
}

#[test]
fn a_seed_replays_exactly() {
    TRIAL.replays_exactly(2000..2010);
}

/// Each has shown a defect among ten thousand.
#[test]
fn seeds_that_once_failed() {
    [2991, 6230, 9221].into_iter().for_each(|seed| _ = TRIAL.seed(seed));
}

/// Every device of `ud` fails early, while much is under way.
fn cut_early(forgets: bool) -> HybridFaults {
    HybridFaults { cut_percent: 100, cut_ns_max: 20_000, forgets, ..HybridFaults::none(1) }
}

/// Counts the seeds, of 60, that break a rule.
fn noticed(faults: &HybridFaults) -> usize {
    let run = |seed: &u64| catch_unwind(AssertUnwindSafe(|| run_over_hybrid_under(*seed, faults)));
    (0..60).filter(|seed| !matches!(run(seed), Ok(Ok(_)))).count()
}

#[test]
fn an_honest_channel_is_not_accused() {
    assert_eq!(noticed(&cut_early(false)), 0);
}

/// The canary of failover: `ud` hands back all but one of the packets that did not arrive.
#[test]
fn a_channel_that_forgets_a_packet_is_found_out() {
    let noticed = noticed(&cut_early(true));
    assert!(noticed > 15, "{noticed}");
}

#[test]
fn replay() {
    TRIAL.replay();
}
