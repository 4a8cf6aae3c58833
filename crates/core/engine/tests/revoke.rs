//! Communicators that are revoked, and peers that are dead.

mod pair;

use pair::wire::Wire;
use pair::{Bytes, CONTEXT, Pair, done};
use verbena_channel::mark::Mark;
use verbena_engine::{Failure, LASTING_TAG, Mode, Posted, ReceiveRequest};
use verbena_fault::Fault;

#[test]
fn what_is_under_way_on_a_revoked_communicator_ends_on_all_members() {
    let mut pair = Pair::new(Wire::packets());
    let mine = pair.receive_any(0, Bytes::zero(8).buffer());
    let theirs = pair.receive_any(1, Bytes::zero(8).buffer());
    pair.engines[0].revoke(CONTEXT, &[1]);
    pair.settle();
    for (at, receive) in [(0, mine), (1, theirs)] {
        assert_eq!(pair.end(at, receive).failure, Some(Failure::Revoked));
        assert!(pair.engines[at].is_revoked(CONTEXT));
        let later = pair.receive_any(at, Bytes::zero(8).buffer());
        assert_eq!(done(&later).failure, Some(Failure::Revoked));
    }
}

/// The program's call may have begun before the news came: nobody will ever ask for the message.
#[test]
fn no_send_that_would_wait_begins_on_a_revoked_communicator() {
    let mut pair = Pair::new(Wire::packets());
    pair.engines[1].revoke(CONTEXT, &[0]);
    pair.settle();
    let long = Bytes::zero(1 << 20);
    assert_eq!(done(&pair.send(0, 1, long.buffer())).failure, Some(Failure::Revoked));
    let synchronous = pair.send_in_mode(0, 1, Bytes::zero(8).buffer(), Mode::Synchronous);
    assert_eq!(done(&synchronous).failure, Some(Failure::Revoked));
}

#[test]
fn messages_with_lasting_tags_go_on() {
    let mut pair = Pair::new(Wire::packets());
    pair.engines[0].revoke(CONTEXT, &[1]);
    pair.settle();
    let receive = ReceiveRequest {
        peer: Some(0),
        context: CONTEXT,
        source: 0,
        tag: LASTING_TAG,
        buffer: Bytes::zero(8).buffer(),
        mark: Mark::NONE,
    };
    assert!(matches!(pair.engines[1].receive(receive.clone()), Posted::Pending(_)));
    // The highest tag of a program is not one of them.
    let highest = pair.engines[1].receive(ReceiveRequest { tag: i32::MAX, ..receive });
    assert_eq!(done(&highest).failure, Some(Failure::Revoked));
}

#[test]
fn operations_with_a_dead_peer_say_that_it_is_dead() {
    let mut pair = Pair::new(Wire::packets());
    let receive = pair.receive_any(1, Bytes::zero(8).buffer());
    pair.engines[1].set_senders(|_, peer| peer == 0);
    let fault = Fault::new("dead", "peer 0", "killed", "go on");
    pair.engines[1].bury(0, fault.clone());
    assert_eq!(pair.engines[1].dead(), [0]);
    let dead = Some(Failure::Dead(Box::new(fault)));
    assert_eq!(pair.end(1, receive).failure, dead);
    assert_eq!(done(&pair.send(1, 1, Bytes::zero(8).buffer())).failure, dead);
}

fn dead_fault() -> Fault {
    Fault::new("dead", "peer 0", "killed", "go on")
}

/// A pair whose second engine goes on when the first one dies. Whether that one may send to it is
/// in `MAY_SEND`.
fn pair_that_goes_on() -> Pair {
    let mut pair = Pair::new(Wire::packets());
    MAY_SEND.set(true);
    pair.engines[1].set_senders(|_, peer| peer == 0 && MAY_SEND.get());
    pair.engines[1].set_goes_on(true);
    pair
}

thread_local!(static MAY_SEND: std::cell::Cell<bool> = const { std::cell::Cell::new(true) });

