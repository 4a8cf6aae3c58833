//! Clusters whose ranks have the real channel `pipe` over simulated verbs devices, and what goes
//! wrong there.

use crate::over_rc::Steady;
use crate::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};
use crate::{Cluster, Faults, Nodes, Random, Rank};
use verbena_channel::Channel;
use verbena_infiniband::device::Address;
use verbena_infiniband::pipe::rdma_channel::Beginning;
use verbena_infiniband::pipe::{Design, PipeChannel, Pipes, RdmaChannel, Settings};
use verbena_infiniband::rc::adapter::Adapter;

/// The properties and misdeeds of such a cluster, and its settings.
#[derive(Clone, Debug)]
pub struct PipeFaults {
    /// The engines' settings, and the fabric that joins the ranks of a node.
    pub faults: Faults,
    /// The verbs devices.
    pub device: DeviceFaults,
    /// The costs of the devices.
    pub costs: Costs,
    /// Ranks on each node.
    pub node_size: Rank,
    /// The settings that all ranks have alike; the others may be drawn again for each.
    pub settings: Settings,
    /// True if the other settings are drawn again for each rank.
    pub unlike: bool,
    /// Percentage of ranks that keep registrations.
    pub keep_percent: u32,
}

/// The longest that a rank waits for an answer to its first words, in nanoseconds.
const CONNECT_NS_MAX: u64 = 30_000_000_000;

/// The settings of paper 2: a ring of 128 KiB in chunks of 16 KiB, and the receiver reads from 32
/// KiB on.
pub fn paper_settings(design: Design) -> Settings {
    Settings {
        design,
        ring_bytes: 128 << 10,
        chunk_bytes: 16 << 10,
        zero_copy_bytes_min: 32 << 10,
        piece_bytes: 256 << 10,
        cache_bytes_max: 1 << 30,
        cache_entries_max: 1000,
        signal_every: 32,
        inline_bytes_max: 0,
        connect_ns_max: CONNECT_NS_MAX,
        keepalive_ns: 0,
        keepalive_ns_max: CONNECT_NS_MAX,
    }
    .sound()
}

impl PipeFaults {
    /// Devices that behave, and a ring of four small chunks.
    pub fn none(design: Design) -> PipeFaults {
        let settings = Settings {
            ring_bytes: 1024,
            chunk_bytes: 256,
            zero_copy_bytes_min: 1000,
            ..paper_settings(design)
        };
        PipeFaults {
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
    pub fn random(random: &mut Random) -> PipeFaults {
        let design = random.pick(&Design::ALL);
        let settings = Settings {
            ring_bytes: random.pick(&[128, 500, 4096, 64 << 10]),
            chunk_bytes: random.pick(&[64, 128, 1024, 4096]),
            zero_copy_bytes_min: random.pick(&[129, 1000, 5000]),
            ..paper_settings(design)
        }
        .sound();
        PipeFaults {
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
    fn settings_of_rank(&self, random: &mut Random) -> Settings {
        if !self.unlike {
            return self.settings.clone();
        }
        Settings {
            piece_bytes: random.pick(&[500, 4000, 16 << 10, 256 << 10]),
            cache_bytes_max: random.pick(&[0, 10_000, 1 << 30]),
            cache_entries_max: random.pick(&[0, 2, 1000]),
            signal_every: random.pick(&[1, 3, 32]),
            inline_bytes_max: random.pick(&[0, 64, 512]),
            ..self.settings.clone()
        }
    }
}

/// The channels of all ranks over their devices, by rank.
pub fn channels(
    subnet: &Subnet,
    settings: impl FnMut(Rank) -> Settings,
    ranks: Rank,
) -> Vec<PipeChannel<SimAdapter>> {
    let adapters: Vec<SimAdapter> = (0..ranks).map(|rank| subnet.adapter(rank)).collect();
    let cards: Vec<Option<Address>> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
    let settings = (0..ranks).map(settings);
    let open = |(me, (adapter, settings))| {
        PipeChannel::new(Pipes::initialize(Beginning { me, adapter, cards: cards.clone(), settings }))
    };
    (0..ranks).zip(adapters.into_iter().zip(settings)).map(open).collect()
}

/// Lets the channel keep registrations. Its process must not give memory back before the channel
/// goes.
pub fn keep_registrations(pipe: &mut PipeChannel<SimAdapter>) {
    pipe.keep_registrations(Box::new(Steady));
}

/// A cluster of `ranks` over `pipe`, whose every event follows from `seed`, and its devices.
pub fn cluster(seed: u64, ranks: Rank, faults: &PipeFaults) -> (Cluster, Subnet) {
    let mut random = Random::new(seed ^ 0x5eed);
    let subnet = Subnet::new(random.word(), ranks, faults.costs, faults.device);
    let mut pipes = channels(&subnet, |_| faults.settings_of_rank(&mut random), ranks);
    for pipe in pipes.iter_mut().filter(|_| random.percent(faults.keep_percent)) {
        keep_registrations(pipe);
    }
    let mut pipes = pipes.into_iter();
    let nodes = Nodes { ranks, size: faults.node_size };
    let wires = |_| vec![Box::new(pipes.next().expect("one for each rank")) as Box<dyn Channel>];
    let cluster = Cluster::over(seed, faults.faults, nodes, subnet.clone(), wires);
    (cluster, subnet)
}
