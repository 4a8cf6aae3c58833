//! The timeline of a job (`VERBENA_TRACE`, `verbena trace --perfetto`, `--chrome`, `--summary`):
//! every message leads from the call that sent it to the call in which its receive ended.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use verbena_tests::{build_dir, job, program, staged};

/// The call that sends the message of each tag of `timeline.c`, and those that may receive it. A
/// message that is there when its receive is posted may end with that.
const MESSAGES: [(i64, &str, &[&str]); 12] = [
    (10, "MPI_Send", &["MPI_Recv"]),
    (11, "MPI_Ssend", &["MPI_Recv"]),
    (12, "MPI_Send", &["MPI_Recv"]),
    (13, "MPI_Send", &["MPI_Waitall"]),
    (14, "MPI_Send", &["MPI_Wait"]),
    (15, "MPI_Send", &["MPI_Recv"]),
    (16, "MPI_Send", &["MPI_Mrecv"]),
    (17, "MPI_Isend", &["MPI_Irecv", "MPI_Waitall"]),
    (18, "MPI_Issend", &["MPI_Irecv", "MPI_Waitall"]),
    (19, "MPI_Isend", &["MPI_Irecv", "MPI_Waitall"]),
    (20, "MPI_Sendrecv", &["MPI_Sendrecv"]),
    (21, "MPI_Sendrecv", &["MPI_Sendrecv"]),
];

/// The traces of a job of this many ranks of `timeline.c`.
fn traced(name: &str, ranks: u32, settings: &[(&str, &str)]) -> Vec<String> {
    let name = build_dir().join(format!("{name}.{}", std::process::id()));
    let job = job(ranks, program("timeline")).env("VERBENA_TRACE", &name);
    settings.iter().fold(job, |job, (name, value)| job.env(name, value)).run().ok();
    (0..ranks).map(|rank| format!("{}.{rank}.json", name.display())).collect()
}

