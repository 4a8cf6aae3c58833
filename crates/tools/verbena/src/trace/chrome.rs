//! The timeline as JSON in the trace-event format that Chromium's `chrome://tracing`, Perfetto and
//! other viewers read.

use super::perfetto::{came, protocol};
use super::timeline::{End, Item, Rank, Slice, Timeline, Track};
use serde_json::{Value, json};
use std::io::{Result, Write};

/// Writes the timeline.
///
/// # Errors
/// If `out` cannot be written.
pub(super) fn write(timeline: &Timeline, out: &mut impl Write) -> Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut separator = "\n";
    for event in events(timeline) {
        write!(out, "{separator}{event}")?;
        separator = ",\n";
    }
    writeln!(out, "\n]}}")
}

fn events(timeline: &Timeline) -> impl Iterator<Item = Value> {
    let names = timeline.ranks.iter().map(name);
    let tracks = timeline.tracks.iter().flat_map(|track| on_track(timeline, track));
    names.chain(tracks).chain(timeline.ranks.iter().flat_map(counters))
}

/// Microseconds, the format's unit.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn name(rank: &Rank) -> Value {
    let name = format!("rank {} ({})", rank.log.rank, rank.log.host);
    json!({"ph": "M", "name": "process_name", "pid": rank.log.rank, "args": {"name": name}})
}

fn on_track<'a>(timeline: &'a Timeline, track: &'a Track) -> impl Iterator<Item = Value> + 'a {
    track.items.iter().flat_map(move |item| match item {
        Item::Call(slice) => {
            let ends = slice.ends.iter().map(|end| flow(timeline, track, end));
            std::iter::once(call(track, slice)).chain(ends).collect::<Vec<Value>>()
        }
        Item::End(end) => vec![flow(timeline, track, end)],
    })
}

fn call(track: &Track, slice: &Slice) -> Value {
    let made = slice.call;
    json!({
        "ph": "X",
        "name": made.name,
        "cat": "mpi",
        "pid": track.rank,
        "tid": track.thread,
        "ts": micros(slice.ns[0]),
        "dur": micros(slice.ns[1] - slice.ns[0]),
        "args": {
            "on": slice.object.map(|object| &object.name),
            "ranks": slice.object.map(|object| object.size),
            "bytes": made.bytes,
            "peer": made.peer,
            "tag": made.tag,
            "error": made.code,
        },
    })
}

/// One end of a message: it belongs to the call around it.
fn flow(timeline: &Timeline, track: &Track, end: &End) -> Value {
    let message = &timeline.messages[end.message];
    let mut event = json!({
        "ph": if end.is_departure { "s" } else { "f" },
        "name": "message",
        "cat": "message",
        "id": end.message + 1,
        "pid": track.rank,
        "tid": track.thread,
        "ts": micros(end.ns),
        "args": {
            "from": message.from,
            "to": message.to,
            "bytes": message.bytes,
            "tag": message.tag,
            "protocol": protocol(message.announced),
            "came": came(message.expected),
        },
    });
    if !end.is_departure {
        event["bp"] = "e".into();
    }
    event
}

fn counters<'a>(rank: &'a Rank) -> impl Iterator<Item = Value> + 'a {
    rank.log.queues.iter().map(|queues| {
        json!({
            "ph": "C",
            "name": "queues",
            "pid": rank.log.rank,
            "ts": micros(rank.ns(queues.at)),
            "args": {"posted": queues.posted, "unexpected": queues.unexpected},
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::job;
    use super::*;

    #[test]
    fn both_ends_of_a_flow_lie_within_their_calls() {
        let logs = job();
        let mut out = Vec::new();
        write(&Timeline::new(&logs), &mut out).expect("a vector takes it");
        let trace: Value = serde_json::from_slice(&out).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let around = |end: &Value| {
            let is_around = |call: &&Value| {
                let (at, begin) = (end["ts"].as_f64(), call["ts"].as_f64());
                call["ph"] == "X"
                    && call["pid"] == end["pid"]
                    && begin <= at
                    && at <= begin.zip(call["dur"].as_f64()).map(|(begin, dur)| begin + dur)
            };
            events.iter().find(is_around).map(|call| call["name"].clone())
        };
        let ends = |kind: &str| -> Vec<Option<Value>> {
            events.iter().filter(|event| event["ph"] == kind).map(around).collect()
        };
        assert_eq!(ends("s"), [Some("MPI_Send".into()), Some("MPI_Isend".into())]);
        assert_eq!(ends("f"), [Some("MPI_Recv".into()), Some("MPI_Wait".into())]);
    }
}
