//! `verbena bench verbs` between two virtual nodes: every row is there, and its operations
//! happened. No time is judged.

use serde::Deserialize;
use std::collections::BTreeMap;
use verbena_tests::Ended;
use verbena_tests::softroce::Boot;

/// A row of the result.
#[derive(Debug, Deserialize)]
struct Row {
    subject: String,
    variant: String,
    at: usize,
    value: f64,
    samples: Vec<f64>,
    iterations: u64,
    checked: u64,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    places: Vec<String>,
    rows: Vec<Row>,
}

/// The packets that the device of the first node has sent, before and after, then the result.
const SCRIPT: &str = r"
sent() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }
before=$(sent) || exit 3
verbena bench verbs --quick --json /out/verbs.json --launcher-arg=-hosts --launcher-arg=node0,node1 >/out/verbs.txt || exit
grep -q 'A look at a completion queue' /out/verbs.txt || exit 4
echo $before $(sent)
cat /out/verbs.json";

const MESSAGES: [usize; 3] = [8, 1 << 10, 16 << 10];
const ONE_SIDED: [usize; 5] = [8, 1 << 10, 16 << 10, 64 << 10, 1 << 20];

/// All rows of a quick run: subject, variants, and the places on the axis.
fn expected() -> Vec<(&'static str, Vec<&'static str>, Vec<usize>)> {
    let ways = ["write", "write with immediate", "send", "send, shared queue", "two writes"];
    let gathers = ["write gathered from 2", "write gathered from 4"];
    let (both, none) = (vec!["write", "read"], vec![0]);
    let queues =
        ["make a shared queue", "post to a shared queue", "end a shared queue", "post to an own queue"];
    vec![
        ("latency", [&ways[..], &gathers].concat(), MESSAGES.to_vec()),
        ("completed", both.clone(), ONE_SIDED.to_vec()),
        ("bandwidth", both.clone(), ONE_SIDED.to_vec()),
        ("bandwidth", vec!["send"], MESSAGES.to_vec()),
        ("post", both, ONE_SIDED[..4].to_vec()),
        ("look", vec!["empty", "found"], vec![1, 8, 64]),
        ("registration", vec!["register", "deregister"], vec![4 << 10, 1 << 20]),
        ("pair", vec!["open", "connect", "close"], none.clone()),
        ("receive", queues.to_vec(), none),
        ("copy", vec!["alone", "beside writes"], vec![16 << 10, 256 << 10]),
    ]
}

#[test]
fn the_bare_device_does_what_is_measured() {
    Boot::new(&["--nodes", "2"])
        .check("every row of the bare device's program", 120, SCRIPT, |ended| {
            let said = ended.ok().stdout;
            let (counters, json) = said.split_once('\n').expect("counters, then the result");
            let outcome: Outcome = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}"));
            every_row_is_there(&outcome.rows);
            all_was_checked(&outcome.rows);
            let places: Vec<bool> = outcome.places.iter().map(|place| place.starts_with("rxe")).collect();
            assert!(places == [true, true] && outcome.places[0] != outcome.places[1], "{:?}", outcome.places);
            packets_were_sent(counters, &outcome.rows);
        })
        .check("without a device it says so and fails", 30, NO_DEVICE, is_refused)
        .run();
}

fn every_row_is_there(rows: &[Row]) {
    let mut found: BTreeMap<(&str, &str, usize), &Row> = BTreeMap::new();
    for row in rows {
        assert!(found.insert((&row.subject, &row.variant, row.at), row).is_none(), "twice: {row:?}");
    }
    for (subject, variants, places) in expected() {
        for variant in variants {
            for &at in &places {
                let row = found.remove(&(subject, variant, at));
                let row = row.unwrap_or_else(|| panic!("no row {subject}, {variant}, {at}"));
                let positive = |value: &f64| value.is_finite() && *value > 0.0;
                assert!(positive(&row.value) && row.samples.iter().all(positive), "{row:?}");
                assert!(!row.samples.is_empty() && row.iterations > 0, "{row:?}");
            }
        }
    }
    assert!(found.is_empty(), "rows that nobody expects: {:?}", found.keys());
}

/// Bytes that landed were compared, on both ranks for messages; immediate values and completions
/// were compared one by one.
fn all_was_checked(rows: &[Row]) {
    for row in rows {
        let least = match (row.subject.as_str(), row.variant.as_str()) {
            ("latency", "write with immediate") => 2 * row.at as u64 + row.repeated(),
            ("latency", _) => 2 * row.at as u64,
            ("completed" | "bandwidth" | "post", _) => row.at as u64,
            ("look", "found") => row.repeated(),
            _ => 1,
        };
        assert!(row.checked >= least, "{} checked, {least} at least: {row:?}", row.checked);
    }
}

impl Row {
    /// Returns how many operations the samples hold.
    fn repeated(&self) -> u64 {
        self.iterations * self.samples.len() as u64
    }
}

/// Each message of rank 0 was a packet of its device at least.
fn packets_were_sent(counters: &str, rows: &[Row]) {
    let counts: Vec<u64> = counters.split_whitespace().map(|word| word.parse().expect(counters)).collect();
    let [before, after] = counts[..] else { panic!("two counts: {counters}") };
    let is_message = |row: &&Row| ["latency", "completed", "bandwidth"].contains(&row.subject.as_str());
    let messages: u64 = rows.iter().filter(is_message).map(Row::repeated).sum();
    assert!(after - before > messages, "{} packets for {messages} messages", after - before);
}

const NO_DEVICE: &str = "VERBENA_RC_DEVICE=no-such-device verbena bench verbs --quick \
                         --launcher-arg=-hosts --launcher-arg=node0,node1";

fn is_refused(ended: Ended) {
    assert!(ended.code != 0 && !ended.hung && ended.stdout.is_empty(), "{ended:?}");
    ended.complains("the bare device cannot be measured").complains("VERBENA_RC_DEVICE=no-such-device");
}
