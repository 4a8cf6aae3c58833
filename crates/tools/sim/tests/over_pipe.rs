//! Point-to-point traffic over the channel `pipe` (paper 2's RDMA Channel) on simulated verbs
//! devices: all designs, partial puts and gets, memory that is read, torn writes, peers that die,
//! for many seeds. `VERBENA_SIM_SEEDS=10000` runs that many. To replay one:
//! `VERBENA_SIM_SEED=<seed> cargo test -p verbena-sim --test over_pipe replay -- --nocapture`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use verbena_infiniband::pipe::{Design, Settings};
use verbena_sim::Faults;
use verbena_sim::over_pipe::PipeFaults;
use verbena_sim::seeds::Trial;
use verbena_sim::traffic::{run_over_pipe, run_over_pipe_under};
use verbena_sim::verbs::{Canary, Counts, DeviceFaults};

const TRIAL: Trial = Trial { test: "over_pipe", run: run_over_pipe };

/// The runs together must have met everything that they are meant to try.
#[test]
fn a_thousand_seeds() {
    TRIAL.many(
        0.005,
        &[
            ("messages", |r, _| r.messages as u64),
            ("died", |r, _| r.died as u64),
            ("cancelled", |r, _| r.cancelled as u64),
            ("rendezvous", |r, _| r.rendezvous),
            ("throttles", |r, _| r.throttles),
            ("lost datagrams", |_, c| c.lost),
            ("broken pairs", |_, c| c.broken),
            ("writes", |_, c| c.writes),
            ("reads", |_, c| c.reads),
            ("torn writes", |_, c| c.torn),
            ("inline posts", |_, c| c.inline),
            ("ports down", |_, c| c.ports_down),
        ],
    );
}

#[test]
fn a_seed_replays_exactly() {
    TRIAL.replays_exactly(2000..2020);
}

/// Small rings of small chunks, so that each is soon used again, torn writes, and ranks that look
/// away.
fn canary_faults(design: Design, canary: Canary) -> PipeFaults {
    let mut faults = PipeFaults::none(design);
    faults.faults = Faults { away_percent: 20, ..Faults::none() };
    faults.device = DeviceFaults { canary, pieces_max: 9, delay_ns_max: 3000, ..DeviceFaults::NONE };
    faults
}

/// Counts the seeds, of 60, that notice this defect of the channel.
fn noticed(faults: &PipeFaults) -> usize {
    let run = |seed: &u64| catch_unwind(AssertUnwindSafe(|| run_over_pipe_under(*seed, faults)));
    (0..60).filter(|seed| !matches!(run(seed), Ok(Ok(_)))).count()
}

#[test]
fn an_honest_channel_is_not_accused() {
    for design in Design::ALL {
        assert_eq!(noticed(&canary_faults(design, Canary::None)), 0, "{design:?}");
    }
}

/// Paper 2, 4.2: the head pointer goes after the data.
#[test]
fn a_head_pointer_before_its_data_is_found_out() {
    let noticed = noticed(&canary_faults(Design::Basic, Canary::HeadFirst));
    assert!(noticed > 15, "{noticed}");
}

/// Paper 2, 4.3: the ring holds what came before, which may look like a flag.
#[test]
fn a_sender_that_takes_one_flag_value_is_found_out() {
    let noticed = noticed(&canary_faults(Design::Pipeline, Canary::OneFlag));
    assert!(noticed > 15, "{noticed}");
}

/// The flags rest on this: without it only pointers, written after the data, are right.
#[test]
fn flags_need_a_device_that_writes_in_order_and_pointers_do_not() {
    let faults = |design| {
        let mut faults = canary_faults(design, Canary::None);
        faults.device.last_first_percent = 50;
        faults
    };
    let by_flags = noticed(&faults(Design::Piggyback));
    assert!(by_flags > 15, "{by_flags}");
    assert_eq!(noticed(&faults(Design::Basic)), 0);
}

/// The device's work in twenty runs with these settings.
fn work(settings: Settings) -> Counts {
    let faults = PipeFaults { settings: settings.sound(), ..PipeFaults::none(Design::Basic) };
    let runs = (0..20).map(|seed| run_over_pipe_under(seed, &faults).expect("devices that behave").1);
    runs.fold(Counts::default(), |all, counts| Counts {
        writes: all.writes + counts.writes,
        reads: all.reads + counts.reads,
        ..all
    })
}

/// Each setting of the pipe changes what the devices do for the same messages. (Piggyback and
/// pipeline do the same at other times, which `figures.rs` tests.)
#[test]
fn every_setting_shows_in_the_work_of_the_devices() {
    let with = |design| Settings {
        ring_bytes: 128 << 10,
        chunk_bytes: 16 << 10,
        ..PipeFaults::none(design).settings
    };
    let [basic, piggyback, pipeline, zero_copy] = Design::ALL.map(|design| work(with(design)));
    assert_eq!([basic, piggyback, pipeline].map(|counts| counts.reads), [0; 3]);
    assert!(2 * basic.writes > 3 * piggyback.writes, "{basic:?}, {piggyback:?}");
    assert!(zero_copy.reads > 0, "{zero_copy:?}");
    let fewer = work(Settings { zero_copy_bytes_min: 4000, ..with(Design::ZeroCopy) });
    assert!(fewer.reads < zero_copy.reads, "{fewer:?}, {zero_copy:?}");
    let small = work(Settings { chunk_bytes: 128, ..with(Design::Pipeline) });
    assert!(small.writes > 2 * pipeline.writes, "{small:?}, {pipeline:?}");
    let pieces = work(Settings { piece_bytes: 300, ..with(Design::ZeroCopy) });
    assert!(pieces.reads > 2 * zero_copy.reads, "{pieces:?}, {zero_copy:?}");
    let short = work(Settings { ring_bytes: 256, chunk_bytes: 64, ..with(Design::Basic) });
    assert!(short.writes > basic.writes, "{short:?}, {basic:?}");
}

#[test]
fn replay() {
    TRIAL.replay();
}
