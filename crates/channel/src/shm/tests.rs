//! Two ranks in one process, each with its own mapping of the segment.

use super::connect::ShmOpening;
use super::*;
use crate::packet::Kind;
use std::time::Duration;

/// Opens and connects `ranks` ranks, each in a thread of its own as `connect` waits for the others.
fn node(ranks: u32) -> Vec<Shm> {
    let openings: Vec<ShmOpening> =
        (0..ranks).map(|me| ShmOpening::new(me, Duration::from_secs(20)).unwrap()).collect();
    let cards: Vec<Option<Vec<u8>>> = openings.iter().map(|o| Some(crate::Opening::card(o))).collect();
    let connect = |o: ShmOpening| o.connect_shm(&cards).unwrap();
    std::thread::scope(|s| {
        let threads: Vec<_> = openings.into_iter().map(|o| s.spawn(move || connect(o))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn pair() -> (Shm, Shm) {
    let mut ends = node(2);
    let second = ends.pop().unwrap();
    (ends.pop().unwrap(), second)
}

/// Keeps all that arrives.
#[derive(Default)]
struct Basket {
    packets: Vec<(Peer, Header, Vec<u8>)>,
    broken: Vec<(Peer, Fault)>,
}

impl Sink for Basket {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        self.packets.push((peer, *header, payload.to_vec()));
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {
        panic!("this channel moves packets only");
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.broken.push((peer, fault));
    }
}

fn header(sequence: u32) -> Header {
    Header { sequence, tag: -7, length: 1 << 40, ..Header::new(Kind::Eager) }
}

/// Bytes that tell packet `sequence` from every other.
fn pattern(sequence: u32, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(31).wrapping_add(sequence.wrapping_mul(97)) as u8).collect()
}

fn send(from: &mut Shm, to: Peer, sequence: u32, len: usize) -> bool {
    match from.send(to, &header(sequence), Payload::Bytes(&pattern(sequence, len))) {
        Ok(()) => true,
        Err(SendError::Full) => false,
        Err(SendError::Broken(fault)) => panic!("{fault}"),
    }
}

#[test]
fn packets_arrive_whole_and_in_order() {
    let (mut a, mut b) = pair();
    let max = a.reach(1).unwrap().packet_bytes_max;
    let sizes = [0, 1, 8, 24, 25, 88, 89, 1000, 4096, max];
    for (sequence, &len) in (0..).zip(&sizes) {
        assert!(send(&mut a, 1, sequence, len));
    }
    let mut basket = Basket::default();
    while b.poll(&mut basket) > 0 {}
    assert_eq!(basket.packets.len(), sizes.len());
    for ((sequence, &len), (peer, head, payload)) in (0..).zip(&sizes).zip(&basket.packets) {
        assert_eq!((*peer, *head), (0, header(sequence)));
        assert_eq!(*payload, pattern(sequence, len));
    }
}
