//! Performance variables (MPI-5.0, 15.3.7).
//!
//! The engine counts all the time, at no cost beyond its own counting. A handle turns that into
//! what the program reads: a counter's handle adds up what happens while it runs, a level is read
//! as it is, and a high-water mark begins with its handle.
//!
//! | class | start and stop | write and reset |
//! | --- | --- | --- |
//! | counter, aggregate | yes | yes |
//! | level | continuous | read-only |
//! | high-water mark | continuous | yes |

use super::subject::Subject;
use super::{lock, refusal};
use crate::error::{Error, Result};
use crate::file::counts as files;
use crate::generated::constants as mpi;
use crate::process::Process;
use crate::window::counts::{self, Kind, Way};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use verbena_engine::{ChannelCounters, Counters};
use verbena_wires::registry;

/// A performance variable. Its value is one `MPI_UNSIGNED_LONG_LONG`, bound to no object.
#[derive(Debug)]
pub struct Variable {
    /// The variable's name.
    pub name: String,
    /// The description that the program can ask for.
    pub help: String,
    /// The subject that it belongs to.
    pub subject: Subject,
    class: Class,
    read: Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Level,
    HighWaterMark,
    Counter,
    Aggregate,
}

#[derive(Clone, Copy, Debug)]
enum Read {
    Engine(fn(&Counters) -> u64),
    Channel(&'static str, fn(&ChannelCounters) -> u64),
    Slept,
    ThreadEngines,
    Operations(Kind, Way),
    Windows(fn() -> u64),
    Files(files::Count),
}

impl Variable {
    /// The class, as `MPI_T_PVAR_CLASS_...`.
    pub fn class(&self) -> i32 {
        match self.class {
            Class::Level => mpi::MPI_T_PVAR_CLASS_LEVEL,
            Class::HighWaterMark => mpi::MPI_T_PVAR_CLASS_HIGHWATERMARK,
            Class::Counter => mpi::MPI_T_PVAR_CLASS_COUNTER,
            Class::Aggregate => mpi::MPI_T_PVAR_CLASS_AGGREGATE,
        }
    }

    /// Returns whether it can be neither written nor reset.
    pub fn is_readonly(&self) -> bool {
        self.class == Class::Level
    }

    /// Returns whether it runs all the time.
    pub fn is_continuous(&self) -> bool {
        matches!(self.class, Class::Level | Class::HighWaterMark)
    }

    /// The process's count so far; 0 without a process.
    fn now(&self, process: Option<&Process>) -> u64 {
        let Some(process) = process else { return 0 };
        let counters = || process.counters();
        match self.read {
            Read::Engine(of) => of(&counters()),
            // Its further rails, and the channels of this name to other jobs, count too.
            Read::Channel(name, of) => {
                let is_rail = |rest: &str| rest.is_empty() || rest.starts_with('.');
                let is_own = |own: &&ChannelCounters| own.name.strip_prefix(name).is_some_and(is_rail);
                counters().channels.iter().filter(is_own).map(of).sum()
            }
            Read::Slept => process.slept(),
            Read::ThreadEngines => process.further_engines_in_use(),
            Read::Operations(kind, way) => counts::operations(kind, way),
            Read::Windows(of) => of(),
            Read::Files(count) => files::value(count),
        }
    }
}

/// All variables: those of matching, of the protocols, of waiting, of windows and files, then those
/// of each channel.
pub static ALL: LazyLock<Vec<Variable>> = LazyLock::new(|| {
    let of_engine = ENGINE.iter().map(|&(name, class, subject, help, read)| Variable {
        name: name.into(),
        help: help.into(),
        subject,
        class,
        read: Read::Engine(read),
    });
    let slept = Variable {
        name: "waits_slept".into(),
        help: "how often a wait slept until it was woken".into(),
        subject: Subject::Wait,
        class: Class::Counter,
        read: Read::Slept,
    };
    let thread_engines = Variable {
        name: "thread_engines".into(),
        help: "engines beside the first one that some communicator has had so far (VERBENA_THREAD_ENGINES)"
            .into(),
        subject: Subject::Wait,
        class: Class::Level,
        read: Read::ThreadEngines,
    };
    let of_channel = |channel: &'static str| {
        let own: &[&[OfChannel]] = match channel {
            "cma" => &[MEMORY],
            "shm" => &[PACKETS, CELLS],
            "rc" => &[PACKETS, MEMORY, REGISTERING, POLLING_SET, RECEIVING, SIGNALLING],
            "pipe" => &[PACKETS, REGISTERING],
            "ud" => &[PACKETS, RECEIVING, DATAGRAMS],
            "ofi" => &[PACKETS, MEMORY, GUARDED],
            _ => &[PACKETS, MEMORY],
        };
        own.iter().copied().flatten().map(move |&(name, class, help, read)| Variable {
            name: format!("{channel}_{name}"),
            help: format!("channel {channel}: {help}"),
            subject: Subject::Channel,
            class,
            read: Read::Channel(channel, read),
        })
    };
    let of_channels = registry::names().flat_map(of_channel);
    of_engine
        .chain([slept, thread_engines])
        .chain(of_windows())
        .chain(of_files())
        .chain(of_channels)
        .collect()
});

