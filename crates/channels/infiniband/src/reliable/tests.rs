//! Two ends with a virtual clock and a wire between them that loses, doubles and delays by rule or
//! by seed.

mod pair;

use super::window::Window;
use super::{Ack, Incoming, Link, NEVER, Outgoing, Piece, Rules, SPAN, Turn, Verdict};
use pair::{FIRST_NS, LATENCY_NS, Pair, Wire};

/// The rules of all tests.
const RULES: Rules = Rules {
    window_start: 16,
    window_min: 4,
    window_max: 64,
    swapped_max: 3,
    ack_every: 16,
    ack_delay_ns: 10_000,
    resend_ns_min: 50_000,
    resend_ns_max: 2_000_000,
    resend_ns_first: 200_000,
    silent_ns_max: 50_000_000,
    silent_waits_min: 8,
    resends_max: 5,
};

#[test]
fn a_group_is_acknowledged_as_a_whole_and_once() {
    let mut pair = Pair::new(RULES, Wire::clean());
    pair.send(0, 5);
    pair.settle();
    assert_eq!(pair.delivered(1), [(0, 5)]);
    assert_eq!((pair.transmissions, pair.acks), (5, 1), "five fragments, one acknowledgement");
    assert!(pair.is_quiet());
}

#[test]
fn an_acknowledgement_waits_for_something_to_ride_on() {
    let mut pair = Pair::new(RULES, Wire::clean());
    pair.send(0, 1);
    pair.run_until(LATENCY_NS + 5000);
    pair.send(1, 1);
    pair.settle();
    assert_eq!(pair.acks, 1, "the answer carried the first, and only the answer's own went alone");
}

/// Paper 4, 4.2: after several resends another channel takes over, if there is one; else only the
/// time counts. A sign of life begins the count anew.
#[test]
fn resends_in_a_row_end_where_another_channel_reaches_the_peer() {
    let waits_until_given_up = |spare: bool, heard_after: Option<u32>| {
        let mut outgoing = Outgoing::new(&RULES);
        outgoing.push(Piece { buffer: 7, bytes: 9, index: 0, count: 1 });
        outgoing.sent(&RULES, 0, 0);
        let mut waits = 0;
        while outgoing.timed_out(&RULES, spare, outgoing.due_ns()) == Verdict::Again {
            waits += 1;
            if heard_after == Some(waits) {
                outgoing.heard(outgoing.due_ns());
            }
        }
        waits
    };
    assert_eq!(waits_until_given_up(true, None), RULES.resends_max);
    assert_eq!(waits_until_given_up(true, Some(3)), 3 + RULES.resends_max);
    let alone = waits_until_given_up(false, None);
    assert!(alone > 4 * RULES.resends_max, "{alone}");
}

/// Found by the fuzz target `outgoing`: half the numbers behind, everything seemed to have arrived.
#[test]
fn an_acknowledgement_from_far_behind_acknowledges_nothing() {
    let (mut outgoing, mut free) = (Outgoing::new(&RULES), Vec::new());
    outgoing.push(Piece { buffer: 7, bytes: 9, index: 0, count: 1 });
    outgoing.sent(&RULES, 0, 1000);
    for next in [1 << 31, (1 << 31) + 1, SPAN.wrapping_neg(), SPAN.wrapping_mul(2).wrapping_neg()] {
        let ack = Ack { next, bits: [u64::MAX; 4], delay_ns: 0 };
        assert!(!outgoing.acknowledged(&RULES, &ack, 2000, &mut free), "{next:#x}");
    }
    assert!(free.is_empty() && !outgoing.is_idle());
    assert!(outgoing.acknowledged(&RULES, &Ack { next: 1, ..Ack::default() }, 3000, &mut free));
    assert!(free == [7] && outgoing.is_idle());
}

#[test]
fn only_what_is_missing_is_sent_again() {
    let mut pair = Pair::new(RULES, Wire::losing(&[2, 5]));
    pair.send(0, 12);
    pair.settle();
    assert_eq!(pair.delivered(1), [(0, 12)]);
    assert_eq!(pair.transmissions, 14);
    assert!(pair.now_ns < FIRST_NS, "later acknowledgements showed it, without a wait");
}

#[test]
fn a_lost_tail_is_sent_again_when_the_wait_is_over() {
    let mut pair = Pair::new(RULES, Wire::losing(&[0]));
    pair.send(0, 1);
    pair.run_until(FIRST_NS - 1);
    assert_eq!(pair.transmissions, 1);
    pair.settle();
    assert_eq!((pair.transmissions, pair.delivered(1)), (2, vec![(0, 1)]));
}

#[test]
fn vain_waits_double_up_to_a_bound() {
    let mut pair = Pair::new(RULES, Wire::dead());
    pair.send(0, 1);
    let mut times = Vec::new();
    while times.len() < 8 {
        let before = pair.transmissions;
        pair.step();
        if pair.transmissions > before {
            times.push(pair.now_ns);
        }
    }
    let waits: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(waits[..3], [2 * FIRST_NS, 4 * FIRST_NS, 8 * FIRST_NS]);
    assert_eq!(waits[5..], [RULES.resend_ns_max; 2]);
}

#[test]
fn a_silent_peer_is_given_up_and_what_it_did_not_get_comes_back_in_order() {
    let mut pair = Pair::new(RULES, Wire::losing_from(1));
    pair.send(0, 1);
    pair.run_until(2 * LATENCY_NS);
    for fragments in [2, 1] {
        pair.send(0, fragments);
    }
    while !pair.gave_up[0] {
        pair.step();
    }
    assert!(pair.now_ns >= RULES.silent_ns_max, "{}", pair.now_ns);
    let back: Vec<(u8, u8)> =
        pair.links[0].outgoing.give_up().iter().map(|piece| (piece.index, piece.count)).collect();
    // The first arrived, but its acknowledgement did not.
    assert_eq!(back, [(0, 1), (0, 2), (1, 2), (0, 1)]);
    assert_eq!(pair.links[0].outgoing.due_ns(), NEVER);
}

