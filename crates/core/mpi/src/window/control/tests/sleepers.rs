//! Ranks that wait for one lock, sleep meanwhile, and are woken one by one, in any order of their
//! steps. A rank that was not woken never looks again, so that a wake too few is a standstill.

use super::*;
use crate::window::lock::{Attempt, Kind, Ticket as Place};
use std::collections::BTreeSet;

/// A small generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// The next step of a waiter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Ask,
    /// To be noted under the ticket, as all are but the owner's service.
    Note(Place),
    Look(Place),
    /// Asleep until its rank is woken.
    Sleep(Place),
    Leave,
}

/// A thread of a rank, or the service of the owner, which is rank 0, for an origin.
struct Waiter {
    rank: i32,
    is_service: bool,
    kind: Kind,
    step: Step,
    left: u32,
}

struct Job {
    _owned: Owned,
    words: Words,
    members: i32,
    waiters: Vec<Waiter>,
    dice: Dice,
    /// Ranks that were woken.
    wakes: u64,
    /// The tickets in the order in which their holders entered.
    entered: Vec<u32>,
}

impl Job {
    fn new(seed: u64) -> Job {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let members = [2, 5, 70, 200][dice.below(4)];
        let (_owned, words) = words(members);
        let service = dice.below(3);
        let waiter = |i: i32, dice: &mut Dice| Waiter {
            rank: if i < service as i32 { 0 } else { i % members },
            is_service: i < service as i32,
            kind: if dice.below(3) == 0 { Kind::Reader } else { Kind::Writer },
            step: Step::Ask,
            left: 1 + dice.below(4) as u32,
        };
        let waiters = (0..members + service as i32).map(|i| waiter(i, &mut dice)).collect();
        Job { _owned, words, members, waiters, dice, wakes: 0, entered: Vec::new() }
    }

    fn wake(&mut self, next: Place) {
        let mut woken = BTreeSet::new();
        if !self.words.for_each_to_wake(next, self.members, |rank| _ = woken.insert(rank)) {
            woken.insert(0);
        }
        self.wakes += woken.len() as u64;
        for waiter in self.waiters.iter_mut().filter(|waiter| woken.contains(&waiter.rank)) {
            if let Step::Sleep(place) = waiter.step {
                waiter.step = Step::Look(place);
            }
        }
    }

    fn check_holders(&self) {
        let holders: Vec<Kind> =
            self.waiters.iter().filter(|it| it.step == Step::Leave).map(|it| it.kind).collect();
        let is_alone = holders.len() < 2 || holders.iter().all(|&kind| kind == Kind::Reader);
        assert!(is_alone, "{holders:?} hold the lock");
    }

    fn step(&mut self, at: usize) {
        let lock = Lock(self.words.lock());
        let Waiter { rank, is_service, kind, step, .. } = self.waiters[at];
        self.waiters[at].step = match step {
            Step::Ask if lock.try_lock(kind) => Step::Leave,
            Step::Ask if is_service => Step::Look(lock.ticket()),
            Step::Ask => Step::Note(lock.ticket()),
            Step::Note(place) => {
                self.words.await_turn(place, rank);
                Step::Look(place)
            }
            // Between the look and the sleep a wake is not lost: its bell was raised before.
            Step::Look(place) => match lock.try_enter(place, kind) {
                Attempt::Early => Step::Sleep(place),
                Attempt::Entered { next } => {
                    if !is_service {
                        self.words.end_wait(place, rank);
                    }
                    self.entered.push(place.number());
                    if let Some(next) = next {
                        self.wake(next);
                    }
                    Step::Leave
                }
            },
            Step::Sleep(_) => unreachable!("who sleeps makes no step"),
            Step::Leave => {
                if let Some(next) = lock.leave(kind) {
                    self.wake(next);
                }
                self.waiters[at].left -= 1;
                Step::Ask
            }
        };
        self.check_holders();
    }

    /// Runs to the end. Returns the entries of those that had waited, and the wakes.
    fn run(mut self) -> (u64, u64) {
        loop {
            let may =
                |it: &Waiter| !matches!(it.step, Step::Sleep(_)) && (it.left > 0 || it.step != Step::Ask);
            let able: Vec<usize> = (0..self.waiters.len()).filter(|&at| may(&self.waiters[at])).collect();
            if able.is_empty() {
                break;
            }
            let at = able[self.dice.below(able.len())];
            self.step(at);
        }
        let asleep = self.waiters.iter().filter(|it| matches!(it.step, Step::Sleep(_))).count();
        assert_eq!(asleep, 0, "they are not woken any more");
        assert!(self.entered.is_sorted(), "somebody was overtaken: {:?}", self.entered);
        (self.entered.len() as u64, self.wakes)
    }
}

#[test]
fn everybody_who_sleeps_is_woken_in_its_turn() {
    let (mut waited, mut wakes) = (0, 0);
    for seed in 1..600 {
        let (one, its) = Job::new(seed).run();
        (waited, wakes) = (waited + one, wakes + its);
    }
    println!("{wakes} wakes for {waited} that waited");
    assert!(waited > 10_000, "{waited} waited");
}