/// The variables of windows: operations by kind and way, then the rest.
fn of_windows() -> impl Iterator<Item = Variable> {
    let variable =
        |name, help, read| Variable { name, help, subject: Subject::Window, class: Class::Counter, read };
    let pairs = KINDS.iter().flat_map(|kind| WAYS.iter().map(move |way| (kind, way)));
    // Only these go by the device.
    let is_by_device = |kind| matches!(kind, Kind::Put | Kind::Get);
    let pairs = pairs.filter(move |(kind, way)| way.0 != Way::Device || is_by_device(kind.0));
    let of_kind = pairs.map(move |(&(kind, kind_name, calls), &(way, way_name, means))| {
        let (name, help) = (format!("window_{kind_name}_{way_name}"), format!("{calls} {means}"));
        variable(name, help, Read::Operations(kind, way))
    });
    let rest =
        WINDOWS.iter().map(move |&(name, help, of)| variable(name.into(), help.into(), Read::Windows(of)));
    of_kind.chain(rest)
}

const KINDS: &[(Kind, &str, &str)] = &[
    (Kind::Put, "puts", "puts"),
    (Kind::Get, "gets", "gets"),
    (Kind::Accumulate, "accumulates", "accumulates, with or without a result,"),
    (Kind::Fetch, "fetches", "calls of MPI_Fetch_and_op"),
    (Kind::Swap, "swaps", "calls of MPI_Compare_and_swap"),
];

const WAYS: &[(Way, &str, &str)] = &[
    (Way::Mapped, "mapped", "in memory that is mapped at the origin"),
    (Way::Neighbor, "neighbor", "that the kernel copied between two processes"),
    (Way::Messages, "messages", "that went to the target as messages"),
    (Way::Device, "device", "that the device carried out in the target's memory"),
];

type OfWindows = (&'static str, &'static str, fn() -> u64);

#[rustfmt::skip]
const WINDOWS: &[OfWindows] = &[
    ("window_locks_awaited", "locks of targets, in mapped memory, that were not free when they were asked for", counts::locks_awaited),
    ("window_locks_queued", "locks of this process that were not free when they were asked for by messages", counts::locks_queued),
    ("window_requests", "requests of others on this process's windows that came as messages", counts::served),
    ("window_device_failures", "puts and gets that the device could not do, and that went again as messages", counts::gone_again),
];

/// The variables of files.
fn of_files() -> impl Iterator<Item = Variable> {
    FILES.iter().map(|&(name, help, count)| Variable {
        name: name.into(),
        help: help.into(),
        subject: Subject::File,
        class: Class::Counter,
        read: Read::Files(count),
    })
}

