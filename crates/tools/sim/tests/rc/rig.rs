//! Several channels over one subnet, and what each of them receives.

use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Channel, Cost, Payload, Peer, SendError, Sink, Streams};
use verbena_fault::Fault;
use verbena_infiniband::rc::adapter::Adapter;
use verbena_infiniband::rc::settings::{Notify, Order, Policy};
use verbena_infiniband::rc::{PRIMARY, RcChannel, SECONDARY, Settings};
use verbena_sim::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};

/// Longest virtual time of a test in nanoseconds, unless a packet is awaited without result.
const TIME_NS_MAX: u64 = 20_000_000_000;

/// The settings of paper 1, but for small numbers of everything, so that limits are met.
pub(crate) fn settings() -> Settings {
    Settings {
        slots: 8,
        slot_bytes: 256,
        buffer_bytes: 512,
        eager_bytes_max: 512,
        chunk_bytes: 1024,
        piece_bytes: 1000,
        memory_bytes_min: 1024,
        read: Cost::default(),
        write: Cost::default(),
        learn: false,
        path_series: 0,
        cache_bytes_max: 1 << 20,
        cache_entries_max: 8,
        credits: 4,
        shared_receives: true,
        pool_receives: 4096,
        send_buffers_max: 16,
        policy: Policy::First,
        order: Order::Sequential,
        set_max: 4,
        review_every: 1024,
        sender_rings_max: 16,
        notify: Notify::Piggyback,
        signal_every: 8,
        inline_bytes_max: 128,
        connect_ns_max: 2_000_000_000,
        take_over_ns_max: 2_000_000_000,
        keepalive_ns: 0,
        keepalive_ns_max: 2_000_000_000,
    }
}

/// The packets that one channel delivered.
#[derive(Default)]
pub(crate) struct Log {
    /// Sender and number of each packet; the payload was checked.
    pub packets: Vec<(Peer, u64)>,
    pub broken: Vec<(Peer, Fault)>,
    /// The transfers that have ended, and whether each was done.
    pub ended: Vec<(u64, bool)>,
}

/// The payload of the packet with this number: its bytes follow from the number. Half of them look
/// like the flags of a ring, at every alignment.
pub(crate) fn payload(number: u64, len: usize) -> Vec<u8> {
    let flag = if number % 4 == 1 { PRIMARY } else { SECONDARY }.to_le_bytes();
    match number % 2 {
        0 => (0..len).map(|at| (number as usize * 31 + at * 7) as u8).collect(),
        _ => (0..len).map(|at| flag[(at + number as usize / 4) % 4]).collect(),
    }
}

impl Sink for Log {
    fn packet(&mut self, peer: Peer, header: &Header, bytes: &[u8]) {
        let right = payload(header.context, header.length as usize) == bytes;
        assert!(right, "packet {} from {peer} has wrong bytes", header.context);
        self.packets.push((peer, header.context));
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.ended.push((token, outcome.is_ok()));
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.broken.push((peer, fault));
    }
}

/// The channels.
pub(crate) struct Rig {
    pub channels: Vec<RcChannel<SimAdapter>>,
    pub logs: Vec<Log>,
    pub subnet: Subnet,
}

impl Rig {
    pub(crate) fn new(ranks: u32, seed: u64, settings: &Settings, faults: DeviceFaults) -> Rig {
        let subnet = Subnet::new(seed, ranks, Costs::PLAIN, faults);
        let adapters: Vec<SimAdapter> = (0..ranks).map(|rank| subnet.adapter(rank)).collect();
        let cards: Vec<_> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
        let channels = (0..)
            .zip(adapters)
            .map(|(me, adapter)| RcChannel::new(me, ranks, adapter, cards.clone(), settings.clone()))
            .collect();
        Rig { channels, logs: (0..ranks).map(|_| Log::default()).collect(), subnet }
    }

    /// Tries to send packet `number` of `len` bytes.
    pub(crate) fn try_send(
        &mut self,
        from: Peer,
        to: Peer,
        number: u64,
        len: usize,
    ) -> Result<(), SendError> {
        let bytes = payload(number, len);
        let header = Header { context: number, length: len as u64, ..Header::new(Kind::Eager) };
        self.channels[from as usize].send(to, &header, Payload::Bytes(&bytes))
    }

    /// Sends, with progress on all sides until there is room.
    pub(crate) fn send(&mut self, from: Peer, to: Peer, number: u64, len: usize) {
        let mut rounds = 0;
        while let Err(error) = self.try_send(from, to, number, len) {
            assert!(matches!(error, SendError::Full), "{error:?}");
            rounds += 1;
            assert!(rounds < 1_000_000, "packet {number} finds no room");
            self.step();
        }
    }

    /// Time goes on to the next event, and every channel is polled.
    pub(crate) fn step(&mut self) {
        let next_ns = self.subnet.next_ns().unwrap_or(self.subnet.now_ns() + 100_000);
        self.subnet.run_until(next_ns);
        (0..self.channels.len()).for_each(|rank| self.poll(rank as Peer));
    }

    /// Runs this many steps.
    pub(crate) fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
    }

    pub(crate) fn poll(&mut self, rank: Peer) {
        self.channels[rank as usize].poll(&mut self.logs[rank as usize]);
    }

    /// Steps until that holds.
    pub(crate) fn until(&mut self, what: &str, done: impl Fn(&Rig) -> bool) {
        while !done(self) {
            assert!(self.subnet.now_ns() < TIME_NS_MAX, "still waiting: {what}");
            self.step();
        }
    }

    /// Steps until the rank has this many packets.
    pub(crate) fn await_packets(&mut self, rank: Peer, count: usize) {
        self.until(&format!("{count} packets at {rank}"), |rig| {
            rig.logs[rank as usize].packets.len() >= count
        });
    }

    /// The longest payload that rank `from` may send to `to` now.
    pub(crate) fn longest(&mut self, from: Peer, to: Peer) -> usize {
        let channel = &mut self.channels[from as usize];
        let anyway = channel.reach(to).expect("a peer").packet_bytes_max;
        channel.stream_bytes_max(to).unwrap_or(0).max(anyway)
    }

    /// Steps until all that was sent is known to have arrived.
    pub(crate) fn settle(&mut self) {
        let mut rounds = 0;
        while !self.channels.iter_mut().all(|channel| channel.is_quiet()) {
            rounds += 1;
            assert!(rounds < 1_000_000, "never quiet");
            self.step();
        }
        assert_eq!(self.subnet.violations(), Vec::<String>::new());
    }
}
