//! The settings of one end of the channel, so that a simulated process can have others than this
//! one.

use super::credit::CREDITS_MIN;
use super::frame::{BODY_BYTES_MAX, DATA_BYTES};
use super::ring::Geometry;
use verbena_channel::{CONTROL_BYTES_MAX, Cost};

/// Bytes of the largest slot that [`Settings::sound`] leaves.
pub const SLOT_BYTES_MAX: usize = (BODY_BYTES_MAX / 2).next_multiple_of(64);

/// Bytes of a ring of a peer's that this process has memory for in any case; for longer ones if its
/// own are as long.
const RING_BYTES_MAX: usize = 64 << 20;

/// Which peers the receiver takes into its polling set (paper 1, 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// None: everything goes by send and receive.
    None,
    /// The first from which a packet comes.
    First,
    /// Those from which most packets come; who is heard seldom has to leave for them.
    Most,
    /// Those that the program names.
    Hinted,
    /// Everyone with whom there is a connection, whatever the size of the set.
    All,
}

/// In which order the set is polled (paper 1, 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Always from the first that came into the set.
    Sequential,
    /// On from where the last poll ended.
    Circular,
    /// Who was heard most, first.
    Priority,
}

/// How the receiver learns of a packet in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// By flags before and behind the packet (paper 1, 4.2; paper 2, 4.3).
    Piggyback,
    /// By a head pointer, which a second RDMA write brings; the tail pointer goes back by another
    /// (paper 2, 4.2).
    Pointer,
}

/// All settings of the channel. The table of settings says what each is for, with its source.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Slots of a ring.
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
    /// From this length on, in bytes, messages are read or written rather than copied.
    pub memory_bytes_min: usize,
    /// What reading costs.
    pub read: Cost,
    /// What writing costs.
    pub write: Cost,
    /// Whether what messages took decides between reading and writing, once that is known.
    pub learn: bool,
    /// Packets of a series, by which it is learnt whether streams go through rings or by send and
    /// receive; 0: it is not learnt.
    pub path_series: u32,
    /// Most bytes of the program's memory whose registration is kept.
    pub cache_bytes_max: u64,
    /// Most registrations kept.
    pub cache_entries_max: usize,
    /// Receive buffers posted for each connection.
    pub credits: u16,
    /// Whether they are posted to one queue for all.
    pub shared_receives: bool,
    /// Buffers for sending by send and receive, over all connections.
    pub send_buffers_max: usize,
    /// Who comes into the polling set.
    pub policy: Policy,
    /// The order of polling it.
    pub order: Order,
    /// Its largest size.
    pub set_max: usize,
    /// Packets received between two looks at who is heard most.
    pub review_every: u32,
    /// Rings of peers that this process writes into, at most.
    pub sender_rings_max: usize,
    /// How packets in rings are noticed.
    pub notify: Notify,
    /// One in so many pieces of work is signalled.
    pub signal_every: u32,
    /// Packets up to this many bytes are copied into the descriptor, if the device takes them.
    pub inline_bytes_max: usize,
    /// A peer that does not answer for so long is given up, in nanoseconds.
    pub connect_ns_max: u64,
    /// A connected peer that was silent for so long is asked whether it is there, in nanoseconds;
    /// 0: never.
    pub keepalive_ns: u64,
    /// If not even this process's device says for so long what became of that, the peer is given
    /// up, in nanoseconds.
    pub keepalive_ns_max: u64,
    /// The same, where another channel reaches it too, or lost it just now.
    pub take_over_ns_max: u64,
}

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Chunks of a stream if nobody says otherwise (paper 2, 4.4.1).
const CHUNK_BYTES: usize = 16 << 10;
/// Bytes of kept registrations if nobody says otherwise; the limit of locked memory counts besides.
const CACHE_BYTES_MAX: u64 = 4 << 30;
/// Packets of a series by which paths are compared: what it takes is milliseconds on Soft-RoCE.
const PATH_SERIES: u32 = 64;
/// Credits of a connection if nobody says otherwise: many in a small job, few in a large one.
const CREDITS_MAX: usize = 32;
/// Receive buffers of a process if all speak, as far as [`CREDITS_MIN`] for each allows.
const RECEIVES_TOTAL: usize = 4096;

/// Bytes of the receive buffers of a process if all speak, as far as [`BUFFER_BYTES_MIN`] for each
/// allows.
const RECEIVES_BYTES: usize = 4 << 20;
/// What a receive buffer holds if nobody says otherwise: what fits it is sent at once, and between
/// Soft-RoCE nodes 2 to 16 KiB arrive in half the time of a rendezvous.
const PAYLOAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of a receive buffer in a large job (paper 1, 5).
const BUFFER_BYTES_MIN: usize = 2 << 10;

/// Bytes of each of so many receive buffers a connection, in a job of `size` processes.
fn buffer_bytes(size: u32, credits: usize) -> usize {
    let share = RECEIVES_BYTES / (size as usize * credits).max(1);
    match share.min(PAYLOAD_BYTES_MAX) {
        bytes if bytes > BUFFER_BYTES_MIN => bytes + DATA_BYTES,
        _ => BUFFER_BYTES_MIN,
    }
}

impl Settings {
    /// What the table of settings says now, for a job of `size` processes.
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

    /// The same within the bounds that the channel needs: slots and buffers hold a control packet
    /// and are whole words, and there are credits enough to hand credits back.
    pub fn sound(mut self) -> Settings {
        let least = DATA_BYTES + CONTROL_BYTES_MAX + 8;
        let bytes = |bytes: usize| bytes.clamp(least, BODY_BYTES_MAX / 2).next_multiple_of(64);
        self.slots = self.slots.clamp(2, usize::from(u16::MAX));
        self.slot_bytes = bytes(self.slot_bytes);
        self.buffer_bytes = bytes(self.buffer_bytes);
        self.credits = self.credits.max(CREDITS_MIN);
        self.send_buffers_max = self.send_buffers_max.max(2);
        self
    }

    /// Bytes of the largest ring of a peer's that this process uses, and so has the same memory
    /// for.
    pub fn ring_bytes_max(&self) -> usize {
        Geometry::of(self).bytes().max(RING_BYTES_MAX)
    }

    /// The longest payload of a packet of the engine that fits a receive buffer.
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
