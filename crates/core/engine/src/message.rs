//! The values that the engine takes and gives: messages, requests, completions, settings.

use crate::Polling;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_fault::Fault;
use verbena_memory::Buffer;

/// Matches any source rank (`MPI_ANY_SOURCE`).
pub const ANY_SOURCE: i32 = -1;
/// Matches any tag (`MPI_ANY_TAG`).
pub const ANY_TAG: i32 = -2;

/// The moment when a send counts as complete (MPI-5.0, 3.4). The layer above makes buffered mode
/// out of `Standard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Complete when the buffer may be used again.
    Standard,
    /// Complete when moreover the receive was matched (`MPI_Ssend`).
    Synchronous,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct SendRequest {
    /// The process that it goes to.
    pub peer: Peer,
    /// Matching context (communicator and kind of traffic).
    pub context: u64,
    /// Rank of this process in the communicator: what the receiver matches as source.
    pub source: i32,
    /// Tag, not negative.
    pub tag: i32,
    /// The bytes.
    pub buffer: Buffer,
    /// The call that the message belongs to: compared with the receive's mark once the message is
    /// matched.
    pub mark: Mark,
    /// The moment when it counts as complete.
    pub mode: Mode,
}

/// A message to be received.
#[derive(Clone, Debug)]
pub struct ReceiveRequest {
    /// The process that `source` names, if the caller knows it: the receive fails when that process
    /// is given up.
    pub peer: Option<Peer>,
    /// Matching context.
    pub context: u64,
    /// Rank of the sender in the communicator, or [`ANY_SOURCE`].
    pub source: i32,
    /// Tag, or [`ANY_TAG`].
    pub tag: i32,
    /// The memory for the bytes; a longer message is truncated and the completion says so.
    pub buffer: Buffer,
    /// The call that the receive belongs to. A message whose mark does not go with it is not
    /// received, and the completion says so ([`Failure::Unlike`]).
    pub mark: Mark,
}

impl ReceiveRequest {
    /// A receive without a mark that names no process.
    #[inline(always)]
    pub fn new(context: u64, source: i32, tag: i32, buffer: Buffer) -> ReceiveRequest {
        ReceiveRequest { peer: None, context, source, tag, buffer, mark: Mark::NONE }
    }
}

/// The bits of an index within an engine's table. Handles have 27 for it and the engine's number.
pub(crate) const INDEX_BITS: u32 = 24;

/// The most engines of a process.
pub const ENGINES_MAX: usize = 1 << (27 - INDEX_BITS);

/// An operation under way. Valid until [`crate::Engine::take`] returned its completion.
///
/// An engine knows its requests by ids of number 0. Where a process has several engines, its owner
/// adds the number ([`RequestId::of_engine`]) and takes it away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Place in the engine's table, and above 24 bits the engine's number.
    pub index: u32,
    /// Tells this use of the place from earlier ones.
    pub generation: u32,
}

/// A message taken out of matching by [`crate::Engine::match_probe`]; numbered as [`RequestId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId {
    /// Place in the engine's table, and above 24 bits the engine's number.
    pub index: u32,
    /// Tells this use of the place from earlier ones.
    pub generation: u32,
}

/// The number of the engine in an index.
#[inline]
fn engine_of_index(index: u32) -> usize {
    (index >> INDEX_BITS) as usize
}

/// The index without the number of the engine.
#[inline]
fn index_in_engine(index: u32) -> u32 {
    index & ((1 << INDEX_BITS) - 1)
}

/// The index with the number of the engine.
#[inline]
fn index_of_engine(index: u32, engine: usize) -> u32 {
    debug_assert!(engine < ENGINES_MAX);
    index_in_engine(index) | (engine as u32) << INDEX_BITS
}

impl RequestId {
    /// The number of its engine.
    #[inline]
    pub fn engine(self) -> usize {
        engine_of_index(self.index)
    }

    /// The id as its engine knows it.
    #[inline]
    pub fn in_engine(self) -> RequestId {
        RequestId { index: index_in_engine(self.index), ..self }
    }

    /// The id with this number of its engine.
    #[inline]
    pub fn of_engine(self, engine: usize) -> RequestId {
        RequestId { index: index_of_engine(self.index, engine), ..self }
    }
}

impl MessageId {
    /// The number of its engine.
    #[inline]
    pub fn engine(self) -> usize {
        engine_of_index(self.index)
    }

