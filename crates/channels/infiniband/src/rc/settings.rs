//! The settings of one end of the channel, so that a simulated process can have others than this
//! one.

use super::credit::CREDITS_MIN;
use super::frame::{BODY_BYTES_MAX, DATA_BYTES};
use verbena_channel::{CONTROL_BYTES_MAX, Cost};

/// Bytes of the largest slot that [`Settings::sound`] leaves.
pub const SLOT_BYTES_MAX: usize = (BODY_BYTES_MAX / 2).next_multiple_of(64);

/// The peers that the receiver takes into its polling set (paper 1, 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// No peer: everything goes by send and receive.
    None,
    /// The first peers from which a packet comes.
    First,
    /// The peers from which most packets come; the least active peer is evicted.
    Most,
    /// The peers that the program names.
    Hinted,
    /// Every peer with a connection, whatever the size of the set.
    All,
}

/// The order in which the set is polled (paper 1, 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Always from the first that came into the set.
    Sequential,
    /// Onward from where the last poll ended.
    Circular,
    /// The peer that was heard most comes first.
    Priority,
}

/// The way in which the receiver learns of a packet in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Flags before and behind the packet (paper 1, 4.2; paper 2, 4.3).
    Piggyback,
    /// A head pointer, which a second RDMA write brings; the tail pointer goes back by another
    /// (paper 2, 4.2).
    Pointer,
}

/// The settings of the channel. The table of settings says what each is for, with its source.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of slots in a ring.
    pub slots: usize,
    /// Bytes of a slot.
    pub slot_bytes: usize,
    /// Bytes of a receive buffer.
    pub buffer_bytes: usize,
    /// Largest message sent eagerly, in bytes.
    pub eager_bytes_max: usize,
    /// Largest packet payload in bytes that a stream puts into a ring.
    pub chunk_bytes: usize,
    /// Longest piece of a long message that is read or written at a time, in bytes.
    pub piece_bytes: usize,
    /// The length in bytes from which messages are read or written rather than copied.
    pub memory_bytes_min: usize,
    /// The cost of reading.
    pub read: Cost,
    /// The cost of writing.
    pub write: Cost,
    /// True if the times of messages decide between reading and writing, once they are known.
    pub learn: bool,
    /// The number of packets in a series, which shows whether streams go through rings or by send
    /// and receive; 0: it is not learnt.
    pub path_series: u32,
    /// The most bytes of the program's memory whose registration is kept.
    pub cache_bytes_max: u64,
    /// The most registrations kept.
    pub cache_entries_max: usize,
    /// The receive buffers posted for each connection.
    pub credits: u16,
    /// True if they are posted to one queue for all.
    pub shared_receives: bool,
    /// The receive buffers in that queue that connections add, all together.
    pub pool_receives: u32,
    /// The most buffers for sending by send and receive, over all connections.
    pub send_buffers_max: usize,
    /// The policy of who comes into the polling set.
    pub policy: Policy,
    /// The order of polling it.
    pub order: Order,
    /// The largest size of the polling set.
    pub set_max: usize,
    /// The packets received between two looks at who is heard most.
    pub review_every: u32,
    /// The most rings of peers that this process writes into.
    pub sender_rings_max: usize,
    /// The way in which packets in rings are noticed.
    pub notify: Notify,
    /// One in this many pieces of work is signalled.
    pub signal_every: u32,
    /// Packets up to this many bytes are copied into the descriptor, if the device takes them.
    pub inline_bytes_max: usize,
    /// The time in nanoseconds after which a peer that does not answer is given up.
    pub connect_ns_max: u64,
    /// The time in nanoseconds after which a connected peer that was silent is asked whether it is
    /// there; 0: never.
    pub keepalive_ns: u64,
    /// The time in nanoseconds after which the peer is given up if not even this process's device
    /// says what became of that.
    pub keepalive_ns_max: u64,
    /// The value of `connect_ns_max` where another channel reaches the peer too, or lost it just
    /// now.
    pub take_over_ns_max: u64,
}

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The default size of a stream's chunks (paper 2, 4.4.1).
const CHUNK_BYTES: usize = 16 << 10;
/// The default bytes of kept registrations; the limit of locked memory counts besides.
const CACHE_BYTES_MAX: u64 = 4 << 30;
/// Packets of a series by which paths are compared: it takes milliseconds on Soft-RoCE.
const PATH_SERIES: u32 = 64;
/// The default credits of a connection: many in a small job, few in a large one.
const CREDITS_MAX: usize = 32;
/// The receive buffers of a process if all speak, where [`CREDITS_MIN`] for each allows it.
const RECEIVES_TOTAL: usize = 4096;

/// The bytes of the receive buffers of a process if all speak, where [`BUFFER_BYTES_MIN`] for each
/// allows it.
const RECEIVES_BYTES: usize = 4 << 20;
/// The default capacity of a receive buffer: what fits it is sent at once, and between Soft-RoCE
/// nodes 2 to 16 KiB arrive in half the time of a rendezvous.
const PAYLOAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of a receive buffer in a large job (paper 1, 5).
const BUFFER_BYTES_MIN: usize = 2 << 10;

/// The default bytes of the shared receive pool, unless these are too few buffers.
const POOL_BYTES: usize = 1 << 20;
/// The fewest buffers of that pool: all credits of two connections.
const POOL_RECEIVES_MIN: usize = 64;

/// Returns the bytes of a receive buffer, with `credits` of them a connection, in a job of `size`
/// processes.
fn buffer_bytes(size: u32, credits: usize) -> usize {
    let share = RECEIVES_BYTES / (size as usize * credits).max(1);
    match share.min(PAYLOAD_BYTES_MAX) {
        bytes if bytes > BUFFER_BYTES_MIN => bytes + DATA_BYTES,
        _ => BUFFER_BYTES_MIN,
    }
}

