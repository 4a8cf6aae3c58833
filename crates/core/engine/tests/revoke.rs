//! Communicators that are revoked, and peers that are dead.

mod pair;

use pair::wire::Wire;
use pair::{Bytes, CONTEXT, Pair, done};
use verbena_channel::mark::Mark;
use verbena_engine::{Failure, LASTING_TAG, Posted, ReceiveRequest};
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
