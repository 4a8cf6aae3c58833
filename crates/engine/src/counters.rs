//! Counters that tell what the engine did.

/// What went through one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounters {
    /// The channel's name.
    pub name: &'static str,
    /// Packets sent.
    pub packets_sent: u64,
    /// Bytes of payload sent in packets.
    pub bytes_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Bytes of payload received in packets.
    pub bytes_received: u64,
    /// Bytes read from peers' memory.
    pub get_bytes: u64,
    /// Bytes written to peers' memory.
    pub put_bytes: u64,
    /// How often the channel had no room.
    pub full: u64,
}

/// A snapshot of the engine's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Each channel, in the engine's order.
    pub channels: Vec<ChannelCounters>,
    /// Receives that wait for a message.
    pub posted: usize,
    /// Messages that wait for a receive.
    pub unexpected: usize,
    /// Bytes of unexpected messages held now.
    pub unexpected_bytes: usize,
    /// The most that `unexpected_bytes` ever was.
    pub unexpected_bytes_high: usize,
    /// Operations in the table (also complete ones that nobody took yet).
    pub requests: usize,
    /// Comparisons and look-ups that matching took.
    pub matching_steps: u64,
    /// Messages by rendezvous, on the receiving side.
    pub rendezvous: u64,
    /// Transfers of memory that failed and were done by packets or by the other side instead.
    pub fallbacks: u64,
    /// How often a peer was asked to send by rendezvous only.
    pub throttles: u64,
    /// Duplicate packets that were dropped.
    pub duplicates: u64,
}
