//! Cells between ranks: who has which, and what happens when there are none.

use super::*;
use crate::shm::cell_layout::Size;
use crate::shm::cells::lives;
use std::sync::atomic::AtomicBool;
use verbena_channel::CellCounts;
use verbena_memory::copy::Stores;

const LONG: usize = 32 << 10;

/// Sends a message that lies in one piece.
fn send_long(from: &mut ShmChannel, to: Peer, sequence: u32, len: usize) -> bool {
    let mut bytes = pattern(sequence, len);
    // SAFETY: the bytes outlive the call, and the channel keeps no region.
    let region = unsafe { Region::of(&mut bytes) };
    match from.send(to, &header(sequence), Payload::Region(region)) {
        Ok(()) => true,
        Err(SendError::Full) => false,
        Err(SendError::Broken(fault)) => panic!("{fault}"),
    }
}

fn expect_one(end: &mut ShmChannel, from: Peer, sequence: u32, len: usize) {
    assert_eq!(drain(end).packets, [(from, header(sequence), pattern(sequence, len))]);
}

/// The number of cells of this rank that are free, among those with pages.
fn free(end: &ShmChannel, rank: u32) -> usize {
    let cells = end.control.measures().cells;
    let all = cells.small + cells.large;
    let owner = |index| end.control.cell_line(rank * all + index).unwrap().owner.load(Acquire);
    (0..all).filter(|index| owner(*index) == 0).count()
}

#[test]
fn a_cell_is_answered_in() {
    let (mut a, mut b) = pair();
    for sequence in 0..100 {
        let len = LONG - sequence as usize * 100;
        assert!(send_long(&mut a, 1, sequence, len));
        expect_one(&mut b, 0, sequence, len);
        assert!(send_long(&mut b, 0, sequence, len));
        expect_one(&mut a, 1, sequence, len);
    }
    assert_eq!(a.counts().cells, CellCounts { hot: 99, cold: 1, ..CellCounts::default() });
    assert_eq!(b.counts().cells, CellCounts { hot: 100, ..CellCounts::default() });
}

#[test]
fn every_length_arrives_whole_in_a_ring_or_a_cell() {
    let (mut a, mut b) = pair();
    let max = a.reach(1).unwrap().whole_bytes_max;
    assert_eq!(max, 64 << 10);
    let lengths = [0, 24, 25, 2047, 2048, 2049, 8191, 8192, 8193, 16_384, 16_385, 40_000, max - 1, max];
    for (sequence, len) in (0..).zip(lengths) {
        assert!(send_long(&mut a, 1, 2 * sequence, len));
        expect_one(&mut b, 0, 2 * sequence, len);
        // From memory of the engine's own.
        assert!(send(&mut a, 1, 2 * sequence + 1, len));
        expect_one(&mut b, 0, 2 * sequence + 1, len);
    }
}

#[test]
fn a_stream_uses_its_cells_in_turn() {
    let (mut a, mut b) = pair();
    // The ring, so that the peer is known.
    assert!(send_long(&mut a, 1, 0, 8));
    drain(&mut b);
    let large = a.control.measures().cells.large;
    let mut taken = Vec::new();
    for _ in 0..3 * large {
        let cell = a.cells.take(LONG, false).expect("the receiver gives back what it does not keep");
        assert_eq!(cell.stores, Stores::Ordinary);
        a.cells.hand_over(cell.number, 1, LONG, LONG).expect("its line");
        b.cells.keep(cell.number);
        taken.push(cell.number);
    }
    // Each is used again as late as can be.
    let again =
        |at: usize| (at + 1..taken.len()).find(|next| taken[*next] == taken[at]).map(|next| next - at);
    assert!((0..2 * large as usize).all(|at| again(at) == Some(large as usize)));
}

