//! The designs that papers 1 and 2 compare: each is a choice of settings of the one channel and the
//! one engine.

use super::bench::{Bench, ROUNDS, WARM_ROUNDS, WINDOWS, ping_pong, window_rounds};
use super::costed::Costed;
use crate::Rank;
use crate::over_rc::{channels, keep_registrations, paper_settings};
use crate::verbs::{Costs, Counts, DeviceFaults, Stage, Subnet};
use verbena_channel::wrapper::Wrapper;
use verbena_channel::{Channel, Cost};
use verbena_engine::Large;
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::{Notify, Policy};

/// Bytes of a ring in paper 2's designs, however many chunks they make.
const RING_BYTES: usize = 128 << 10;
/// The chunk that paper 2 chose (section 4.4.1).
const CHUNK_BYTES: usize = 16 << 10;

/// Bytes of a slot beside the message: headers and flags.
const SLOT_SPARE_BYTES: usize = 256;

/// A design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Everything small by send and receive (paper 1, 3.1).
    SendReceive,
    /// Everything small by RDMA write into polled rings (paper 1, 3.2).
    RdmaEager,
    /// Everything up to this many bytes by RDMA write into polled rings, whose slots hold as much
    /// (paper 1, 6.2.1: the threshold from eager to rendezvous).
    RdmaEagerTo(usize),
    /// Head and tail pointers by RDMA writes of their own, long messages copied and then
    /// transferred (paper 2, 4.2).
    Basic,
    /// Flags in the packet instead of a head pointer (paper 2, 4.3).
    Piggyback,
    /// Long messages in chunks of this many bytes, each copied while the one before is transferred
    /// (paper 2, 4.4).
    Pipeline(usize),
    /// Long messages read by the receiver (paper 2, 5).
    ZeroCopyRead,
    /// Long messages written by the sender (paper 2, 6; in paper 1 too).
    ZeroCopyWrite,
    /// Read or write, whichever the channel's stated costs make quicker.
    Automatic,
    /// The direction that has taken less so far; the settings swap the costs of the two directions.
    Learnt,
}

impl Design {
    /// The rungs of paper 2's ladder, in order.
    pub const LADDER: [Design; 5] = [
        Design::Basic,
        Design::Piggyback,
        Design::Pipeline(CHUNK_BYTES),
        Design::ZeroCopyRead,
        Design::ZeroCopyWrite,
    ];

    /// Returns the name in tables.
    pub fn name(self) -> String {
        match self {
            Design::SendReceive => "send/receive".into(),
            Design::RdmaEager => "RDMA eager".into(),
            Design::RdmaEagerTo(bytes) => format!("RDMA eager to {bytes} B"),
            Design::Basic => "basic".into(),
            Design::Piggyback => "piggyback".into(),
            Design::Pipeline(chunk) => format!("pipeline {} KiB", chunk >> 10),
            Design::ZeroCopyRead => "zero-copy read".into(),
            Design::ZeroCopyWrite => "zero-copy write".into(),
            Design::Automatic => "automatic".into(),
            Design::Learnt => "learnt".into(),
        }
    }

    fn large(self) -> Large {
        match self {
            Design::Basic | Design::Piggyback => Large::Copy,
            Design::Pipeline(_) => Large::Pipeline,
            Design::ZeroCopyRead => Large::Read,
            Design::Automatic | Design::Learnt => Large::Auto,
            Design::SendReceive | Design::RdmaEager | Design::RdmaEagerTo(_) | Design::ZeroCopyWrite => {
                Large::Write
            }
        }
    }

    fn chunk_bytes(self) -> usize {
        if let Design::Pipeline(chunk) = self { chunk } else { CHUNK_BYTES }
    }

