//! Processes of other jobs come, and go again.

mod pair;

use pair::wire::{Wire, WireEnd};
use pair::*;
use verbena_engine::{Engine, Failure, Mode, Settings};

const HOME: u32 = 1;

fn end(wire: &Wire, me: u32) -> verbena_wires::Wire {
    verbena_wires::Wire::Other(Box::new(WireEnd::new(wire, me)))
}

/// Two engines that know nobody.
fn alone() -> Pair {
    let engine = |me: u32| Engine::new(me, me + 1, Vec::new(), Settings::default());
    Pair { engines: [engine(0), engine(1)], wire: Wire::packets() }
}

/// Lets them know each other over a new wire.
fn introduce(pair: &mut Pair) {
    pair.wire = Wire::packets();
    for me in 0..2u32 {
        let wire = end(&pair.wire, me);
        pair.engines[me as usize].admit(HOME, &[1 - me], vec![wire]);
    }
}

fn exchange(pair: &mut Pair, from: usize, bytes: usize) {
    let (data, room) = (Bytes::pattern(bytes, 3), Bytes::zero(bytes));
    let receive = pair.receive_any(1 - from, room.buffer());
    let send = pair.send(from, 1, data.buffer());
    assert!(is_good(&pair.end(1 - from, receive), bytes) && is_good(&pair.end(from, send), bytes));
    assert!(room.get() == data.get());
}

#[test]
fn who_is_unknown_is_not_reached() {
    let mut pair = alone();
    let send = pair.send(0, 1, Bytes::pattern(8, 1).buffer());
    assert!(is_channel_failure(done(&send)));
}

#[test]
fn processes_are_admitted_and_dismissed_again_and_again() {
    let mut pair = alone();
    for round in 0..100 {
        introduce(&mut pair);
        exchange(&mut pair, round % 2, 8);
        exchange(&mut pair, 1 - round % 2, 10_000);
        assert!(pair.engines.iter_mut().all(|engine| engine.dismiss(HOME)));
        let counters = pair.engines[0].counters();
        assert_eq!(counters.channels.len(), 1, "the place of the channel is used again");
        assert!(counters.channels[0].packets_sent > round as u64, "what it counted stays");
    }
    let send = pair.send(0, 1, Bytes::pattern(8, 1).buffer());
    assert!(is_channel_failure(done(&send)));
}

#[test]
fn who_still_has_to_get_something_is_not_dismissed() {
    let mut pair = alone();
    introduce(&mut pair);
    let (data, room) = (Bytes::pattern(10_000, 3), Bytes::zero(10_000));
    let send = pair.send(0, 1, data.buffer());
    pair.settle();
    assert!(!pair.engines[0].dismiss(HOME), "the receiver has not come");
    let receive = pair.receive_any(1, room.buffer());
    assert!(is_good(&pair.end(1, receive), 10_000) && is_good(&pair.end(0, send), 10_000));
    assert!(pair.engines.iter_mut().all(|engine| engine.dismiss(HOME)));
    assert!(room.get() == data.get());
}

#[test]
fn one_who_was_lost_is_dismissed_and_its_number_is_used_again() {
    let mut pair = alone();
    introduce(&mut pair);
    exchange(&mut pair, 0, 8);
    let receive = pair.receive(0, 1, 5, Bytes::zero(8).buffer());
    pair.engines[0].give_up(1, verbena_fault::Fault::new("gone", "here", "a test", "nothing"));
    assert!(pair.engines[0].has_lost(1));
    let waiting = pair.engines[0].take(pending(&receive));
    assert!(waiting.is_none_or(|completion| matches!(completion.failure, Some(Failure::Channel(..)))));
    assert!(pair.engines.iter_mut().all(|engine| engine.dismiss(HOME)));
    assert!(!pair.engines[0].has_lost(1));
    introduce(&mut pair);
    exchange(&mut pair, 0, 8);
}

/// A process that finalises refuses what nobody will receive, whether it came before or comes
/// later. The sender learns that, and both can leave.
#[test]
fn what_a_process_never_receives_is_refused() {
    for (bytes, mode) in [(8, Mode::Synchronous), (10_000, Mode::Standard), (10_000, Mode::Synchronous)] {
        let mut pair = alone();
        introduce(&mut pair);
        let send = |pair: &mut Pair| pair.send_in_mode(0, 1, Bytes::pattern(bytes, 3).buffer(), mode);
        let (before, cancelled) = (send(&mut pair), send(&mut pair));
        pair.settle();
        assert!(!pair.engines[0].is_quiet());
        pair.engines[1].refuse_foreign(true);
        // The wish and the refusal cross.
        pair.engines[0].cancel(pending(&cancelled));
        let after = send(&mut pair);
        for send in [before, after] {
            let end = pair.end(0, send);
            assert!(matches!(&end.failure, Some(Failure::Channel(1, _))) && !end.cancelled, "{end:?}");
        }
        assert!(pair.end(0, cancelled).cancelled);
        let left = pair.engines[1].pending_messages(9).unexpected;
        assert_eq!((left.total, left.first[0].bytes), (3, bytes as u64), "the owner can tell of them");
        assert_eq!(pair.engines[1].counters().unexpected_bytes, 0);
        assert!(pair.is_quiet() && !pair.engines[0].has_lost(1));
        // A receive that waits is served all the same, and one who begins again takes all.
        exchange_posted(&mut pair, bytes);
        pair.engines[1].refuse_foreign(false);
        let send = send(&mut pair);
        pair.settle();
        assert!(pair.engines[0].take(pending(&send)).is_none(), "it waits for its receive");
    }
}

fn exchange_posted(pair: &mut Pair, bytes: usize) {
    let room = Bytes::zero(bytes);
    let receive = pair.receive(1, 0, 9, room.buffer());
    let send = pair.send_in_mode(0, 9, Bytes::pattern(bytes, 5).buffer(), Mode::Synchronous);
    assert!(is_good(&pair.end(1, receive), bytes) && is_good(&pair.end(0, send), bytes));
    assert!(room.get() == Bytes::pattern(bytes, 5).get());
}

#[test]
fn what_is_sent_within_a_job_is_never_refused() {
    let mut pair = Pair::new(Wire::packets());
    pair.engines[1].refuse_foreign(true);
    exchange(&mut pair, 0, 10_000);
    let send = pair.send(0, 1, Bytes::pattern(10_000, 3).buffer());
    pair.settle();
    assert!(pair.engines[0].take(pending(&send)).is_none());
}
