//! The tests of channels to processes of another job.

use super::*;
use verbena_channel::packet::Kind;
use verbena_machine::cores::Load;
use verbena_waiting::Plain;

/// The peers that a channel gives up.
#[derive(Default)]
struct Broken(Vec<Peer>);

impl Sink for Broken {
    fn packet(&mut self, _peer: Peer, _header: &Header, _payload: &[u8]) {}

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}

    fn broken(&mut self, peer: Peer, _fault: Fault) {
        self.0.push(peer);
    }
}

/// A network without a sense of its own of who has ended. It reaches all but process 2, and
/// brings so many packets more.
struct Deaf(usize);

impl Channel for Deaf {
    fn name(&self) -> &'static str {
        "deaf"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        (peer != 2).then_some(Reach {
            packet_bytes_max: 100,
            eager_bytes_max: 100,
            whole_bytes_max: 0,
            ordered: true,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: usize::MAX,
            latency_ns: 1,
        })
    }

    fn send(&mut self, _: Peer, _: &Header, _: Payload<'_>) -> Result<(), SendError> {
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let left = self.0;
        self.0 = left.saturating_sub(1);
        if left > 0 {
            sink.packet(1, &Header::new(Kind::Eager), &[]);
        }
        left - self.0
    }
}

/// A channel through this wire to processes of another job, and the ends of those.
fn foreign(wire: Deaf, numbers: &[Option<Peer>]) -> (Foreign, Arc<Ends>) {
    let (numbers, ends) = (Numbers::new(numbers.iter().copied()), Arc::new(Ends::default()));
    let load = Load { local_ranks: 1, cores: 1, quota: None };
    let waiter = CurrentWaiter::new(Arc::new(Plain::new(&load)));
    (Foreign::new(Wire::Other(Box::new(wire)), numbers, waiter, ends.clone()), ends)
}

#[test]
fn a_network_gives_up_who_has_ended_once_nothing_comes_any_more() {
    let (mut foreign, ends) = foreign(Deaf(2), &[None, Some(9), Some(4), Some(7)]);
    let mut broken = Broken::default();
    ends.add(9);
    ends.add(4);
    for _ in 0..3 {
        foreign.poll(&mut broken);
        assert!(broken.0.is_empty() && !foreign.is_silent());
    }
    std::thread::sleep(ON_THE_WAY);
    // More may be on its way than one poll shows.
    for _ in 1..SILENT_POLLS_MIN {
        assert!(broken.0.is_empty());
        foreign.poll(&mut broken);
    }
    // It does not reach the other one.
    assert_eq!(broken.0, [9]);
    ends.add(7);
    std::thread::sleep(ON_THE_WAY);
    foreign.poll(&mut broken);
    assert_eq!(broken.0, [9], "only now it notices");
}

/// Packets that come late, and slowly, are taken before its sender is given up.
#[test]
fn a_network_that_brings_more_has_its_time_anew() {
    let (mut foreign, ends) = foreign(Deaf(0), &[None, Some(9)]);
    let mut broken = Broken::default();
    ends.add(9);
    (0..SILENT_POLLS_MIN).for_each(|_| _ = foreign.poll(&mut broken));
    std::thread::sleep(ON_THE_WAY);
    foreign.inner = Wire::Other(Box::new(Deaf(1)));
    // It is process 1, with number 9 here, that sends.
    for _ in 0..=SILENT_POLLS_MIN {
        foreign.poll(&mut broken);
        assert!(broken.0.is_empty(), "more came just now");
    }
    std::thread::sleep(ON_THE_WAY);
    foreign.poll(&mut broken);
    assert_eq!(broken.0, [9]);
}

#[test]
fn numbers_lead_there_and_back() {
    let numbers = Numbers::new([None, Some(9), None, Some(4)].into_iter());
    assert_eq!((numbers.inside(9), numbers.inside(4)), (1, 3));
    assert_eq!([0, 1, 2, 3, 4].map(|peer| numbers.outside(peer)), [None, Some(9), None, Some(4), None]);
    assert_eq!(numbers.inside(0), NOBODY);
}
