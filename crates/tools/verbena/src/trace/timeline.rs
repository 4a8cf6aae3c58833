//! The traces of all ranks as one timeline: their calls on one clock, and each message from the
//! call that sent it to the call in which its receive ended.

use std::collections::{HashMap, HashSet};
use verbena_channel::trace::Log;
use verbena_channel::trace::calls::{Call, Object};
use verbena_channel::trace::messages::{Arrival, Departure};

/// The job on one clock. Times are nanoseconds from the beginning of its first process.
pub(super) struct Timeline<'a> {
    /// The processes, by rank.
    pub ranks: Vec<Rank<'a>>,
    /// The threads of all processes with what they did.
    pub tracks: Vec<Track<'a>>,
    /// The messages that two of the processes know of, in the order in which their senders sent.
    pub messages: Vec<Message>,
    /// The number of messages that left to a process of these and were not taken there.
    pub untaken: usize,
    /// True if the processes had several clocks, which only the hosts' own times hold together.
    pub has_clocks: bool,
}

/// A process.
pub(super) struct Rank<'a> {
    /// The process's trace.
    pub log: &'a Log,
    clock: Clock,
}

/// The way from a process's ticks to nanoseconds of the timeline.
#[derive(Clone, Copy)]
struct Clock {
    /// Ticks that stand for `offset_ns`.
    base: u64,
    offset_ns: u64,
    tick_ns: f64,
}

/// A thread and what it did, in order.
pub(super) struct Track<'a> {
    /// The rank of its process.
    pub rank: u32,
    /// The thread's number in the process.
    pub thread: u32,
    /// The thread's calls, and its messages outside of calls.
    pub items: Vec<Item<'a>>,
}

/// An entry of a track.
pub(super) enum Item<'a> {
    /// A call, with the messages in it.
    Call(Slice<'a>),
    /// One end of a message outside of any call, by a thread of the library for example.
    End(End),
}

/// A call on a track.
pub(super) struct Slice<'a> {
    /// The call.
    pub call: &'a Call,
    /// The communicator, window or file that it is about.
    pub object: Option<&'a Object>,
    /// The call's beginning and end.
    pub ns: [u64; 2],
    /// The ends of messages in it, by time.
    pub ends: Vec<End>,
}

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The message, as its place in [`Timeline::messages`].
    pub message: usize,
    /// True at the sender.
    pub is_departure: bool,
    /// The time at which it left, or at which its receive ended.
    pub ns: u64,
}

/// A message that has both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The rank in the job of the sender.
    pub from: u32,
    /// The rank in the job of the receiver.
    pub to: u32,
    /// The tag.
    pub tag: i32,
    /// The message's length.
    pub bytes: u64,
    /// The matching context.
    pub context: u64,
    /// True if it was announced, and moved when its receive was there.
    pub announced: bool,
    /// True if a receive waited for it when it came.
    pub expected: bool,
    /// The time at which it left.
    pub left_ns: u64,
    /// The time at which it came.
    pub came_ns: u64,
    /// The time at which its receive ended.
    pub taken_ns: u64,
    threads: [u32; 2],
}

impl Rank<'_> {
    /// The time of the timeline.
    pub(super) fn ns(&self, ticks: u64) -> u64 {
        let Clock { base, offset_ns, tick_ns } = self.clock;
        offset_ns + (ticks.saturating_sub(base) as f64 * tick_ns) as u64
    }
}

