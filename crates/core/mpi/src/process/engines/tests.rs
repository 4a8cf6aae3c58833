//! Threads on communicators of different engines do not wait for each other; those of one do.

use super::*;
use crate::group::Group;
use crate::point::{message, receipt};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark;
use verbena_engine::{Failure, Mode, Settings};
use verbena_machine::cores::Load;
use verbena_memory::{Buffer, Owned};
use verbena_waiting::{Plain, lock};

/// Exchanges of the thread that must not wait.
const EXCHANGES: i32 = 1000;
/// After this time a thread has been held up.
const PATIENCE: Duration = Duration::from_secs(20);
/// After this time a thread that has to wait would have shown that it does not.
const MOMENT: Duration = Duration::from_millis(200);

fn engine() -> Engine {
    Engine::new(0, 3, vec![Box::new(LoopbackChannel::new(0))], Settings::default())
}

/// Process 0 of three. The first two have further engines; it sends to itself alone.
fn process(further: usize) -> Process {
    lock::share(false);
    let load = Load { local_ranks: 1, cores: 1, quota: None };
    let process = Process::new(0, 3, engine(), Arc::new(Plain::new(&load)));
    process.with_engines((0..further).map(|_| engine()).collect(), vec![0, 1])
}

/// A communicator with the `number`-th context of these members.
fn comm_of(process: &Process, number: u64, members: Vec<Peer>) -> Comm {
    let comm = Comm::new(number << 2, Arc::new(Group::new(members, 0)), None);
    comm.choose_engine(process);
    comm
}

fn comm(process: &Process, number: u64) -> Comm {
    comm_of(process, number, vec![0, 1])
}

/// Sends a word to itself and receives it.
fn exchange(process: &Process, comm: &Comm, word: i32) {
    let (from, into) = (Owned::from(&word.to_le_bytes()[..]), Owned::zeroed(4));
    let elements = |owned: &Owned| (Buffer::Contiguous(owned.lend()), Mark::NONE);
    let receive = process.receive_in(comm.engine(), receipt(comm, elements(&into), 0, 7));
    let send = process.send_in(comm.engine(), message(comm, elements(&from), 0, 7, Mode::Standard));
    for posted in [send, receive] {
        assert_eq!(process.finish(posted).failure, None);
    }
    assert_eq!(into.lend().to_vec(), word.to_le_bytes());
}

#[test]
fn all_members_find_the_same_engine_and_only_where_all_have_it() {
    let process = process(3);
    let numbers: Vec<usize> = (2..8).map(|number| comm(&process, number).engine()).collect();
    assert_eq!(numbers, [3, 1, 2, 3, 1, 2]);
    assert_eq!(comm_of(&process, 2, vec![0, 2]).engine(), 0, "process 2 is elsewhere");
    assert_eq!(comm_of(&process, 2, vec![0]).engine(), 0, "nobody else is there");
    assert_eq!(process.further_engines_in_use(), 3);
    assert_eq!(comm(&self::process(0), 2).engine(), 0);
}

/// While one thread has the engine of its communicator, and even the first one, another exchanges
/// messages on its own.
#[test]
fn a_thread_does_not_wait_for_that_of_another_engine() {
    let process = &process(2);
    let (held, own) = (comm(process, 2), comm(process, 3));
    assert_ne!(held.engine(), own.engine());
    let (took, taken) = channel();
    let (done, is_done) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            process.command(|_| {
                process.look_in(held.engine(), |_| {
                    took.send(()).expect("the other thread is there");
                    is_done.recv_timeout(PATIENCE).expect("the other thread waits for this one");
                });
            });
        });
        taken.recv().expect("the other thread is there");
        (0..EXCHANGES).for_each(|word| exchange(process, &own, word));
        done.send(()).expect("the other thread is there");
    });
}

/// The counterpart: the test above could not tell without it.
#[test]
fn a_thread_waits_for_that_of_the_same_engine() {
    let process = &process(2);
    let (held, own) = (comm(process, 2), comm(process, 4));
    assert_eq!(held.engine(), own.engine());
    let (took, taken) = channel();
    let (done, is_done) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            process.look_in(held.engine(), |_| {
                took.send(()).expect("the other thread is there");
                assert!(is_done.recv_timeout(MOMENT).is_err(), "nobody waited");
            });
        });
        taken.recv().expect("the other thread is there");
        exchange(process, &own, 1);
        // The other thread may have gone.
        let _ = done.send(());
    });
}

