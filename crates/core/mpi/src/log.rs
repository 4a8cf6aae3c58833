//! The log of a process (`VERBENA_LOG`): its channels, over which of them it reached whom, and why.
//! On standard error, or in a file for each process.

use crate::process::Process;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock};
use verbena_channel::Reach;
use verbena_engine::{Counters, RouteReport};
use verbena_hang::words;
use verbena_settings::Origin;

/// The levels, as `VERBENA_LOG` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is logged.
    None,
    /// Channels, and the ways to other processes.
    Info,
    /// Settings and counts too.
    Debug,
}

/// The level that the user wants.
pub fn level() -> Level {
    match verbena_settings::LOG.get() {
        0 => Level::None,
        1 => Level::Info,
        _ => Level::Debug,
    }
}

/// Writes lines of the process `me` of `size`.
pub fn write(me: u32, size: u32, lines: &[String]) {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "verbena: process {me} of {size}: {line}").expect("writing to a string");
    }
    static FILE: OnceLock<Option<Mutex<std::fs::File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = format!("{}.{me}", verbena_settings::LOG_FILE.get()?);
        match std::fs::File::create(&path) {
            Ok(file) => Some(Mutex::new(file)),
            Err(error) => {
                eprintln!("verbena: process {me} of {size}: warning: no log in {path}: {error}");
                None
            }
        }
    });
    match file {
        // A full disk is no reason to end the program.
        Some(file) => _ = file.lock().map(|mut file| file.write_all(text.as_bytes())),
        None => eprint!("{text}"),
    }
}

/// Logs how this process started: the launcher's protocol, the job, the channels that are open.
pub fn started(process: &Process, launcher: &str, job: &str) {
    if level() == Level::None {
        return;
    }
    let counters = process.look(|engine| engine.counters());
    let channels: Vec<&str> = counters.channels.iter().map(|channel| channel.name).collect();
    let mut lines = vec![
        format!("system's process {}, job {job}, launcher {launcher}", std::process::id()),
        format!("channels open: {}", channels.join(", ")),
    ];
    if level() == Level::Debug {
        let set = verbena_settings::ALL.iter().filter(|setting| setting.origin() != Origin::Default);
        lines.extend(set.map(|setting| format!("setting {}={}", setting.about.name, setting.value_text())));
    }
    write(process.me(), process.size(), &lines);
}

/// Logs over which channels this process reached the others.
pub fn ended(process: &Process) {
    if level() == Level::None {
        return;
    }
    let routes = process.command(|engine| engine.routes());
    let mut lines = route_lines(&routes);
    if level() == Level::Debug {
        let counters = process.look(|engine| engine.counters());
        lines.extend(count_lines(&counters));
    }
    write(process.me(), process.size(), &lines);
}

/// A line for each way; peers that are reached in the same way share one.
fn route_lines(routes: &[RouteReport]) -> Vec<String> {
    let mut peers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for route in routes {
        peers.entry(route_text(route)).or_default().push(route.peer);
    }
    let line = |(text, peers): (&String, &Vec<u32>)| format!("to {}: {text}", words::ranks(peers));
    peers.iter().map(line).collect()
}

fn route_text(route: &RouteReport) -> String {
    let of = |name: &str| route.channels.iter().find(|(own, _)| *own == name).and_then(|(_, reach)| *reach);
    let mut text = format!("packets over {}", route.packets);
    if let Some(reach) = of(route.packets) {
        write!(text, " (the quickest: {} ns)", reach.latency_ns).expect("writing to a string");
    }
    match route.memory {
        Some(memory) => {
            let from = of(memory).map_or(0, |reach| reach.memory_bytes_min as u64);
            write!(text, ", long messages over {memory} from {}", words::length(from))
        }
        None => write!(text, ", long messages in packets: no channel reaches its memory"),
    }
    .expect("writing to a string");
    write!(text, ", eager up to {}", words::length(route.eager_bytes_max as u64))
        .expect("writing to a string");
    if let Some(whole) = of(route.packets).map(|reach| reach.whole_bytes_max).filter(|bytes| *bytes != 0) {
        write!(text, " and where there is room up to {}", words::length(whole as u64))
            .expect("writing to a string");
    }
    let others =
        route.channels.iter().filter(|(name, _)| *name != route.packets && Some(*name) != route.memory);
    let others: Vec<String> = others.map(|(name, reach)| other_text(name, *reach)).collect();
    if !others.is_empty() {
        write!(text, "; not used: {}", others.join(", ")).expect("writing to a string");
    }
    text
}

/// The reason why a channel is not used.
fn other_text(name: &str, reach: Option<Reach>) -> String {
    match reach {
        None => format!("{name} (does not reach it)"),
        Some(reach) if reach.packet_bytes_max == 0 => format!("{name} (moves no packets)"),
        Some(reach) => format!("{name} (slower: {} ns)", reach.latency_ns),
    }
}

/// The traffic over each channel.
fn count_lines(counters: &Counters) -> Vec<String> {
    let used = counters.channels.iter().filter(|channel| channel.packets_sent + channel.packets_received > 0);
    let line = |channel: &verbena_engine::ChannelCounters| {
        format!(
            "{}: {} packets sent ({} bytes), {} received ({} bytes), {} bytes read from and {} written to \
             memory of others, {} times full",
            channel.name,
            channel.packets_sent,
            channel.bytes_sent,
            channel.packets_received,
            channel.bytes_received,
            channel.get_bytes,
            channel.put_bytes,
            channel.full
        )
    };
    let messages = format!(
        "messages: {} sent and {} received whole, {} announced, {} received by rendezvous",
        counters.eager_sent, counters.eager_received, counters.announced, counters.rendezvous
    );
    used.map(line).chain([messages]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(latency_ns: u32, packet_bytes_max: usize) -> Reach {
        Reach {
            packet_bytes_max,
            eager_bytes_max: 100,
            whole_bytes_max: 0,
            ordered: true,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: 12 << 10,
            latency_ns,
        }
    }

    fn route(peer: u32) -> RouteReport {
        RouteReport {
            peer,
            packets: "shm",
            memory: Some("cma"),
            eager_bytes_max: 1000,
            channels: vec![
                ("loopback", None),
                ("shm", Some(reach(200, 4096))),
                ("cma", Some(reach(1000, 0))),
                ("ofi", Some(reach(20_000, 4096))),
            ],
        }
    }

    #[test]
    fn peers_that_are_reached_alike_share_a_line() {
        let lines = route_lines(&[route(1), route(2), route(3)]);
        let expected = "to ranks 1-3: packets over shm (the quickest: 200 ns), long messages over cma from 12 KiB, \
                        eager up to 1000 bytes; not used: loopback (does not reach it), ofi (slower: 20000 ns)";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn a_way_without_memory_says_so() {
        let route = RouteReport { memory: None, channels: vec![], ..route(1) };
        assert_eq!(
            route_text(&route),
            "packets over shm, long messages in packets: no channel reaches its memory, eager up to 1000 bytes"
        );
    }
}