impl<'a> Timeline<'a> {
    /// Joins the traces of the ranks of one job.
    pub(super) fn new(logs: &'a [Log]) -> Timeline<'a> {
        let (clocks, has_clocks) = clocks(logs);
        let mut ranks: Vec<Rank> = logs.iter().zip(clocks).map(|(log, clock)| Rank { log, clock }).collect();
        ranks.sort_by_key(|rank| rank.log.rank);
        let (messages, untaken) = join(&ranks);
        let tracks = ranks.iter().flat_map(|rank| tracks(rank, &messages)).collect();
        Timeline { ranks, tracks, messages, untaken, has_clocks }
    }

    /// The number of calls.
    pub(super) fn calls(&self) -> usize {
        self.ranks.iter().map(|rank| rank.log.calls.len()).sum()
    }

    /// The number of messages whose receive ended before they were sent, by the clocks.
    pub(super) fn disordered(&self) -> usize {
        self.messages.iter().filter(|message| message.taken_ns < message.left_ns).count()
    }
}

/// Returns each process's way to the common clock, and whether there were several clocks.
fn clocks(logs: &[Log]) -> (Vec<Clock>, bool) {
    let Some(first) = logs.first() else { return (Vec::new(), false) };
    if logs.iter().all(|log| log.machine == first.machine) {
        let base = logs.iter().map(|log| log.times[0]).min().unwrap_or(0);
        let clock = Clock { base, offset_ns: 0, tick_ns: first.tick_ns };
        return (vec![clock; logs.len()], false);
    }
    let began_ns = logs.iter().map(|log| log.began_ns).min().unwrap_or(0);
    let clock =
        |log: &Log| Clock { base: log.times[0], offset_ns: log.began_ns - began_ns, tick_ns: log.tick_ns };
    (logs.iter().map(clock).collect(), true)
}

/// Joins departures with arrivals; also returns how many of the departures to these processes have
/// no receive that ended.
fn join(ranks: &[Rank]) -> (Vec<Message>, usize) {
    let arrivals: HashMap<(u32, u32, u32), (&Rank, &Arrival)> = ranks
        .iter()
        .flat_map(|rank| rank.log.arrivals.iter().map(move |arrival| (rank, arrival)))
        .map(|(rank, arrival)| ((arrival.peer, rank.log.rank, arrival.sequence), (rank, arrival)))
        .collect();
    let known: HashSet<u32> = ranks.iter().map(|rank| rank.log.rank).collect();
    let (mut messages, mut untaken, mut seen) = (Vec::new(), 0, HashSet::new());
    for rank in ranks {
        for departure in rank.log.departures.iter().filter(|departure| known.contains(&departure.peer)) {
            let key = (rank.log.rank, departure.peer, departure.sequence);
            // What was sent again over another channel is one message.
            if !seen.insert(key) {
                continue;
            }
            match arrivals.get(&key).filter(|(_, arrival)| arrival.taken != 0) {
                Some((receiver, arrival)) => messages.push(message(rank, departure, receiver, arrival)),
                None => untaken += 1,
            }
        }
    }
    (messages, untaken)
}

fn message(sender: &Rank, departure: &Departure, receiver: &Rank, arrival: &Arrival) -> Message {
    Message {
        from: sender.log.rank,
        to: receiver.log.rank,
        tag: departure.tag,
        bytes: departure.bytes,
        context: departure.context,
        announced: departure.announced,
        expected: arrival.expected,
        left_ns: sender.ns(departure.at),
        came_ns: receiver.ns(arrival.at),
        taken_ns: receiver.ns(arrival.taken),
        threads: [departure.thread, arrival.thread],
    }
}

/// The threads of a process with their calls, and the ends of messages in them.
fn tracks<'a>(rank: &Rank<'a>, messages: &[Message]) -> Vec<Track<'a>> {
    let mut ends: HashMap<u32, Vec<End>> = HashMap::new();
    for (place, message) in messages.iter().enumerate() {
        if message.from == rank.log.rank {
            let end = End { message: place, is_departure: true, ns: message.left_ns };
            ends.entry(message.threads[0]).or_default().push(end);
        }
        if message.to == rank.log.rank {
            let end = End { message: place, is_departure: false, ns: message.taken_ns };
            ends.entry(message.threads[1]).or_default().push(end);
        }
    }
    let mut threads: Vec<u32> = rank.log.calls.iter().map(|call| call.thread).collect();
    threads.extend(ends.keys());
    threads.sort_unstable();
    threads.dedup();
    let track = |thread: u32| {
        let calls: Vec<&Call> = rank.log.calls.iter().filter(|call| call.thread == thread).collect();
        let ends = ends.remove(&thread).unwrap_or_default();
        Track { rank: rank.log.rank, thread, items: items(rank, &calls, ends) }
    };
    threads.into_iter().map(track).collect()
}