#[test]
fn a_thread_that_waits_at_one_engine_moves_the_others_on() {
    let process = process(2);
    let (waiting, other) = (comm(&process, 2), comm(&process, 3));
    let receive = |comm: &Comm| {
        let receive = receipt(comm, (Buffer::EMPTY, Mark::NONE), 0, 7);
        process.post_in(comm.engine(), receive)
    };
    let (mine, theirs) = (receive(&waiting), receive(&other));
    let send = message(&other, (Buffer::EMPTY, Mark::NONE), 0, 7, Mode::Standard);
    process.send_in(other.engine(), send);
    // The loopback delivers in a round of its engine alone.
    let ended = |id| process.look_at(id, |engine, id| !engine.is_pending(id));
    let mut rounds = 0;
    while !ended(theirs) {
        rounds += 1;
        process.progress_by_turns(Some(waiting.engine()), rounds, |engine| engine.progress());
        assert!(rounds <= OTHERS_EVERY, "the other engine has had no turn");
    }
    assert!(!ended(mine));
    for id in [mine, theirs] {
        process.command_at(id, |engine, id| engine.cancel(id));
        process.finish_request(id);
    }
}

/// Such an engine has its turn more rarely than one that the program has used.
#[test]
fn an_engine_that_nobody_uses_has_its_turn_all_the_same() {
    let process = process(2);
    let (waiting, other) = (comm(&process, 2), comm(&process, 3));
    let send = message(&other, (Buffer::EMPTY, Mark::NONE), 0, 7, Mode::Standard);
    // Behind the process's back, as what comes from others is.
    process.look_in(other.engine(), |engine| engine.send(send));
    let held = || process.look_in(other.engine(), |engine| engine.held_messages());
    let mut rounds = 0;
    while held() == 0 && rounds < 2 * ALL_EVERY {
        rounds += 1;
        process.progress_by_turns(Some(waiting.engine()), rounds, |engine| engine.progress());
    }
    assert!((OTHERS_EVERY..=ALL_EVERY).contains(&rounds), "{rounds} rounds");
}

#[test]
fn an_engine_is_active_as_long_as_something_waits_there() {
    let process = process(1);
    let comm = comm(&process, 2);
    let is_active = || process.further.active.load(Ordering::Relaxed) != 0;
    let rounds = || (0..2 * QUIET_AFTER * ALL_EVERY).for_each(|_| _ = process.progress());
    assert!(!is_active(), "the communicator was only made");
    let pending = process.post_in(comm.engine(), receipt(&comm, (Buffer::EMPTY, Mark::NONE), 0, 7));
    rounds();
    assert!(is_active());
    process.command_at(pending, |engine, id| engine.cancel(id));
    process.finish_request(pending);
    rounds();
    assert!(!is_active());
}

#[test]
fn a_request_of_an_engine_that_does_not_exist_is_no_other_request() {
    let process = process(1);
    let comm = comm(&process, 2);
    let receive = receipt(&comm, (Buffer::EMPTY, Mark::NONE), 0, 7);
    let there = |id| process.look_at(id, |engine, id| engine.contains(id));
    let (first, further) = (process.post_in(0, receive.clone()), process.post_in(comm.engine(), receive));
    assert_eq!((first.engine(), further.engine()), (0, 1));
    assert_eq!(first, further.in_engine(), "both are the first of their engine");
    assert!(there(first) && there(further) && !there(first.of_engine(2)));
    for id in [first, further] {
        process.command_at(id, |engine, id| engine.cancel(id));
        assert!(process.finish_request(id).cancelled);
    }
}

#[test]
fn a_revoked_communicator_ends_what_is_under_way_at_its_engine() {
    let process = process(1);
    let comm = comm(&process, 2);
    let receive = receipt(&comm, (Buffer::EMPTY, Mark::NONE), 0, 7);
    let pending = process.post_in(comm.engine(), receive.clone());
    process.note_revoked_beside(comm.context(Traffic::Point));
    assert_eq!(process.finish_request(pending).failure, Some(Failure::Revoked));
    let late = process.post_in(comm.engine(), receive);
    assert_eq!(process.finish_request(late).failure, Some(Failure::Revoked));
}
