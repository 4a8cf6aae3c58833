//! Short messages between two engines: matching, modes, truncation, probing, back-pressure.

mod pair;

use pair::wire::{Abilities, Wire};
use pair::*;
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark;
use verbena_channel::packet::Kind;
use verbena_engine::{
    ANY_SOURCE, ANY_TAG, Engine, Failure, Mode, PendingOperation, Posted, ReceiveRequest, SendRequest,
    Settings,
};

#[test]
fn a_short_send_is_done_at_once() {
    let mut pair = Pair::new(Wire::packets());
    // The first send to a peer finds the way there, the next ones are on the hot path.
    for round in 0..3 {
        let data = Bytes::pattern(8, round);
        assert!(is_good(done(&pair.send(0, 5, data.buffer())), 8));
    }
    assert_eq!(pair.engines[0].counters().requests, 0);
}

#[test]
fn a_posted_receive_gets_the_message() {
    let mut pair = Pair::new(Wire::packets());
    let (data, room) = (Bytes::pattern(100, 1), Bytes::zero(100));
    let receive = pair.receive(1, 0, 5, room.buffer());
    pair.send(0, 5, data.buffer());
    let completion = pair.end(1, receive);
    assert!(is_good(&completion, 100));
    assert_eq!((completion.source, completion.tag), (0, 5));
    assert_eq!(room.get(), data.get());
    assert_eq!(pair.engines[1].counters().requests, 0);
}

#[test]
fn an_unexpected_message_is_received_at_once() {
    let mut pair = Pair::new(Wire::packets());
    let (data, room) = (Bytes::pattern(100, 1), Bytes::zero(200));
    pair.send(0, 5, data.buffer());
    pair.settle();
    assert_eq!(pair.engines[1].counters().unexpected_bytes, 100);
    let receive = pair.receive_any(1, room.buffer());
    assert!(is_good(done(&receive), 100));
    assert_eq!(room.get()[..100], data.get());
    assert_eq!(pair.engines[1].counters().unexpected_bytes, 0);
}

#[test]
fn empty_messages_match_too() {
    let mut pair = Pair::new(Wire::packets());
    let receive = pair.receive_any(1, Bytes::zero(10).buffer());
    pair.send(0, 1, Bytes::zero(0).buffer());
    pair.send_in_mode(0, 2, Bytes::zero(0).buffer(), Mode::Synchronous);
    let completion = pair.end(1, receive);
    assert!(is_good(&completion, 0) && completion.tag == 1);
    assert!(is_good(done(&pair.receive_any(1, Bytes::zero(0).buffer())), 0));
}

#[test]
fn messages_do_not_overtake() {
    let mut pair = Pair::new(Wire::packets());
    // Short and long ones in turn: the long ones go by rendezvous but match in order.
    let data: Vec<_> = (0..20).map(|i| Bytes::pattern(if i % 2 == 0 { 50 } else { 5000 }, i)).collect();
    let sends: Vec<_> = data.iter().map(|d| pair.send(0, 3, d.buffer())).collect();
    for sent in &data {
        let room = Bytes::zero(5000);
        let receive = pair.receive(1, 0, 3, room.buffer());
        let completion = pair.end(1, receive);
        assert!(is_good(&completion, sent.get().len()));
        assert_eq!(room.get()[..sent.get().len()], sent.get());
    }
    sends.into_iter().for_each(|send| assert!(pair.end(0, send).failure.is_none()));
    assert!(pair.is_quiet());
}

#[test]
fn wildcards_take_the_first_in_posting_order() {
    let mut pair = Pair::new(Wire::packets());
    let rooms: Vec<_> = (0..3).map(|_| Bytes::zero(8)).collect();
    let by_tag = pair.receive(1, ANY_SOURCE, 9, rooms[0].buffer());
    let any = pair.receive(1, ANY_SOURCE, ANY_TAG, rooms[1].buffer());
    let exact = pair.receive(1, 0, 9, rooms[2].buffer());
    (0..3).for_each(|i| drop(pair.send(0, 9, Bytes::pattern(8, i).buffer())));
    for (i, receive) in [by_tag, any, exact].into_iter().enumerate() {
        assert!(is_good(&pair.end(1, receive), 8));
        assert_eq!(rooms[i].get(), Bytes::pattern(8, i as u8).get());
    }
}

