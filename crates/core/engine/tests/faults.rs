//! Wires that reorder, repeat, forge, break, or lead nowhere.

mod pair;

use pair::wire::{Abilities, Memory, Wire};
use pair::*;
use verbena_channel::mark::Mark;
use verbena_channel::packet::{Header, Kind};
use verbena_engine::{
    ANY_SOURCE, ANY_TAG, Engine, Failure, Mode, Posted, ReceiveRequest, SendRequest, Settings,
};
use verbena_fault::Fault;

fn unordered() -> Wire {
    let mut abilities = Abilities::default();
    abilities.reach.ordered = false;
    Wire::new(abilities)
}

fn receive_in_order(pair: &mut Pair, count: u8) {
    for i in 0..count {
        let room = Bytes::zero(8);
        let receive = pair.receive(1, 0, ANY_TAG, room.buffer());
        assert!(is_good(&pair.end(1, receive), 8));
        assert_eq!(room.get(), Bytes::pattern(8, i).get());
    }
}

#[test]
fn an_unordered_wire_is_put_in_order() {
    let mut pair = Pair::new(unordered());
    (0..20).for_each(|i| drop(pair.send(0, 1, Bytes::pattern(8, i).buffer())));
    pair.wire.meddle(1, |packets| packets.make_contiguous().reverse());
    receive_in_order(&mut pair, 20);
}

#[test]
fn duplicates_are_dropped() {
    let mut pair = Pair::new(unordered());
    (0..20).for_each(|i| drop(pair.send(0, 1, Bytes::pattern(8, i).buffer())));
    pair.wire.meddle(1, |packets| {
        let copies: Vec<_> = packets.iter().cloned().collect();
        copies.iter().rev().chain(&copies).for_each(|packet| packets.push_back(packet.clone()));
    });
    receive_in_order(&mut pair, 20);
    assert_eq!(pair.engines[1].counters().unexpected, 0);
    assert_eq!(pair.engines[1].counters().duplicates, 40);
}

#[test]
fn a_gap_that_never_fills_is_a_fault() {
    let mut pair = Pair::new(unordered());
    pair.wire.set_room(10_000);
    let receive = pair.receive(1, 0, 99, Bytes::zero(8).buffer());
    let send = pair.send_in_mode(1, 1, Bytes::zero(8).buffer(), Mode::Synchronous);
    (0..5000).for_each(|_| drop(pair.send(0, 1, Bytes::zero(8).buffer())));
    pair.wire.meddle(1, |packets| drop(packets.pop_front()));
    assert!(is_channel_failure(&pair.end(1, send)));
    // The receive names no process, so it stays.
    assert!(pair.engines[1].is_pending(pending(&receive)));
}

#[test]
fn an_ordered_wire_that_swaps_is_found_out() {
    let mut pair = Pair::new(Wire::packets());
    (0..2).for_each(|i| drop(pair.send(0, 1, Bytes::pattern(8, i).buffer())));
    pair.wire.meddle(1, |packets| packets.swap(0, 1));
    pair.settle();
    let answer = pair.send(1, 1, Bytes::zero(8).buffer());
    let Some(Failure::Channel(_, fault)) = &done(&answer).failure else { panic!("{answer:?}") };
    assert!(fault.what.contains("lost or reordered"), "{fault}");
    assert!(fault.on.contains("from process 0 to process 1"), "{fault}");
}

#[test]
fn an_ordered_wire_that_drops_is_found_out() {
    let mut pair = Pair::new(Wire::packets());
    (0..3).for_each(|i| drop(pair.send(0, 1, Bytes::pattern(8, i).buffer())));
    pair.wire.meddle(1, |packets| drop(packets.remove(1)));
    pair.settle();
    assert!(is_channel_failure(done(&pair.send(1, 1, Bytes::zero(8).buffer()))));
}

#[test]
fn a_cut_wire_fails_everything_with_that_peer() {
    for memory in [Memory::None, Memory::AtOnce, Memory::Later] {
        let mut pair = Pair::new(Wire::memory(memory, memory));
        let sends = [
            pair.send(0, 1, Bytes::zero(50_000).buffer()),
            pair.send_in_mode(0, 2, Bytes::zero(8).buffer(), Mode::Synchronous),
        ];
        pair.settle();
        let receive = pair.receive(1, 0, 1, Bytes::zero(50_000).buffer());
        pair.engines[1].progress();
        pair.engines[0].progress();
        pair.wire.cut();
        let probe = pair.send(0, 3, Bytes::zero(8).buffer());
        assert!(is_channel_failure(&pair.end(0, probe)));
        let failed = sends.map(|send| pair.end(0, send));
        assert!(failed.iter().all(is_channel_failure), "{memory:?} {failed:?}");
        let answer = pair.send(1, 3, Bytes::zero(8).buffer());
        assert!(is_channel_failure(&pair.end(1, answer)));
        let completion = pair.end(1, receive);
        assert!(is_channel_failure(&completion) || is_good(&completion, 50_000));
        assert!(pair.is_quiet());
        assert_eq!(pair.wire.exposed(), 0);
    }
}

