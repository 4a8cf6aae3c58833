//! The parts of a message's time, by the library's own trace points (`VERBENA_TRACE`,
//! `verbena trace`).

use serde::Deserialize;
use std::process::Command;
use verbena_tests::{build_dir, job, program, staged};

/// The messages of one length in the output of `verbena trace --json`.
#[derive(Debug, Deserialize)]
struct Row {
    bytes: u64,
    way: String,
    messages: usize,
    components_ns: [f64; 7],
    total_ns: f64,
    half_round_trip_ns: f64,
}

/// Round trips of each length; the first ten are left out.
const ROUNDS: usize = 500;

#[test]
fn the_components_of_a_ping_pong_add_up_to_half_its_round_trip() {
    let name = build_dir().join(format!("trace.{}", std::process::id()));
    let files = [0, 1].map(|rank| name.with_file_name(format!("trace.{}.{rank}.json", std::process::id())));
    let count = ROUNDS.to_string();
    let run = |(setting, value): (&str, &str)| {
        let job = job(2, program("pingpong")).args([&count]).env(setting, value);
        job.env("VERBENA_CHANNELS", "loopback,shm").run().ok();
        files.each_ref().map(|file| file.exists())
    };
    assert_eq!(run(("VERBENA_TRACE", "")), [false; 2]);
    assert_eq!(run(("VERBENA_TRACE", &name.display().to_string())), [true; 2]);
    let output = Command::new(staged("bin/verbena")).arg("trace").arg("--json").args(&files).output();
    let output = output.expect("verbena starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Row> = serde_json::from_slice(&output.stdout).expect("rows");
    assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [4, 64, 1024], "{rows:?}");
    rows.iter().for_each(is_plausible);
    files.iter().for_each(|file| std::fs::remove_file(file).expect("removable"));
}

/// One-sided calls in the output of `verbena trace --json`.
#[derive(Debug, Deserialize)]
struct CallRow {
    call: String,
    origin: u32,
    target: Option<u32>,
    bytes: u64,
    way: Option<String>,
    calls: usize,
    median_ns: f64,
    longest_ns: f64,
}

/// Returns the one-sided calls of a job of two ranks, and the page of `verbena trace`.
fn one_sided(name: &str, settings: &[(&str, &str)]) -> (Vec<CallRow>, String) {
    let name = build_dir().join(format!("{name}.{}", std::process::id()));
    let files = [0, 1].map(|rank| format!("{}.{rank}.json", name.display()));
    let job = job(2, program("window_crowd")).env("VERBENA_TRACE", &name);
    settings.iter().fold(job, |job, (name, value)| job.env(name, value)).run().ok();
    let show = |options: &[&str]| {
        let shown = Command::new(staged("bin/verbena")).arg("trace").args(options).args(&files).output();
        let shown = shown.expect("verbena starts");
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        String::from_utf8(shown.stdout).expect("text")
    };
    let (json, page) = (show(&["--json"]), show(&[]));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&json).expect("rows");
    let calls = rows.into_iter().filter(|row| row.get("call").is_some());
    let calls = calls.map(|row| serde_json::from_value(row).expect("a row of calls")).collect();
    files.iter().for_each(|file| std::fs::remove_file(file).expect("removable"));
    (calls, page)
}

/// Every call of the program is there, with its target, bytes and way.
#[test]
fn one_sided_calls_are_traced_with_target_bytes_and_way() {
    let messages = [("VERBENA_WINDOW_HEAP", "0"), ("VERBENA_CMA", "0")];
    for (name, settings, way) in
        [("mapped", &messages[..0], "mapped"), ("messages", &messages[..], "messages")]
    {
        let (rows, page) = one_sided(name, settings);
        // Ten rounds of the program, in which a rank has its own memory mapped.
        for (call, target, bytes, calls) in [
            ("put", 0, 16, 10),
            ("get", 0, 16, 20),
            ("fetch-and-op", 0, 8, 10),
            ("accumulate", 0, 4096, 10),
            ("lock", 0, 0, 20),
            ("unlock", 0, 0, 20),
            ("flush", 0, 0, 20),
        ] {
            let is_it = |row: &&CallRow| {
                row.origin == 1 && row.target == Some(target) && row.call == call && row.bytes == bytes
            };
            let found: Vec<&CallRow> = rows.iter().filter(is_it).collect();
            let [row] = found[..] else { panic!("{call}: {rows:?}") };
            assert_eq!((row.way.as_deref(), row.calls), (Some(way), calls), "{row:?}");
            assert!(0.0 < row.median_ns && row.median_ns <= row.longest_ns, "{row:?}");
        }
        for (call, calls) in [("fence", 20), ("complete", 10), ("wait", 10)] {
            let is_it = |row: &&CallRow| row.origin == 1 && row.call == call && row.target.is_none();
            let all: usize = rows.iter().filter(is_it).map(|row| row.calls).sum();
            assert_eq!(all, calls, "{call}: {rows:?}");
        }
        let words = ["fetch and op", "compare", if way == "mapped" { "mapped memory" } else { "messages" }];
        assert!(page.contains(words[0]) && !page.contains(words[1]) && page.contains(words[2]), "{page}");
    }
}

/// Nearly all messages of both sides are there, each step but the wire's takes time, and between
/// one call and the next nothing is left out but the loop of the program, which takes up to half of
/// the time while the two cores lie far apart.
fn is_plausible(row: &Row) {
    assert_eq!(row.way, "shm");
    assert!(row.messages > 2 * ROUNDS * 9 / 10, "{row:?}");
    let [.., wire, _, _, _] = row.components_ns;
    assert!(wire >= 0.0 && row.components_ns.iter().filter(|ns| **ns > 0.0).count() >= 6, "{row:?}");
    let part = row.total_ns / row.half_round_trip_ns;
    assert!((0.3..1.2).contains(&part), "{row:?}");
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_at_the_start_that_names_the_file() {
    let ended = job(1, program("hello")).env("VERBENA_TRACE", "/nowhere/trace").run();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.stdout, "", "the program has not run: {ended:?}");
    ended.complains("/nowhere/trace.0.json").complains("VERBENA_TRACE");
}
