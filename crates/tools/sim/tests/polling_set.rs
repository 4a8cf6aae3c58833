//! The settings of the polling set of `rc` (paper 1, 4.7) act: policy, size and order each show in
//! the counters of looks where many peers have a connection and few talk.

use verbena_infiniband::rc::settings::{Order, Policy};
use verbena_sim::figures::set::{Choice, Outcome, PEERS, TALKERS, polling_sets};

fn run(policy: Policy, order: Order, set_max: usize) -> Outcome {
    Choice { policy, order, set_max }.run().expect("an outcome")
}

/// `VERBENA_RC_POLL_POLICY`: who is early holds all places by `first`; by `most` those that talk
/// come in.
#[test]
fn the_policy_decides_whose_packets_come_by_rings() {
    let of = |policy| run(policy, Order::Sequential, 16);
    let [none, first, most, hinted, all] =
        [Policy::None, Policy::First, Policy::Most, Policy::Hinted, Policy::All].map(of);
    assert_eq!((none.counts.rings, none.counts.ring_looks, none.counts.ring_packets), (0, 0, 0));
    assert_eq!((first.counts.rings, first.by_rings_percent()), (16, 0.0));
    assert_eq!((most.counts.rings, most.by_rings_percent()), (16, 100.0));
    assert_eq!((hinted.counts.rings, hinted.by_rings_percent()), (u64::from(TALKERS), 100.0));
    assert_eq!((all.counts.rings, all.by_rings_percent()), (u64::from(PEERS), 100.0));
    assert_eq!(none.counts.queue_packets, none.messages);
    assert!(hinted.counts.ring_looks < all.counts.ring_looks);
}

/// `VERBENA_RC_POLL_SET_MAX`: with fewer places than talkers some go by the queue.
#[test]
fn the_size_decides_how_many_come_by_rings() {
    let of = |set_max| run(Policy::Most, Order::Sequential, set_max);
    let outcomes = [0, 1, 2, 4, 16].map(of);
    let rings = outcomes.map(|outcome| outcome.counts.rings);
    assert_eq!(rings, [0, 1, 2, 4, 16]);
    let shares = outcomes.map(|outcome| outcome.by_rings_percent());
    assert!(shares.is_sorted() && shares[0] == 0.0 && shares[1] < shares[3], "{shares:?}");
    // More places than talkers bring more looks and nothing else.
    assert!(outcomes[4].counts.ring_looks > outcomes[3].counts.ring_looks);
}

/// `VERBENA_RC_POLL_ORDER`: by priority the rings of those that talk are looked at first.
#[test]
fn the_order_decides_how_many_silent_rings_are_looked_at_before() {
    let of = |order| run(Policy::All, order, 16);
    let [sequential, circular, priority] = [Order::Sequential, Order::Circular, Order::Priority].map(of);
    let before = [sequential, circular, priority].map(|outcome| outcome.misses());
    assert!(before[0] > f64::from(PEERS - TALKERS) - 1.0, "{before:?}: the talkers came last");
    assert!(before[1] < before[0] - 1.0, "{before:?}: a circle goes on from where it was");
    assert!(before[2] < f64::from(TALKERS), "{before:?}: the talkers come first");
    assert!(priority.latency_ns < sequential.latency_ns);
}

/// The gain in time: rings for those that talk, and for few beside them.
#[test]
fn a_set_of_those_that_talk_is_quickest() {
    let table = polling_sets().expect("the figure");
    println!("{table}");
    let us = |name: &str| table.value(name, "latency, us");
    assert!(us("hinted") < us("first 16") && us("most, 16 places") < us("first 16"));
    assert!(us("hinted") <= us("all, sequential") && us("none") <= us("first 16"));
}