#[test]
fn a_synchronous_send_waits_for_the_match() {
    let mut pair = Pair::new(Wire::packets());
    let send = pair.send_in_mode(0, 1, Bytes::pattern(10, 1).buffer(), Mode::Synchronous);
    pair.settle();
    let id = pending(&send);
    assert!(pair.engines[0].is_pending(id));
    assert!(!pair.is_quiet());
    let room = Bytes::zero(10);
    assert!(is_good(done(&pair.receive_any(1, room.buffer())), 10));
    assert!(is_good(&pair.end(0, send), 10));
    assert!(pair.is_quiet());
}

#[test]
fn a_synchronous_send_to_a_posted_receive_completes() {
    let mut pair = Pair::new(Wire::packets());
    let receive = pair.receive_any(1, Bytes::zero(10).buffer());
    let send = pair.send_in_mode(0, 1, Bytes::pattern(10, 1).buffer(), Mode::Synchronous);
    assert!(is_good(&pair.end(0, send), 10));
    assert!(is_good(&pair.end(1, receive), 10));
}

#[test]
fn a_message_too_long_is_truncated() {
    for posted_first in [true, false] {
        let mut pair = Pair::new(Wire::packets());
        let (data, room) = (Bytes::pattern(100, 1), Bytes::zero(60));
        let mut receive = None;
        if posted_first {
            receive = Some(pair.receive_any(1, room.buffer()));
        }
        pair.send(0, 5, data.buffer());
        pair.settle();
        let receive = receive.unwrap_or_else(|| pair.receive_any(1, room.buffer()));
        let completion = pair.end(1, receive);
        assert_eq!(completion.failure, Some(Failure::Truncated { sent: 100, room: 60 }));
        assert_eq!(completion.bytes, 60);
        assert_eq!(room.get(), data.get()[..60]);
    }
}

#[test]
fn scattered_buffers_are_packed() {
    let mut pair = Pair::new(Wire::packets());
    let (data, room) = (Bytes::pattern(300, 1), Bytes::zero(300));
    let receive = pair.receive_any(1, room.strided());
    pair.send(0, 5, data.strided());
    assert!(is_good(&pair.end(1, receive), 180));
    assert_eq!(packed(&room.strided()), packed(&data.strided()));
    assert_eq!(room.get()[0], 0);
}

#[test]
fn probing_leaves_the_message_and_matched_probing_takes_it() {
    let mut pair = Pair::new(Wire::packets());
    assert_eq!(pair.engines[1].probe(CONTEXT, ANY_SOURCE, ANY_TAG), None);
    pair.send(0, 5, Bytes::pattern(30, 1).buffer());
    pair.send(0, 5, Bytes::pattern(5000, 2).buffer());
    pair.settle();
    let envelope = pair.engines[1].probe(CONTEXT, 0, 5).unwrap();
    assert_eq!((envelope.source, envelope.tag, envelope.bytes), (0, 5, 30));
    let (first, _) = pair.engines[1].match_probe(CONTEXT, ANY_SOURCE, 5).unwrap();
    let (second, envelope) = pair.engines[1].match_probe(CONTEXT, ANY_SOURCE, 5).unwrap();
    assert_eq!(envelope.bytes, 5000);
    assert!(pair.engines[1].match_probe(CONTEXT, 0, ANY_TAG).is_none());
    let (long, short) = (Bytes::zero(5000), Bytes::zero(30));
    let receive = pair.engines[1].receive_matched(second, Mark::NONE, long.buffer());
    assert!(is_good(&pair.end(1, receive), 5000));
    assert!(is_good(done(&pair.engines[1].receive_matched(first, Mark::NONE, short.buffer())), 30));
    assert_eq!((long.get(), short.get()), (Bytes::pattern(5000, 2).get(), Bytes::pattern(30, 1).get()));
}

