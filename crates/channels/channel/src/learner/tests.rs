//! The learner against ways whose times are given.

use super::*;

const READ: usize = 0;
const WRITE: usize = 1;

/// A row of numbers that look random, from a seed.
fn numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    }
}

/// Runs windows of eight messages. `took` gives the time of a message by its way. Returns how many
/// of the last thousand went each way.
fn run<const WAYS: usize>(
    learner: &mut Learner<WAYS>,
    now_ns: &mut u64,
    estimate: usize,
    mut took: impl FnMut(usize, u64) -> u64,
) -> [u64; WAYS] {
    let mut counts = [0; WAYS];
    for window in 0..250_u64 {
        let all: Vec<Learned> = (0..8).map(|_| learner.choose(64 << 10, estimate, *now_ns)).collect();
        for learned in all {
            let way = usize::from(learned.way);
            *now_ns += took(way, window);
            learner.end(learned, *now_ns);
            counts[way] += u64::from(window >= 125);
        }
        // The program works on what came, and nothing is under way.
        *now_ns += 1_000_000;
    }
    counts
}

#[test]
fn the_quicker_way_is_taken_whatever_the_settings_say() {
    for estimate in [READ, WRITE] {
        for quick in [READ, WRITE] {
            let took = |way, _| if way == quick { 1000 } else { 1130 };
            let counts = run(&mut Learner::<2>::new(), &mut 0, estimate, took);
            assert!(counts[quick] >= 970, "{counts:?}");
        }
    }
}

/// Within a window that goes two ways, the one that ends first would seem the cheaper one.
#[test]
fn a_window_goes_one_way_at_first() {
    let mut learner = Learner::<2>::new();
    for window in 0..6 {
        let all: Vec<Learned> = (0..8).map(|_| learner.choose(64 << 10, READ, window * 1000)).collect();
        assert!(all.iter().all(|learned| learned.way == all[0].way), "{window}: {all:?}");
        all.into_iter().for_each(|learned| learner.end(learned, window * 1000 + 500));
    }
}

#[test]
fn the_quickest_of_three_is_taken() {
    for quick in 0..3 {
        let took = |way, _| if way == quick { 1000 } else { 1200 + way as u64 };
        let counts = run(&mut Learner::<3>::new(), &mut 0, 0, took);
        assert!(counts[quick] >= 970, "{counts:?}");
    }
}

#[test]
fn one_stall_does_not_decide() {
    // In the second window, which is all one way, the machine stood still.
    let took = |way, window| match (window, way) {
        (1, _) => 500_000,
        (_, READ) => 1130,
        _ => 1000,
    };
    assert!(run(&mut Learner::<2>::new(), &mut 0, READ, took)[READ] <= 30);
}

#[test]
fn a_change_is_noticed() {
    let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
    let quick = |quick| move |way, _| if way == quick { 1000 } else { 2000 };
    assert!(run(&mut learner, &mut now_ns, WRITE, quick(READ))[READ] > 900);
    run(&mut learner, &mut now_ns, WRITE, quick(WRITE));
    assert!(run(&mut learner, &mut now_ns, WRITE, quick(WRITE))[READ] < 100);
}

#[test]
fn noise_changes_nothing() {
    // Both ways take the same, give or take a third of it.
    let (mut learner, mut now_ns, mut random) = (Learner::<2>::new(), 0, numbers(1));
    let mut noisy = |_, _| 700 + random() % 600;
    let mut changes = 0;
    let mut before = None;
    for _ in 0..100 {
        run(&mut learner, &mut now_ns, READ, &mut noisy);
        let kept = learner.known().next().map(|(_, known)| known.kept);
        changes += u32::from(before.is_some() && kept != before);
        before = kept;
    }
    // Some 380 series were tried the other way.
    assert!(changes <= 20, "{changes} changes in 200000 messages");
}

