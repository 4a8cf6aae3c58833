//! Clusters whose ranks have the channels `rc` and `ud`, each over a simulated device of its own,
//! and few connections.

use crate::over_rc::{RcFaults, keep_registrations, open};
use crate::over_ud::{self, UdFaults};
use crate::verbs::{DeviceFaults, Subnet};
use crate::{Cluster, Faults, Nodes, Random, Rank};
use verbena_channel::Channel;
use verbena_infiniband::device::Address;
use verbena_infiniband::rc::adapter::Adapter;

/// The device of `ud` among those of a rank; that of `rc` is the first.
const UD_RAIL: Rank = 1;

/// The properties and misdeeds of such a cluster, and its settings.
#[derive(Clone, Debug)]
pub struct HybridFaults {
    /// The channel `rc`, and the engines' settings.
    pub rc: RcFaults,
    /// The channel `ud`.
    pub ud: UdFaults,
}

impl HybridFaults {
    /// Devices that behave, and room for this many connections.
    pub fn none(connected_peers_max: usize) -> HybridFaults {
        let faults = Faults { connected_peers_max, connections_review_every: 16, ..Faults::none() };
        HybridFaults { rc: RcFaults { faults, ..RcFaults::none() }, ud: UdFaults::none() }
    }

    /// Draws a mixture of everything that may happen; connections do not break, but few may be had.
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
        HybridFaults { rc, ud }
    }
}

/// A cluster of `ranks` over both channels, whose every event follows from `seed`, and its devices.
pub fn cluster(seed: u64, ranks: Rank, faults: &HybridFaults) -> (Cluster, Subnet) {
    let mut random = Random::new(seed ^ 0x5eed);
    let subnet = Subnet::of_rails(random.word(), ranks, 2, faults.rc.costs, faults.rc.device);
    let adapters: Vec<_> = (0..ranks).map(|rank| subnet.rail(rank, 0)).collect();
    let cards: Vec<Option<Address>> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
    let mut rcs = Vec::new();
    for (rank, adapter) in (0..ranks).zip(adapters) {
        let mut rc = open(rank, ranks, adapter, &cards, faults.rc.settings_of_rank(&mut random));
        if random.percent(faults.rc.keep_percent) {
            keep_registrations(&mut rc);
        }
        rcs.push(rc);
    }
    let uds = over_ud::channels_on(
        &subnet,
        UD_RAIL,
        faults.ud.limits,
        |_| faults.ud.settings_of_rank(&mut random),
        ranks,
    );
    let mut wires = rcs.into_iter().zip(uds);
    let wires = |_| {
        let (rc, ud) = wires.next().expect("one for each rank");
        vec![Box::new(rc) as Box<dyn Channel>, Box::new(ud)]
    };
    let nodes = Nodes { ranks, size: faults.rc.node_size };
    let cluster = Cluster::over(seed, faults.rc.faults, nodes, subnet.clone(), wires);
    (cluster, subnet)
}
