//! The settings of one end of the channel, so that a simulated process can have others than this
//! one.

use super::frame::PREFIX_BYTES;
use crate::reliable::Rules;
use crate::reliable::assembly::FRAGMENTS_MAX;
use verbena_channel::CONTROL_BYTES_MAX;
use verbena_channel::packet::HEADER_BYTES;

/// The settings of the channel. The table of settings says what each is for, with its source.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of queue pairs for sending.
    pub senders: usize,
    /// The number of receive buffers; `None`: by [`RECEIVE_BYTES`].
    pub receives: Option<usize>,
    /// The most short buffers for sending.
    pub short_buffers_max: usize,
    /// The most long ones; `None`: by [`SEND_BYTES`].
    pub long_buffers_max: Option<usize>,
    /// The most fragments of a packet; `None`: by [`PACKET_BYTES`].
    pub fragments_max: Option<usize>,
    /// Largest message sent eagerly, in bytes.
    pub eager_bytes_max: usize,
    /// True if lost datagrams are sent again.
    pub reliable: bool,
    /// True if datagrams carry a checksum.
    pub checksum: bool,
    /// One in this many datagrams is signalled.
    pub signal_every: u32,
    /// Datagrams up to this many bytes are copied into the descriptor, if the device takes them.
    pub inline_bytes_max: usize,
    /// The time in nanoseconds after which a queue pair that completes nothing is passed over.
    pub local_ns_max: u64,
    /// The rules of acknowledgements, waits and windows; `window_max` within what the peers can
    /// receive.
    pub rules: Rules,
}

/// The default bytes of the receive buffers.
const RECEIVE_BYTES: usize = 640 << 10;
/// The default bytes of the long send buffers.
const SEND_BYTES: usize = 384 << 10;
/// The default bytes of the longest packet, unless these are too many fragments. The receiver's
/// engine gets a packet when all of it is there: of long ones it copies nothing while the next is
/// on the wire.
const PACKET_BYTES: usize = (16 << 10) + HEADER_BYTES;
const FRAGMENTS: usize = 16;
/// The fewest receive buffers.
const RECEIVES_MIN: usize = 16;
/// The default number of fragments under way to one peer.
const WINDOW_MAX: usize = 128;
/// The shortest datagram that holds a whole control packet.
pub const DATAGRAM_BYTES_MIN: usize = PREFIX_BYTES + HEADER_BYTES + CONTROL_BYTES_MAX;
/// The waits without result before a peer can be given up.
const SILENT_WAITS_MIN: u32 = 16;
/// The transmissions acknowledged after a missing one that make it lost (RFC 9002, 6.1.1), beyond
/// one for each queue pair.
const SWAPPED_MIN: u32 = 3;
/// The fragments under way at first.
const WINDOW_START: u32 = 16;

impl Settings {
    /// Returns what the table of settings says now.
    pub fn current() -> Settings {
        use verbena_settings as table;
        let ns = |number: usize| number as u64;
        let senders = table::UD_SENDERS.get();
        let rules = Rules {
            window_start: WINDOW_START,
            window_min: table::UD_WINDOW_MIN.get() as u32,
            window_max: table::UD_WINDOW_MAX.get().unwrap_or(WINDOW_MAX) as u32,
            swapped_max: SWAPPED_MIN + senders as u32,
            ack_every: table::UD_ACK_EVERY.get() as u32,
            ack_delay_ns: ns(table::UD_ACK_DELAY_NS.get()),
            resend_ns_min: ns(table::UD_RESEND_NS_MIN.get()),
            resend_ns_max: ns(table::UD_RESEND_NS_MAX.get()),
            resend_ns_first: ns(table::UD_RESEND_NS_FIRST.get()),
            resends_max: table::UD_RESENDS_MAX.get() as u32,
            silent_ns_max: ns(table::UD_SILENT_SECONDS_MAX.get()) * 1_000_000_000,
            silent_waits_min: SILENT_WAITS_MIN,
        };
        Settings {
            senders,
            receives: table::UD_RECEIVES.get(),
            short_buffers_max: table::UD_SHORT_BUFFERS_MAX.get(),
            long_buffers_max: table::UD_LONG_BUFFERS_MAX.get(),
            fragments_max: table::UD_FRAGMENTS_MAX.get(),
            eager_bytes_max: table::UD_EAGER_BYTES_MAX.get(),
            reliable: table::UD_RELIABLE.get(),
            checksum: table::UD_CHECKSUM.get(),
            signal_every: table::UD_SIGNAL_EVERY.get() as u32,
            inline_bytes_max: table::UD_INLINE_BYTES_MAX.get(),
            local_ns_max: ns(table::UD_LOCAL_NS_MAX.get()),
            rules,
        }
        .sound()
    }

    /// Returns the settings within the bounds that the channel needs: a group fits the buffers, and
    /// unsignalled work cannot keep all of them.
    pub fn sound(mut self) -> Settings {
        self.senders = self.senders.max(1);
        self.fragments_max = self.fragments_max.map(|most| most.clamp(1, FRAGMENTS_MAX as usize));
        self.signal_every = self.signal_every.max(1);
        let least = self.buffers_min();
        self.short_buffers_max = self.short_buffers_max.max(least);
        self.long_buffers_max = self.long_buffers_max.map(|most| most.max(least));
        self.rules = self.rules.sound();
        self
    }

    /// Returns the most fragments of a packet, each of `fragment_bytes`.
    pub fn fragments(&self, fragment_bytes: usize) -> usize {
        self.fragments_max.unwrap_or_else(|| PACKET_BYTES.div_ceil(fragment_bytes).min(FRAGMENTS))
    }

    /// Returns how many receive buffers there are for datagrams of `datagram_bytes`, within what
    /// the device takes.
    pub fn receives(&self, datagram_bytes: usize, device_max: u32) -> usize {
        let wanted = self.receives.unwrap_or(RECEIVE_BYTES / datagram_bytes);
        wanted.max(RECEIVES_MIN).min(device_max as usize)
    }

    /// Returns how many long send buffers there are for datagrams of `datagram_bytes`.
    pub fn long_buffers(&self, datagram_bytes: usize) -> usize {
        self.long_buffers_max.unwrap_or((SEND_BYTES / datagram_bytes).max(self.buffers_min()))
    }

    /// Returns the fewest send buffers of a length: twice what unsignalled work keeps, and a
    /// packet.
    fn buffers_min(&self) -> usize {
        2 * self.senders * self.signal_every as usize + self.fragments_max.unwrap_or(FRAGMENTS)
    }
}
