//! Clusters whose ranks have the channels `rc` and `ud`, each over a simulated device of its own,
//! and few connections. Devices of `ud` may fail for ever.

use crate::over_rc::{RcFaults, keep_registrations, open};
use crate::over_ud::{self, UdFaults};
use crate::verbs::{Cut, DeviceFaults, SimAdapter, Subnet};
use crate::{Cluster, Faults, Nodes, Random, Rank};
use verbena_channel::packet::Header;
use verbena_channel::wrapper::{Tap, Wrapper};
use verbena_channel::{Channel, Peer, Sink};
use verbena_infiniband::device::Address;
use verbena_infiniband::rc::RcChannel;
use verbena_infiniband::rc::adapter::Adapter;
use verbena_infiniband::reliable::Rules;
use verbena_infiniband::ud;

/// The device of `ud` among those of a rank; that of `rc` is the first.
const UD_RAIL: Rank = 1;

/// Resends in a row after which `ud` gives a peer up, where nothing is drawn.
const RESENDS_MAX: u32 = 12;

/// The properties and misdeeds of such a cluster, and its settings.
#[derive(Clone, Debug)]
pub struct HybridFaults {
    /// The channel `rc`, and the engines' settings.
    pub rc: RcFaults,
    /// The channel `ud`.
    pub ud: UdFaults,
    /// Resends in a row after which `ud` gives a peer up.
    pub resends_max: u32,
    /// Devices of `ud` that fail, by percent.
    pub cut_percent: u32,
    /// These devices fail within this many nanoseconds from the start.
    pub cut_ns_max: u64,
    /// True if `ud` forgets one of the packets that it should hand back: a defect, which the checks
    /// must find.
    pub forgets: bool,
}

impl HybridFaults {
    /// Devices that behave, and room for this many connections.
    pub fn none(connected_peers_max: usize) -> HybridFaults {
        let faults = Faults { connected_peers_max, connections_review_every: 16, ..Faults::none() };
        HybridFaults {
            rc: RcFaults { faults, ..RcFaults::none() },
            ud: UdFaults::none(),
            resends_max: RESENDS_MAX,
            cut_percent: 0,
            cut_ns_max: 1,
            forgets: false,
        }
    }

    /// Draws a mixture of everything that may happen; connections do not break, but few may be had,
    /// and `ud` may fail at some ranks.
    pub fn random(random: &mut Random) -> HybridFaults {
        let (mut rc, ud) = (RcFaults::random(random), UdFaults::random(random));
        rc.faults.connected_peers_max = random.pick(&[0, 1, 1, 2, 3]);
        rc.faults.connections_review_every = random.pick(&[1, 2, 8]);
        rc.device = DeviceFaults {
            datagrams_lost_percent: ud.device.datagrams_lost_percent,
            datagrams_doubled_percent: ud.device.datagrams_doubled_percent,
            datagrams_late_ns_max: ud.device.datagrams_late_ns_max,
            datagrams_garbled_percent: ud.device.datagrams_garbled_percent,
            way_looks: ud.device.way_looks,
            sender_hangs_one_in: ud.device.sender_hangs_one_in,
            sender_hangs_ns_max: ud.device.sender_hangs_ns_max,
            runs_cut_one_in: ud.device.runs_cut_one_in,
            ..rc.device
        };
        HybridFaults {
            rc,
            ud,
            resends_max: random.pick(&[4, RESENDS_MAX, 40]),
            cut_percent: random.pick(&[0, 0, 20, 50, 100]),
            cut_ns_max: 1 << random.between(12, 24),
            forgets: false,
        }
    }

    /// Lets devices of `ud` fail as the seed says.
    fn cut(&self, subnet: &Subnet, ranks: Rank, random: &mut Random) {
        for rank in 0..ranks {
            if random.percent(self.cut_percent) {
                let how = random.pick(&[Cut::Down, Cut::Mute, Cut::Deaf, Cut::Broken]);
                subnet.cut(rank, UD_RAIL, random.below(self.cut_ns_max), how);
            }
        }
    }

    fn settings_of_ud(&self, random: &mut Random) -> ud::Settings {
        let settings = self.ud.settings_of_rank(random);
        ud::Settings { rules: Rules { resends_max: self.resends_max, ..settings.rules }, ..settings }
    }
}

/// Hands packets on, but those that were not delivered only from the second on.
struct Forgetful;

impl Tap for Forgetful {
    fn handed_back(&mut self, packets: Vec<(Header, Vec<u8>)>) -> Vec<(Header, Vec<u8>)> {
        packets.into_iter().skip(1).collect()
    }

    fn packet(&mut self, sink: &mut dyn Sink, peer: Peer, header: &Header, payload: &[u8]) {
        sink.packet(peer, header, payload);
    }
}

/// The channels `rc` of all ranks.
fn connections(
    subnet: &Subnet,
    ranks: Rank,
    faults: &RcFaults,
    random: &mut Random,
) -> Vec<RcChannel<SimAdapter>> {
    let adapters: Vec<_> = (0..ranks).map(|rank| subnet.rail(rank, 0)).collect();
    let cards: Vec<Option<Address>> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
    let mut rcs = Vec::new();
    for (rank, adapter) in (0..ranks).zip(adapters) {
        let mut rc = open(rank, ranks, adapter, &cards, faults.settings_of_rank(random));
        if random.percent(faults.keep_percent) {
            keep_registrations(&mut rc);
        }
        rcs.push(rc);
    }
    rcs
}

/// A cluster of `ranks` over both channels, whose every event follows from `seed`, and its devices.
pub fn cluster(seed: u64, ranks: Rank, faults: &HybridFaults) -> (Cluster, Subnet) {
    let mut random = Random::new(seed ^ 0x5eed);
    let subnet = Subnet::of_rails(random.word(), ranks, 2, faults.rc.costs, faults.rc.device);
    let rcs = connections(&subnet, ranks, &faults.rc, &mut random);
    let settings = |_| faults.settings_of_ud(&mut random);
    let uds = over_ud::channels_on(&subnet, UD_RAIL, faults.ud.limits, settings, ranks);
    faults.cut(&subnet, ranks, &mut Random::new(seed ^ 0xc07));
    let mut wires = rcs.into_iter().zip(uds);
    let wires = |_| {
        let (rc, ud) = wires.next().expect("one for each rank");
        let ud: Box<dyn Channel> = Box::new(ud);
        let ud = match faults.forgets {
            true => Box::new(Wrapper { inner: ud, tap: Forgetful }),
            false => ud,
        };
        vec![Box::new(rc) as Box<dyn Channel>, ud]
    };
    let nodes = Nodes { ranks, size: faults.rc.node_size };
    let cluster = Cluster::over(seed, faults.rc.faults, nodes, subnet.clone(), wires);
    (cluster, subnet)
}
