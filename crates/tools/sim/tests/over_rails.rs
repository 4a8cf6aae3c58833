//! Point-to-point traffic over several rails, all but one of which may fail, for many seeds: every
//! message arrives once, in order, and every run ends. `VERBENA_SIM_SEEDS=10000` runs that many. To
//! replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test over_rails replay -- --nocapture`.

use verbena_sim::seeds::Trial;
use verbena_sim::traffic::run_over_rails;

const TRIAL: Trial = Trial { test: "over_rails", run: run_over_rails };

/// The runs together must have met everything that they are meant to try.
#[test]
fn a_thousand_seeds() {
    TRIAL.many(
        0.05,
        &[
            ("messages", |r, _| r.messages as u64),
            ("died", |r, _| r.died as u64),
            ("rendezvous", |r, _| r.rendezvous),
            ("messages over several rails", |r, _| r.striped),
            ("bytes by RDMA", |r, _| r.memory_bytes),
            ("transfers done another way", |r, _| r.fallbacks),
            ("duplicates", |r, _| r.duplicates),
            ("failovers", |r, _| r.failovers),
            ("packets sent again", |r, _| r.sent_again),
            ("broken pairs", |_, c| c.broken),
            ("devices that failed", |_, c| c.cut),
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
    [1470, 6585].into_iter().for_each(|seed| _ = TRIAL.seed(seed));
}

#[test]
fn replay() {
    TRIAL.replay();
}