#[test]
fn a_receive_from_any_source_is_in_doubt_while_a_dead_peer_may_send_to_it() {
    let mut pair = pair_that_goes_on();
    let early = pair::pending(&pair.receive_any(1, Bytes::zero(8).buffer()));
    pair.engines[1].bury(0, dead_fault());
    let later = pair::pending(&pair.receive_any(1, Bytes::zero(8).buffer()));
    let doubt = Some(Failure::InDoubt(Box::new(dead_fault())));
    for receive in [early, later] {
        let engine = &mut pair.engines[1];
        for _ in 0..2 {
            assert_eq!(engine.take(receive).expect("in doubt").failure, doubt);
            assert_eq!(engine.peek(receive).expect("in doubt").failure, doubt);
        }
        assert!(engine.is_in_doubt(receive) && !engine.is_pending(receive) && engine.contains(receive));
        // Once the loss is acknowledged it waits on.
        MAY_SEND.set(false);
        assert!(engine.is_pending(receive) && engine.take(receive).is_none());
        MAY_SEND.set(true);
    }
    // A call that waits for one alone fails, and its receive takes nothing later.
    let failure = pair.engines[1].take_for_good(early).expect("in doubt").failure;
    assert_eq!(failure, Some(Failure::Dead(Box::new(dead_fault()))));
    assert!(!pair.engines[1].contains(early) && pair.engines[1].counters().posted == 1);
    pair.engines[1].cancel(later);
    assert!(pair.engines[1].take(later).expect("cancelled").cancelled);
}

#[test]
fn a_lost_peer_is_a_suspect_until_the_owner_says_whether_it_is_dead() {
    for is_dead in [false, true] {
        let mut pair = pair_that_goes_on();
        let losses = pair.engines[1].losses();
        let receive = pair::pending(&pair.receive_any(1, Bytes::zero(8).buffer()));
        pair.engines[1].give_up(0, dead_fault());
        let engine = &mut pair.engines[1];
        assert!(engine.losses() > losses && engine.suspect() == Some(0) && engine.is_suspect(0));
        assert!(engine.is_pending(receive) && engine.take(receive).is_none());
        match is_dead {
            true => engine.bury(0, dead_fault()),
            false => engine.clear_suspect(0),
        }
        assert_eq!(engine.suspect(), None);
        let ended = engine.take(receive).expect("over, or in doubt");
        assert_eq!((ended.is_in_doubt(), engine.contains(receive)), (is_dead, is_dead));
        let later = pair.receive_any(1, Bytes::zero(8).buffer());
        assert_eq!(matches!(later, Posted::Pending(_)), is_dead);
    }
}

#[test]
fn a_peer_that_was_lost_before_is_a_suspect_once_the_owner_goes_on() {
    let mut pair = pair_that_goes_on();
    pair.engines[1].set_goes_on(false);
    pair.engines[1].give_up(0, dead_fault());
    assert!(matches!(pair.engines[1].loss(CONTEXT, Some(0)), Some(Failure::Channel(0, _))));
    for _ in 0..2 {
        let losses = pair.engines[1].losses();
        assert_eq!(pair.engines[1].suspect(), None);
        pair.engines[1].set_goes_on(true);
        assert!(pair.engines[1].losses() > losses && pair.engines[1].is_suspect(0));
        // Once it is told to live nobody asks again, until the owner has changed its mind.
        pair.engines[1].clear_suspect(0);
        pair.engines[1].set_goes_on(true);
        assert_eq!(pair.engines[1].suspect(), None);
        pair.engines[1].set_goes_on(false);
    }
    pair.engines[1].set_goes_on(true);
    pair.engines[1].bury(0, dead_fault());
    assert!(matches!(pair.engines[1].loss(CONTEXT, Some(0)), Some(Failure::Dead(_))));
    // One that is dead is none.
    pair.engines[1].set_goes_on(false);
    pair.engines[1].set_goes_on(true);
    assert_eq!(pair.engines[1].suspect(), None);
}

#[test]
fn a_lost_peer_that_may_have_left_is_awaited_by_nobody_unless_it_is_dead() {
    let mut pair = Pair::new(Wire::packets());
    pair.engines[1].set_senders(|_, peer| peer == 0);
    pair.engines[1].set_leaving(|peer| peer == 0);
    let receive = pair::pending(&pair.receive_any(1, Bytes::zero(8).buffer()));
    pair.engines[1].give_up(0, dead_fault());
    assert!(pair.engines[1].is_pending(receive) && pair.engines[1].loss(CONTEXT, None).is_none());
    pair.engines[1].bury(0, dead_fault());
    assert!(matches!(pair.engines[1].loss(CONTEXT, None), Some(Failure::Dead(_))));
    assert!(pair.engines[1].is_in_doubt(receive));
}

#[test]
fn operations_with_peers_that_have_left_end_when_their_partners_are_given_up() {
    let mut pair = Pair::new(Wire::packets());
    let send = pair.send_in_mode(0, 5, Bytes::zero(8).buffer(), verbena_engine::Mode::Synchronous);
    pair.settle();
    assert!(!pair.is_quiet());
    pair.engines[0].give_up_partners(|_| dead_fault());
    assert!(matches!(pair.end(0, send).failure, Some(Failure::Channel(1, _))));
    assert!(pair.engines[0].is_quiet());
}
