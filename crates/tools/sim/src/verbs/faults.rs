//! Limits and misdeeds of the simulated devices.

use crate::random::Random;
use verbena_channel::AtomicScope;
use verbena_infiniband::rc::adapter::Limits;

/// A defect of the channels `rc` and `pipe`, played by the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// No defect.
    None,
    /// The sender takes the same flag value every time (paper 1, 4.2).
    OneFlag,
    /// The receiver gives credits twice for the same buffers, once in this many packets (paper 1,
    /// 4.4).
    CreditsTwice(u32),
    /// The receiver takes packets of the send/receive path without a look at their number (paper 1,
    /// 4.5).
    NumbersIgnored,
    /// The sender of `pipe` writes the head pointer before the data that it tells of (paper 2,
    /// 4.2).
    HeadFirst,
}

/// The misdeeds of the devices towards their users. Percentages are of single events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceFaults {
    /// The limits of each device.
    pub limits: Limits,
    /// Longest further delay of a piece of work in nanoseconds; order is kept for each queue pair.
    pub delay_ns_max: u64,
    /// An RDMA write lands in up to this many pieces, one after the other.
    pub pieces_max: u32,
    /// Percentage of writes whose last piece lands first: the InfiniBand specification promises no
    /// order within one.
    pub last_first_percent: u32,
    /// The time after which a peer that does not answer is given up.
    pub retry_ns: u64,
    /// The number of times a send is tried again where no receive buffer is; `None`: for ever.
    pub not_ready_retries: Option<u32>,
    /// Time between such tries.
    pub not_ready_ns: u64,
    /// True if the device tells when the shared receive queue runs low.
    pub tells_few_receives: bool,
    /// One piece of work in this many breaks its queue pair, as a cut path would; 0: none.
    pub broken_one_in: u64,
    /// With one piece of work in this many the port goes down, for less than
    /// [`DeviceFaults::retry_ns`]; 0: never.
    pub port_down_one_in: u64,
    /// Percentage of datagrams that are lost.
    pub datagrams_lost_percent: u32,
    /// Percentage of datagrams that arrive twice.
    pub datagrams_doubled_percent: u32,
    /// Longest further delay of a datagram in nanoseconds.
    pub datagrams_late_ns_max: u64,
    /// Percentage of datagrams of `ud` in which one bit is flipped.
    pub datagrams_garbled_percent: u32,
    /// The looks after which the way of datagrams of `ud` to a peer is known, as where a kernel
    /// asks its network first.
    pub way_looks: u32,
    /// One post in this many makes its sending queue pair of `ud` hang; 0: none.
    pub sender_hangs_one_in: u64,
    /// The longest time that it hangs, in nanoseconds.
    pub sender_hangs_ns_max: u64,
    /// One run of datagrams of `ud` in this many is taken only in part at first; 0: none.
    pub runs_cut_one_in: u64,
    /// The defect of the channel that the devices play, if any.
    pub canary: Canary,
    /// True if a queue pair in error refuses work at once; else it takes and flushes it.
    pub refuses_in_error: bool,
}

impl DeviceFaults {
    /// Devices that behave, with roomy limits.
    pub const NONE: DeviceFaults = DeviceFaults {
        limits: Limits {
            inline_bytes_max: 128,
            work_max: 256,
            reads_max: 8,
            receives_max: 4096,
            datagram_bytes_max: 1024,
            register_bytes_max: u64::MAX,
            shared_receives: true,
            mixes: true,
            atomics: Some(AtomicScope::Device),
        },
        delay_ns_max: 0,
        pieces_max: 1,
        last_first_percent: 0,
        retry_ns: 1_000_000,
        not_ready_retries: None,
        not_ready_ns: 10_000,
        tells_few_receives: true,
        broken_one_in: 0,
        port_down_one_in: 0,
        datagrams_lost_percent: 0,
        datagrams_doubled_percent: 0,
        datagrams_late_ns_max: 0,
        datagrams_garbled_percent: 0,
        way_looks: 0,
        sender_hangs_one_in: 0,
        sender_hangs_ns_max: 0,
        runs_cut_one_in: 0,
        canary: Canary::None,
        refuses_in_error: false,
    };

    /// Draws a mixture of what honest devices do to their users: delays, pieces, small queues, lost
    /// datagrams.
    pub fn random(random: &mut Random) -> DeviceFaults {
        let limits = Limits {
            inline_bytes_max: random.pick(&[0, 64, 220, 512]),
            work_max: random.pick(&[4, 16, 256]),
            reads_max: random.pick(&[1, 4, 16]),
            shared_receives: random.percent(60),
            ..DeviceFaults::NONE.limits
        };
        DeviceFaults {
            limits,
            delay_ns_max: random.pick(&[0, 100, 2000, 30_000]),
            pieces_max: random.pick(&[1, 2, 4, 9]),
            port_down_one_in: random.pick(&[0, 0, 30, 300]),
            datagrams_lost_percent: random.pick(&[0, 0, 10, 60]),
            datagrams_doubled_percent: random.pick(&[0, 0, 10, 60]),
            datagrams_late_ns_max: random.pick(&[0, 1000, 3_000_000]),
            refuses_in_error: random.percent(30),
            ..DeviceFaults::NONE
        }
    }
}
