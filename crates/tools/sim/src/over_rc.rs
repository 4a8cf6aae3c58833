//! Clusters whose ranks have the real channel `rc` over simulated verbs devices, and what goes
//! wrong there.

use crate::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};
use crate::{Cluster, Faults, Nodes, Random, Rank};
use verbena_channel::{Channel, Cost};
use verbena_infiniband::cache::Span;
use verbena_infiniband::cache::watch::{Missed, Watch};
use verbena_infiniband::device::Address;
use verbena_infiniband::rc::adapter::Adapter;
use verbena_infiniband::rc::settings::{Notify, Order, Policy};
use verbena_infiniband::rc::{RcChannel, Settings};

/// Tells of memory that is never given back, as a cluster's is not.
pub(crate) struct Steady;

impl Watch for Steady {
    fn arm(&self, _span: Span) -> bool {
        true
    }

    fn disarm(&self, _span: Span) {}

    fn is_settled(&self) -> bool {
        true
    }

    fn changes(&mut self) -> Result<Vec<Span>, Missed> {
        Ok(Vec::new())
    }
}

/// The properties and misdeeds of such a cluster, and its settings.
#[derive(Clone, Debug)]
pub struct RcFaults {
    /// The engines' settings, and the fabric that joins the ranks of a node.
    pub faults: Faults,
    /// The verbs devices.
    pub device: DeviceFaults,
    /// The costs of the devices.
    pub costs: Costs,
    /// Ranks on each node.
    pub node_size: Rank,
    /// The settings of `rc` that all ranks have alike; the others may be drawn again for each.
    pub settings: Settings,
    /// True if the other settings are drawn again for each rank.
    pub unlike: bool,
    /// Percentage of ranks that keep registrations.
    pub keep_percent: u32,
}

/// The longest that a rank waits for an answer to its first words, in nanoseconds.
const CONNECT_NS_MAX: u64 = 30_000_000_000;

/// The longest that a rank waits for that answer where another channel can take over, in
/// nanoseconds.
const TAKE_OVER_NS_MAX: u64 = 20_000_000_000;

/// The fewest buffers of a shared receive pool.
const POOL_MIN: u32 = 4;

/// Buffers of a shared receive pool that holds whatever peers may send here.
pub(crate) const POOL_ROOMY: u32 = 4096;

/// The settings of paper 1: 100 slots of 2 KiB, one send and receive buffer of that size for each.
pub fn paper_settings() -> Settings {
    Settings {
        slots: 100,
        slot_bytes: 2048,
        buffer_bytes: 2048,
        eager_bytes_max: 2048,
        chunk_bytes: 2048,
        piece_bytes: 256 << 10,
        memory_bytes_min: 2048,
        read: Cost { start_ns: 12_000, byte_ps: 1150 },
        write: Cost { start_ns: 6000, byte_ps: 1150 },
        learn: false,
        path_series: 0,
        cache_bytes_max: 1 << 30,
        cache_entries_max: 1000,
        credits: 100,
        shared_receives: false,
        pool_receives: POOL_ROOMY,
        send_buffers_max: 256,
        policy: Policy::First,
        order: Order::Sequential,
        set_max: 16,
        review_every: 1024,
        sender_rings_max: 64,
        notify: Notify::Piggyback,
        signal_every: 32,
        inline_bytes_max: 0,
        connect_ns_max: CONNECT_NS_MAX,
        keepalive_ns: 0,
        keepalive_ns_max: CONNECT_NS_MAX,
        take_over_ns_max: TAKE_OVER_NS_MAX,
    }
    .sound()
}

impl RcFaults {
    /// Devices that behave, and the settings of paper 1, but with few and small slots.
    pub fn none() -> RcFaults {
        let settings = Settings { slots: 5, slot_bytes: 512, ..paper_settings() };
        RcFaults {
            faults: Faults::none(),
            device: DeviceFaults { pieces_max: 4, delay_ns_max: 1000, ..DeviceFaults::NONE },
            costs: Costs::PLAIN,
            node_size: 1,
            settings,
            unlike: false,
            keep_percent: 100,
        }
    }