#[rustfmt::skip]
const FILES: &[(&str, &str, files::Count)] = &[
    ("file_bytes_read", "bytes that accesses of this process read", files::Count::BytesRead),
    ("file_bytes_written", "bytes that accesses of this process wrote", files::Count::BytesWritten),
    ("file_sieved_reads", "reads of several pieces of a file with the gaps between them", files::Count::SievedReads),
    ("file_sieved_writes", "writes of several pieces of a file with the gaps between them", files::Count::SievedWrites),
    ("file_beside", "operations that a thread carried out beside the program", files::Count::Beside),
    ("file_held_back", "operations that the call itself carried out, since too many waited", files::Count::HeldBack),
    ("file_alone", "collective accesses in which each process moved its own bytes", files::Count::Alone),
    ("file_aggregated", "collective accesses in which some processes moved the bytes of all", files::Count::Aggregated),
    ("file_rounds", "pieces of a file that this process moved for all in such accesses", files::Count::Rounds),
    ("file_bytes_exchanged", "bytes that this process gave to others or took from them in such accesses", files::Count::BytesExchanged),
    ("file_ring_pieces", "pieces of lists that were read or written through io_uring", files::Count::ByRing),
    ("file_mapped_pieces", "pieces of lists that were stored in mapped pages of a file", files::Count::ByMapping),
    ("file_threads", "threads that were started to carry out operations beside the program", files::Count::Threads),
];

type OfEngine = (&'static str, Class, Subject, &'static str, fn(&Counters) -> u64);

#[rustfmt::skip]
const ENGINE: &[OfEngine] = &[
    ("posted_receives", Class::Level, Subject::Matching, "receives that wait for a message", |c| c.posted as u64),
    ("unexpected_messages", Class::Level, Subject::Matching, "messages that wait for a receive", |c| c.unexpected as u64),
    ("unexpected_messages_high", Class::HighWaterMark, Subject::Matching, "the most messages that waited for a receive", |c| c.unexpected_high as u64),
    ("unexpected_bytes", Class::Level, Subject::Matching, "bytes of messages held until their receive comes", |c| c.unexpected_bytes as u64),
    ("unexpected_bytes_high", Class::HighWaterMark, Subject::Matching, "the most bytes that were held", |c| c.unexpected_bytes_high as u64),
    ("matching_steps", Class::Counter, Subject::Matching, "comparisons and look-ups that matching took", |c| c.matching_steps),
    ("requests", Class::Level, Subject::Engine, "operations that are under way, or complete and not asked for yet", |c| c.requests as u64),
    ("eager_sent", Class::Counter, Subject::Engine, "messages sent whole, in one packet", |c| c.eager_sent),
    ("eager_received", Class::Counter, Subject::Engine, "messages that came whole, in one packet", |c| c.eager_received),
    ("rendezvous_sent", Class::Counter, Subject::Engine, "long messages announced to their receiver", |c| c.announced),
    ("rendezvous_received", Class::Counter, Subject::Engine, "long messages that a receive took", |c| c.rendezvous),
    ("rendezvous_pulled", Class::Counter, Subject::Engine, "of rendezvous_received, those that the receiver alone copied", |c| c.pulled),
    ("rendezvous_shared", Class::Counter, Subject::Engine, "of rendezvous_received, those that the sender was invited to copy as well", |c| c.shared),
    ("rendezvous_striped", Class::Counter, Subject::Engine, "of rendezvous_received, those that several rails were to move", |c| c.striped),
    ("rendezvous_written", Class::Counter, Subject::Engine, "of rendezvous_received, those that the sender was asked to write into the receiver's memory", |c| c.written),
    ("rendezvous_streamed", Class::Counter, Subject::Engine, "of rendezvous_received, those that came as packets", |c| c.streamed),
    ("transfer_fallbacks", Class::Counter, Subject::Engine, "copies between processes that failed and were done another way", |c| c.fallbacks),
    ("throttles", Class::Counter, Subject::Engine, "how often a peer was asked to send by rendezvous only", |c| c.throttles),
    ("failovers", Class::Counter, Subject::Engine, "how often a channel took the place of one that had lost a process", |c| c.failovers),
    ("channel_moves", Class::Counter, Subject::Engine, "how often the packets to a process moved to another channel without a fault", |c| c.moves),
    ("connections_given_back", Class::Counter, Subject::Engine, "connections given back, by both ends, for processes that are spoken to more", |c| c.left),
    ("polling_updates", Class::Counter, Subject::Engine, "how often the messages of VERBENA_POLLING_UPDATE_EVERY had come", |c| c.polling_updates),
    ("polling_calculations", Class::Counter, Subject::Engine, "of polling_updates, those after which it was calculated anew how often channels are looked at", |c| c.polling_calculations),
    ("packets_sent_again", Class::Counter, Subject::Engine, "packets that such a channel handed back, and that another one sent again", |c| c.sent_again),
];

