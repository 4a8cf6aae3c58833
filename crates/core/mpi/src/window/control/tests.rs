//! The notes of waiting ranks, posts and completes in memory of the process.

mod sleepers;

use super::*;
use crate::window::lock::{Kind, Lock};

fn words(members: i32) -> (Owned, Words) {
    let owned = Owned::zeroed(bytes(members));
    let words = Words(owned.lend());
    (owned, words)
}

#[test]
fn waiting_ranks_are_found_in_order() {
    let (_owned, words) = words(130);
    for rank in [129, 0, 64] {
        words.set_waiting(rank, true);
    }
    words.set_waiting(64, false);
    let mut found = Vec::new();
    words.for_each_waiting(130, |rank| found.push(rank));
    assert_eq!(found, [0, 129]);
}

#[test]
fn posts_and_completes_are_taken_once() {
    let (_owned, words) = words(130);
    words.set_waiting(65, true);
    [65, 129].into_iter().for_each(|rank| words.post(rank));
    assert!(!words.take_post(64) && words.take_post(65) && !words.take_post(65));
    assert!(words.take_post(129));
    let mut waiting = Vec::new();
    words.for_each_waiting(130, |rank| waiting.push(rank));
    assert_eq!(waiting, [65], "both sorts of notes lie apart");
    (0..3).for_each(|_| words.complete());
    words.forget_completes(2);
    assert_eq!(words.completes(), 1);
}

#[test]
fn a_rank_that_the_window_lacks_does_not_wait() {
    let (_owned, words) = words(3);
    words.0.word_store(WAITERS, u64::MAX);
    let mut found = Vec::new();
    words.for_each_waiting(3, |rank| found.push(rank));
    assert_eq!(found, [0, 1, 2]);
}

#[test]
fn one_waiter_is_found_by_its_ticket() {
    let (_owned, words) = words(200);
    let lock = Lock(words.lock());
    assert!(lock.try_lock(Kind::Writer));
    let [first, second] = [17, 190].map(|rank| {
        let ticket = lock.ticket();
        words.await_turn(ticket, rank);
        ticket
    });
    let woken = |ticket, members| {
        let mut woken = Vec::new();
        let is_known = words.for_each_to_wake(ticket, members, |rank| woken.push(rank));
        (is_known, woken)
    };
    assert_eq!(woken(first, 200), (true, vec![17]));
    assert_eq!(woken(second, 200), (true, vec![190]));
    words.end_wait(first, 17);
    // A ticket that nobody is known to hold, and one of a rank that the window lacks.
    assert_eq!(woken(first, 200), (false, vec![190]));
    assert_eq!(woken(second, 100), (false, vec![]));
    // More wait than there are places: the first one's is taken.
    let others = [(); TURNS].map(|()| lock.ticket());
    let far = others[TURNS - 1];
    words.await_turn(far, 3);
    assert_eq!(far.number() as usize % TURNS, second.number() as usize);
    assert_eq!(woken(second, 200), (false, vec![3, 190]));
    words.end_wait(second, 190);
    assert_eq!(woken(far, 200), (true, vec![3]));
}

#[test]
fn an_exposure_is_open_until_all_origins_have_completed() {
    let (_owned, words) = words(3);
    assert!(!words.is_exposed());
    words.expose(2);
    assert!(words.is_exposed());
    words.complete();
    assert!(words.is_exposed());
    words.complete();
    assert!(!words.is_exposed());
    words.expose(0);
    words.forget_completes(2);
    assert!(!words.is_exposed());
}
