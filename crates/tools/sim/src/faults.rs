//! The misdeeds of the simulated fabric towards its users.

use crate::random::Random;
use verbena_engine::{Large, Polling, Settings};

/// The treatment of transfers of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// True if memory can be read.
    pub get: bool,
    /// True if memory can be written.
    pub put: bool,
    /// True if the fabric says that writing is quicker.
    pub put_is_quicker: bool,
    /// True if whole messages are moved at a time ([`verbena_channel::Reach::in_background`]).
    pub in_background: bool,
    /// Percentage of transfers that run in the background.
    pub later_percent: u32,
    /// Percentage of transfers that are refused at once.
    pub refused_percent: u32,
    /// Percentage of those in the background that fail.
    pub failing_percent: u32,
    /// The number of transfers after which all are refused.
    pub refused_after: u64,
}

/// A defect that a channel must never have: the checker must find it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// No defect: an honest fabric.
    None,
    /// Loses one packet in this many, though it claims to be reliable.
    Loses(u32),
    /// Lets one packet in this many overtake the one before, though it claims to keep order.
    Swaps(u32),
    /// Says that memory was moved when one transfer in this many was not.
    Lies(u32),
    /// Delivers a wrong byte in one packet in this many.
    Garbles(u32),
}

/// The fabric's properties and misdeeds, and the settings of the engines on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Largest packet payload in bytes.
    pub packet_bytes_max: usize,
    /// Largest eager message in bytes.
    pub eager_bytes_max: usize,
    /// The length from which memory is moved instead of packets.
    pub memory_bytes_min: usize,
    /// Longest delay of a packet in nanoseconds.
    pub delay_ns_max: u64,
    /// True if packets between two ranks keep their order.
    pub ordered: bool,
    /// Percentage of packets that arrive twice (only on an unordered fabric).
    pub duplicate_percent: u32,
    /// Percentage of sends that find no room.
    pub full_percent: u32,
    /// Packets that a pair may have under way.
    pub room: usize,
    /// Percentage of steps after which the rank is away computing for a while.
    pub away_percent: u32,
    /// Transfers of memory.
    pub memory: Memory,
    /// The defect, if any.
    pub canary: Canary,
    /// See [`Settings::large`].
    pub large: Large,
    /// See [`Settings::bulk`].
    pub bulk: bool,
    /// See [`Settings::bulk_bytes_min`].
    pub bulk_bytes_min: Option<usize>,
    /// See [`Settings::connected_peers_max`].
    pub connected_peers_max: usize,
    /// See [`Settings::connections_review_every`].
    pub connections_review_every: u32,
    /// See [`Settings::rails_bytes_min`].
    pub rails_bytes_min: usize,
    /// See [`Settings::rails_piece_bytes_min`].
    pub rails_piece_bytes_min: usize,
    /// See [`Settings::chunk_bytes_max`].
    pub chunk_bytes_max: usize,
    /// Piece of a shared copy in bytes ([`Settings::claim_bytes`]).
    pub claim_bytes: usize,
    /// See [`Settings::unexpected_bytes_max`].
    pub unexpected_bytes_max: usize,
    /// See [`Settings::copy_by_both`].
    pub copy_by_both: bool,
    /// See [`Settings::copy_by_both_bytes_min`].
    pub copy_by_both_bytes_min: usize,
    /// Percentage of messages that the fabric cannot divide.
    pub undivided_percent: u32,
}

impl Memory {
    /// Memory is not moved at all.
    pub const NONE: Memory = Memory {
        get: false,
        put: false,
        put_is_quicker: false,
        in_background: false,
        later_percent: 0,
        refused_percent: 0,
        failing_percent: 0,
        refused_after: u64::MAX,
    };

