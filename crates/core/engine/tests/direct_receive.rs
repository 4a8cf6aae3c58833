//! Direct receives, straight from the channel to the receive, match as the general way does.

mod pair;

use pair::wire::Wire;
use pair::*;
use verbena_engine::{ANY_SOURCE, ANY_TAG, Mode, Plain, ReceiveRequest, RequestId};

/// A pair whose engine 1 has heard from engine 0.
fn acquainted() -> Pair {
    let mut pair = Pair::new(Wire::packets());
    pair.send(0, 0, Bytes::zero(1).buffer());
    pair.settle();
    assert!(is_good(done(&pair.receive(1, 0, 0, Bytes::zero(1).buffer())), 1));
    pair
}

/// Posts a receive at engine 1 that names its process.
fn post(pair: &mut Pair, tag: i32, room: &Bytes) -> RequestId {
    let receive = ReceiveRequest::new(CONTEXT, 0, tag, room.buffer());
    pair.engines[1].post(ReceiveRequest { peer: Some(0), ..receive })
}

/// Source, tag and bytes of an operation of engine 1 that ended.
fn ended(pair: &mut Pair, request: RequestId) -> Option<(i32, i32, u64)> {
    match pair.engines[1].take_plain(request) {
        Plain::Ended { source, tag, bytes } => Some((source, tag, bytes)),
        Plain::Pending => None,
        Plain::Unusual => panic!("not as usual"),
    }
}

#[test]
fn the_next_message_goes_straight_to_the_first_receive() {
    let mut pair = acquainted();
    for round in 0..500 {
        let (data, room) = (Bytes::pattern(100, round as u8), Bytes::zero(200));
        let request = post(&mut pair, 5, &room);
        assert_eq!(ended(&mut pair, request), None);
        pair.send(0, 5, data.buffer());
        let mut found = ended(&mut pair, request);
        if found.is_none() {
            // Now and then progress is due.
            assert!(pair.engines[1].progress());
            found = ended(&mut pair, request);
        }
        assert_eq!(found, Some((0, 5, 100)));
        assert_eq!(room.get()[..100], data.get());
    }
    let counters = pair.engines[1].counters();
    assert_eq!((counters.requests, counters.posted, counters.eager_received), (0, 0, 501));
    assert_eq!(counters.channels[0].bytes_received, 1 + 500 * 100);
}

#[test]
fn it_needs_no_progress() {
    let mut pair = acquainted();
    let room = Bytes::zero(8);
    let request = post(&mut pair, 5, &room);
    pair.send(0, 5, Bytes::pattern(8, 1).buffer());
    assert_eq!(ended(&mut pair, request), Some((0, 5, 8)));
}

#[test]
fn a_message_for_another_receive_is_left_alone() {
    let mut pair = acquainted();
    let room = Bytes::zero(8);
    let request = post(&mut pair, 6, &room);
    pair.send(0, 5, Bytes::pattern(8, 1).buffer());
    pair.send(0, 6, Bytes::pattern(8, 2).buffer());
    assert_eq!(ended(&mut pair, request), None);
    pair.settle();
    assert_eq!(ended(&mut pair, request), Some((0, 6, 8)));
    assert_eq!(room.get(), Bytes::pattern(8, 2).get());
    assert!(is_good(done(&pair.receive(1, 0, 5, room.buffer())), 8));
    assert_eq!(room.get(), Bytes::pattern(8, 1).get());
}

#[test]
fn an_earlier_receive_comes_first() {
    for (source, tag) in [(ANY_SOURCE, 5), (0, ANY_TAG), (0, 5)] {
        let mut pair = acquainted();
        let (first, second) = (Bytes::zero(8), Bytes::zero(8));
        let earlier = pair.receive(1, source, tag, first.buffer());
        let later = post(&mut pair, 5, &second);
        pair.send(0, 5, Bytes::pattern(8, 1).buffer());
        assert_eq!(ended(&mut pair, later), None);
        pair.settle();
        assert_eq!(ended(&mut pair, pending(&earlier)), Some((0, 5, 8)));
        assert_eq!(ended(&mut pair, later), None);
        pair.send(0, 5, Bytes::pattern(8, 2).buffer());
        assert_eq!(ended(&mut pair, later), Some((0, 5, 8)));
        assert_eq!((first.get(), second.get()), (Bytes::pattern(8, 1).get(), Bytes::pattern(8, 2).get()));
    }
}

#[test]
fn what_was_there_before_comes_first() {
    let mut pair = acquainted();
    pair.send(0, 5, Bytes::pattern(8, 1).buffer());
    pair.settle();
    pair.send(0, 5, Bytes::pattern(8, 2).buffer());
    let rooms = [Bytes::zero(8), Bytes::zero(8)];
    for (room, seed) in rooms.iter().zip([1, 2]) {
        let request = post(&mut pair, 5, room);
        assert_eq!(ended(&mut pair, request), Some((0, 5, 8)));
        assert_eq!(room.get(), Bytes::pattern(8, seed).get());
    }
}

#[test]
fn what_is_not_plain_takes_the_general_way() {
    let mut pair = acquainted();
    let short = Bytes::zero(4);
    let request = post(&mut pair, 5, &short);
    pair.send(0, 5, Bytes::pattern(8, 1).buffer());
    assert_eq!(ended(&mut pair, request), None, "it does not fit");
    pair.settle();
    assert!(matches!(pair.engines[1].take_plain(request), Plain::Unusual));
    assert!(pair.engines[1].take(request).is_some_and(|completion| completion.failure.is_some()));

    let room = Bytes::zero(8);
    let request = post(&mut pair, 5, &room);
    let sent = pair.send_in_mode(0, 5, Bytes::pattern(8, 1).buffer(), Mode::Synchronous);
    assert_eq!(ended(&mut pair, request), None, "its sender waits for an answer");
    assert!(is_good(&pair.end(0, sent), 8));
    assert_eq!(ended(&mut pair, request), Some((0, 5, 8)));
}

#[test]
fn while_something_is_under_way_progress_goes_first() {
    let mut pair = acquainted();
    let sent = pair.send_in_mode(1, 9, Bytes::zero(8).buffer(), Mode::Synchronous);
    let room = Bytes::zero(8);
    let request = post(&mut pair, 5, &room);
    pair.send(0, 5, Bytes::pattern(8, 1).buffer());
    assert_eq!(ended(&mut pair, request), None);
    pair.settle();
    assert_eq!(ended(&mut pair, request), Some((0, 5, 8)));
    assert!(is_good(done(&pair.receive(0, 1, 9, room.buffer())), 8));
    assert!(is_good(&pair.end(1, sent), 8));
}
