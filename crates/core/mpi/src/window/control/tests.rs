//! The notes of waiting ranks, posts and completes in memory of the process.

mod sleepers;

use super::*;
use crate::window::lock::{Attempt, Kind, Lock};

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
    [1, 65, 129].into_iter().for_each(|rank| words.complete(rank));
    words.forget_complete(65);
    assert_eq!([1, 65, 129].map(|rank| words.has_completed(rank)), [true, false, true]);
    assert_eq!(words.completes(130), 2);
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
    assert!(!words.is_exposed(3));
    words.expose(2);
    assert!(words.is_exposed(3));
    words.complete(2);
    words.complete(2);
    assert!(words.is_exposed(3), "one has completed, however often it says so");
    words.complete(0);
    assert!(!words.is_exposed(3));
    words.expose(0);
    [0, 2].into_iter().for_each(|rank| words.forget_complete(rank));
    assert!(!words.is_exposed(3));
}

/// The words of a process that has died tell what it had of a lock, and who waits behind it.
#[test]
fn a_claim_tells_who_waits_in_vain() {
    let ((_lock, words), (_own, own)) = (words(200), words(200));
    let lock = Lock(words.lock());
    assert_eq!(own.claim_on(70), None);
    own.claim(70);
    assert_eq!([69, 70, 71].map(|owner| own.claim_on(owner)), [None, Some(Claim::Holds), None]);
    assert!(lock.try_lock(Kind::Writer));
    let [first, dead, last] = [(); 3].map(|()| lock.ticket());
    let place = own.claim_turn(70, dead);
    assert_eq!([69, 70].map(|owner| own.claim_on(owner)), [None, Some(Claim::Waits(dead))]);
    let claim = own.claim_on(70).expect("a claim");
    assert_eq!([first, dead, last].map(|ticket| lock.is_behind(ticket, claim)), [false, false, true]);
    assert!(words.note_dead(9, claim) && !words.note_dead(8, claim), "one is enough");
    assert_eq!([first, last].map(|ticket| words.dead_before(ticket)), [None, Some((9, claim))]);
    // One that held the lock stands before all.
    assert!(words.note_dead(0, Claim::Holds) && !words.note_dead(9, claim));
    assert_eq!([first, last].map(|ticket| words.dead_before(ticket)), [Some((0, Claim::Holds)); 2]);
    own.end_claimed_turn(place);
    assert_eq!(own.claim_on(70), Some(Claim::Holds));
    own.unclaim(70);
    assert_eq!(own.claim_on(70), None);
}

/// A reader that dies just after it has entered, before it says so, holds the lock, also once
/// readers that came behind it have left.
#[test]
fn a_reader_that_dies_as_it_enters_holds_the_lock() {
    for start in [0, (1 << 21) - 2] {
        let ((_lock, words), (_own, own)) = (words(8), words(8));
        let lock = Lock(words.lock());
        for _ in 0..start {
            let _ = (lock.try_lock(Kind::Writer), lock.leave(Kind::Writer));
        }
        assert!(lock.try_lock(Kind::Writer));
        let [dead, other, last] = [(); 3].map(|()| lock.ticket());
        own.claim(0);
        let _place = own.claim_turn(0, dead);
        let _ = lock.leave(Kind::Writer);
        for reader in [dead, other] {
            assert!(matches!(lock.try_enter(reader, Kind::Reader), Attempt::Entered { .. }));
        }
        let claim = own.claim_on(0).expect("a claim");
        assert_eq!(claim, Claim::Waits(dead));
        assert!(lock.is_behind(last, claim));
        let _ = lock.leave(Kind::Reader);
        assert_eq!(lock.try_enter(last, Kind::Writer), Attempt::Early);
        assert!(lock.is_behind(last, claim), "the one that left is not the one that died");
        assert!(words.note_dead(3, claim));
        assert_eq!(words.dead_before(last), Some((3, Claim::Holds)));
    }
}

/// One who has died with a claim and without a ticket is told by the tickets of the others.
#[test]
fn those_that_live_account_for_tickets() {
    let (_lock, words) = words(8);
    let lock = Lock(words.lock());
    assert!(lock.is_accounted(|| 0));
    assert!(lock.try_lock(Kind::Reader) && lock.try_lock(Kind::Reader));
    let waiter = lock.ticket();
    assert_eq!([2, 3, 4].map(|living| lock.is_accounted(|| living)), [false, true, true]);
    let is_accounted = lock.is_accounted(|| {
        let _ = lock.leave(Kind::Reader);
        3
    });
    assert!(!is_accounted, "the lock has changed while they were counted");
    // One of the readers has died: nobody else has its ticket.
    assert!(!lock.is_accounted(|| 1) && lock.try_enter(waiter, Kind::Writer) == Attempt::Early);
}

/// A lock that is waited for without a place, since too many threads wait, counts as held.
#[test]
fn many_locks_may_be_waited_for_at_once() {
    let (_owned, own) = words(200);
    let lock = Owned::zeroed(8);
    let tickets = [(); 200].map(|()| Lock(lock.lend()).ticket());
    let places: Vec<_> = (0..9)
        .map(|owner| {
            own.claim(owner);
            own.claim_turn(owner, tickets[100 + owner as usize])
        })
        .collect();
    assert_eq!(own.claim_on(7), Some(Claim::Waits(tickets[107])));
    assert_eq!((places[8], own.claim_on(8)), (None, Some(Claim::Holds)));
    own.end_claimed_turn(places[3]);
    assert!(own.claim_turn(8, tickets[5]).is_some());
    assert_eq!(own.claim_on(8), Some(Claim::Waits(tickets[5])));
}