type OfChannel = (&'static str, Class, &'static str, fn(&ChannelCounters) -> u64);

/// Variables of the channels that send packets.
#[rustfmt::skip]
const PACKETS: &[OfChannel] = &[
    ("packets_sent", Class::Counter, "packets sent", |c| c.packets_sent),
    ("bytes_sent", Class::Aggregate, "bytes of payload sent in packets", |c| c.bytes_sent),
    ("packets_received", Class::Counter, "packets received", |c| c.packets_received),
    ("bytes_received", Class::Aggregate, "bytes of payload received in packets", |c| c.bytes_received),
    ("full", Class::Counter, "how often there was no room for a packet", |c| c.full),
    ("looks", Class::Counter, "looks for packets; of shared memory only those beside which another channel takes turns", |c| c.looks),
    ("look_ns", Class::Level, "nanoseconds of a look that finds nothing, as measured when it was opened; 0: not known", |c| c.look_ns),
];

/// Variables of the channels that reach the memory of other processes.
#[rustfmt::skip]
const MEMORY: &[OfChannel] = &[
    ("read_bytes", Class::Aggregate, "bytes read from other processes' memory", |c| c.get_bytes),
    ("written_bytes", Class::Aggregate, "bytes written to other processes' memory", |c| c.put_bytes),
];

/// Variables of the channels that send in cells of shared memory.
#[rustfmt::skip]
const CELLS: &[OfChannel] = &[
    ("cells_hot", Class::Counter, "packets sent in a cell that this process had received last", |c| c.cells.hot),
    ("cells_cold", Class::Counter, "packets sent in another cell, written through the caches", |c| c.cells.cold),
    ("cells_nontemporal", Class::Counter, "packets sent in another cell, written past the caches", |c| c.cells.non_temporal),
    ("cells_none_free", Class::Counter, "how often no cell was free, so that a message went another way", |c| c.cells.none_free),
    ("cells_taken_back", Class::Counter, "cells taken back from processes that had ended", |c| c.cells.taken_back),
];

/// Variables of the channels that register memory with a device.
#[rustfmt::skip]
const REGISTERING: &[OfChannel] = &[
    ("registration_hits", Class::Counter, "operations on long messages that found their memory registered", |c| c.registrations.hits),
    ("registration_misses", Class::Counter, "operations on long messages for which memory was registered", |c| c.registrations.misses),
    ("registrations_evicted", Class::Counter, "registrations given up to make room for others", |c| c.registrations.evicted),
    ("registrations_invalidated", Class::Counter, "registrations given up since the program had given the memory back", |c| c.registrations.invalidated),
    ("registrations_refused", Class::Counter, "operations whose memory could not be registered (limit of locked memory), so that it was copied", |c| c.registrations.refused),
    ("registrations", Class::Level, "registrations of the program's memory that are kept or in use", |c| c.registrations.entries),
    ("registered_bytes", Class::Level, "bytes of the program's memory that are registered", |c| c.registrations.bytes),
];