#[test]
fn a_dear_way_is_tried_rarely() {
    let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
    let took = |way, _| if way == READ { 1000 } else { 200_000 };
    let mut dear = 0;
    for _ in 0..50 {
        dear += run(&mut learner, &mut now_ns, READ, took)[WRITE];
    }
    // Of 50,000 messages; at the usual rate they would be 780.
    assert!(dear <= 16, "{dear}");
}

#[test]
fn time_is_shared_out_by_length() {
    let mut learner = Learner::<2>::new();
    let (long, short) = (learner.choose(3 << 20, READ, 100), learner.choose(1 << 20, WRITE, 100));
    learner.end(short, 1100);
    learner.end(long, 1100);
    let spent = |learner: &mut Learner<2>, bytes, way: usize| learner.class(bytes).ways[way].spent_ns;
    assert_eq!((spent(&mut learner, 3 << 20, READ), spent(&mut learner, 1 << 20, WRITE)), (750, 250));
    assert_eq!(learner.under_way, 0);
}

#[test]
fn every_length_has_a_class() {
    assert_eq!([0, 1, 1 << 10, 2047, 2048].map(class_of), [0, 0, 0, 0, 1]);
    assert_eq!(class_of(u64::MAX), CLASSES - 1);
}

/// Sends messages one after another. `took` gives the time of each by its way and its place.
/// Returns their ways.
fn one_by_one<const WAYS: usize>(
    learner: &mut Learner<WAYS>,
    now_ns: &mut u64,
    messages: u64,
    bytes: impl Fn(u64) -> u64,
    took: impl Fn(usize, u64) -> u64,
) -> Vec<usize> {
    let message = |at| {
        let learned = learner.choose(bytes(at), READ, *now_ns);
        *now_ns += took(learned.way.into(), at);
        learner.end(learned, *now_ns);
        learned.way.into()
    };
    (0..messages).map(message).collect()
}

/// The number of messages that went this way.
fn count(ways: &[usize], way: usize) -> usize {
    ways.iter().filter(|its| **its == way).count()
}

const fn long(_: u64) -> u64 {
    4 << 20
}

const fn short(_: u64) -> u64 {
    64 << 10
}

#[test]
fn a_kept_way_that_becomes_dear_is_left() {
    for times in [1, 10, 300] {
        let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
        let near = |way, _| if way == READ { 10_000 } else { 12_000 * times };
        // Until shortly after a review, so that a long run is ahead.
        let mut ways = one_by_one(&mut learner, &mut now_ns, 4000, short, near);
        for _ in 0..200_000 {
            ways.extend(one_by_one(&mut learner, &mut now_ns, 1, short, near));
            if ways.ends_with(&[WRITE, READ]) {
                break;
            }
        }
        let far = |way, _| if way == READ { 40_000 * times } else { 20_000 * times };
        let ways = one_by_one(&mut learner, &mut now_ns, 200, short, far);
        assert!(count(&ways[150..], WRITE) >= 42, "{times}: {} of 200", count(&ways, WRITE));
    }
}

#[test]
fn another_way_that_becomes_cheap_is_found_in_seconds() {
    let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
    let took = |cheap| {
        move |way, _| {
            if way == READ {
                1_000_000
            } else if cheap {
                300_000
            } else {
                100_000_000
            }
        }
    };
    one_by_one(&mut learner, &mut now_ns, 20_000, long, took(false));
    let ways = one_by_one(&mut learner, &mut now_ns, 8000, long, took(true));
    assert!(count(&ways, WRITE) >= 2000, "{} in 8 s", count(&ways, WRITE));
}

#[test]
fn short_runs_learn_too() {
    for quick in 0..3 {
        let took = |way, _| if way == quick { 150_000 } else { 200_000 + 30_000 * way as u64 };
        let ways = one_by_one(&mut Learner::<3>::new(), &mut 0, 100, long, took);
        assert!(count(&ways, quick) >= 80, "{quick}: {} of 100", count(&ways, quick));
    }
}

