//! Clusters whose ranks have the real channel `ud` over simulated verbs devices, and what goes
//! wrong there.

use crate::verbs::{Costs, DeviceFaults, SimDatagrams, Subnet};
use crate::{Cluster, Faults, Nodes, Random, Rank};
use verbena_channel::Channel;
use verbena_infiniband::reliable::Rules;
use verbena_infiniband::ud::adapter::Limits;
use verbena_infiniband::ud::card::Card;
use verbena_infiniband::ud::{Settings, UdChannel};

/// The properties and misdeeds of such a cluster, and its settings.
#[derive(Clone, Debug)]
pub struct UdFaults {
    /// The engines' settings, and the fabric that joins the ranks of a node.
    pub faults: Faults,
    /// The verbs devices.
    pub device: DeviceFaults,
    /// The limits of each device.
    pub limits: Limits,
    /// The cost model.
    pub costs: Costs,
    /// Ranks on each node.
    pub node_size: Rank,
    /// The settings that all ranks have alike; the others may be drawn again for each.
    pub settings: Settings,
    /// True if the other settings are drawn again for each rank.
    pub unlike: bool,
}

/// Times that fit the simulator's devices, which take 100 ns for a datagram.
const RULES: Rules = Rules {
    window_start: 16,
    window_min: 8,
    window_max: 128,
    swapped_max: 7,
    ack_every: 16,
    ack_delay_ns: 2000,
    resend_ns_min: 20_000,
    resend_ns_max: 5_000_000,
    resend_ns_first: 200_000,
    silent_ns_max: 500_000_000,
    silent_waits_min: 40,
    resends_max: 40,
};

/// Devices that behave, with datagrams of a kibibyte.
pub const LIMITS: Limits =
    Limits { datagram_bytes_max: 1024, inline_bytes_max: 128, work_max: 128, receives_max: 4096, senders: 4 };

/// The default settings, with times that fit the simulator.
pub fn settings() -> Settings {
    Settings {
        senders: 4,
        receives: None,
        short_buffers_max: 1024,
        long_buffers_max: None,
        fragments_max: Some(16),
        eager_bytes_max: 8 << 10,
        reliable: true,
        checksum: true,
        signal_every: 16,
        inline_bytes_max: 128,
        local_ns_max: 10_000_000,
        rules: RULES,
    }
    .sound()
}

impl UdFaults {
    /// Devices that behave.
    pub fn none() -> UdFaults {
        UdFaults {
            faults: Faults::none(),
            device: DeviceFaults { delay_ns_max: 1000, ..DeviceFaults::NONE },
            limits: LIMITS,
            costs: Costs::PLAIN,
            node_size: 1,
            settings: settings(),
            unlike: false,
        }
    }

    /// Draws a mixture of everything that may happen: loss of up to 20%, doubles, swaps, flipped
    /// bits, queue pairs that hang, ports that go down for a while, tiny pools.
    pub fn random(random: &mut Random) -> UdFaults {
        let senders = random.pick(&[1, 2, 4, 8]);
        let limits = Limits {
            datagram_bytes_max: random.pick(&[256, 1024, 4096]),
            inline_bytes_max: random.pick(&[0, 64, 220, 512]),
            work_max: random.pick(&[4, 16, 128]),
            senders,
            ..LIMITS
        };
        let checksum = random.percent(60);
        let device = DeviceFaults {
            delay_ns_max: random.pick(&[0, 100, 2000, 30_000]),
            datagrams_lost_percent: random.pick(&[0, 1, 5, 20]),
            datagrams_doubled_percent: random.pick(&[0, 0, 5, 50]),
            datagrams_late_ns_max: random.pick(&[0, 1000, 50_000, 3_000_000]),
            datagrams_garbled_percent: if checksum { random.pick(&[0, 1, 5, 20]) } else { 0 },
            way_looks: if senders > 2 { 3 } else { 0 },
            sender_hangs_one_in: random.pick(&[0, 0, 100, 1000]),
            sender_hangs_ns_max: 3_000_000,
            runs_cut_one_in: if senders == 4 { 3 } else { 0 },
            ..DeviceFaults::NONE
        };
        UdFaults {
            faults: Faults::random(random),
            device,
            limits,
            costs: Costs::PLAIN,
            node_size: random.pick(&[1, 1, 2]),
            settings: Settings { senders, checksum, ..settings() },
            unlike: true,
        }
    }