    /// Draws a mixture of everything that may happen.
    pub fn random(random: &mut Random) -> RcFaults {
        let job = RcFaults::none().settings;
        let settings = Settings {
            buffer_bytes: random.pick(&[192, 256, 1024, 2048]),
            notify: random.pick(&[Notify::Piggyback, Notify::Piggyback, Notify::Pointer]),
            ..job
        };
        // Not drawn, so that the seeds that once failed go on as they did.
        let pool_receives = match settings.buffer_bytes {
            192 => POOL_MIN,
            256 => 3 * POOL_MIN,
            _ => settings.pool_receives,
        };
        let settings = Settings { pool_receives, ..settings };
        RcFaults {
            faults: Faults::random(random),
            device: DeviceFaults::random(random),
            costs: Costs::PLAIN,
            node_size: random.pick(&[1, 1, 2]),
            settings,
            unlike: true,
            keep_percent: random.pick(&[0, 50, 100]),
        }
    }

    /// The settings of a rank.
    pub(crate) fn settings_of_rank(&self, random: &mut Random) -> Settings {
        if !self.unlike {
            return self.settings.clone();
        }
        let settings = Settings {
            slots: random.pick(&[2, 5, 32]),
            slot_bytes: random.pick(&[192, 512, 2048]),
            eager_bytes_max: random.pick(&[0, 100, 2048]),
            credits: random.pick(&[4, 5, 32]),
            shared_receives: random.percent(50),
            send_buffers_max: random.pick(&[2, 8, 256]),
            policy: random.pick(&[Policy::None, Policy::First, Policy::Most, Policy::Hinted, Policy::All]),
            order: random.pick(&[Order::Sequential, Order::Circular, Order::Priority]),
            set_max: random.pick(&[0, 1, 1, 2, 16]),
            review_every: random.pick(&[4, 16, 1024]),
            sender_rings_max: random.pick(&[0, 1, 2, 64]),
            signal_every: random.pick(&[1, 3, 32]),
            inline_bytes_max: random.pick(&[0, 64, 512]),
            piece_bytes: random.pick(&[500, 4000, 16 << 10, 256 << 10]),
            memory_bytes_min: random.pick(&[1, 100, 1000, 10_000]),
            write: random.pick(&[self.settings.read, Cost::default()]),
            learn: random.percent(50),
            cache_bytes_max: random.pick(&[0, 10_000, 1 << 30]),
            cache_entries_max: random.pick(&[0, 2, 1000]),
            ..self.settings.clone()
        };
        // Not drawn, so that the seeds that once failed go on as they did.
        Settings { path_series: if settings.learn { 3 } else { 0 }, ..settings }
    }
}

/// The channels of all ranks over their devices, by rank.
pub fn channels(
    subnet: &Subnet,
    settings: impl FnMut(Rank) -> Settings,
    ranks: Rank,
) -> Vec<RcChannel<SimAdapter>> {
    let adapters: Vec<SimAdapter> = (0..ranks).map(|rank| subnet.adapter(rank)).collect();
    let cards: Vec<Option<Address>> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
    let settings = (0..ranks).map(settings);
    let open = |(rank, (adapter, settings))| open(rank, ranks, adapter, &cards, settings);
    (0..ranks).zip(adapters.into_iter().zip(settings)).map(open).collect()
}

/// Makes the channel of a rank, with a program that names its neighbours as those it will hear most
/// from.
pub(crate) fn open(
    rank: Rank,
    ranks: Rank,
    adapter: SimAdapter,
    cards: &[Option<Address>],
    settings: Settings,
) -> RcChannel<SimAdapter> {
    let mut rc = RcChannel::new(rank, ranks, adapter, cards.to_vec(), settings);
    rc.hint(&[(rank + 1) % ranks, (rank + ranks - 1) % ranks]);
    rc
}

/// Lets the channel keep registrations. Its process must not give memory back before the channel
/// goes.
pub fn keep_registrations(rc: &mut RcChannel<SimAdapter>) {
    rc.keep_registrations(Box::new(Steady));
}

/// A cluster of `ranks` over `rc`, whose every event follows from `seed`, and its devices.
pub fn cluster(seed: u64, ranks: Rank, faults: &RcFaults) -> (Cluster, Subnet) {
    let mut random = Random::new(seed ^ 0x5eed);
    let subnet = Subnet::new(random.word(), ranks, faults.costs, faults.device);
    let mut rcs = channels(&subnet, |_| faults.settings_of_rank(&mut random), ranks);
    for rc in rcs.iter_mut().filter(|_| random.percent(faults.keep_percent)) {
        keep_registrations(rc);
    }
    let mut rcs = rcs.into_iter();
    let nodes = Nodes { ranks, size: faults.node_size };
    let wires = |_| vec![Box::new(rcs.next().expect("one for each rank")) as Box<dyn Channel>];
    let cluster = Cluster::over(seed, faults.faults, nodes, subnet.clone(), wires);
    (cluster, subnet)
}