/// Returns the buffers of the shared pool, each of `buffer_bytes`.
fn pool_receives(buffer_bytes: usize) -> usize {
    let automatic = || (POOL_BYTES / buffer_bytes).max(POOL_RECEIVES_MIN);
    verbena_settings::RC_POOL_RECEIVES.get().unwrap_or_else(automatic)
}

impl Settings {
    /// Returns what the table of settings says now, for a job of `size` processes.
    pub fn current(size: u32) -> Settings {
        use verbena_settings as table;
        let credits = table::RC_CREDITS.get().unwrap_or(RECEIVES_TOTAL / (size as usize).max(1));
        let most = if table::RC_CREDITS.get().is_some() { usize::from(u16::MAX) } else { CREDITS_MAX };
        let credits = credits.min(most);
        let buffer_bytes = table::RC_BUFFER_BYTES.get().unwrap_or_else(|| buffer_bytes(size, credits));
        Settings {
            slots: table::RC_SLOTS.get(),
            slot_bytes: table::RC_SLOT_BYTES.get(),
            buffer_bytes,
            eager_bytes_max: table::RC_EAGER_BYTES_MAX.get().unwrap_or(buffer_bytes),
            chunk_bytes: table::CHUNK_BYTES.get().unwrap_or(CHUNK_BYTES),
            piece_bytes: table::RC_PIECE_BYTES.get(),
            memory_bytes_min: table::RC_MEMORY_BYTES_MIN.get(),
            read: Cost {
                start_ns: table::RC_READ_START_NS.get() as u32,
                byte_ps: table::RC_READ_BYTE_PS.get() as u32,
            },
            write: Cost {
                start_ns: table::RC_WRITE_START_NS.get() as u32,
                byte_ps: table::RC_WRITE_BYTE_PS.get() as u32,
            },
            learn: table::RC_LEARN.get(),
            path_series: if table::RC_LEARN_PATH.get() { PATH_SERIES } else { 0 },
            cache_bytes_max: table::RC_CACHE_BYTES_MAX.get().map_or(CACHE_BYTES_MAX, |bytes| bytes as u64),
            cache_entries_max: table::RC_CACHE_ENTRIES_MAX.get(),
            credits: credits as u16,
            shared_receives: table::RC_SHARED_RECEIVES.get(),
            pool_receives: pool_receives(buffer_bytes) as u32,
            send_buffers_max: table::RC_SEND_BUFFERS_MAX.get(),
            policy: [Policy::None, Policy::First, Policy::Most, Policy::Hinted, Policy::All]
                [table::RC_POLL_POLICY.get()],
            order: [Order::Sequential, Order::Circular, Order::Priority][table::RC_POLL_ORDER.get()],
            set_max: table::RC_POLL_SET_MAX.get(),
            review_every: table::RC_POLL_REVIEW_EVERY.get() as u32,
            sender_rings_max: table::RC_SENDER_RINGS_MAX.get(),
            notify: [Notify::Piggyback, Notify::Pointer][table::RC_NOTIFY.get()],
            signal_every: table::RC_SIGNAL_EVERY.get() as u32,
            inline_bytes_max: table::RC_INLINE_BYTES_MAX.get(),
            connect_ns_max: table::RC_CONNECT_SECONDS_MAX.get() as u64 * NS_PER_SECOND,
            keepalive_ns: table::RC_KEEPALIVE_SECONDS.get() as u64 * NS_PER_SECOND,
            keepalive_ns_max: table::RC_KEEPALIVE_SECONDS_MAX.get() as u64 * NS_PER_SECOND,
            take_over_ns_max: table::FAILOVER_SECONDS_MAX.get() as u64 * NS_PER_SECOND,
        }
        .sound()
    }

    /// Returns the settings within the bounds that the channel needs: slots and buffers hold a
    /// control packet and are whole words, and there are credits enough to hand credits back.
    pub fn sound(mut self) -> Settings {
        let least = DATA_BYTES + CONTROL_BYTES_MAX + 8;
        let bytes = |bytes: usize| bytes.clamp(least, BODY_BYTES_MAX / 2).next_multiple_of(64);
        self.slots = self.slots.clamp(2, usize::from(u16::MAX));
        self.slot_bytes = bytes(self.slot_bytes);
        self.buffer_bytes = bytes(self.buffer_bytes);
        self.credits = self.credits.max(CREDITS_MIN);
        self.pool_receives = self.pool_receives.max(CREDITS_MIN.into());
        self.send_buffers_max = self.send_buffers_max.max(2);
        self
    }

    /// Returns the longest payload of a packet of the engine that fits a receive buffer.
    pub fn packet_bytes_max(&self) -> usize {
        self.buffer_bytes - DATA_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_buffers_are_long_in_small_jobs_and_never_take_much() {
        assert_eq!(buffer_bytes(2, 32) - DATA_BYTES, 16 << 10);
        assert_eq!(buffer_bytes(8, 32) - DATA_BYTES, 16 << 10);
        assert_eq!(buffer_bytes(16, 32) - DATA_BYTES, 8 << 10);
        assert_eq!(buffer_bytes(64, 32), 2 << 10);
        assert_eq!(buffer_bytes(1024, 4), 2 << 10);
        for size in 2..=1024 {
            let credits = (RECEIVES_TOTAL / size).min(CREDITS_MAX);
            let all = size * credits * buffer_bytes(size as u32, credits);
            assert!(all <= RECEIVES_TOTAL * BUFFER_BYTES_MIN + size * credits * DATA_BYTES, "{size}: {all}");
        }
    }
}
