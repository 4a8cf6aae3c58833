//! Point-to-point traffic over `rc` and `ud` together, with few connections that go from peer to
//! peer, for many seeds: every message arrives once, in order, nobody has more connections than it
//! may have, and every run ends. `VERBENA_SIM_SEEDS=10000` runs that many. To replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test over_hybrid replay -- --nocapture`.

use verbena_sim::seeds::Trial;
use verbena_sim::traffic::run_over_hybrid;

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

#[test]
fn replay() {
    TRIAL.replay();
}