#[test]
fn without_a_free_cell_long_packets_are_refused_and_short_ones_go_through_the_ring() {
    let (mut a, mut b) = pair();
    let large = a.control.measures().cells.large;
    for sequence in 0..large {
        assert!(send_long(&mut a, 1, sequence, LONG));
    }
    assert!(!send_long(&mut a, 1, large, LONG) && !send_long(&mut a, 1, large, LONG));
    assert_eq!(a.counts().cells.none_free, 2);
    // Shorter ones have cells of their own.
    assert!(send_long(&mut a, 1, large, 4096) && send_long(&mut a, 1, large + 1, 100));
    assert_eq!(sequences(&drain(&mut b)), (0..large + 2).collect::<Vec<_>>());
    for sequence in large + 2..2 * large {
        assert!(send_long(&mut a, 1, sequence, LONG));
        expect_one(&mut b, 0, sequence, LONG);
    }
}

#[test]
fn what_has_no_cell_and_fits_the_ring_takes_that() {
    let (mut a, mut b) = pair();
    let small = a.control.measures().cells.small;
    // Nobody reads: the small cells are used up before the ring is full.
    let held: Vec<_> = (0..small).map(|_| a.cells.take(4096, false).expect("a cell")).collect();
    assert!(a.cells.take(4096, false).is_none());
    assert!(send_long(&mut a, 1, 0, 4096));
    expect_one(&mut b, 0, 0, 4096);
    assert_eq!((b.counts().cells.hot, held.len()), (0, small as usize));
    // The receiver got no cell, so it has none to answer in.
    assert!(send_long(&mut b, 0, 0, 4096));
    assert_eq!(b.counts().cells, CellCounts { cold: 1, ..CellCounts::default() });
}

#[test]
fn others_keep_at_most_half_of_a_slice() {
    let mut ends = node(3);
    let [a, b, c] = &mut ends[..] else { panic!("three ranks") };
    let large = a.control.measures().cells.large;
    for sequence in 0..large {
        for (to, end) in [(1, &mut *b), (2, &mut *c)] {
            assert!(send_long(a, to, sequence, LONG));
            expect_one(end, 0, sequence, LONG);
        }
    }
    let all = (a.control.measures().cells.small + large) as usize;
    assert!(all - free(a, 0) <= large as usize / 2);
    assert_eq!(a.counts().cells.none_free, 0);
}

#[test]
fn a_process_that_leaves_keeps_no_cell() {
    let (mut a, mut b) = pair();
    for sequence in 0..5 {
        assert!(send_long(&mut a, 1, sequence, LONG) && send_long(&mut a, 1, sequence, 5000));
    }
    drain(&mut b);
    let all = (a.control.measures().cells.small + a.control.measures().cells.large) as usize;
    assert_eq!(free(&a, 0), all - 10);
    drop(b);
    assert_eq!(free(&a, 0), all);
}

/// Fills all large cells towards a peer that reads nothing, then tries so often more.
fn exhaust(a: &mut ShmChannel, tries: u32) -> bool {
    let large = a.control.measures().cells.large;
    (0..large).for_each(|sequence| assert!(send_long(a, 1, sequence, LONG)));
    (0..tries).any(|_| send_long(a, 1, large, LONG))
}

#[test]
fn cells_of_a_process_that_has_ended_are_taken_back() {
    let (mut a, _b) = pair();
    let mut child = std::process::Command::new("true").spawn().expect("true");
    let namespace = verbena_machine::node::namespace("pid") as u32;
    a.control.words(1).introduce(child.id(), namespace);
    while !verbena_machine::alive::WatchedProcess::new(child.id()).expect("not waited for").has_ended() {
        std::thread::yield_now();
    }
    assert!(exhaust(&mut a, 1100));
    child.wait().expect("our child");
    assert_eq!(a.counts().cells.taken_back, u64::from(a.control.measures().cells.large));
}

#[test]
fn cells_of_a_process_that_lives_or_is_not_known_stay() {
    let (mut a, _b) = pair();
    assert!(!exhaust(&mut a, 1100));
    let (mut a, _b) = pair();
    // Its number means another process here.
    a.control.words(1).introduce(u32::MAX / 2, 1);
    assert!(!exhaust(&mut a, 1100));
    assert_eq!(a.counts().cells.taken_back, 0);
}