#[test]
fn a_dear_way_is_left_after_a_message_or_two() {
    // The sender computes: what needs it waits for it.
    for dear in 0..3 {
        let took = |way, _| if way == dear { 10_000_000 } else { 200_000 + 10_000 * way as u64 };
        let ways = one_by_one(&mut Learner::<3>::new(), &mut 0, 100, long, took);
        assert!(count(&ways, dear) <= 3, "{dear}: {} of 100", count(&ways, dear));
    }
}

#[test]
fn what_another_learner_knows_saves_the_first_trials() {
    let took = |way, _| [1_000_000, 150_000, 200_000][way];
    let (mut learner, mut other) = (Learner::<3>::new(), Learner::<3>::new());
    one_by_one(&mut learner, &mut 0, 100, long, took);
    other.adopt(4 << 20, &learner.knowledge(4 << 20).expect("it was learnt"), 0);
    let ways = one_by_one(&mut other, &mut 0, 50, long, took);
    assert!(count(&ways, 1) >= 46, "{ways:?}");
    // And if it does not hold here, that is found at once.
    let mut third = Learner::<3>::new();
    third.adopt(4 << 20, &learner.knowledge(4 << 20).expect("it was learnt"), 0);
    let ways = one_by_one(&mut third, &mut 0, 50, long, |way, _| [1_000_000, 9_000_000, 200_000][way]);
    assert!(count(&ways, 1) <= 5 && count(&ways, 2) >= 35, "{ways:?}");
}

#[test]
fn reviews_do_not_come_in_swarms() {
    let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
    let took = |way, _| if way == READ { 1000 } else { 1130 };
    let ways = one_by_one(&mut learner, &mut now_ns, 100_000, short, took);
    let most = ways[5000..].windows(2048).map(|some| count(some, WRITE)).max().expect("some");
    assert!(most <= 5 * 8, "{most} of 2048");
}

#[test]
fn the_estimate_may_change_with_the_length() {
    let (mut learner, mut now_ns) = (Learner::<2>::new(), 0_u64);
    let ends = (0..400_u64).map(|at| {
        let (bytes, estimate) = if at / 8 % 2 == 0 { (64 << 10, READ) } else { (100 << 10, WRITE) };
        let learned = learner.choose(bytes, estimate, now_ns);
        now_ns += [1000, 800][usize::from(learned.way)];
        learner.end(learned, now_ns);
        usize::from(learned.way)
    });
    let ways: Vec<usize> = ends.collect();
    assert!(count(&ways[300..], WRITE) >= 90, "{}", count(&ways[300..], WRITE));
}

#[test]
fn lengths_within_a_class_do_not_matter() {
    let (mut learner, mut now_ns) = (Learner::<2>::new(), 0);
    // The program works in phases, of short messages and of long ones.
    let bytes = |at: u64| if (at / 100).is_multiple_of(2) { 64 << 10 } else { 127 << 10 };
    let took = |way, at| bytes(at) / [64, 52][way];
    let ways = one_by_one(&mut learner, &mut now_ns, 50_000, bytes, took);
    assert!(count(&ways[1000..], WRITE) <= 49_000 / 30, "{} of 49000", count(&ways[1000..], WRITE));
}

#[test]
fn noise_costs_little() {
    // One message of twenty is held up, for far longer than the ways differ by.
    let mut shares = Vec::new();
    for seed in 1..=9_u64 {
        let (mut learner, mut now_ns, mut random) = (Learner::<3>::new(), 0_u64, numbers(seed));
        let mut useless_ns = 0;
        for _ in 0..50_000 {
            let learned = learner.choose(64 << 10, READ, now_ns);
            let held_up_ns = if random() % 20 == 0 { random() % 40_000 } else { random() % 700 };
            let more_ns = [0, 2000, 500][usize::from(learned.way)];
            useless_ns += more_ns;
            now_ns += 1000 + more_ns + held_up_ns;
            learner.end(learned, now_ns);
        }
        shares.push(useless_ns * 1000 / now_ns);
    }
    shares.sort_unstable();
    assert!(shares[4] <= 60, "thousandths of the time: {shares:?}");
}
