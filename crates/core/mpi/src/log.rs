//! The log of a process (`VERBENA_LOG`): its channels, over which of them it reached whom, and why.
//! On standard error, or in a file for each process.

use crate::process::Process;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock};
use verbena_channel::Reach;
use verbena_engine::{ChannelCounters, Counters, RouteReport};
use verbena_fault::Fault;
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
                verbena_fault::complain(format!(
                    "verbena: process {me} of {size}: warning: no log in {path}: {error}"
                ));
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

/// Warns the user of something that ends nothing, whatever the level.
pub fn warn(process: &Process, fault: &Fault) {
    verbena_fault::complain(format!(
        "verbena: process {} of {}: warning: {fault}",
        process.me(),
        process.size()
    ));
}

/// Logs how this process started: the launcher's protocol, the job, the channels that are open.
pub fn started(process: &Process, launcher: &str, job: &str) {
    if level() == Level::None {
        return;
    }
    let counters = process.counters();
    let absences = process.look(|engine| engine.absences());
    let names: Vec<&str> = counters.channels.iter().map(|channel| channel.name).collect();
    let mut lines = vec![format!("system's process {}, job {job}, launcher {launcher}", std::process::id())];
    lines.extend(channel_lines(&names, &absences));
    if let further @ 1.. = process.further_engines() {
        lines.push(format!("engines for threads: {further} beside the first one, on this node"));
    }
    if level() == Level::Debug {
        let set = verbena_settings::ALL.iter().filter(|setting| setting.origin() != Origin::Default);
        lines.extend(set.map(|setting| format!("setting {}={}", setting.about.name, setting.value_text())));
    }
    write(process.me(), process.size(), &lines);
}

/// A line of the channels that are open, and one for each that is not.
fn channel_lines(names: &[&str], absences: &[(&str, Fault)]) -> Vec<String> {
    let is_open = |name: &&&str| absences.iter().all(|(absent, _)| absent != *name);
    let open: Vec<&str> = names.iter().filter(is_open).copied().collect();
    let closed = |(name, why): &(&str, Fault)| {
        format!("channel {name} is not open: {}: {} ({})", why.what, why.cause, why.remedy)
    };
    [format!("channels open: {}", open.join(", "))].into_iter().chain(absences.iter().map(closed)).collect()
}

/// Logs over which channels this process reached the others.
pub fn ended(process: &Process) {
    if level() == Level::None {
        return;
    }
    let routes = process.routes();
    let mut lines = route_lines(&routes);
    lines.extend(routes.iter().flat_map(learned_lines));
    if level() == Level::Debug {
        let counters = process.counters();
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

/// A line for each sort of long messages from this peer whose ways are learnt: what each way took,
/// and which is taken.
fn learned_lines(route: &RouteReport) -> impl Iterator<Item = String> {
    route.learned.iter().map(|known| {
        let [alone, both, packets] = known.ns;
        let ways = [("in packets", packets), ("copied by this process", alone), ("by both sides", both)];
        let took = |(way, ns): (&str, Option<u64>)| Some(format!("{:.1} us {way}", ns? as f64 / 1000.0));
        let took: Vec<String> = ways.into_iter().filter_map(took).collect();
        format!(
            "from rank {}, messages from {} ({}): by {}; the shortest took {}",
            route.peer,
            words::length(known.bytes_min),
            known.traffic,
            known.way,
            took.join(", ")
        )
    })
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
    let messages = format!(
        "messages: {} sent and {} received whole, {} announced, {} received by rendezvous",
        counters.eager_sent, counters.eager_received, counters.announced, counters.rendezvous
    );
    counters.channels.iter().filter_map(channel_line).chain([messages]).collect()
}

/// The traffic over a channel; `None` if there was none. One that moves no packets counts the
/// memory of others that it read and wrote.
fn channel_line(channel: &ChannelCounters) -> Option<String> {
    let has_packets = channel.packets_sent + channel.packets_received > 0;
    let packets = has_packets.then(|| {
        format!(
            "{} packets sent ({} bytes), {} received ({} bytes), {} times full",
            channel.packets_sent,
            channel.bytes_sent,
            channel.packets_received,
            channel.bytes_received,
            channel.full
        )
    });
    let memory = (channel.get_bytes + channel.put_bytes > 0).then(|| {
        format!("{} bytes read from and {} written to memory of others", channel.get_bytes, channel.put_bytes)
    });
    let parts: Vec<String> = packets.into_iter().chain(memory).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", channel.name, parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_engine::NodeKnowledge;

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
            learned: vec![],
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
    fn what_was_learnt_of_the_ways_is_told() {
        let (traffic, way) = ("answer", "packets");
        let ns = [Some(36_000), None, Some(7400)];
        let known = NodeKnowledge { traffic, way, bytes_min: 256 << 10, ns };
        let lines: Vec<String> = learned_lines(&RouteReport { learned: vec![known], ..route(1) }).collect();
        let expected = "from rank 1, messages from 256 KiB (answer): by packets; the shortest took 7.4 us in \
                        packets, 36.0 us copied by this process";
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

    #[test]
    fn a_channel_that_is_not_open_is_not_among_the_open_ones() {
        let why = Fault::new("it is not needed", "here", "others reach all", "say always");
        assert_eq!(
            channel_lines(&["loopback", "shm", "ofi"], &[("ofi", why)]),
            [
                "channels open: loopback, shm",
                "channel ofi is not open: it is not needed: others reach all (say always)"
            ]
        );
        assert_eq!(channel_lines(&["shm"], &[]), ["channels open: shm"]);
    }

    #[test]
    fn a_channel_without_packets_counts_the_memory_that_it_moved() {
        let cma = ChannelCounters { name: "cma", get_bytes: 1 << 20, ..ChannelCounters::default() };
        let shm = ChannelCounters {
            name: "shm",
            packets_sent: 2,
            bytes_sent: 9,
            put_bytes: 5,
            ..ChannelCounters::default()
        };
        let idle = ChannelCounters { name: "ofi", ..ChannelCounters::default() };
        let counters = Counters { channels: vec![cma, shm, idle], ..Counters::default() };
        let lines = count_lines(&counters);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0], "cma: 1048576 bytes read from and 0 written to memory of others");
        assert_eq!(
            lines[1],
            "shm: 2 packets sent (9 bytes), 0 received (0 bytes), 0 times full, 0 bytes read from and 5 written to \
             memory of others"
        );
    }
}