/// The output of `verbena trace` about these files.
fn verbena_trace(options: &[&str], files: &[String]) -> String {
    let output = Command::new(staged("bin/verbena")).arg("trace").args(options).args(files).output();
    let output = output.expect("verbena starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn remove(files: &[String]) {
    files.iter().for_each(|file| std::fs::remove_file(file).expect("removable"));
}

/// An event of a Perfetto trace.
#[derive(Debug, Default)]
struct Event {
    ns: u64,
    kind: u64,
    track: u64,
    name: String,
    flow: Option<u64>,
    tag: Option<i64>,
}

/// The value of a field: a number, or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads a message of Protocol Buffers: calls `each` with every field.
fn fields(mut bytes: &[u8], mut each: impl FnMut(u64, Field<'_>)) {
    let varint = |bytes: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().expect("a whole number");
            (*bytes, value) = (rest, value | u64::from(first & 0x7f) << shift);
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    };
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        match tag & 7 {
            0 => each(tag >> 3, Field::Number(varint(&mut bytes))),
            1 => {
                let (value, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                each(tag >> 3, Field::Number(u64::from_le_bytes(*value)));
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                each(tag >> 3, Field::Bytes(value));
            }
            other => panic!("wire type {other}"),
        }
    }
}

/// The names of the tracks, and the events, of a Perfetto trace.
fn perfetto(file: &str) -> (BTreeMap<u64, String>, Vec<Event>) {
    let trace = std::fs::read(file).expect("written");
    let (mut tracks, mut events) = (BTreeMap::new(), Vec::new());
    fields(&trace, |_, packet| {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        let (mut event, mut is_event) = (Event::default(), false);
        fields(packet, |field, value| match (field, value) {
            (8, Field::Number(ns)) => event.ns = ns,
            (11, Field::Bytes(body)) => {
                is_event = true;
                read_event(body, &mut event);
            }
            (60, Field::Bytes(body)) => {
                let (mut uuid, mut name) = (0, String::new());
                fields(body, |field, value| match (field, value) {
                    (1, Field::Number(number)) => uuid = number,
                    (2, Field::Bytes(text)) => name = String::from_utf8_lossy(text).into_owned(),
                    _ => {}
                });
                tracks.insert(uuid, name);
            }
            _ => {}
        });
        if is_event {
            events.push(event);
        }
    });
    events.sort_by_key(|event| event.ns);
    (tracks, events)
}

fn read_event(body: &[u8], event: &mut Event) {
    fields(body, |field, value| match (field, value) {
        (9, Field::Number(kind)) => event.kind = kind,
        (11, Field::Number(track)) => event.track = track,
        (23, Field::Bytes(name)) => event.name = String::from_utf8_lossy(name).into_owned(),
        (47 | 48, Field::Number(flow)) => event.flow = Some(flow),
        (4, Field::Bytes(annotation)) => {
            let (mut name, mut number) = (Vec::new(), 0);
            fields(annotation, |field, value| match (field, value) {
                (10, Field::Bytes(text)) => name = text.to_vec(),
                (4, Field::Number(value)) => number = value as i64,
                _ => {}
            });
            if name == b"tag" {
                event.tag = Some(number);
            }
        }
        _ => {}
    });
}

/// The ends of each flow of point-to-point messages: the name of the track, and of the call around.
fn flows(file: &str) -> BTreeMap<u64, (i64, Vec<(String, String)>)> {
    let (tracks, events) = perfetto(file);
    let mut stacks: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, (i64, Vec<(String, String)>)> = BTreeMap::new();
    for event in events {
        match event.kind {
            1 => stacks.entry(event.track).or_default().push(event.name),
            2 => _ = stacks.get_mut(&event.track).and_then(Vec::pop).expect("a slice that began"),
            3 => {
                let call = stacks.get(&event.track).and_then(|stack| stack.last()).cloned();
                let end = (tracks[&event.track].clone(), call.unwrap_or_default());
                let flow = event.flow.expect("a message is a flow");
                let (_, ends) = flows.entry(flow).or_insert((event.tag.expect("a tag"), Vec::new()));
                ends.push(end);
            }
            _ => {}
        }
    }
    flows
}

/// Every message of the program is a flow, once, between the right calls of the right ranks.
fn check_flows(file: &str, ranks: u32) {
    let flows = flows(file);
    for sender in (0..ranks).step_by(2) {
        for (tag, sends, receives) in MESSAGES {
            let (from, to) = if tag == 21 { (sender + 1, sender) } else { (sender, sender + 1) };
            let is_rank = |track: &str, rank: u32| track.starts_with(&format!("rank {rank} ("));
            let found: Vec<_> = flows
                .values()
                .filter(|(its, ends)| *its == tag && is_rank(&ends[0].0, from))
                .filter(|(_, ends)| ends[0].1 == sends)
                .collect();
            let [(_, ends)] = found[..] else {
                panic!("tag {tag} from rank {from}: {found:?} of {flows:#?}")
            };
            assert_eq!(ends.len(), 2, "tag {tag}: {ends:?}");
            assert!(is_rank(&ends[1].0, to), "tag {tag} went to rank {to}: {ends:?}");
            assert!(receives.contains(&&*ends[1].1), "tag {tag}: {ends:?}");
        }
    }
    assert!(flows.values().all(|(_, ends)| ends.len() == 2), "every flow has two ends: {flows:?}");
}

#[test]
fn every_message_joins_the_call_that_sent_it_and_the_call_that_took_it() {
    let without_memory = [("VERBENA_CMA", "0"), ("VERBENA_BOARDS", "0")];
    for (name, ranks, settings) in [
        ("flows", 2, &without_memory[..0]),
        ("flows-packets", 2, &without_memory[..]),
        ("flows-8", 8, &without_memory[..0]),
    ] {
        let files = traced(name, ranks, settings);
        let out = format!("{}.pftrace", files[0]);
        let said = verbena_trace(&["--perfetto", &out], &files);
        assert!(said.contains(&format!("{ranks} ranks")) && !said.contains("not taken"), "{said}");
        check_flows(&out, ranks);
        remove(&[files, vec![out]].concat());
    }
}

#[test]
fn a_trace_of_messages_over_a_channel_without_shared_memory_is_whole() {
    let files = traced("flows-ofi", 2, &[("VERBENA_CHANNELS", "loopback,ofi")]);
    let out = format!("{}.pftrace", files[0]);
    verbena_trace(&["--perfetto", &out], &files);
    check_flows(&out, 2);
    remove(&[files, vec![out]].concat());
}

#[test]
fn queues_are_counters_of_each_rank() {
    let files = traced("queues", 2, &[]);
    let out = format!("{}.pftrace", files[0]);
    verbena_trace(&["--perfetto", &out], &files);
    let (tracks, events) = perfetto(&out);
    let counted = |name: &str| {
        let (uuid, _) = tracks.iter().find(|(_, its)| *its == name).expect(name);
        events.iter().filter(|event| event.kind == 4 && event.track == *uuid).count()
    };
    // Two receives are posted before their messages come, and others come before their receives.
    assert!(counted("rank 1: posted receives") > 0, "{tracks:?}");
    assert!(counted("rank 1: unexpected messages") > 0, "{tracks:?}");
    remove(&[files, vec![out]].concat());
}

#[test]
fn the_chrome_trace_has_the_same_calls_and_flows() {
    let files = traced("chrome", 2, &[]);
    let (out, same) = (format!("{}.chrome", files[0]), format!("{}.pftrace", files[0]));
    verbena_trace(&["--chrome", &out, "--perfetto", &same], &files);
    let trace: Value = serde_json::from_slice(&std::fs::read(&out).expect("written")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of_kind = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
    let (_, perfetto) = perfetto(&same);
    assert_eq!(of_kind("X"), perfetto.iter().filter(|event| event.kind == 1).count());
    assert_eq!(of_kind("s"), flows(&same).len());
    assert_eq!(of_kind("f"), flows(&same).len());
    remove(&[files, vec![out, same]].concat());
}

#[test]
fn the_summary_adds_up_calls_by_function_communicator_and_size() {
    let files = traced("summary", 4, &[]);
    let summary: Value =
        serde_json::from_str(&verbena_trace(&["--summary", "--json"], &files)).expect("JSON");
    assert_eq!(summary["ranks"].as_array().expect("ranks").len(), 4);
    for rank in summary["ranks"].as_array().expect("ranks") {
        let (run, mpi) = (rank["run_ns"].as_f64(), rank["mpi_ns"].as_f64());
        assert!(Some(0.0) < mpi && mpi <= run, "{rank}");
    }
    let find = |call: &str, bytes: u64| {
        let calls = summary["calls"].as_array().expect("calls");
        let row = calls.iter().find(|row| row["call"] == call && row["bytes"][1] == bytes);
        row.unwrap_or_else(|| panic!("no {call} of {bytes} bytes: {summary}")).clone()
    };
    let long = find("MPI_Send", 1 << 20);
    assert_eq!(
        (&long["on"], &long["calls"], &long["ranks"]),
        (&"MPI_COMM_WORLD".into(), &4.into(), &2.into())
    );
    let sum = find("MPI_Allreduce", 8);
    assert_eq!((&sum["on"], &sum["calls"], &sum["ranks_of_it"]), (&"pairs".into(), &4.into(), &2.into()));
    // Without options it shows the same, whether messages can be taken apart or not.
    assert!(verbena_trace(&[], &files).contains("MPI_Allreduce"));
    let page = verbena_trace(&["--summary"], &files);
    assert!(page.contains("MPI_Allreduce") && page.contains("pairs (2)"), "{page}");
    remove(&files);
}

/// Sleeps on rank 1 before it ends MPI: rank 0 waits in `MPI_Finalize`.
#[test]
fn the_time_in_init_and_finalize_is_time_in_mpi() {
    for (name, clock) in [("ends", "monotonic"), ("ends-counter", "counter")] {
        let name = build_dir().join(format!("{name}.{}", std::process::id()));
        let job = job(2, program("timeline_ends")).env("VERBENA_TRACE", &name);
        job.env("VERBENA_TRACE_CLOCK", clock).run().ok();
        let files: Vec<String> = (0..2).map(|rank| format!("{}.{rank}.json", name.display())).collect();
        let summary: Value =
            serde_json::from_str(&verbena_trace(&["--summary", "--json"], &files)).expect("JSON");
        let first = &summary["ranks"][0];
        let (run, mpi) = (first["run_ns"].as_f64().expect("ns"), first["mpi_ns"].as_f64().expect("ns"));
        assert!(mpi > 0.9e9 && mpi <= run * 1.001, "rank 0 waits for a second: {summary}");
        for call in ["MPI_Init_thread", "MPI_Finalize"] {
            let calls = summary["calls"].as_array().expect("calls");
            let rows: Vec<&Value> = calls.iter().filter(|row| row["call"] == call).collect();
            let [row] = rows[..] else { panic!("one row of {call}: {summary}") };
            assert_eq!((&row["calls"], &row["ranks"]), (&2.into(), &2.into()), "{summary}");
        }
        let out = format!("{}.pftrace", files[0]);
        verbena_trace(&["--perfetto", &out], &files);
        let (_, events) = perfetto(&out);
        assert_eq!(events.iter().filter(|event| event.name == "MPI_Finalize").count(), 2);
        remove(&[files, vec![out]].concat());
    }
}

#[test]
fn a_library_that_begins_again_has_each_call_once() {
    let name = build_dir().join(format!("again.{}", std::process::id()));
    job(2, program("session_again")).env("VERBENA_TRACE", &name).run().ok();
    let files: Vec<String> = (0..2).map(|rank| format!("{}.{rank}.json", name.display())).collect();
    let summary: Value =
        serde_json::from_str(&verbena_trace(&["--summary", "--json"], &files)).expect("JSON");
    for call in ["MPI_Session_init", "MPI_Session_finalize"] {
        let calls = summary["calls"].as_array().expect("calls");
        let row = calls.iter().find(|row| row["call"] == call).expect(call);
        assert_eq!((&row["calls"], &row["ranks"]), (&4.into(), &2.into()), "{summary}");
    }
    remove(&files);
}