#[test]
fn a_process_that_was_stopped_does_not_give_its_peers_up() {
    let mut pair = Pair::new(RULES, Wire::losing(&[0]));
    pair.send(0, 1);
    pair.now_ns += 100 * RULES.silent_ns_max;
    pair.settle();
    assert_eq!((pair.gave_up, pair.delivered(1)), ([false; 2], vec![(0, 1)]));
}

#[test]
fn doubles_and_swaps_are_harmless() {
    let mut pair =
        Pair::new(RULES, Wire { doubled_percent: 40, late_ns_max: 3 * LATENCY_NS, ..Wire::clean() });
    (0..50).for_each(|_| pair.exchange());
    pair.settle();
    assert_eq!(pair.delivered(0).len() + pair.delivered(1).len(), 100);
}

#[test]
fn exactly_once_whatever_the_wire_does() {
    // Miri takes half a minute for a seed.
    let seeds = if cfg!(miri) { 2 } else { 300 };
    for seed in 0..seeds {
        let mut pair = Pair::new(RULES, Wire::random(seed));
        (0..60).for_each(|_| pair.exchange());
        pair.settle();
        for at in 0..2 {
            let mut numbers: Vec<u32> = pair.delivered(at).iter().map(|(group, _)| *group).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..60).collect::<Vec<_>>(), "seed {seed}");
        }
        assert!(pair.is_quiet() && !pair.gave_up[0] && !pair.gave_up[1], "seed {seed}");
    }
}

#[test]
fn numbers_wrap_around() {
    let mut pair = Pair::new(RULES, Wire::random(3));
    pair.links = [0, 1].map(|_| Link::starting_at(&RULES, u32::MAX - 7));
    (0..40).for_each(|_| pair.exchange());
    pair.settle();
    assert_eq!((pair.delivered(0).len(), pair.delivered(1).len()), (40, 40));
}

#[test]
fn the_wait_follows_the_measured_round_trips() {
    let mut pair = Pair::new(RULES, Wire::clean());
    for _ in 0..40 {
        pair.send(0, 1);
        pair.settle();
    }
    let round_trip_ns = pair.links[0].outgoing.round_trip_ns();
    assert!(round_trip_ns.abs_diff(2 * LATENCY_NS) < LATENCY_NS / 4, "{round_trip_ns}: without the delay");
}

#[test]
fn the_window_adapts_to_losses() {
    let mut window = Window::new(&RULES);
    window.acknowledged(&RULES, 16);
    assert_eq!(window.size(), 32);
    window.lost(&RULES, 40, 64);
    window.lost(&RULES, 45, 70);
    assert_eq!(window.size(), 16, "once for all losses of a window");
    window.lost(&RULES, 64, 90);
    assert_eq!(window.size(), 8);
    window.acknowledged(&RULES, 8);
    assert_eq!(window.size(), 9, "one more for each window");
    (0..9).for_each(|at| window.lost(&RULES, 1000 * at + 100, 1000 * at + 200));
    assert_eq!(window.size(), RULES.window_min);
    window.timed_out(&RULES, 10_000);
    assert_eq!(window.size(), 1);
    window.acknowledged(&RULES, 1000);
    assert_eq!(window.size(), RULES.window_max.min(1001));
}

#[test]
fn the_receiver_tells_doubles_from_fresh_ones() {
    let mut incoming = Incoming::default();
    assert_eq!(incoming.take(0, 1), Turn::Fresh);
    assert_eq!(incoming.take(70, 2), Turn::Fresh);
    assert_eq!((incoming.take(70, 3), incoming.take(0, 4)), (Turn::Double, Turn::Double));
    assert_eq!((incoming.take(256, 5), incoming.take(257, 5)), (Turn::Fresh, Turn::Beyond));
    (1..70).for_each(|number| assert_eq!(incoming.take(number, 6), Turn::Fresh));
    let ack = incoming.ack(9);
    assert_eq!((ack.next, ack.delay_ns), (71, 3));
    assert!(ack.has(256 - 71) && !ack.has(0) && !ack.is_plain());
}

#[test]
fn nonsense_in_an_acknowledgement_is_not_believed() {
    let mut pair = Pair::new(RULES, Wire::clean());
    pair.send(0, 3);
    let mut free = Vec::new();
    for next in [4, 1000, u32::MAX] {
        let ack = Ack { next, ..Ack::default() };
        assert!(!pair.links[0].outgoing.acknowledged(&RULES, &ack, 5, &mut free) && free.is_empty());
    }
}

/// No honest acknowledgement with numbers from far behind has bits about what is under way.
#[test]
fn an_acknowledgement_from_nowhere_acknowledges_nothing() {
    let mut pair = Pair::new(RULES, Wire::losing(&[0, 1, 2]));
    pair.send(0, 3);
    let outgoing = &mut pair.links[0].outgoing;
    for behind in [super::SPAN, 1 << 20, (1 << 31) - 1, 1 << 31] {
        let ack = Ack { next: 0u32.wrapping_sub(behind), bits: [u64::MAX; 4], delay_ns: u64::MAX };
        let mut free = Vec::new();
        assert!(!outgoing.acknowledged(&RULES, &ack, 1000, &mut free), "{behind} behind");
        assert!(free.is_empty());
    }
    pair.settle();
    assert_eq!(pair.delivered(1), [(0, 3)]);
}