#[test]
fn a_full_channel_makes_sends_pend_in_order() {
    let mut pair = Pair::new(Wire::new(Abilities { room: 2, ..Abilities::default() }));
    let sends: Vec<_> = (0..10).map(|i| pair.send(0, i, Bytes::pattern(8, i as u8).buffer())).collect();
    assert!(matches!(sends[1], Posted::Done(_)));
    assert!(matches!(sends[2], Posted::Pending(_)));
    assert!(!pair.engines[0].is_quiet());
    for i in 0..10 {
        let room = Bytes::zero(8);
        let receive = pair.receive(1, 0, ANY_TAG, room.buffer());
        assert_eq!(pair.end(1, receive).tag, i);
        assert_eq!(room.get(), Bytes::pattern(8, i as u8).get());
    }
    sends.into_iter().for_each(|send| assert!(is_good(&pair.end(0, send), 8)));
}

#[test]
fn unexpected_memory_is_bounded_by_the_throttle() {
    let settings = Settings { unexpected_bytes_max: 1000, ..Settings::default() };
    let mut pair = Pair::with(Wire::packets(), settings);
    let mut sends = Vec::new();
    for i in 0..100 {
        sends.push(pair.send(0, i, Bytes::pattern(100, i as u8).buffer()));
        pair.settle();
    }
    let counters = pair.engines[1].counters();
    assert!(counters.unexpected_bytes_high <= 1100, "{}", counters.unexpected_bytes_high);
    assert_eq!((counters.unexpected, counters.throttles), (100, 1));
    let held = |send: &Posted| pair.engines[0].pending_operation(pending(send));
    assert!(matches!(held(&sends[99]), Some(PendingOperation::Held(held)) if held.bytes == 100));
    for i in 0..100 {
        let room = Bytes::zero(100);
        let receive = pair.receive(1, 0, i, room.buffer());
        assert!(is_good(&pair.end(1, receive), 100));
        assert_eq!(room.get(), Bytes::pattern(100, i as u8).get());
    }
    sends.into_iter().for_each(|send| assert!(is_good(&pair.end(0, send), 100)));
    // The throttle is off again: short sends are done at once.
    assert!(is_good(done(&pair.send(0, 1, Bytes::zero(100).buffer())), 100));
    assert_eq!(pair.wire.count(Kind::Throttle), 2);
}

#[test]
fn forgotten_requests_vanish_when_complete() {
    let mut pair = Pair::new(Wire::packets());
    let room = Bytes::zero(8);
    let receive = pending(&pair.receive_any(1, room.buffer()));
    let send = pending(&pair.send_in_mode(0, 1, Bytes::pattern(8, 4).buffer(), Mode::Synchronous));
    pair.engines[1].forget(receive);
    pair.engines[0].forget(send);
    pair.settle();
    assert_eq!(room.get(), Bytes::pattern(8, 4).get());
    assert_eq!(pair.engines[0].counters().requests + pair.engines[1].counters().requests, 0);
    assert!(pair.is_quiet());
}

#[test]
fn pending_operations_are_described() {
    let mut pair = Pair::new(Wire::packets());
    pair.receive(1, ANY_SOURCE, 77, Bytes::zero(8).buffer());
    pair.send(0, 5, Bytes::zero(1000).buffer());
    pair.settle();
    let lines = [pair.engines[0].describe(), pair.engines[1].describe()].concat();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("send to process 1, tag 5") && lines[0].contains("1000 bytes"), "{lines:?}");
    assert!(lines[1].starts_with("receive from any rank, tag 77"), "{lines:?}");
    assert!(lines[2].starts_with("message from rank 0 (process 0), tag 5"), "{lines:?}");
}