#[test]
fn a_channel_that_reports_a_broken_peer_fails_everything_with_it() {
    for memory in [Memory::None, Memory::AtOnce, Memory::Later] {
        let mut pair = Pair::new(Wire::memory(memory, memory));
        let sends = [
            pair.send(0, 1, Bytes::zero(50_000).buffer()),
            pair.send_in_mode(0, 2, Bytes::zero(8).buffer(), Mode::Synchronous),
        ];
        pair.settle();
        assert!(!pair.engines[0].is_quiet());
        pair.wire.corrupt(0);
        for send in sends {
            let Some(Failure::Channel(_, fault)) = pair.end(0, send).failure else { panic!("{memory:?}") };
            assert_eq!(fault.what, "the wire is corrupt");
        }
        assert!(is_channel_failure(done(&pair.send(0, 3, Bytes::zero(8).buffer()))));
        assert!(pair.is_quiet());
        assert_eq!(pair.wire.exposed(), 0);
    }
}

#[test]
fn a_queued_send_fails_when_the_wire_is_cut() {
    let mut pair = Pair::new(Wire::new(Abilities { room: 1, ..Abilities::default() }));
    pair.send(0, 1, Bytes::zero(8).buffer());
    let queued = pair.send(0, 2, Bytes::zero(8).buffer());
    pair.wire.cut();
    assert!(is_channel_failure(&pair.end(0, queued)));
    // What had arrived can still be received.
    assert!(is_good(done(&pair.receive_any(1, Bytes::zero(8).buffer())), 8));
}

#[test]
fn a_peer_that_the_owner_gives_up_fails() {
    let mut pair = Pair::new(Wire::packets());
    let send = pair.send(0, 1, Bytes::zero(5000).buffer());
    let fault = Fault { what: "died".into(), on: "1".into(), cause: "signal".into(), remedy: "-".into() };
    pair.engines[0].give_up(1, fault.clone());
    assert_eq!(pair.end(0, send).failure, Some(Failure::Channel(1, Box::new(fault))));
}

#[test]
fn a_receive_from_a_peer_that_is_given_up_fails() {
    let mut pair = Pair::new(Wire::packets());
    let room = Bytes::zero(8);
    let receive = |peer, source| ReceiveRequest { peer, ..ReceiveRequest::new(1, source, 3, room.buffer()) };
    let named = pair.engines[0].receive(receive(Some(1), 1));
    let any = pair.engines[0].receive(receive(None, ANY_SOURCE));
    let fault = Fault { what: "died".into(), on: "1".into(), cause: "signal".into(), remedy: "-".into() };
    pair.engines[0].give_up(1, fault);
    assert!(is_channel_failure(&pair.end(0, named)));
    let later = pair.engines[0].receive(receive(Some(1), 1));
    assert!(is_channel_failure(done(&later)));
    let by_request = pair.engines[0].post(receive(Some(1), 1));
    assert!(is_channel_failure(&pair.engines[0].take(by_request).expect("over")));
    // Another may still send.
    assert!(matches!(any, Posted::Pending(_)));
}

#[test]
fn a_peer_that_no_channel_reaches() {
    let mut engine = Engine::new(0, 3, Vec::new(), Settings::default());
    for (peer, text) in [(2, "from process 0 to process 2"), (3, "process 3 of a job of 3")] {
        let buffer = Bytes::zero(8).buffer();
        let send = SendRequest {
            peer,
            context: 1,
            source: 0,
            tag: 0,
            buffer,
            mark: Mark::NONE,
            mode: Mode::Standard,
        };
        let Posted::Done(completion) = engine.send(send) else { panic!("pending") };
        let Some(Failure::Channel(_, fault)) = completion.failure else { panic!("{completion:?}") };
        assert!(fault.on.contains(text), "{fault}");
        assert!(![&fault.what, &fault.cause, &fault.remedy].iter().any(|part| part.is_empty()));
    }
    assert!(engine.is_quiet());
}

/// Gives engine 1 a packet that engine 0 never sent.
fn forge(pair: &mut Pair, header: Header, payload: &[u8]) {
    pair.wire.meddle(1, |packets| packets.push_back((header, payload.to_vec())));
    pair.settle();
}

#[test]
fn packets_that_make_no_sense_give_the_peer_up() {
    use Kind::*;
    for kind in [RequestToSend, ClearToSend, Copied] {
        let mut pair = Pair::new(Wire::packets());
        forge(&mut pair, Header::new(kind), &[1, 2, 3]);
        assert!(is_channel_failure(done(&pair.send(1, 1, Bytes::zero(8).buffer()))), "{kind:?}");
    }
}

#[test]
fn packets_for_operations_that_are_over_are_ignored() {
    use Kind::*;
    for kind in [Matched, ClearToSend, Data, Finish, Copied, CancelAnswer] {
        let mut pair = Pair::new(Wire::packets());
        let header = Header { context: 1 << 32 | 5, flags: (kind == Copied) as u8 * 2, ..Header::new(kind) };
        forge(&mut pair, header, &[0; 64]);
        assert!(is_good(done(&pair.send(1, 1, Bytes::zero(8).buffer())), 8), "{kind:?}");
    }
}

#[test]
fn data_beyond_the_message_gives_the_peer_up() {
    let mut pair = Pair::new(Wire::packets());
    pair.send(0, 1, Bytes::zero(5000).buffer());
    let receive = pair.receive_any(1, Bytes::zero(5000).buffer());
    pair.engines[1].progress();
    let Posted::Pending(id) = &receive else { panic!("nothing can have come yet") };
    let context = u64::from(id.generation) << 32 | u64::from(id.index);
    let header = Header { context, sequence: 1, length: 4999, ..Header::new(Kind::Data) };
    forge(&mut pair, header, &[0; 2]);
    assert!(is_channel_failure(&pair.end(1, receive)));
}