    /// The id as its engine knows it.
    #[inline]
    pub fn in_engine(self) -> MessageId {
        MessageId { index: index_in_engine(self.index), ..self }
    }

    /// The id with this number of its engine.
    #[inline]
    pub fn of_engine(self, engine: usize) -> MessageId {
        MessageId { index: index_of_engine(self.index, engine), ..self }
    }
}

/// A message's description before it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Length in bytes.
    pub bytes: u64,
}

/// A send that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendUnderWay {
    /// The request.
    pub request: RequestId,
    /// The receiver's process.
    pub peer: Peer,
    /// Matching context.
    pub context: u64,
    /// Tag.
    pub tag: i32,
    /// Length in bytes.
    pub bytes: u64,
    /// True if nothing of it has left: it waits for room in the channel.
    pub is_queued: bool,
}

/// The end of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Rank of the sender in the communicator (receives only; sends report their own).
    pub source: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Bytes received (at most the buffer's length) or sent.
    pub bytes: u64,
    /// The operation was cancelled.
    pub cancelled: bool,
    /// The failure, if there was one.
    pub failure: Option<Failure>,
}

impl Completion {
    /// Neither cancelled nor failed.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.failure.is_none() && !self.cancelled
    }

    /// Returns whether the operation is not over, but may wait for ever.
    #[inline]
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.failure, Some(Failure::InDoubt(_)))
    }
}

/// Tells whether `peer` may send messages in `context`.
pub type MaySend = fn(context: u64, peer: Peer) -> bool;

/// Notes that the communicator with this context was revoked; returns further contexts that go with
/// it.
pub type OnRevoke = fn(context: u64) -> Vec<u64>;

/// The reason why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The message was longer than the buffer (`MPI_ERR_TRUNCATE`).
    Truncated {
        /// Bytes that were sent.
        sent: u64,
        /// Bytes that the buffer holds.
        room: u64,
    },
    /// The message's mark and the receive's do not go together; nothing was received.
    Unlike {
        /// The mark of the receive.
        mine: Mark,
        /// The mark of the message.
        theirs: Mark,
    },
    /// The peer is dead, or counts as dead.
    Dead(Box<Fault>),
    /// A receive from any source may wait for ever, since a process that may send to it is dead. It
    /// is not over: it stays posted, and its request is still valid.
    InDoubt(Box<Fault>),
    /// The communicator was revoked.
    Revoked,
    /// The channel to this peer failed (boxed: failures are rare, completions are not).
    Channel(Peer, Box<Fault>),
}

/// A command's answer.
#[derive(Clone, Debug)]
pub enum Posted {
    /// Already complete; no request was made.
    Done(Completion),
    /// Under way.
    Pending(RequestId),
}

impl Posted {
    /// The answer with this number of the engine.
    #[inline]
    pub fn of_engine(self, engine: usize) -> Posted {
        match self {
            Posted::Pending(id) => Posted::Pending(id.of_engine(engine)),
            done => done,
        }
    }
}

/// The ways that a setting can force; what cannot go that way (scattered memory, a channel that
/// does not move memory) goes by packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Large {
    /// The quickest, message by message.
    #[default]
    Auto,
    /// Packets, all of them copied before any is transferred (paper 2, 4.2).
    Copy,
    /// Packets, each transferred as soon as it is copied (paper 2, 4.4).
    Pipeline,
    /// The receiver reads (paper 2, 5).
    Read,
    /// The sender writes (paper 2, 6).
    Write,
}

impl Large {
    /// All values, in the order of the names of the setting.
    pub const ALL: [Large; 5] = [Large::Auto, Large::Copy, Large::Pipeline, Large::Read, Large::Write];

    /// Returns the current setting.
    pub fn current() -> Large {
        Large::ALL[verbena_settings::LARGE.get()]
    }

    /// Returns whether messages may be read.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Large::Auto | Large::Read)
    }

    /// Returns whether the sender may write whole messages.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Large::Auto | Large::Write)
    }
}