    /// The settings of a rank.
    pub(crate) fn settings_of_rank(&self, random: &mut Random) -> Settings {
        if !self.unlike {
            return self.settings.clone();
        }
        let rules = Rules {
            window_start: random.pick(&[1, 16]),
            window_min: random.pick(&[1, 8]),
            window_max: random.pick(&[1, 4, 128]),
            swapped_max: random.pick(&[3, 7]),
            ack_every: random.pick(&[1, 4, 16]),
            resend_ns_min: random.pick(&[5000, 20_000, 500_000]),
            ..self.settings.rules
        };
        Settings {
            receives: random.pick(&[None, Some(16), Some(40)]),
            short_buffers_max: random.pick(&[8, 1024]),
            long_buffers_max: random.pick(&[None, Some(8)]),
            fragments_max: random.pick(&[None, Some(1), Some(4), Some(16), Some(64)]),
            eager_bytes_max: random.pick(&[0, 100, 8 << 10]),
            signal_every: random.pick(&[1, 3, 16]),
            inline_bytes_max: random.pick(&[0, 64, 512]),
            rules,
            ..self.settings.clone()
        }
        .sound()
    }
}

/// The channels of all ranks over their devices, by rank.
///
/// # Panics
/// If one cannot be made, which nothing simulated is a reason for.
pub fn channels(
    subnet: &Subnet,
    limits: Limits,
    settings: impl FnMut(Rank) -> Settings,
    ranks: Rank,
) -> Vec<UdChannel<SimDatagrams>> {
    channels_on(subnet, 0, limits, settings, ranks)
}

/// Like [`channels`], over other devices than the first of each rank.
///
/// # Panics
/// As [`channels`].
pub fn channels_on(
    subnet: &Subnet,
    rail: Rank,
    limits: Limits,
    settings: impl FnMut(Rank) -> Settings,
    ranks: Rank,
) -> Vec<UdChannel<SimDatagrams>> {
    let adapters: Vec<SimDatagrams> =
        (0..ranks).map(|rank| subnet.rail_datagrams(rank, rail, limits)).collect();
    let settings: Vec<Settings> = (0..ranks).map(settings).collect();
    let cards: Vec<Option<Card>> = adapters
        .iter()
        .zip(&settings)
        .map(|(adapter, settings)| Some(UdChannel::card(adapter, settings)))
        .collect();
    let open = |(rank, (adapter, settings))| {
        UdChannel::new(rank, adapter, cards.clone(), settings).expect("a simulated device takes everything")
    };
    (0..ranks).zip(adapters.into_iter().zip(settings)).map(open).collect()
}

/// A cluster of `ranks` over `ud`, whose every event follows from `seed`, and its devices.
pub fn cluster(seed: u64, ranks: Rank, faults: &UdFaults) -> (Cluster, Subnet) {
    let mut random = Random::new(seed ^ 0x5eed);
    let subnet = Subnet::new(random.word(), ranks, faults.costs, faults.device);
    let uds = channels(&subnet, faults.limits, |_| faults.settings_of_rank(&mut random), ranks);
    let mut uds = uds.into_iter();
    let wires = |_| vec![Box::new(uds.next().expect("one for each rank")) as Box<dyn Channel>];
    let nodes = Nodes { ranks, size: faults.node_size };
    let cluster = Cluster::over(seed, faults.faults, nodes, subnet.clone(), wires);
    (cluster, subnet)
}
