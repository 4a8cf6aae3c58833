//! The settings of paper 3 over `ofi`, where an empty look is a system call: each must show in how
//! often a process that waits looks at shared memory and at the network. Over `rc` and `ud` the
//! same is tested in the simulator (`sim`, `tests/polling_settings.rs`).

use verbena_testing::{Lack, skip};
use verbena_tests::cable::{self, NAMED};
use verbena_tests::{Job, count_of, program, staged};

/// Messages over the network, then within the node.
const FIRST: u64 = 200;
const SECOND: u64 = 100;

fn has_libfabric() -> bool {
    let there = cable::has_libfabric();
    if !there {
        skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    there
}

/// The counts of rank 0 while messages came within the node.
#[derive(Debug)]
struct Counts {
    near: u64,
    far: u64,
    updates: u64,
    calculations: u64,
    near_ns: u64,
    far_ns: u64,
}

impl Counts {
    /// Looks at shared memory for each look at the network.
    fn ratio(&self) -> f64 {
        self.near as f64 / self.far as f64
    }
}

/// Runs the program with these settings: two ranks on one node, one on the other.
fn counts(settings: &[(&str, &str)], how: &str) -> Counts {
    let options = ["--launcher", NAMED, "-host", "a:2,b:1"];
    let job = Job::under(&staged("bin/mpiexec"), 3).args(options).arg(program("polling"));
    // A wait that yields or sleeps looks everywhere before, whatever is set.
    let mut job = job
        .args(["ofi", &FIRST.to_string(), &SECOND.to_string(), how])
        .env("VERBENA_WAIT_SPINS", "100000000");
    for (name, value) in settings {
        job = job.env(&format!("VERBENA_{name}"), value);
    }
    let said = job.run().ok().stdout;
    let of = |name: &str| count_of(&said, name);
    let counts = Counts {
        near: of("near"),
        far: of("far"),
        updates: of("updates"),
        calculations: of("calculations"),
        near_ns: of("near_ns"),
        far_ns: of("far_ns"),
    };
    println!("{settings:?} {how}: {counts:?}, {:.1} to 1", counts.ratio());
    assert!(counts.near > 10 * SECOND && counts.far > 0, "rank 0 hardly waited: {counts:?}");
    counts
}

/// Paper 3, 3.1: what a look costs is measured when a channel is opened. Here one is a system call,
/// and the other a load.
#[test]
fn the_price_of_a_look_is_measured() {
    if has_libfabric() {
        let counts = counts(&[("POLLING", "all")], "any");
        assert!((1..1000).contains(&counts.near_ns), "{counts:?}");
        assert!((30..100_000).contains(&counts.far_ns) && counts.far_ns > 2 * counts.near_ns, "{counts:?}");
    }
}

/// Paper 3, 3.2.1 and 3.3.1.
#[test]
fn the_static_schemes_and_the_ratio_decide_how_often_the_network_is_looked_at() {
    if !has_libfabric() {
        return;
    }
    let all = counts(&[("POLLING", "all")], "any");
    assert!((0.99..1.01).contains(&all.ratio()), "{all:?}");
    for (ratio, expected) in [("10", 10.0), ("100", 100.0)] {
        let fixed = counts(&[("POLLING", "ratio"), ("POLLING_RATIO", ratio)], "any");
        assert!((0.9 * expected..1.01 * expected).contains(&fixed.ratio()), "{fixed:?}");
    }
    // Latencies of 150 ns and 20 us; prices as measured.
    let latency = counts(&[("POLLING", "latency")], "any");
    assert!((120.0..135.0).contains(&latency.ratio()), "{latency:?}");
    let overhead = counts(&[("POLLING", "overhead")], "any");
    let price = (overhead.far_ns as f64 / overhead.near_ns as f64).min(1000.0);
    assert!((0.9 * price - 1.0..1.1 * price + 1.0).contains(&overhead.ratio()), "{overhead:?} for {price}");
}

/// Paper 3, 3.2.2: the messages of the node, also those that a receive takes at the front of its
/// ring, turn the dynamic scheme; a long history and a rare update do not let them.
#[test]
fn update_rate_and_history_decide_how_soon_the_dynamic_scheme_turns() {
    if !has_libfabric() {
        return;
    }
    for how in ["any", "named"] {
        let dynamic = |name, value| counts(&[("POLLING", "dynamic"), (name, value)], how);
        let turns = dynamic("POLLING_RATIO", "100");
        assert!(turns.ratio() > 8.0 && turns.calculations > 0, "{how}: {turns:?}");
        let bound = dynamic("POLLING_RATIO", "5");
        assert!((2.0..5.3).contains(&bound.ratio()), "{how}: {bound:?}");
        let long = dynamic("POLLING_HISTORY", "1000");
        assert!(long.ratio() < 2.0 && long.updates > 0, "{how}: {long:?}");
        let seldom = dynamic("POLLING_UPDATE_EVERY", "1000");
        assert!(seldom.ratio() < 2.0 && seldom.updates == 0, "{how}: {seldom:?}");
        let sometimes = dynamic("POLLING_UPDATE_EVERY", "20");
        assert!((1..=SECOND / 20 + 1).contains(&sometimes.updates), "{how}: {sometimes:?}");
        assert!(turns.updates > 2 * sometimes.updates, "{how}: {turns:?} {sometimes:?}");
    }
}