/// Variables of the channels that poll the rings of some peers.
#[rustfmt::skip]
const POLLING_SET: &[OfChannel] = &[
    ("rings", Class::Level, "rings of peers that are polled", |c| c.polling_set.rings),
    ("ring_looks", Class::Counter, "looks at a ring", |c| c.polling_set.ring_looks),
    ("ring_misses", Class::Counter, "of ring_looks, those at silent rings before one that had a packet", |c| c.polling_set.ring_misses),
    ("ring_packets", Class::Counter, "packets taken from rings", |c| c.polling_set.ring_packets),
    ("queue_looks", Class::Counter, "looks at the completion queue", |c| c.polling_set.queue_looks),
    ("queue_packets", Class::Counter, "packets of which the completion queue told", |c| c.polling_set.queue_packets),
];

/// Variables of the channels that post buffers for what other processes send.
#[rustfmt::skip]
const RECEIVING: &[OfChannel] = &[
    ("receive_bytes", Class::Level, "bytes registered for receive buffers", |c| c.receives.bytes),
    ("shared_receives", Class::Counter, "packets that came into receive buffers which all processes share", |c| c.receives.shared),
    ("receive_top_ups", Class::Counter, "how often more were posted since the device had told that few were left", |c| c.receives.top_ups),
];

/// Variables of the channels that signal one packet in several.
#[rustfmt::skip]
const SIGNALLING: &[OfChannel] = &[
    ("completions", Class::Counter, "completions of signalled packets, each for all that was posted before it on its connection", |c| c.completions),
];

/// Variables of the channels that make datagrams reliable.
#[rustfmt::skip]
const DATAGRAMS: &[OfChannel] = &[
    ("datagrams_sent", Class::Counter, "datagrams posted", |c| c.datagrams.sent),
    ("datagrams_resent", Class::Counter, "of datagrams_sent, those that were sent again", |c| c.datagrams.resent),
    ("acknowledgements", Class::Counter, "of datagrams_sent, those that only acknowledge", |c| c.datagrams.acks),
    ("datagrams_checksummed", Class::Counter, "of datagrams_sent, those that carry a checksum", |c| c.datagrams.checksummed),
    ("datagrams_by_first_pair", Class::Counter, "of datagrams_sent, those through the first of the sending queue pairs", |c| c.datagrams.by_first_pair),
    ("datagrams_doubled", Class::Counter, "datagrams that had arrived before", |c| c.datagrams.doubles),
    ("datagrams_garbled", Class::Counter, "datagrams that were garbled, or came from nobody of this job", |c| c.datagrams.garbled),
];

/// Variables of the channels that recognise a stranger's message.
#[rustfmt::skip]
const GUARDED: &[OfChannel] = &[
    ("strange_messages", Class::Counter, "messages that did not bear this process's token, and were dropped", |c| c.strange_messages),
];

/// A handle of a variable: it turns the engine's count into the program's value.
#[derive(Debug)]
pub struct Handle {
    /// The variable.
    pub variable: &'static Variable,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    running: bool,
    /// The process's count when the handle last began to run.
    base: u64,
    /// The count from earlier runs; for a high-water mark the mark.
    kept: u64,
}

/// The handles of high-water marks. The engine's own marks are taken, and begun anew, for all of
/// them at once.
static MARKS: Mutex<Vec<Weak<Handle>>> = Mutex::new(Vec::new());

impl Handle {
    /// Makes a handle. That of a continuous variable runs, any other is stopped.
    pub fn new(variable: &'static Variable, process: Option<&Process>) -> Arc<Handle> {
        let running = variable.is_continuous();
        let handle = Arc::new(Handle { variable, state: Mutex::new(State { running, base: 0, kept: 0 }) });
        if variable.class == Class::HighWaterMark {
            take_marks(process);
            lock(&handle.state).kept = variable.now(process);
            lock(&MARKS).push(Arc::downgrade(&handle));
        }
        handle
    }