#[test]
fn a_note_of_a_cell_that_was_not_handed_over_breaks_the_ring() {
    let (mut a, mut b) = pair();
    assert!(send_long(&mut a, 1, 0, LONG));
    let number = (0..2 * (a.control.measures().cells.small + a.control.measures().cells.large))
        .find(|number| a.control.cell_line(*number).unwrap().owner.load(Acquire) == 2)
        .expect("it was handed over");
    a.control.cell_line(number).unwrap().owner.store(0, Release);
    let basket = drain(&mut b);
    assert!(basket.packets.is_empty());
    assert!(basket.broken[0].1.what.contains("number of a cell"), "{}", basket.broken[0].1);
}

/// Takes the next packet of `peer` by the shortest way.
fn take(end: &mut ShmChannel, peer: Peer, sequence: u32, into: &mut [u8]) -> Option<usize> {
    // SAFETY: the bytes outlive the call.
    let region = unsafe { Region::of(into) };
    end.take_direct(peer, &header(sequence), region)
}

#[test]
fn a_direct_receive_copies_behind_the_sender() {
    let (mut a, mut b) = pair();
    let len = |sequence: u32| 2048 + (sequence as usize * 7919) % (62 << 10);
    const MESSAGES: u32 = 3000;
    std::thread::scope(|s| {
        s.spawn(|| {
            for sequence in 0..MESSAGES {
                while !send_long(&mut a, 1, sequence, len(sequence)) {
                    std::thread::yield_now();
                }
            }
        });
        let mut into = vec![0; 64 << 10];
        let mut ahead = std::collections::VecDeque::new();
        for sequence in 0..MESSAGES {
            let mut basket = Basket::default();
            let bytes = loop {
                // Whoever polls meanwhile takes it too: as the engine does.
                if !ahead.is_empty() || sequence % 3 == 0 {
                    b.poll(&mut basket);
                    ahead.extend(basket.packets.drain(..).map(|(_, _, bytes)| bytes));
                    if let Some(bytes) = ahead.pop_front() {
                        into[..bytes.len()].copy_from_slice(&bytes);
                        break bytes.len();
                    }
                } else if let Some(bytes) = take(&mut b, 0, sequence, &mut into) {
                    break bytes;
                }
                std::thread::yield_now();
            };
            assert!(into[..bytes] == pattern(sequence, len(sequence)), "message {sequence}");
        }
    });
}

/// A sender that is interrupted after its first chunk.
#[test]
fn a_message_that_is_not_whole_waits_and_holds_up_nobody() {
    let (mut a, mut b) = pair();
    assert!(send_long(&mut a, 1, 0, LONG));
    drain(&mut b);
    assert!(send_long(&mut a, 1, 1, LONG));
    let number = (0..a.control.measures().cells.small + a.control.measures().cells.large)
        .rfind(|number| a.control.cell_line(*number).unwrap().owner.load(Acquire) == 2)
        .expect("it was handed over");
    let line = a.control.cell_line(number).unwrap();
    line.tell_ready(8 << 10);
    let mut into = vec![0; LONG];
    assert_eq!(take(&mut b, 0, 1, &mut into), None);
    assert!(drain(&mut b).packets.is_empty());
    assert!(!b.is_silent());
    line.tell_ready(LONG);
    assert_eq!(take(&mut b, 0, 1, &mut into), Some(LONG));
    assert!(into == pattern(1, LONG));
}

#[test]
fn a_short_buffer_leaves_the_message_to_the_poll() {
    let (mut a, mut b) = pair();
    assert!(send_long(&mut a, 1, 0, LONG));
    let mut into = vec![0; LONG - 1];
    assert_eq!(take(&mut b, 0, 0, &mut into), None);
    assert_eq!(take(&mut b, 0, 1, &mut [0; LONG]), None);
    assert!(into.iter().all(|&byte| byte == 0));
    expect_one(&mut b, 0, 0, LONG);
}

#[test]
fn a_node_without_cells_sends_through_rings_alone() {
    let measures = control::Measures { ranks: 2, ring_log2: 14, boards: 1, ..Default::default() };
    let (segment, _memory) = segment::Segment::create(measures.total_bytes()).unwrap();
    let control = Control::create(segment, measures, 7).unwrap();
    let cells = Cells::new(&control, 0, true);
    assert_eq!(cells.bytes_max(), 0);
    assert!(!cells.serves(0) && !cells.serves(4096) && !cells.serves(LONG));
    assert!(cells.finding().contains("no cells"));
}

