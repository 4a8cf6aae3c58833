//! Counters that tell what the engine did.

use verbena_channel::{CellCounts, Datagrams, PollingSetCounts, Receives, Registrations};

/// Counts of one channel's traffic.
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
    /// The number of times the channel had no room.
    pub full: u64,
    /// Messages of strangers that were dropped.
    pub strange_messages: u64,
    /// The program's memory registered with its device.
    pub registrations: Registrations,
    /// The looks of its polling set, if it has one.
    pub polling_set: PollingSetCounts,
    /// Looks at it. Where a glance tells what came, these are the rounds in which another channel
    /// was scheduled beside it; without one they are not counted.
    pub looks: u64,
    /// The time of a look that finds nothing, in nanoseconds, as measured when the channel was
    /// opened; 0 if that is not known.
    pub look_ns: u64,
    /// Buffers of the channel for what peers send.
    pub receives: Receives,
    /// Datagrams of the channel.
    pub datagrams: Datagrams,
    /// Completions of signalled packets.
    pub completions: u64,
    /// Cells of the channel, by which long packets went.
    pub cells: CellCounts,
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
    /// The most that `unexpected` was since [`crate::Engine::take_peaks`].
    pub unexpected_high: usize,
    /// The most that `unexpected_bytes` was since then.
    pub unexpected_bytes_high: usize,
    /// Operations in the table (also complete ones that nobody took yet).
    pub requests: usize,
    /// Comparisons and look-ups that matching took.
    pub matching_steps: u64,
    /// Messages sent whole, in one packet.
    pub eager_sent: u64,
    /// Messages that came whole, in one packet.
    pub eager_received: u64,
    /// Messages that were announced (rendezvous, on the sending side).
    pub announced: u64,
    /// Messages by rendezvous, on the receiving side.
    pub rendezvous: u64,
    /// Rendezvous messages that this side began to read from the sender's memory, alone.
    pub pulled: u64,
    /// Rendezvous messages for which the sender was invited to write as well.
    pub shared: u64,
    /// Rendezvous messages that the sender was asked to write, alone.
    pub written: u64,
    /// Rendezvous messages that the sender was asked to send as packets.
    pub streamed: u64,
    /// Rendezvous messages, read or written, that are to go over several rails.
    pub striped: u64,
    /// Packets sent that carry no whole message: announcements, answers, data.
    pub protocol_sent: u64,
    /// Packets received that carry no whole message.
    pub protocol_received: u64,
    /// Transfers of memory that failed and were done by packets or by the other side instead.
    pub fallbacks: u64,
    /// The number of times a peer was asked to send by rendezvous only.
    pub throttles: u64,
    /// Duplicate packets that were dropped.
    pub duplicates: u64,
    /// The number of times a channel that had lost a peer was replaced by another.
    pub failovers: u64,
    /// The number of times a peer's packets moved to another channel without a fault.
    pub moves: u64,
    /// Connections given back.
    pub left: u64,
    /// The number of times that the update rate of the polling scheme `Dynamic` had passed.
    pub polling_updates: u64,
    /// The number of these after which the periods were calculated anew, since the history had
    /// changed.
    pub polling_calculations: u64,
    /// Packets handed back by channels that lost a peer or left it, which were sent again.
    pub sent_again: u64,
}

impl ChannelCounters {
    /// Adds the counts of the same channel of another engine. Only those of channels that several
    /// engines can have are added.
    fn add(&mut self, more: &ChannelCounters) {
        let ChannelCounters {
            packets_sent,
            bytes_sent,
            packets_received,
            bytes_received,
            get_bytes,
            put_bytes,
            full,
            cells,
            ..
        } = *more;
        self.packets_sent += packets_sent;
        self.bytes_sent += bytes_sent;
        self.packets_received += packets_received;
        self.bytes_received += bytes_received;
        self.get_bytes += get_bytes;
        self.put_bytes += put_bytes;
        self.full += full;
        self.cells.hot += cells.hot;
        self.cells.cold += cells.cold;
        self.cells.non_temporal += cells.non_temporal;
        self.cells.none_free += cells.none_free;
        self.cells.taken_back += cells.taken_back;
    }
}

impl Counters {
    /// Adds the counters of another engine of the process.
    pub fn add(&mut self, more: Counters) {
        for channel in &more.channels {
            match self.channels.iter_mut().find(|own| own.name == channel.name) {
                Some(own) => own.add(channel),
                None => self.channels.push(*channel),
            }
        }
        self.posted += more.posted;
        self.unexpected += more.unexpected;
        self.unexpected_bytes += more.unexpected_bytes;
        // At most: the engines need not have held the most at the same time.
        self.unexpected_high += more.unexpected_high;
        self.unexpected_bytes_high += more.unexpected_bytes_high;
        self.requests += more.requests;
        self.matching_steps += more.matching_steps;
        self.eager_sent += more.eager_sent;
        self.eager_received += more.eager_received;
        self.announced += more.announced;
        self.rendezvous += more.rendezvous;
        self.pulled += more.pulled;
        self.shared += more.shared;
        self.written += more.written;
        self.streamed += more.streamed;
        self.striped += more.striped;
        self.protocol_sent += more.protocol_sent;
        self.protocol_received += more.protocol_received;
        self.fallbacks += more.fallbacks;
        self.throttles += more.throttles;
        self.duplicates += more.duplicates;
        self.failovers += more.failovers;
        self.moves += more.moves;
        self.left += more.left;
        self.polling_updates += more.polling_updates;
        self.polling_calculations += more.polling_calculations;
        self.sent_again += more.sent_again;
    }

    /// Fills in what follows from the rest: whole messages are the packets that belong to no
    /// protocol.
    pub(crate) fn derived(mut self) -> Counters {
        let packets = |of: fn(&ChannelCounters) -> u64| self.channels.iter().map(of).sum::<u64>();
        let sent = packets(|channel| channel.packets_sent) - self.protocol_sent;
        let received = packets(|channel| channel.packets_received) - self.protocol_received;
        (self.eager_sent, self.eager_received) = (sent, received);
        self
    }
}