fn to_myself() -> Engine {
    Engine::new(0, 1, vec![Box::new(LoopbackChannel::new(0))], Settings::default())
}

fn my_send(data: &Bytes, mode: Mode) -> SendRequest {
    SendRequest { peer: 0, context: 1, source: 0, tag: 3, buffer: data.buffer(), mark: Mark::NONE, mode }
}

#[test]
fn a_message_with_a_mark_that_is_wanted_is_found_behind_others() {
    let (mut engine, data) = (to_myself(), Bytes::pattern(8, 3));
    for mark in [Mark(0x520), Mark(0x620)] {
        engine.send(SendRequest { mark, ..my_send(&data, Mode::Standard) });
    }
    (0..100).for_each(|_| _ = engine.progress());
    let mut find = |tag, mark| engine.find_marked(1, tag, |found| found == mark).map(|(_, found)| found);
    assert_eq!(find(3, Mark(0x620)), Some(Mark(0x620)));
    assert_eq!(find(ANY_TAG, Mark(0x520)), Some(Mark(0x520)));
    assert_eq!((find(3, Mark(0x720)), find(4, Mark(0x620))), (None, None));
}

#[test]
fn messages_to_oneself_in_every_size_and_order() {
    for bytes in [0, 1, 1000, 1 << 16, (1 << 16) + 1, 3 << 20] {
        for (mode, posted_first) in [
            (Mode::Standard, true),
            (Mode::Standard, false),
            (Mode::Synchronous, true),
            (Mode::Synchronous, false),
        ] {
            let mut engine = to_myself();
            let (data, room) = (Bytes::pattern(bytes, 3), Bytes::zero(bytes));
            let receive = || ReceiveRequest::new(1, ANY_SOURCE, 3, room.buffer());
            let mut posted = posted_first.then(|| engine.receive(receive()));
            let send = engine.send(my_send(&data, mode));
            (0..100).for_each(|_| _ = engine.progress());
            let receive = posted.take().unwrap_or_else(|| engine.receive(receive()));
            (0..100).for_each(|_| _ = engine.progress());
            for posted in [send, receive] {
                let completion = match posted {
                    Posted::Done(completion) => completion,
                    Posted::Pending(id) => engine.take(id).expect("complete"),
                };
                assert!(is_good(&completion, bytes), "{bytes} {mode:?} {completion:?}");
            }
            assert_eq!(room.get(), data.get());
            assert!(engine.is_quiet());
        }
    }
}

#[test]
fn a_short_blocking_send_to_oneself_needs_no_receive() {
    let mut engine = to_myself();
    assert!(matches!(engine.send(my_send(&Bytes::zero(1 << 16), Mode::Standard)), Posted::Done(_)));
}

#[test]
fn messages_that_wait_are_listed() {
    let mut pair = Pair::new(Wire::packets());
    let (data, room) = (Bytes::pattern(100, 1), Bytes::zero(300));
    let Posted::Pending(receive) = pair.receive(1, 0, 5, room.buffer()) else { panic!("nothing was sent") };
    for tag in [6, 7] {
        pair.send(0, tag, data.buffer());
    }
    pair.settle();
    let pending = pair.engines[1].pending_messages(1);
    assert_eq!((pending.receives.total, pending.sends.total, pending.unexpected.total), (1, 0, 2));
    let [message] = pending.unexpected.first[..] else { panic!("one is listed") };
    assert_eq!((message.peer, message.tag, message.bytes), (Some(0), Some(6), 100));
    let Some(PendingOperation::Receive(wanted)) = pair.engines[1].pending_operation(receive) else {
        panic!("it waits")
    };
    assert_eq!((wanted.tag, wanted.bytes), (Some(5), 300));
    assert!(pair.engines[1].bytes_moved() >= 200);
    pair.send(0, 5, data.buffer());
    pair.end(1, Posted::Pending(receive));
    assert_eq!(pair.engines[1].pending_operation(receive), None);
}