    /// Returns the value now.
    pub fn read(&self, process: Option<&Process>) -> u64 {
        if self.variable.class == Class::HighWaterMark {
            take_marks(process);
        }
        self.value(&lock(&self.state), process)
    }

    fn value(&self, state: &State, process: Option<&Process>) -> u64 {
        match self.variable.class {
            Class::Level => self.variable.now(process),
            Class::HighWaterMark => state.kept,
            _ if state.running => state.kept + self.variable.now(process).saturating_sub(state.base),
            _ => state.kept,
        }
    }

    /// Begins to count; no effect if it runs. `MPI_T_ERR_PVAR_NO_STARTSTOP` if it is continuous.
    pub fn start(&self, process: Option<&Process>) -> Result<()> {
        self.check_startable()?;
        let mut state = lock(&self.state);
        if !state.running {
            (state.running, state.base) = (true, self.variable.now(process));
        }
        Ok(())
    }

    /// Keeps the value as it is; no effect if it is stopped. `MPI_T_ERR_PVAR_NO_STARTSTOP` if it is
    /// continuous.
    pub fn stop(&self, process: Option<&Process>) -> Result<()> {
        self.check_startable()?;
        let mut state = lock(&self.state);
        state.kept = self.value(&state, process);
        state.running = false;
        Ok(())
    }

    fn check_startable(&self) -> Result<()> {
        let what = "the variable runs all the time";
        if self.variable.is_continuous() {
            Err(refusal(mpi::MPI_T_ERR_PVAR_NO_STARTSTOP, what))
        } else {
            Ok(())
        }
    }

    /// Sets the value. `MPI_T_ERR_PVAR_NO_WRITE` if it is read-only.
    pub fn write(&self, value: u64, process: Option<&Process>) -> Result<()> {
        self.check_writable()?;
        take_marks(process);
        let mut state = lock(&self.state);
        (state.kept, state.base) = (value, self.variable.now(process));
        Ok(())
    }

    /// Sets it to its initial value: 0, or for a high-water mark the current level.
    /// `MPI_T_ERR_PVAR_NO_WRITE` if it is read-only.
    pub fn reset(&self, process: Option<&Process>) -> Result<()> {
        self.read_and_reset(process).map(drop)
    }

    /// Reads the value and resets it in one step. `MPI_T_ERR_PVAR_NO_WRITE` if it is read-only.
    pub fn read_and_reset(&self, process: Option<&Process>) -> Result<u64> {
        self.check_writable()?;
        take_marks(process);
        let mut state = lock(&self.state);
        let now = self.variable.now(process);
        let (value, start) = match self.variable.class {
            Class::HighWaterMark => (state.kept, now),
            _ if state.running => (state.kept + now.saturating_sub(state.base), 0),
            _ => (state.kept, 0),
        };
        (state.kept, state.base) = (start, now);
        Ok(value)
    }

    fn check_writable(&self) -> Result<()> {
        if self.variable.is_readonly() { Err(no_write()) } else { Ok(()) }
    }
}

fn no_write() -> Error {
    refusal(mpi::MPI_T_ERR_PVAR_NO_WRITE, "the variable can only be read")
}

/// Gives every handle of a high-water mark the engine's marks since the last time.
fn take_marks(process: Option<&Process>) {
    let mut marks = lock(&MARKS);
    marks.retain(|mark| mark.strong_count() > 0);
    if marks.is_empty() {
        return;
    }
    let Some(process) = process else { return };
    let (unexpected_high, unexpected_bytes_high) = process.take_peaks();
    let peaks = Counters { unexpected_high, unexpected_bytes_high, ..Counters::default() };
    for handle in marks.iter().filter_map(Weak::upgrade) {
        if let Read::Engine(of) = handle.variable.read {
            let mut state = lock(&handle.state);
            state.kept = state.kept.max(of(&peaks));
        }
    }
}
