//! Point-to-point traffic over the channel `rc` on simulated verbs devices: credits, order over two paths, changes of the
//! polling set, reuse of slots, peers that die, for many seeds. `VERBENA_SIM_SEEDS=10000` runs so many. To replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test over_rc replay -- --nocapture`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use verbena_channel::rc::Settings;
use verbena_channel::rc::settings::Notify;
use verbena_sim::over_rc::RcFaults;
use verbena_sim::traffic::{Report, run_over_rc, run_over_rc_under};
use verbena_sim::verbs::{Canary, Counts, DeviceFaults};
use verbena_sim::{Faults, seed_to_replay};

/// Seeds of a run if nobody says how many.
const SEEDS: u64 = 1000;

/// Runs a seed; a failure or panic names the seed and how to replay it.
fn run_seed(seed: u64) -> (Report, Counts) {
    let outcome = catch_unwind(AssertUnwindSafe(|| run_over_rc(seed)));
    let broken = match outcome {
        Ok(Ok(report)) => return report,
        Ok(Err(broken)) => broken,
        Err(_) => "a panic (its message is above)".into(),
    };
    panic!(
        "seed {seed}: {broken}\nreplay: VERBENA_SIM_SEED={seed} cargo test -p verbena-sim --test over_rc replay -- --nocapture"
    );
}

fn seeds() -> u64 {
    let number = |text: String| text.parse().unwrap_or_else(|_| panic!("VERBENA_SIM_SEEDS is {text:?}"));
    std::env::var("VERBENA_SIM_SEEDS").map_or(SEEDS, number)
}

/// The runs together must have met everything that they are meant to try.
#[test]
fn a_thousand_seeds() {
    let seeds = seeds();
    let halves = [0..seeds / 2, seeds / 2..seeds];
    let halves = halves.map(|seeds| std::thread::spawn(move || seeds.map(run_seed).collect::<Vec<_>>()));
    let reports: Vec<(Report, Counts)> =
        halves.into_iter().flat_map(|half| half.join().expect("no seed fails")).collect();
    let sum = |what: fn(&(Report, Counts)) -> u64| reports.iter().map(what).sum::<u64>();
    for (name, count) in [
        ("messages", sum(|(r, _)| r.messages as u64)),
        ("died", sum(|(r, _)| r.died as u64)),
        ("cancelled", sum(|(r, _)| r.cancelled as u64)),
        ("rendezvous", sum(|(r, _)| r.rendezvous)),
        ("written", sum(|(r, _)| r.written)),
        ("bytes by RDMA", sum(|(r, _)| r.memory_bytes)),
        ("throttles", sum(|(r, _)| r.throttles)),
        ("sends", sum(|(_, c)| c.sends)),
        ("lost datagrams", sum(|(_, c)| c.lost)),
        ("broken pairs", sum(|(_, c)| c.broken)),
        ("writes", sum(|(_, c)| c.writes)),
        ("reads", sum(|(_, c)| c.reads)),
        ("torn writes", sum(|(_, c)| c.torn)),
        ("packets of credits", sum(|(_, c)| c.packets[2])),
        ("rings offered", sum(|(_, c)| c.packets[3])),
        ("rings accepted", sum(|(_, c)| c.packets[4])),
        ("rings declined", sum(|(_, c)| c.packets[5])),
        ("rings taken back", sum(|(_, c)| c.packets[6])),
        ("rings closed", sum(|(_, c)| c.packets[8])),
        ("inline posts", sum(|(_, c)| c.inline)),
        ("ports down", sum(|(_, c)| c.ports_down)),
    ] {
        println!("{name}: {count}");
        assert!(count as f64 >= 0.005 * seeds as f64, "only {count} {name} in all runs");
    }
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 2000..2020 {
        assert_eq!(run_seed(seed), run_seed(seed), "seed {seed}");
    }
}

/// Small rings of small slots, so that slots are soon used again, few credits, torn writes, and ranks that look away.
fn canary_faults(canary: Canary) -> RcFaults {
    let mut faults = RcFaults::none();
    faults.faults =
        Faults { eager_bytes_max: 100, memory_bytes_min: 1 << 30, away_percent: 20, ..Faults::none() };
    faults.settings = Settings {
        slots: 4,
        slot_bytes: 256,
        buffer_bytes: 192,
        credits: 8,
        memory_bytes_min: 1 << 30,
        ..faults.settings
    };
    faults.device = DeviceFaults { canary, pieces_max: 9, delay_ns_max: 3000, ..DeviceFaults::NONE };
    faults
}

/// How many of 60 seeds notice that the channel has this defect.
fn noticed(faults: &RcFaults) -> usize {
    let run = |seed: &u64| catch_unwind(AssertUnwindSafe(|| run_over_rc_under(*seed, faults)));
    (0..60).filter(|seed| !matches!(run(seed), Ok(Ok(_)))).count()
}

#[test]
fn an_honest_channel_is_not_accused() {
    assert_eq!(noticed(&canary_faults(Canary::None)), 0);
}

/// Paper 1, 4.2: why the tail flag has two values.
#[test]
fn a_sender_that_takes_one_flag_value_is_found_out() {
    let noticed = noticed(&canary_faults(Canary::OneFlag));
    assert!(noticed > 15, "{noticed}");
}

/// Paper 1, 4.4.
#[test]
fn a_receiver_that_gives_credits_twice_is_found_out() {
    let noticed = noticed(&canary_faults(Canary::CreditsTwice(3)));
    assert!(noticed > 15, "{noticed}");
}

/// Paper 1, 4.5.
#[test]
fn a_receiver_that_ignores_packet_numbers_is_found_out() {
    let noticed = noticed(&canary_faults(Canary::NumbersIgnored));
    assert!(noticed > 15, "{noticed}");
}

/// What the flags rest on: without it only pointers, written after the packet, are right.
#[test]
fn flags_need_a_device_that_writes_in_order_and_pointers_do_not() {
    let mut faults = canary_faults(Canary::None);
    faults.device.last_first_percent = 50;
    let by_flags = noticed(&faults);
    faults.settings.notify = Notify::Pointer;
    assert!(by_flags > 15, "{by_flags}");
    assert_eq!(noticed(&faults), 0);
}

/// Each has shown a defect among ten thousand.
#[test]
fn seeds_that_once_failed() {
    [3364, 5103].into_iter().for_each(|seed| _ = run_seed(seed));
}

#[test]
fn replay() {
    if let Some(seed) = seed_to_replay() {
        println!("{:#?}", run_seed(seed));
    }
}
