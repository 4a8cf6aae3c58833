//! The designs of paper 2, and the settings of one end, so that a simulated process can have
//! others than this one.

use verbena_channel::CONTROL_BYTES_MAX;

/// A design of the pipe, each with all of the one before (paper 2, 4 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// Bytes in a ring, with a head pointer and a tail pointer that go by RDMA writes of their own
    /// (4.2).
    Basic,
    /// Chunks with flags instead of a head pointer; the tail pointer goes with them, or late (4.3).
    Piggyback,
    /// Each chunk is transferred while the next one is copied (4.4).
    Pipeline,
    /// Long buffers are not copied: the receiver reads them (5).
    ZeroCopy,
}

impl Design {
    /// All designs, in order.
    pub const ALL: [Design; 4] = [Design::Basic, Design::Piggyback, Design::Pipeline, Design::ZeroCopy];
}

/// The settings of the channel. The table of settings says what each is for, with its source.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The design.
    pub design: Design,
    /// Bytes of the ring of a pipe.
    pub ring_bytes: usize,
    /// Bytes of a chunk.
    pub chunk_bytes: usize,
    /// The length in bytes from which a buffer is read and not copied.
    pub zero_copy_bytes_min: usize,
    /// The longest piece of such a buffer that is read at a time, in bytes.
    pub piece_bytes: usize,
    /// The most bytes of the program's memory whose registration is kept.
    pub cache_bytes_max: u64,
    /// The most registrations kept.
    pub cache_entries_max: usize,
    /// One in this many pieces of work is signalled.
    pub signal_every: u32,
    /// Writes up to this many bytes are copied into the descriptor, if the device takes them.
    pub inline_bytes_max: usize,
    /// The time in nanoseconds after which a peer that does not answer is given up.
    pub connect_ns_max: u64,
    /// The time in nanoseconds after which a silent peer is asked whether it is there; 0: never.
    pub keepalive_ns: u64,
    /// The time in nanoseconds after which the peer is given up if not even this process's device
    /// says what became of that.
    pub keepalive_ns_max: u64,
}

const NS_PER_SECOND: u64 = 1_000_000_000;
/// The default bytes of kept registrations, as of `rc`.
const CACHE_BYTES_MAX: u64 = 4 << 30;
/// The unit of chunks: a line.
const LINE_BYTES: usize = 64;
/// The smallest chunk in bytes: more than what is no body.
const CHUNK_BYTES_MIN: usize = 64;
/// The smallest length in bytes from which a buffer may be read: a control packet is shorter.
const ZERO_COPY_BYTES_MIN: usize = CONTROL_BYTES_MAX + 1;
/// The longest chunk in bytes, which the length in its head can tell.
pub const CHUNK_BYTES_MAX: usize = 4 << 20;
/// The largest ring in bytes.
const RING_BYTES_MAX: usize = 1 << 30;

impl Settings {
    /// Returns what the table of settings says now.
    pub fn current() -> Settings {
        use verbena_settings as table;
        Settings {
            design: Design::ALL[table::PIPE_DESIGN.get()],
            ring_bytes: table::PIPE_BYTES.get(),
            chunk_bytes: table::PIPE_CHUNK_BYTES.get(),
            zero_copy_bytes_min: table::PIPE_ZERO_COPY_BYTES_MIN.get(),
            piece_bytes: table::RC_PIECE_BYTES.get(),
            cache_bytes_max: table::RC_CACHE_BYTES_MAX.get().map_or(CACHE_BYTES_MAX, |bytes| bytes as u64),
            cache_entries_max: table::RC_CACHE_ENTRIES_MAX.get(),
            signal_every: table::RC_SIGNAL_EVERY.get() as u32,
            inline_bytes_max: table::RC_INLINE_BYTES_MAX.get(),
            connect_ns_max: table::RC_CONNECT_SECONDS_MAX.get() as u64 * NS_PER_SECOND,
            keepalive_ns: table::RC_KEEPALIVE_SECONDS.get() as u64 * NS_PER_SECOND,
            keepalive_ns_max: table::RC_KEEPALIVE_SECONDS_MAX.get() as u64 * NS_PER_SECOND,
        }
        .sound()
    }

    /// Returns the settings within the bounds that the channel needs: whole chunks, at least two,
    /// and packets long enough for any control packet.
    pub fn sound(mut self) -> Settings {
        let bytes = self.chunk_bytes.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        self.chunk_bytes = bytes.next_multiple_of(LINE_BYTES);
        let chunks = self.ring_bytes.min(RING_BYTES_MAX) / self.chunk_bytes;
        self.ring_bytes = chunks.max(2) * self.chunk_bytes;
        self.piece_bytes = self.piece_bytes.max(1);
        self.zero_copy_bytes_min = self.zero_copy_bytes_min.clamp(ZERO_COPY_BYTES_MIN, CHUNK_BYTES_MAX);
        self
    }

    /// Returns the number of chunks in a ring.
    pub fn chunks(&self) -> usize {
        self.ring_bytes / self.chunk_bytes
    }

    /// Returns the longest payload of a packet that is copied in every design, in bytes. It is the
    /// eager limit too, so that designs differ in long messages only.
    pub fn packet_bytes_max(&self) -> usize {
        self.zero_copy_bytes_min - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_settings_are_made_sound() {
        for design in Design::ALL {
            for (ring_bytes, chunk_bytes) in [(0, 0), (1, 300), (1 << 18, 1 << 14), (1000, usize::MAX)] {
                let zero_copy_bytes_min = ring_bytes;
                let settings =
                    Settings { design, ring_bytes, chunk_bytes, zero_copy_bytes_min, ..Settings::current() }
                        .sound();
                assert!(settings.chunks() >= 2 && settings.chunk_bytes.is_multiple_of(LINE_BYTES));
                assert!(settings.packet_bytes_max() >= CONTROL_BYTES_MAX, "{settings:?}");
            }
        }
    }
}
