//! Two ranks in one process, each with its own mapping of the segment.

use super::connect::ShmOpening;
use super::*;
use std::sync::atomic::Ordering::*;
use std::time::Duration;
use verbena_channel::conformance;
use verbena_channel::packet::Kind;

/// Opens and connects `ranks` ranks, each in a thread of its own as `connect` waits for the others.
fn node(ranks: u32) -> Vec<ShmChannel> {
    node_of(&(0..ranks).collect::<Vec<_>>(), ranks)
}

/// Like [`node`], of these processes of a job of `size`; the others have no card.
fn node_of(peers: &[Peer], size: u32) -> Vec<ShmChannel> {
    let openings: Vec<ShmOpening> =
        peers.iter().map(|me| ShmOpening::new(*me, 0, Duration::from_secs(20)).unwrap()).collect();
    let mut cards: Vec<Option<Vec<u8>>> = vec![None; size as usize];
    for (peer, opening) in peers.iter().zip(&openings) {
        cards[*peer as usize] = Some(verbena_channel::Opening::card(opening));
    }
    let load = Load::measure(peers.len() as u32);
    let connect = |o: ShmOpening| o.connect_shm(&cards, &load).unwrap();
    std::thread::scope(|s| {
        let threads: Vec<_> = openings.into_iter().map(|o| s.spawn(move || connect(o))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn pair() -> (ShmChannel, ShmChannel) {
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

fn send(from: &mut ShmChannel, to: Peer, sequence: u32, len: usize) -> bool {
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

/// A job of many nodes costs a process of one node nothing.
#[test]
fn only_processes_of_the_node_have_a_way() {
    let mut ends = node_of(&[3, 900], 1000);
    let (mut b, mut a) = (ends.pop().unwrap(), ends.pop().unwrap());
    assert_eq!((a.links.len(), a.near()), (2, Some(&[3, 900][..])));
    assert!(
        a.reach(900).is_some() && a.reach(3).is_none() && a.reach(0).is_none() && a.reach(1000).is_none()
    );
    assert!(send(&mut a, 900, 0, 8) && send(&mut b, 3, 0, 8));
    let (to_a, to_b) = (drain(&mut a), drain(&mut b));
    assert_eq!((to_a.packets[0].0, to_b.packets[0].0), (900, 3));
    assert!(matches!(a.send(4, &header(1), Payload::Bytes(&[])), Err(SendError::Broken(_))));
}

/// The others may be connected earlier and send at once.
#[test]
fn a_look_has_a_price_though_something_is_there_already() {
    let (mut a, b) = pair();
    assert!(send(&mut a, 1, 0, 8));
    let inbox = Inbox::new(&b.control, 1, &b.cells);
    assert!(!inbox.is_silent());
    assert!(inbox.look_ns().is_some());
}

/// Takes everything that is on its way to `end`.
fn drain(end: &mut ShmChannel) -> Basket {
    let mut basket = Basket::default();
    while end.poll(&mut basket) > 0 {}
    basket
}

fn sequences(basket: &Basket) -> Vec<u32> {
    basket.packets.iter().map(|(_, header, _)| header.sequence).collect()
}

#[test]
fn a_full_ring_refuses_and_later_goes_on() {
    let (mut a, mut b) = pair();
    let mut sent = 0;
    while send(&mut a, 1, sent, 5000) {
        sent += 1;
    }
    assert!(sent > 10);
    assert!(!send(&mut a, 1, sent, 5000) && !send(&mut a, 1, sent, 5000));
    assert_eq!(sequences(&drain(&mut b)), (0..sent).collect::<Vec<_>>());
    assert!(send(&mut a, 1, sent, 5000));
    assert_eq!(sequences(&drain(&mut b)), [sent]);
}

#[test]
fn packets_of_all_sizes_wrap_around() {
    let (mut a, mut b) = pair();
    let max = a.packet_bytes_max;
    let mut state = 1u32;
    for sequence in 0..3000 {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let len = (state >> 8) as usize % (max + 1) / if sequence % 3 == 0 { 1 } else { 100 };
        assert!(send(&mut a, 1, sequence, len), "the ring was emptied before packet {sequence}");
        let basket = drain(&mut b);
        assert_eq!(basket.packets, [(0, header(sequence), pattern(sequence, len))]);
    }
}

#[test]
fn a_sender_at_full_speed_loses_nothing() {
    let (mut a, mut b) = pair();
    const PACKETS: u32 = 20_000;
    let len = |sequence: u32| (sequence as usize * 37) % 900;
    std::thread::scope(|s| {
        s.spawn(|| {
            for sequence in 0..PACKETS {
                while !send(&mut a, 1, sequence, len(sequence)) {
                    std::thread::yield_now();
                }
            }
        });
        let mut basket = Basket::default();
        while basket.packets.len() < PACKETS as usize {
            if b.poll(&mut basket) == 0 {
                std::thread::yield_now();
            }
        }
        for (sequence, (_, head, payload)) in (0..).zip(&basket.packets) {
            assert_eq!((head.sequence, payload), (sequence, &pattern(sequence, len(sequence))));
        }
    });
}

#[test]
fn every_rank_reaches_every_other() {
    let mut ends = node(5);
    for me in 0..5u32 {
        assert_eq!(ends[me as usize].reach(me), None);
        for to in (0..5).filter(|&to| to != me) {
            assert!(send(&mut ends[me as usize], to, me * 10 + to, 8));
        }
    }
    for me in 0..5u32 {
        let mut from: Vec<_> =
            drain(&mut ends[me as usize]).packets.iter().map(|p| (p.0, p.1.sequence)).collect();
        from.sort_unstable();
        let expected: Vec<_> = (0..5).filter(|&f| f != me).map(|f| (f, f * 10 + me)).collect();
        assert_eq!(from, expected);
    }
}

/// A sender that sleeps on a full ring is woken by the receiver that makes room, and not by the
/// sleep's limit.
#[test]
fn a_sender_asleep_on_a_full_ring_is_woken() {
    let (mut a, mut b) = pair();
    const PACKETS: u32 = 3000;
    let waiter = a.shared().waiter.unwrap();
    let (mut sleeps, mut overslept) = (0, 0);
    let asleep = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            // So that there is a sleep for sure, however fast this side is.
            while !asleep.load(Acquire) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(5));
            let mut basket = Basket::default();
            while basket.packets.len() < PACKETS as usize {
                b.poll(&mut basket);
                std::thread::yield_now();
            }
        });
        for sequence in 0..PACKETS {
            while !send(&mut a, 1, sequence, 4000) {
                assert_eq!(waiter.idle(u32::MAX), verbena_waiting::Step::Armed);
                if send(&mut a, 1, sequence, 4000) {
                    waiter.disarm();
                    break;
                }
                let start = std::time::Instant::now();
                asleep.store(true, Release);
                waiter.sleep(verbena_waiting::SLEEP_MAX);
                sleeps += 1;
                overslept += u32::from(start.elapsed() >= verbena_waiting::SLEEP_MAX);
            }
        }
    });
    assert!(sleeps > 0 && overslept * 2 < sleeps, "{overslept} of {sleeps} sleeps lasted to their limit");
}

/// The ring from rank 0 to rank 1, as a program with a wild pointer reaches it.
fn ring_of(end: &ShmChannel) -> mapped::MappedRing {
    let word = end.control.ring_word(1, 0).load(Acquire);
    mapped::MappedRing::at(&end.control, (word & !63) as usize, (word & 63) as u32).unwrap()
}

#[test]
fn nonsense_in_a_ring_is_reported_once_and_spares_the_others() {
    let mut ends = node(3);
    assert!(send(&mut ends[0], 1, 0, 8) && send(&mut ends[2], 1, 1, 8));
    drain(&mut ends[1]);
    use ring::Lines;
    ring_of(&ends[0]).publish(1, u64::MAX);
    let basket = drain(&mut ends[1]);
    assert_eq!(basket.broken.len(), 1);
    assert_eq!(basket.broken[0].0, 0);
    assert!(basket.broken[0].1.to_string().contains("nonsense"));
    assert_eq!(ends[1].reach(0), None);
    assert!(matches!(ends[1].send(0, &header(0), Payload::Bytes(&[])), Err(SendError::Broken(_))));
    assert!(send(&mut ends[2], 1, 2, 8));
    let basket = drain(&mut ends[1]);
    assert_eq!((sequences(&basket), basket.broken.len()), (vec![2], 0));
}

#[test]
fn an_unknown_packet_kind_is_nonsense_too() {
    let (mut a, mut b) = pair();
    assert!(send(&mut a, 1, 0, 8));
    // SAFETY: nobody else touches the ring now.
    unsafe { ring_of(&a).record_mut(0, 0)[0] = 0xee };
    let basket = drain(&mut b);
    assert_eq!((basket.packets.len(), basket.broken.len()), (0, 1));
}

#[test]
fn a_ring_at_a_wrong_place_is_refused() {
    for word in [1u64, 63, u64::MAX, 12, 1 << 19 | 18, 1 << 50 | 18, (1 << 20) + 64 + 18] {
        let (a, mut b) = pair();
        a.control.ring_word(1, 0).store(word, Release);
        a.control.words(1).announced.fetch_add(1, Release);
        let basket = drain(&mut b);
        assert_eq!(basket.broken.len(), 1, "{word:#x}");
    }
}

#[test]
fn a_position_that_cannot_be_only_fills_the_ring() {
    let (mut a, _b) = pair();
    let mut sent = 0;
    while send(&mut a, 1, sent, 1000) {
        sent += 1;
    }
    for position in [u64::MAX, 1 << 40] {
        ring::Lines::tell_consumed(&ring_of(&a), position);
        assert!(!send(&mut a, 1, sent, 1000));
    }
}

/// A process that waits looks at the words that only it writes, and at the segment's head.
#[test]
fn overwritten_words_are_found_while_nothing_moves() {
    let arm = |end: &mut ShmChannel| {
        for _ in 0..INSPECT_EVERY {
            end.arm();
        }
    };
    let (mut a, mut b) = pair();
    assert!(send(&mut a, 1, 0, 8));
    drain(&mut b);
    arm(&mut b);
    assert!(drain(&mut b).broken.is_empty());
    ring::Lines::tell_consumed(&ring_of(&a), 1 << 40);
    arm(&mut b);
    let basket = drain(&mut b);
    assert!(basket.broken[0].1.what.contains("the receiver's position"), "{:?}", basket.broken);
    let (a, mut b) = pair();
    a.control.words(1).announced.store(77, Release);
    arm(&mut b);
    let basket = drain(&mut b);
    assert!(basket.broken[0].1.what.contains("overwritten"), "{:?}", basket.broken);
    arm(&mut b);
    assert!(drain(&mut b).broken.is_empty(), "told once");
}

mod cells;
mod heap;
mod shortage;

/// The next packet is taken straight to its place, either way; an unwanted one stays for the poll.
#[test]
fn the_next_packet_can_be_taken_by_its_header() {
    let (mut a, mut b) = pair();
    let mut room = vec![0; 2000];
    // SAFETY: the memory outlives the region.
    let into = unsafe { Region::of(&mut room) };
    let mut lines = 0;
    for sequence in 0..5000 {
        let len = [8, 24, 0, 25, 1900, 17][sequence as usize % 6];
        let wanted = Header { length: 0, ..header(sequence) };
        assert_eq!(b.take_line(0, &wanted, into), None);
        assert!(send(&mut a, 1, sequence, len));
        assert_eq!(b.take_direct(0, &Header { tag: 3, ..wanted }, into), None);
        assert_eq!(b.take_direct(0, &header(sequence + 1), into), None);
        if sequence == 0 || sequence % 7 == 3 {
            assert_eq!(sequences(&drain(&mut b)), [sequence]);
            continue;
        }
        assert!(len == 0 || b.take_direct(0, &wanted, into.part(0, len - 1)).is_none());
        let line = b.take_line(0, &wanted, into);
        lines += u32::from(line.is_some());
        assert_eq!(line.or_else(|| b.take_direct(0, &wanted, into)), Some(len));
        assert_eq!(into.to_vec()[..len], pattern(sequence, len));
    }
    assert!(lines > 2000, "{lines}");
    assert!(drain(&mut b).packets.is_empty());
}

/// The death of a peer is tried with real processes (`tests/processes.rs`).
#[test]
fn it_keeps_the_promises_of_a_channel() {
    conformance::every_packet_arrives_once(&mut pair());
    conformance::full_does_nothing(&mut pair());
}
