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
    let traced = job(2, program("pingpong")).args([&count]).env("VERBENA_TRACE", &name);
    traced.env("VERBENA_CHANNELS", "loopback,shm").run().ok();
    let output = Command::new(staged("bin/verbena")).arg("trace").arg("--json").args(&files).output();
    let output = output.expect("verbena starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Row> = serde_json::from_slice(&output.stdout).expect("rows");
    assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [4, 64, 1024], "{rows:?}");
    rows.iter().for_each(is_plausible);
    files.iter().for_each(|file| std::fs::remove_file(file).expect("removable"));
}

/// Nearly all messages of both sides are there, each step but the wire's takes time, and between
/// one call and the next nothing is left out but the loop of the program.
fn is_plausible(row: &Row) {
    assert_eq!(row.way, "shm");
    assert!(row.messages > 2 * ROUNDS * 9 / 10, "{row:?}");
    let [.., wire, _, _, _] = row.components_ns;
    assert!(wire >= 0.0 && row.components_ns.iter().filter(|ns| **ns > 0.0).count() >= 6, "{row:?}");
    let part = row.total_ns / row.half_round_trip_ns;
    assert!((0.6..1.2).contains(&part), "{row:?}");
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_that_names_the_file() {
    let ended = job(1, program("hello")).env("VERBENA_TRACE", "/nowhere/trace").run();
    assert_ne!(ended.code, 0, "{ended:?}");
    ended.complains("/nowhere/trace.0.json").complains("VERBENA_TRACE");
}
