//! Clusters whose ranks have the channel `rc` several times, each over a simulated device of its
//! own. All devices but those of one rail may fail: at one end or both, one way or both ways, and
//! at different times.

use crate::over_rc::{RcFaults, keep_registrations, open};
use crate::verbs::{Cut, SimAdapter, Subnet};
use crate::{Cluster, Nodes, Random, Rank};
use verbena_channel::Channel;
use verbena_infiniband::device::Address;
use verbena_infiniband::rc::adapter::Adapter;
use verbena_infiniband::rc::settings::Notify;
use verbena_infiniband::rc::{RcChannel, Settings};

/// The names of the channels.
pub(crate) const NAMES: [&str; 3] = ["rc", "rc.1", "rc.2"];

/// The properties and misdeeds of such a cluster.
#[derive(Clone, Debug)]
pub struct RailFaults {
    /// The properties and misdeeds of each rail.
    pub rc: RcFaults,
    /// Rails.
    pub rails: Rank,
    /// The rail that never fails.
    pub safe: Rank,
    /// Devices that fail, by percent of all others.
    pub cut_percent: u32,
    /// The devices fail within this many nanoseconds from the start.
    pub cut_ns_max: u64,
    /// The factors by which each rail is slower than the costs say.
    pub slower: [u64; NAMES.len()],
}

impl RailFaults {
    /// Draws a mixture of everything that may happen.
    pub fn random(random: &mut Random) -> RailFaults {
        let mut rc = RcFaults::random(random);
        rc.device.broken_one_in = random.pick(&[0, 0, 100, 1000]);
        // Where bytes take time, transfers are under way when a rail fails.
        rc.costs.byte_ps = random.pick(&[0, 1000, 50_000]);
        rc.faults.rails_bytes_min = random.pick(&[usize::MAX, 1, 1000, 10_000]);
        rc.faults.rails_piece_bytes_min = random.pick(&[1, 100, 1000, 32 << 10]);
        rc.faults.bulk = !random.percent(5);
        rc.faults.bulk_bytes_min = random.pick(&[None, None, Some(1), Some(5000)]);
        let rails = random.between(2, NAMES.len() as u64) as Rank;
        RailFaults {
            rc,
            rails,
            safe: random.below(rails.into()) as Rank,
            cut_percent: random.pick(&[0, 20, 50, 100]),
            cut_ns_max: 1 << random.between(12, 24),
            slower: [(); NAMES.len()].map(|()| random.pick(&[1, 1, 2, 10])),
        }
    }

    /// Lets devices fail as the seed says.
    fn cut(&self, subnet: &Subnet, ranks: Rank, random: &mut Random) {
        subnet.spare(self.safe);
        for rail in (0..self.rails).filter(|rail| *rail != self.safe) {
            for rank in 0..ranks {
                if random.percent(self.cut_percent) {
                    let how = random.pick(&[Cut::Down, Cut::Mute, Cut::Deaf, Cut::Broken]);
                    subnet.cut(rank, rail, random.below(self.cut_ns_max), how);
                }
            }
        }
    }
}

/// The channels of all ranks on one rail. What both ends must have alike is drawn for each rail.
fn channels_of(
    faults: &RailFaults,
    subnet: &Subnet,
    rail: Rank,
    ranks: Rank,
    random: &mut Random,
) -> Vec<RcChannel<SimAdapter>> {
    let settings = Settings {
        buffer_bytes: random.pick(&[192, 256, 1024, 2048]),
        notify: random.pick(&[Notify::Piggyback, Notify::Pointer]),
        ..faults.rc.settings.clone()
    };
    let faults = RcFaults { settings, ..faults.rc.clone() };
    let adapters: Vec<SimAdapter> = (0..ranks).map(|rank| subnet.rail(rank, rail)).collect();
    let cards: Vec<Option<Address>> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
    let open_one = |(rank, adapter)| {
        let settings = faults.settings_of_rank(random);
        let mut rc = open(rank, ranks, adapter, &cards, settings).named(NAMES[rail as usize]);
        if random.percent(faults.keep_percent) {
            keep_registrations(&mut rc);
        }
        rc
    };
    (0..ranks).zip(adapters).map(open_one).collect()
}

/// A cluster of `ranks` over several rails, whose every event follows from `seed`, and its devices.
pub fn cluster(seed: u64, ranks: Rank, faults: &RailFaults) -> (Cluster, Subnet) {
    let mut random = Random::new(seed ^ 0x5eed);
    let subnet = Subnet::of_rails(random.word(), ranks, faults.rails, faults.rc.costs, faults.rc.device);
    (0..)
        .zip(faults.slower)
        .take(faults.rails as usize)
        .for_each(|(rail, times)| subnet.slow_down(rail, times));
    faults.cut(&subnet, ranks, &mut random);
    let mut rails: Vec<_> = (0..faults.rails)
        .map(|rail| channels_of(faults, &subnet, rail, ranks, &mut random).into_iter())
        .collect();
    let wires = |_| {
        let next =
            |rail: &mut std::vec::IntoIter<RcChannel<SimAdapter>>| rail.next().expect("one for each rank");
        rails.iter_mut().map(|rail| Box::new(next(rail)) as Box<dyn Channel>).collect()
    };
    let nodes = Nodes { ranks, size: faults.rc.node_size };
    let cluster = Cluster::over(seed, faults.rc.faults, nodes, subnet.clone(), wires);
    (cluster, subnet)
}