/// The engine's settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The longest message that is sent at once, in bytes; the channel's own limit counts besides.
    /// `usize::MAX` leaves it to what the channels can do.
    pub eager_bytes_max: usize,
    /// Bytes of unexpected messages held for one peer before it is asked to send by rendezvous.
    pub unexpected_bytes_max: usize,
    /// The way of long messages.
    pub large: Large,
    /// True if memory is moved by channels that do so in the background (bulk transfer, paper 5).
    pub bulk: bool,
    /// The length in bytes from which this is done; `None` leaves it to the channel.
    pub bulk_bytes_min: Option<usize>,
    /// The most peers that a channel with connections is used for, where each can also be reached
    /// without.
    pub connected_peers_max: usize,
    /// Packets between two reviews of these peers.
    pub connections_review_every: u32,
    /// The shortest message that is striped over several rails, in bytes.
    pub rails_bytes_min: usize,
    /// The shortest piece of such a message that a rail gets, in bytes.
    pub rails_piece_bytes_min: usize,
    /// The longest packet of a message that goes in packets, in bytes; the channel's own limit
    /// counts besides.
    pub chunk_bytes_max: usize,
    /// The longest piece of a message that is copied at a time, in bytes.
    pub claim_bytes: usize,
    /// The clock in nanoseconds by which the ways of long messages on a node are learnt; `None` if
    /// they are not, and every message that can be read is.
    pub node_clock: Option<fn() -> u64>,
    /// True if both sides of a rendezvous may copy.
    pub copy_by_both: bool,
    /// The shortest message that both sides copy, in bytes.
    pub copy_by_both_bytes_min: usize,
    /// The polling of the channels.
    pub polling: Polling,
}

impl Settings {
    /// Returns the settings as they can be used: a piece of no bytes would never end.
    pub(crate) fn sound(self) -> Settings {
        Settings {
            claim_bytes: self.claim_bytes.max(1),
            connections_review_every: self.connections_review_every.max(1),
            rails_piece_bytes_min: self.rails_piece_bytes_min.max(1),
            chunk_bytes_max: self.chunk_bytes_max.max(1),
            ..self
        }
    }

    /// The longest message that is sent at once, and the longest that is where the channel has room
    /// just then: none of these where a way is set for long messages.
    pub(crate) fn eager_limits(&self) -> (usize, usize) {
        let whole_bytes_max = if self.large == Large::Auto { self.eager_bytes_max } else { 0 };
        (self.eager_bytes_max, whole_bytes_max)
    }

    /// Returns the current settings of this process, with no clock.
    pub fn current() -> Settings {
        Settings {
            eager_bytes_max: verbena_settings::EAGER_BYTES_MAX.get().unwrap_or(usize::MAX),
            unexpected_bytes_max: verbena_settings::UNEXPECTED_BYTES_MAX.get(),
            large: Large::current(),
            bulk: verbena_settings::BULK.get(),
            bulk_bytes_min: verbena_settings::BULK_BYTES_MIN.get(),
            connected_peers_max: verbena_settings::RC_PEERS_MAX.get(),
            connections_review_every: verbena_settings::RC_PEERS_REVIEW_EVERY.get() as u32,
            rails_bytes_min: verbena_settings::RAILS_BYTES_MIN.get(),
            rails_piece_bytes_min: verbena_settings::RAILS_PIECE_BYTES_MIN.get(),
            chunk_bytes_max: verbena_settings::CHUNK_BYTES.get().unwrap_or(usize::MAX),
            claim_bytes: verbena_settings::CLAIM_BYTES.get(),
            node_clock: None,
            copy_by_both: verbena_settings::COPY_BY_BOTH.get(),
            copy_by_both_bytes_min: verbena_settings::COPY_BY_BOTH_BYTES_MIN.get(),
            polling: Polling::set(),
        }
    }
}

impl Default for Settings {
    /// The defaults, whatever is set.
    fn default() -> Settings {
        Settings {
            eager_bytes_max: usize::MAX,
            unexpected_bytes_max: verbena_settings::UNEXPECTED_BYTES_MAX.default(),
            large: Large::Auto,
            bulk: verbena_settings::BULK.default(),
            bulk_bytes_min: None,
            connected_peers_max: verbena_settings::RC_PEERS_MAX.default(),
            connections_review_every: verbena_settings::RC_PEERS_REVIEW_EVERY.default() as u32,
            rails_bytes_min: verbena_settings::RAILS_BYTES_MIN.default(),
            rails_piece_bytes_min: verbena_settings::RAILS_PIECE_BYTES_MIN.default(),
            chunk_bytes_max: usize::MAX,
            claim_bytes: verbena_settings::CLAIM_BYTES.default(),
            node_clock: None,
            copy_by_both: verbena_settings::COPY_BY_BOTH.default(),
            copy_by_both_bytes_min: verbena_settings::COPY_BY_BOTH_BYTES_MIN.default(),
            polling: Polling::AUTO,
        }
    }
}