    fn random(random: &mut Random) -> Memory {
        Memory {
            get: random.percent(75),
            put: random.percent(60),
            put_is_quicker: random.percent(40),
            in_background: random.percent(40),
            later_percent: random.pick(&[0, 0, 50, 100]),
            refused_percent: random.pick(&[0, 0, 0, 5, 50, 100]),
            failing_percent: random.pick(&[0, 0, 0, 5, 50, 100]),
            refused_after: random.pick(&[u64::MAX, u64::MAX, 3, 30]),
        }
    }
}

impl Faults {
    /// A fabric that behaves: ordered, quick, with room for all.
    pub fn none() -> Faults {
        Faults {
            packet_bytes_max: 1024,
            eager_bytes_max: 1024,
            memory_bytes_min: 2048,
            delay_ns_max: 500,
            ordered: true,
            duplicate_percent: 0,
            full_percent: 0,
            room: 1000,
            away_percent: 0,
            memory: Memory { get: true, put: true, ..Memory::NONE },
            canary: Canary::None,
            large: Large::Auto,
            bulk: true,
            bulk_bytes_min: None,
            connected_peers_max: usize::MAX,
            connections_review_every: 1024,
            rails_bytes_min: 10_000,
            rails_piece_bytes_min: 1000,
            chunk_bytes_max: usize::MAX,
            claim_bytes: 4096,
            unexpected_bytes_max: 1 << 20,
            copy_by_both: true,
            copy_by_both_bytes_min: 8192,
            undivided_percent: 0,
        }
    }

    /// Draws a mixture of everything that a fabric may do.
    pub fn random(random: &mut Random) -> Faults {
        let ordered = random.percent(50);
        Faults {
            packet_bytes_max: random.pick(&[128, 200, 512, 1024, 4096]),
            eager_bytes_max: random.pick(&[0, 8, 100, 1024, 1 << 20]),
            memory_bytes_min: random.pick(&[1, 100, 1000, 10_000]),
            delay_ns_max: random.pick(&[1, 100, 1000, 20_000]),
            ordered,
            duplicate_percent: if ordered { 0 } else { random.pick(&[0, 0, 3, 30]) },
            full_percent: random.pick(&[0, 0, 5, 50, 90]),
            room: random.pick(&[1, 2, 10, 100, 1000]),
            away_percent: random.pick(&[0, 1, 10]),
            memory: Memory::random(random),
            canary: Canary::None,
            large: if random.percent(60) { Large::Auto } else { random.pick(&Large::ALL) },
            // Settings of rails and of bulk transfer are drawn apart, where there are rails.
            bulk: true,
            bulk_bytes_min: None,
            connected_peers_max: usize::MAX,
            connections_review_every: 1024,
            rails_bytes_min: usize::MAX,
            rails_piece_bytes_min: 1,
            chunk_bytes_max: random.pick(&[usize::MAX, 100, 1024]),
            claim_bytes: random.pick(&[64, 500, 4096, 100_000]),
            unexpected_bytes_max: random.pick(&[0, 500, 10_000, 1 << 20]),
            copy_by_both: random.percent(75),
            copy_by_both_bytes_min: random.pick(&[0, 1000, 10_000]),
            undivided_percent: random.pick(&[0, 0, 20]),
        }
    }

    /// The engines' settings.
    pub fn settings(&self) -> Settings {
        Settings {
            // The fabric has a limit of its own.
            eager_bytes_max: usize::MAX,
            unexpected_bytes_max: self.unexpected_bytes_max,
            large: self.large,
            bulk: self.bulk,
            bulk_bytes_min: self.bulk_bytes_min,
            connected_peers_max: self.connected_peers_max,
            connections_review_every: self.connections_review_every,
            rails_bytes_min: self.rails_bytes_min,
            rails_piece_bytes_min: self.rails_piece_bytes_min,
            chunk_bytes_max: self.chunk_bytes_max,
            claim_bytes: self.claim_bytes,
            copy_by_both: self.copy_by_both,
            copy_by_both_bytes_min: self.copy_by_both_bytes_min,
            node_clock: None,
            polling: Polling::AUTO,
        }
    }
}