    pub(super) fn rc_settings(self, costs: &Costs) -> Settings {
        let cost = |stage: Stage| Cost {
            start_ns: (costs.post_ns + stage.latency_ns + stage.receive_ns + costs.acknowledge_ns) as u32,
            byte_ps: costs.byte_ps as u32,
        };
        let (read, write) = (cost(costs.read), cost(costs.write));
        let paper_1 = Settings { read, write, piece_bytes: usize::MAX, ..paper_settings() };
        let slot_bytes = self.chunk_bytes() + 128;
        let paper_2 = Settings {
            slots: RING_BYTES / self.chunk_bytes(),
            slot_bytes,
            chunk_bytes: self.chunk_bytes(),
            policy: Policy::All,
            ..paper_1.clone()
        };
        match self {
            Design::SendReceive => Settings { policy: Policy::None, ..paper_1 },
            Design::RdmaEager => Settings { policy: Policy::All, ..paper_1 },
            Design::RdmaEagerTo(bytes) => Settings {
                policy: Policy::All,
                slot_bytes: bytes + SLOT_SPARE_BYTES,
                buffer_bytes: bytes + SLOT_SPARE_BYTES,
                eager_bytes_max: bytes,
                ..paper_1
            }
            .sound(),
            Design::Basic => Settings { notify: Notify::Pointer, ..paper_2 },
            Design::Learnt => Settings { learn: true, read: write, write: read, ..paper_2 },
            _ => paper_2,
        }
    }

    pub(super) fn engine_settings(self) -> verbena_engine::Settings {
        verbena_engine::Settings {
            large: self.large(),
            chunk_bytes_max: self.chunk_bytes(),
            ..verbena_engine::Settings::default()
        }
    }

    /// The channels of this many ranks, each on a node of its own, and their devices.
    pub(super) fn wires(self, costs: Costs, nodes: Rank) -> (Vec<Box<dyn Channel>>, Subnet) {
        let subnet = Subnet::new(1, nodes, costs, DeviceFaults::NONE);
        let mut rcs = channels(&subnet, |_| self.rc_settings(&costs), nodes);
        rcs.iter_mut().for_each(keep_registrations);
        let wire = |(rank, rc)| {
            let tap = Costed { rank, subnet: subnet.clone(), copies: true };
            Box::new(Wrapper { inner: Box::new(rc) as Box<dyn Channel>, tap }) as Box<dyn Channel>
        };
        ((0..nodes).zip(rcs).map(wire).collect(), subnet)
    }

    fn bench(self, bytes: usize, costs: Costs) -> (Bench, Subnet) {
        let (wires, subnet) = self.wires(costs, 2);
        let mut wires = wires.into_iter();
        let wire = |_| vec![wires.next().expect("one for each rank")];
        let bench = Bench::new(subnet.clone(), bytes, self.engine_settings(), wire);
        (bench, subnet)
    }

    /// Measures half the time of a round trip of messages of this length, in microseconds.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn latency_us(self, bytes: usize, costs: Costs) -> Result<f64, String> {
        self.bench(bytes, costs).0.latency_us(bytes)
    }

    /// Measures bytes per microsecond (10^6 a second) of windows of messages of this length, each
    /// window answered.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn bandwidth_mb_s(self, bytes: usize, window: usize, costs: Costs) -> Result<f64, String> {
        self.bench(bytes, costs).0.bandwidth_mb_s(bytes, window, window_rounds(bytes))
    }

    /// Like [`Self::bandwidth_mb_s`], once there were messages enough to learn from.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn settled_bandwidth_mb_s(self, bytes: usize, window: usize, costs: Costs) -> Result<f64, String> {
        self.bench(bytes, costs).0.bandwidth_mb_s(bytes, window, WINDOWS)
    }

    /// Counts the devices' work for a message of this length in a ping-pong, on average: the counts
    /// of [`ROUNDS`] rounds.
    ///
    /// # Errors
    /// What hung or failed.
    pub fn device_work(self, bytes: usize, costs: Costs) -> Result<(Counts, usize), String> {
        let (mut bench, subnet) = self.bench(bytes, costs);
        bench.run(ping_pong(bytes, WARM_ROUNDS, 0))?;
        let before = subnet.counts();
        bench.run(ping_pong(bytes, 0, ROUNDS))?;
        Ok((subnet.counts().since(&before), 2 * ROUNDS))
    }
}