#[test]
fn pages_are_taken_when_a_cell_is_first_used() {
    let (mut a, mut b) = pair();
    let grown = |end: &ShmChannel| end.cells.grown(Size::Large);
    assert_eq!((grown(&a), grown(&b)), (0, 0));
    for sequence in 0..50 {
        assert!(send_long(&mut a, 1, sequence, LONG));
        expect_one(&mut b, 0, sequence, LONG);
        assert!(send_long(&mut b, 0, sequence, LONG));
        expect_one(&mut a, 1, sequence, LONG);
    }
    // Answers need one cell in all.
    assert_eq!((grown(&a), grown(&b)), (1, 0));
}

/// Streams both ways at once, of all lengths, among three ranks.
#[test]
fn streams_among_three_lose_nothing() {
    let mut ends = node(3);
    let failed = AtomicBool::new(false);
    const MESSAGES: u32 = 400;
    let len = |sequence: u32| (sequence as usize * 4099) % (64 << 10);
    std::thread::scope(|s| {
        for (me, end) in (0u32..).zip(&mut ends) {
            let failed = &failed;
            s.spawn(move || {
                let mut sent = [0u32; 3];
                let mut heard = [0u32; 3];
                let mine = |counts: &[u32; 3]| {
                    (0..3).filter(|peer| *peer != me).all(|peer| counts[peer as usize] == MESSAGES)
                };
                while !(failed.load(Relaxed) || mine(&sent) && mine(&heard)) {
                    for peer in (0..3).filter(|peer| *peer != me) {
                        let next = sent[peer as usize];
                        if next < MESSAGES && send_long(end, peer, next, len(next)) {
                            sent[peer as usize] += 1;
                        }
                    }
                    for (peer, header, bytes) in drain(end).packets {
                        let next = heard[peer as usize];
                        if header.sequence != next || bytes != pattern(next, len(next)) {
                            failed.store(true, Relaxed);
                        }
                        heard[peer as usize] += 1;
                    }
                    std::thread::yield_now();
                }
            });
        }
    });
    assert!(!failed.load(Relaxed));
}

/// Nothing is known of a process in another pid namespace, or that has not said which it is.
#[test]
fn the_system_tells_of_a_process_that_it_lives() {
    let (a, _b) = pair();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
    let namespace = verbena_machine::node::namespace("pid") as u32;
    a.control.words(1).introduce(child.id(), namespace + 1);
    assert!(!lives(&a.control, 1));
    a.control.words(1).introduce(child.id(), namespace);
    assert!(lives(&a.control, 1));
    child.kill().expect("our child");
    child.wait().expect("our child");
    assert!(!lives(&a.control, 1));
    a.control.words(1).introduce(0, namespace);
    assert!(!lives(&a.control, 1));
}

/// A third process may still fill a cell whose receiver has ended.
#[test]
fn a_cell_that_is_being_filled_is_not_taken_back() {
    let (mut a, _b) = pair();
    let mut child = std::process::Command::new("true").spawn().expect("true");
    let namespace = verbena_machine::node::namespace("pid") as u32;
    a.control.words(1).introduce(child.id(), namespace);
    child.wait().expect("our child");
    let cell = a.cells.take(LONG, true).expect("a cell");
    let control = a.control.clone();
    a.cells.hand_over(cell.number, 1, LONG, 8 << 10).expect("its line");
    let owner = || control.cell_line(cell.number).unwrap().owner.load(Acquire);
    let large = u64::from(control.measures().cells.large);
    let mut search = || {
        (0..1400).for_each(|sequence| _ = send_long(&mut a, 1, sequence, LONG));
        a.counts().cells.taken_back
    };
    assert_eq!((search(), owner()), (large - 1, 2));
    control.cell_line(cell.number).unwrap().tell_ready(LONG);
    assert_eq!(search(), large - 1 + large);
}
