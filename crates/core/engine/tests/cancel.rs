//! Cancelling, at every stage of an operation.

mod pair;

use pair::wire::{Abilities, Memory, Wire};
use pair::*;
use verbena_channel::mark::Mark;
use verbena_engine::{ANY_SOURCE, ANY_TAG, Mode};

#[test]
fn a_posted_receive_is_cancelled() {
    let mut pair = Pair::new(Wire::packets());
    let first = pair.receive_any(1, Bytes::zero(8).buffer());
    let room = Bytes::zero(8);
    let second = pair.receive_any(1, room.buffer());
    pair.engines[1].cancel(pending(&first));
    pair.send(0, 1, Bytes::pattern(8, 1).buffer());
    assert!(pair.end(1, first).cancelled);
    assert!(is_good(&pair.end(1, second), 8));
    assert_eq!(room.get(), Bytes::pattern(8, 1).get());
}

#[test]
fn a_matched_receive_is_not_cancelled() {
    let mut pair = Pair::new(Wire::packets());
    let room = Bytes::zero(5000);
    let receive = pair.receive_any(1, room.buffer());
    pair.send(0, 1, Bytes::pattern(5000, 1).buffer());
    pair.engines[1].progress();
    pair.engines[1].cancel(pending(&receive));
    assert!(is_good(&pair.end(1, receive), 5000));
    assert_eq!(room.get(), Bytes::pattern(5000, 1).get());
}

#[test]
fn an_unmatched_send_is_taken_back() {
    for wire in [Wire::packets(), Wire::memory(Memory::AtOnce, Memory::AtOnce)] {
        for (bytes, mode) in [(8, Mode::Synchronous), (5000, Mode::Standard), (5000, Mode::Synchronous)] {
            let mut pair = Pair::new(wire.clone());
            let send = pair.send_in_mode(0, 1, Bytes::pattern(bytes, 1).buffer(), mode);
            pair.settle();
            pair.engines[0].cancel(pending(&send));
            pair.engines[0].cancel(pending(&send));
            assert!(pair.end(0, send).cancelled);
            assert_eq!(pair.engines[1].probe(CONTEXT, ANY_SOURCE, ANY_TAG), None);
            assert_eq!(pair.engines[1].counters().unexpected_bytes, 0);
            assert_eq!(pair.wire.exposed(), 0);
            assert!(pair.is_quiet());
        }
    }
}

#[test]
fn a_forgotten_send_is_taken_back_and_tells_its_end() {
    let mut pair = Pair::new(Wire::packets());
    let room = Bytes::zero(5000);
    let receive = pair.receive(1, 0, 7, room.buffer());
    for tag in [6, 7] {
        let send = pair.send_in_mode(0, tag, Bytes::pattern(5000, 1).buffer(), Mode::Standard);
        pair.engines[0].forget(pending(&send));
    }
    let sends = pair.engines[0].sends_under_way();
    let told: Vec<_> = sends.iter().map(|send| (send.peer, send.context, send.tag, send.bytes)).collect();
    assert_eq!(told, [(1, CONTEXT, 6, 5000), (1, CONTEXT, 7, 5000)]);
    sends.iter().for_each(|send| pair.engines[0].take_back(send.request));
    assert!(pair.engines[0].sends_under_way().is_empty(), "these are asked for already");
    assert!(is_good(&pair.end(1, receive), 5000));
    pair.settle();
    let ended: Vec<_> = sends.iter().map(|send| pair.engines[0].take(send.request)).collect();
    assert_eq!(ended.iter().flatten().map(|end| end.cancelled).collect::<Vec<_>>(), [true, false]);
    assert!(pair.is_quiet());
}

#[test]
fn a_send_is_cancelled_among_many() {
    let mut pair = Pair::new(Wire::packets());
    let sends: Vec<_> = (0..50)
        .map(|i| pair.send_in_mode(0, i % 2, Bytes::pattern(8, i as u8).buffer(), Mode::Synchronous))
        .collect();
    pair.settle();
    pair.engines[0].cancel(pending(&sends[30]));
    pair.settle();
    for i in (0..50).filter(|i| *i != 30) {
        let room = Bytes::zero(8);
        assert!(is_good(done(&pair.receive(1, 0, ANY_TAG, room.buffer())), 8));
        assert_eq!(room.get(), Bytes::pattern(8, i).get());
    }
    for (i, send) in sends.into_iter().enumerate() {
        assert_eq!(pair.end(0, send).cancelled, i == 30);
    }
}

#[test]
fn a_matched_send_is_not_cancelled() {
    for bytes in [8, 5000] {
        let mut pair = Pair::new(Wire::packets());
        let send = pair.send_in_mode(0, 1, Bytes::pattern(bytes, 1).buffer(), Mode::Synchronous);
        let room = Bytes::zero(bytes);
        let receive = pair.receive_any(1, room.buffer());
        // The receiver matches before it hears of the wish.
        pair.engines[1].progress();
        pair.engines[0].cancel(pending(&send));
        assert!(is_good(&pair.end(0, send), bytes));
        assert!(is_good(&pair.end(1, receive), bytes));
    }
}

#[test]
fn a_message_taken_by_a_matched_probe_is_not_cancelled() {
    let mut pair = Pair::new(Wire::packets());
    let send = pair.send(0, 1, Bytes::pattern(5000, 1).buffer());
    pair.settle();
    let (message, _) = pair.engines[1].match_probe(CONTEXT, ANY_SOURCE, ANY_TAG).unwrap();
    pair.engines[0].cancel(pending(&send));
    pair.settle();
    let receive = pair.engines[1].receive_matched(message, Mark::NONE, Bytes::zero(5000).buffer());
    assert!(is_good(&pair.end(1, receive), 5000));
    assert!(is_good(&pair.end(0, send), 5000));
}

#[test]
fn a_send_that_has_not_left_is_cancelled_here() {
    for bytes in [8, 5000] {
        let mut pair = Pair::new(Wire::new(Abilities { room: 1, ..Abilities::default() }));
        pair.send(0, 1, Bytes::pattern(8, 1).buffer());
        let waits = pair.send(0, 2, Bytes::pattern(bytes, 2).buffer());
        let behind = pair.send(0, 3, Bytes::pattern(8, 3).buffer());
        pair.engines[0].cancel(pending(&waits));
        assert!(pair.engines[0].take(pending(&waits)).unwrap().cancelled);
        assert!(is_good(&pair.end(0, behind), 8));
        let tags = [0; 2].map(|_| done(&pair.receive_any(1, Bytes::zero(8).buffer())).tag);
        assert_eq!(tags, [1, 3]);
        assert!(pair.is_quiet());
    }
}

#[test]
fn forgotten_and_cancelled() {
    let mut pair = Pair::new(Wire::packets());
    let send = pending(&pair.send(0, 1, Bytes::pattern(5000, 2).buffer()));
    let receive = pending(&pair.receive(1, 0, 9, Bytes::zero(8).buffer()));
    pair.engines[0].forget(send);
    pair.engines[1].forget(receive);
    pair.engines[0].cancel(send);
    pair.engines[1].cancel(receive);
    pair.settle();
    assert_eq!(pair.engines[0].counters().requests + pair.engines[1].counters().requests, 0);
}