/// Puts the ends of messages into the calls of their thread.
fn items<'a>(rank: &Rank<'a>, calls: &[&'a Call], mut ends: Vec<End>) -> Vec<Item<'a>> {
    ends.sort_by_key(|end| end.ns);
    let mut slices: Vec<Slice> = calls.iter().map(|call| slice(rank, call)).collect();
    slices.sort_by_key(|slice| slice.ns);
    let mut outside = Vec::new();
    for end in ends {
        let next = slices.partition_point(|slice| slice.ns[0] <= end.ns);
        match slices[..next].last_mut().filter(|slice| end.ns <= slice.ns[1]) {
            Some(slice) => slice.ends.push(end),
            None => outside.push(Item::End(end)),
        }
    }
    let mut items: Vec<Item> = slices.into_iter().map(Item::Call).chain(outside).collect();
    items.sort_by_key(|item| match item {
        Item::Call(slice) => slice.ns[0],
        Item::End(end) => end.ns,
    });
    items
}

fn slice<'a>(rank: &Rank<'a>, call: &'a Call) -> Slice<'a> {
    let log = rank.log;
    let object = call.object.and_then(|place| log.objects.get(place as usize));
    let begin = rank.ns(call.entered);
    // A call takes time, however coarse the clock.
    Slice { call, object, ns: [begin, rank.ns(call.left).max(begin + 1)], ends: Vec::new() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A call of the first thread.
    pub(crate) fn call(name: &'static str, [entered, left]: [u64; 2], object: Option<u32>) -> Call {
        let (bytes, peer, tag) = (8, Some(1), Some(7));
        Call { name: name.into(), thread: 0, object, bytes, peer, tag, entered, left, code: 0 }
    }

    fn departure(peer: u32, sequence: u32, at: u64) -> Departure {
        Departure { peer, sequence, context: 8, tag: 7, bytes: 8, announced: false, thread: 0, at }
    }

    fn arrival(peer: u32, sequence: u32, [at, taken]: [u64; 2]) -> Arrival {
        let (context, source, tag, bytes) = (8, peer as i32, 7, 8);
        Arrival { peer, sequence, context, source, tag, bytes, expected: true, at, taken, thread: 0 }
    }

    /// Rank 0 sends two messages to rank 1, which receives the first by `MPI_Recv`, and the second
    /// by `MPI_Wait` after it has gone to another call.
    pub(crate) fn job() -> Vec<Log> {
        let world = Object { handle: 0x101, name: "MPI_COMM_WORLD".into(), size: 2, context: Some(8) };
        let base = Log { tick_ns: 1.0, machine: "here".into(), ..Log::default() };
        let sender = Log {
            rank: 0,
            times: [1000, 2000],
            calls: vec![
                call("MPI_Send", [1100, 1150], Some(0)),
                call("MPI_Isend", [1200, 1230], Some(0)),
                call("MPI_Wait", [1300, 1310], None),
            ],
            departures: vec![departure(1, 0, 1120), departure(1, 1, 1210), departure(1, 2, 1305)],
            objects: vec![world.clone()],
            ..base.clone()
        };
        let receiver = Log {
            rank: 1,
            times: [1010, 2010],
            calls: vec![
                call("MPI_Recv", [1050, 1180], Some(0)),
                call("MPI_Irecv", [1190, 1195], Some(0)),
                call("MPI_Barrier", [1240, 1290], Some(0)),
                call("MPI_Wait", [1295, 1320], None),
            ],
            arrivals: vec![
                arrival(0, 0, [1140, 1170]),
                arrival(0, 1, [1250, 1315]),
                arrival(0, 2, [1306, 0]),
            ],
            objects: vec![world],
            ..base
        };
        vec![receiver, sender]
    }

    #[test]
    fn a_message_leads_from_the_call_that_sent_it_to_the_one_that_took_it() {
        let logs = job();
        let timeline = Timeline::new(&logs);
        assert_eq!((timeline.messages.len(), timeline.untaken, timeline.disordered()), (2, 1, 0));
        let ends = |rank: u32| -> Vec<(&str, usize, bool)> {
            let track = timeline.tracks.iter().find(|track| track.rank == rank).expect("a track");
            let calls = track.items.iter().map(|item| match item {
                Item::Call(slice) => slice,
                Item::End(end) => panic!("outside of calls: {end:?}"),
            });
            let ends = calls.flat_map(|slice| slice.ends.iter().map(|end| (&*slice.call.name, end)));
            ends.map(|(name, end)| (name, end.message, end.is_departure)).collect()
        };
        assert_eq!(ends(0), [("MPI_Send", 0, true), ("MPI_Isend", 1, true)]);
        assert_eq!(ends(1), [("MPI_Recv", 0, false), ("MPI_Wait", 1, false)]);
    }

    #[test]
    fn times_count_from_the_first_process() {
        let logs = job();
        let timeline = Timeline::new(&logs);
        assert_eq!((timeline.messages[0].left_ns, timeline.messages[0].taken_ns), (120, 170));
    }

    #[test]
    fn hosts_are_held_together_by_their_own_times() {
        let mut logs = job();
        (logs[0].machine, logs[0].began_ns, logs[1].began_ns) = ("there".into(), 5_000_100, 5_000_000);
        let timeline = Timeline::new(&logs);
        assert!(timeline.has_clocks);
        // Rank 1 began 100 ns after rank 0, at its own 1010.
        assert_eq!(timeline.ranks[1].ns(1020), 110);
        assert_eq!(timeline.ranks[0].ns(1020), 20);
    }

    #[test]
    fn an_end_outside_of_calls_stands_by_itself() {
        let mut logs = job();
        logs[1].calls.remove(0);
        let timeline = Timeline::new(&logs);
        assert!(matches!(timeline.tracks[0].items[0], Item::End(End { message: 0, .. })));
    }
}
