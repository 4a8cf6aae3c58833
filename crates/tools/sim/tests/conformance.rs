//! The promises of a channel, kept by `rc`, `ud` and `pipe` over simulated devices that behave.

use verbena_channel::conformance::{self, Ends};
use verbena_channel::{Channel, Peer};
use verbena_infiniband::pipe::Design;
use verbena_infiniband::rc::Settings;
use verbena_infiniband::rc::settings::Policy;
use verbena_sim::over_pipe::{self, PipeFaults};
use verbena_sim::over_rc::{self, RcFaults};
use verbena_sim::over_ud::{self, UdFaults};
use verbena_sim::verbs::Subnet;

/// Virtual time between two looks at the channels, in nanoseconds.
const STEP_NS: u64 = 20_000;

/// The channels of two ranks, and the devices between them.
struct Both<C> {
    channels: Vec<C>,
    subnet: Subnet,
}

impl<C: Channel> Ends for Both<C> {
    fn channel(&mut self, end: usize) -> (&mut dyn Channel, Peer) {
        (&mut self.channels[end], 1 - end as Peer)
    }

    fn pass(&mut self) {
        self.subnet.run_until(self.subnet.now_ns() + STEP_NS);
    }

    fn kill(&mut self) {
        self.subnet.kill(1);
    }
}

type Check = fn(&mut dyn Ends);

/// These hold for all channels.
const CHECKS: [Check; 3] =
    [conformance::every_packet_arrives_once, conformance::full_does_nothing, conformance::a_break_is_told];

#[test]
fn reliable_connections_keep_the_promises_of_a_channel() {
    keep_promises(&RcFaults::none());
}

/// The shared receive pool has room here for a part of what credits allow.
#[test]
fn connections_with_a_short_shared_pool_keep_them_too() {
    let mut faults = RcFaults::none();
    faults.settings =
        Settings { shared_receives: true, pool_receives: 4, policy: Policy::None, ..faults.settings };
    let not_ready = keep_promises(&faults);
    assert!(not_ready > 0, "the pool was never empty");
}

/// Runs all checks; returns how many sends found no receive buffer.
fn keep_promises(faults: &RcFaults) -> u64 {
    let mut not_ready = 0;
    let memory: [Check; 3] = [
        conformance::memory_is_read,
        conformance::memory_is_written,
        conformance::memory_is_changed_atomically,
    ];
    for (seed, check) in (1..).zip(CHECKS.into_iter().chain(memory)) {
        let subnet = Subnet::new(seed, 2, faults.costs, faults.device);
        let mut channels = over_rc::channels(&subnet, |_| faults.settings.clone(), 2);
        channels.iter_mut().for_each(over_rc::keep_registrations);
        check(&mut Both { channels, subnet: subnet.clone() });
        not_ready += subnet.counts().not_ready;
    }
    not_ready
}

#[test]
fn datagrams_keep_the_promises_of_a_channel() {
    let faults = UdFaults::none();
    for (seed, check) in (1..).zip(CHECKS) {
        let subnet = Subnet::new(seed, 2, faults.costs, faults.device);
        let channels = over_ud::channels(&subnet, faults.limits, |_| faults.settings.clone(), 2);
        check(&mut Both { channels, subnet });
    }
}

/// `pipe` has no memory to offer: all goes through it.
#[test]
fn pipes_keep_the_promises_of_a_channel() {
    for (seed, (design, check)) in (1..).zip(Design::ALL.iter().flat_map(|d| CHECKS.map(|c| (*d, c)))) {
        let faults = PipeFaults::none(design);
        let subnet = Subnet::new(seed, 2, faults.costs, faults.device);
        let mut channels = over_pipe::channels(&subnet, |_| faults.settings.clone(), 2);
        channels.iter_mut().for_each(over_pipe::keep_registrations);
        assert!(channels[0].remote_memory().is_none());
        check(&mut Both { channels, subnet });
    }
}
