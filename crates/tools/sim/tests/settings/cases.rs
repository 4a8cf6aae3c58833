//! The settings of papers 1, 2 and 5, and one of paper 4, with the counts that they move.

use crate::pair::{Pattern, Seen, Traffic};

/// A setting and two of its values. The second value leaves a higher count than the first.
pub(crate) struct Case {
    /// The setting, without `VERBENA_`.
    pub setting: &'static str,
    /// The values: the one that leaves less, and the one that leaves more.
    pub values: [&'static str; 2],
    /// The other settings that count.
    pub beside: Beside,
    /// The messages.
    pub traffic: Traffic,
    /// The count in words.
    pub what: &'static str,
    /// The count.
    pub count: fn(&Seen) -> u64,
}

const SHORT: Traffic =
    Traffic { ranks: 2, rails: 1, pipe: false, pattern: Pattern::Answers, messages: 60, bytes: 64 };
const SHORT_STREAM: Traffic = Traffic { pattern: Pattern::Stream, messages: 200, ..SHORT };
const MIDDLE: Traffic = Traffic { bytes: 8 << 10, messages: 20, ..SHORT };
const LONG: Traffic = Traffic { bytes: 1 << 20, messages: 10, ..SHORT };
const LONG_RAILS: Traffic = Traffic { rails: 2, ..LONG };
/// Over datagrams alone.
const MIDDLE_UD: Traffic = Traffic { rails: 0, ..MIDDLE };
const LONG_UD: Traffic = Traffic { rails: 0, ..LONG };
/// Over the pipe alone.
const MIDDLE_PIPE: Traffic = Traffic { pipe: true, ..MIDDLE_UD };
const LONG_PIPE: Traffic = Traffic { pipe: true, ..LONG_UD };
const MANY: Traffic = Traffic { ranks: 6, pattern: Pattern::ManyToOne, messages: 100, ..SHORT };

/// Reading is free, writing is dear, and nothing is learnt.
const READ: &[(&str, &str)] = &[("RC_LEARN", "0"), ("RC_READ_START_NS", "0"), ("RC_READ_BYTE_PS", "0")];
/// Writing is free, reading is dear, and nothing is learnt.
const WRITE: &[(&str, &str)] = &[("RC_LEARN", "0"), ("RC_WRITE_START_NS", "0"), ("RC_WRITE_BYTE_PS", "0")];
const PIPELINE: Beside = &[("LARGE", "pipeline")];
const PLAIN: &[(&str, &str)] = &[("RC_POLL_POLICY", "none")];
const RINGS: &[(&str, &str)] = &[("RC_LEARN_PATH", "0")];

fn sends(seen: &Seen) -> u64 {
    seen.devices.sends
}

fn writes(seen: &Seen) -> u64 {
    seen.devices.writes
}

fn reads(seen: &Seen) -> u64 {
    seen.devices.reads
}

fn registered(seen: &Seen) -> u64 {
    seen.registered[1]
}

fn eager(seen: &Seen) -> u64 {
    seen.first.eager_sent
}

fn packets(seen: &Seen) -> u64 {
    seen.first.channels.iter().map(|channel| channel.packets_sent).sum()
}

fn read_messages(seen: &Seen) -> u64 {
    seen.second.pulled
}

fn written_messages(seen: &Seen) -> u64 {
    seen.first.written
}

fn hits(seen: &Seen) -> u64 {
    seen.registrations()[1].hits
}

type Beside = &'static [(&'static str, &'static str)];

/// The limit of messages that go at once, on any channel.
const fn eager_limit(traffic: Traffic, beside: Beside, what: &'static str) -> Case {
    Case { setting: "EAGER_BYTES_MAX", values: ["100", "8192"], beside, traffic, what, count: eager }
}

/// The chunks of a long message, on any channel.
const fn chunks(traffic: Traffic, beside: Beside, what: &'static str) -> Case {
    Case { setting: "CHUNK_BYTES", values: ["16384", "2048"], beside, traffic, what, count: packets }
}

/// The cases, in the order of the table of settings.
pub(crate) const CASES: &[Case] = &[
    Case {
        setting: "RC_SLOTS",
        values: ["100", "4"],
        beside: RINGS,
        traffic: SHORT_STREAM,
        what: "sends, since the ring is full",
        count: sends,
    },
    Case {
        setting: "RC_SLOT_BYTES",
        values: ["512", "4096"],
        beside: &[],
        traffic: SHORT,
        what: "bytes registered",
        count: registered,
    },
    Case {
        setting: "RC_BUFFER_BYTES",
        values: ["2048", "16384"],
        beside: &[],
        traffic: MIDDLE,
        what: "eager messages",
        count: eager,
    },
    Case {
        setting: "RC_EAGER_BYTES_MAX",
        values: ["2048", "16384"],
        beside: &[],
        traffic: MIDDLE,
        what: "eager messages",
        count: eager,
    },
    Case {
        setting: "RC_CREDITS",
        values: ["4", "64"],
        beside: PLAIN,
        traffic: SHORT,
        what: "bytes registered",
        count: registered,
    },
    Case {
        setting: "RC_SEND_BUFFERS_MAX",
        values: ["2", "256"],
        beside: PLAIN,
        traffic: Traffic { bytes: 1000, ..SHORT_STREAM },
        what: "bytes registered by the sender",
        count: |seen| seen.registered[0],
    },
    Case {
        setting: "RC_POLL_POLICY",
        values: ["none", "first"],
        beside: &[],
        traffic: SHORT,
        what: "writes into rings",
        count: writes,
    },
    Case {
        setting: "RC_POLL_SET_MAX",
        values: ["1", "5"],
        beside: RINGS,
        traffic: MANY,
        what: "writes into rings",
        count: writes,
    },
    Case {
        setting: "RC_POLL_REVIEW_EVERY",
        values: ["1000000", "64"],
        beside: &[("RC_LEARN_PATH", "0"), ("RC_POLL_POLICY", "most"), ("RC_POLL_SET_MAX", "1")],
        traffic: MANY,
        what: "writes into the ring, which goes to the one that is heard most",
        count: writes,
    },
    Case {
        setting: "RC_SENDER_RINGS_MAX",
        values: ["0", "64"],
        beside: &[],
        traffic: SHORT,
        what: "writes into rings",
        count: writes,
    },
    Case {
        setting: "RC_NOTIFY",
        values: ["piggyback", "pointer"],
        beside: RINGS,
        traffic: SHORT,
        what: "writes: packets, head and tail pointers",
        count: writes,
    },
    Case {
        setting: "RC_SIGNAL_EVERY",
        values: ["32", "1"],
        beside: RINGS,
        traffic: SHORT,
        what: "posts that ask for a completion",
        count: |seen| seen.devices.signalled,
    },
    Case {
        setting: "RC_MEMORY_BYTES_MIN",
        values: ["4194304", "16384"],
        beside: READ,
        traffic: LONG,
        what: "messages read",
        count: read_messages,
    },
    Case {
        setting: "RC_PIECE_BYTES",
        values: ["1048576", "65536"],
        beside: READ,
        traffic: LONG,
        what: "RDMA reads",
        count: reads,
    },
    Case {
        setting: "RC_LEARN",
        values: ["0", "1"],
        beside: &[("RC_READ_START_NS", "0"), ("RC_READ_BYTE_PS", "0")],
        traffic: Traffic { messages: 60, ..LONG },
        what: "messages written, to learn what that takes",
        count: written_messages,
    },
    Case {
        setting: "RC_LEARN_PATH",
        values: ["0", "1"],
        beside: &[("RC_SLOTS", "1024")],
        traffic: Traffic { messages: 800, ..SHORT_STREAM },
        what: "sends, to learn what they take",
        count: sends,
    },
    Case {
        setting: "RC_READ_START_NS",
        values: ["0", "1000000000"],
        beside: READ,
        traffic: LONG,
        what: "messages written",
        count: written_messages,
    },
    Case {
        setting: "RC_READ_BYTE_PS",
        values: ["0", "1000000"],
        beside: READ,
        traffic: LONG,
        what: "messages written",
        count: written_messages,
    },
    Case {
        setting: "RC_WRITE_START_NS",
        values: ["0", "1000000000"],
        beside: WRITE,
        traffic: LONG,
        what: "messages read",
        count: read_messages,
    },
    Case {
        setting: "RC_WRITE_BYTE_PS",
        values: ["0", "1000000"],
        beside: WRITE,
        traffic: LONG,
        what: "messages read",
        count: read_messages,
    },
    Case {
        setting: "RC_CACHE_BYTES_MAX",
        values: ["0", "1073741824"],
        beside: READ,
        traffic: LONG,
        what: "registrations found again",
        count: hits,
    },
    Case {
        setting: "RC_CACHE_ENTRIES_MAX",
        values: ["0", "100"],
        beside: READ,
        traffic: LONG,
        what: "registrations found again",
        count: hits,
    },
    eager_limit(MIDDLE, &[], "eager messages"),
    Case {
        setting: "LARGE",
        values: ["read", "write"],
        beside: &[],
        traffic: LONG,
        what: "messages written",
        count: written_messages,
    },
    Case {
        setting: "LARGE",
        values: ["write", "read"],
        beside: &[],
        traffic: LONG,
        what: "RDMA reads",
        count: reads,
    },
    Case {
        setting: "LARGE",
        values: ["read", "pipeline"],
        beside: &[],
        traffic: LONG,
        what: "messages streamed in packets",
        count: |seen| seen.first.streamed,
    },
    Case {
        setting: "BULK",
        values: ["0", "1"],
        beside: READ,
        traffic: LONG,
        what: "messages read",
        count: read_messages,
    },
    Case {
        setting: "BULK_BYTES_MIN",
        values: ["4194304", "16384"],
        beside: READ,
        traffic: LONG,
        what: "messages read",
        count: read_messages,
    },
    Case {
        setting: "RAILS_BYTES_MIN",
        values: ["4194304", "153600"],
        beside: &[],
        traffic: LONG_RAILS,
        what: "messages over several rails",
        count: |seen| seen.first.striped + seen.second.striped,
    },
    Case {
        setting: "RAILS_PIECE_BYTES_MIN",
        values: ["1048576", "32768"],
        beside: READ,
        traffic: Traffic { messages: 1, ..LONG_RAILS },
        what: "bytes over the rail that carries less",
        count: |seen| {
            let channels = seen.second.channels.iter().filter(|channel| channel.name != "loopback");
            channels.map(|channel| channel.get_bytes).min().unwrap_or(0)
        },
    },
    chunks(LONG, PIPELINE, "packets"),
    eager_limit(MIDDLE_UD, &[("UD_RANKS_MIN", "0")], "eager messages over datagrams"),
    chunks(LONG_UD, &[("UD_RANKS_MIN", "0"), ("LARGE", "pipeline")], "packets over datagrams"),
    eager_limit(MIDDLE_PIPE, &[], "eager messages over the pipe"),
    chunks(LONG_PIPE, PIPELINE, "packets over the pipe"),
    Case {
        setting: "RC_SIGNAL_EVERY",
        values: ["32", "1"],
        beside: &[],
        traffic: Traffic { pipe: true, rails: 0, ..SHORT },
        what: "posts of the pipe that ask for a completion",
        count: |seen| seen.devices.signalled,
    },
    Case {
        setting: "RC_PIECE_BYTES",
        values: ["1048576", "65536"],
        beside: &[],
        traffic: LONG_PIPE,
        what: "RDMA reads by the pipe",
        count: reads,
    },
    Case {
        setting: "RC_CACHE_BYTES_MAX",
        values: ["0", "1073741824"],
        beside: &[],
        traffic: LONG_PIPE,
        what: "registrations found again by the pipe",
        count: hits,
    },
    Case {
        setting: "RC_CACHE_ENTRIES_MAX",
        values: ["0", "100"],
        beside: &[],
        traffic: LONG_PIPE,
        what: "registrations found again by the pipe",
        count: hits,
    },
    Case {
        setting: "UD_RANKS_MIN",
        values: ["6", "5"],
        beside: &[("RC_PEERS_MAX", "0")],
        traffic: MANY,
        what: "packets that a rank of six sends by ud",
        count: |seen| {
            let uds = seen.second.channels.iter().filter(|channel| channel.name == "ud");
            uds.map(|channel| channel.packets_sent).sum()
        },
    },
    Case {
        setting: "UD_RANKS_MIN",
        values: ["5", "6"],
        beside: &[("RC_PEERS_MAX", "0")],
        traffic: MANY,
        what: "packets that this rank sends by rc",
        count: |seen| {
            let rcs = seen.second.channels.iter().filter(|channel| channel.name == "rc");
            rcs.map(|channel| channel.packets_sent).sum()
        },
    },
];
