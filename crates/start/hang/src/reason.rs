//! The reason why nothing moves.

use crate::circle::{self, Circle};
use crate::near_miss::{self, NearMiss};
use crate::rank::Stage;
use crate::snapshot::{Awaited, AwaitedLock, Message, Operation};
use crate::waits::{Doing, Scene, Why, collective_of, receives_of};

/// The reason why nothing moves in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// These ranks are stopped by a signal.
    Stopped(Vec<u32>),
    /// A debugger holds these ranks.
    Traced(Vec<u32>),
    /// These ranks have ended or left MPI, and others wait for them.
    Gone(Vec<u32>),
    /// These ranks have not called `MPI_Init`, for which others wait.
    NotBegun(Vec<u32>),
    /// A short send waits for room at its receiver, which waits in its turn for the sender.
    NoRoom {
        /// The rank that sends.
        sender: u32,
        /// The rank whose room is full.
        receiver: u32,
    },
    /// A message nearly fits a receive that waits.
    NearMiss(NearMiss),
    /// These ranks hold a lock for which this one waits.
    Lock {
        /// The rank that waits.
        waiting: u32,
        /// The lock.
        lock: AwaitedLock,
        /// The ranks that hold it.
        holders: Vec<u32>,
    },
    /// Ranks wait for each other.
    Circle(Circle),
    /// These ranks are not in the collective in which this one is; they wait for something else.
    Missing {
        /// A rank that waits in the collective.
        waiting: u32,
        /// Those that are not in it.
        missing: Vec<u32>,
    },
    /// These ranks do not wait in MPI, and others wait for them.
    Outside(Vec<u32>),
    /// No rank waits in MPI, and these poll there, or may.
    Polling(Vec<u32>),
    /// This rank waits for processes of another job.
    Elsewhere(u32),
    /// This rank waits for a message that nobody has sent.
    NoMessage(u32),
    /// Nothing of this.
    Unknown,
}

impl Reason {
    /// Returns whether a job with this reason will never go on by itself. One that waits for a rank
    /// that computes, also in a thread beside one that waits, may only be slow.
    pub fn is_certain(&self, scene: &Scene<'_>) -> bool {
        if scene.ranks().iter().any(|rank| scene.computes_beside(rank.number)) {
            return false;
        }
        match self {
            // A rank that polls may be about to ask for something else.
            Reason::NearMiss(miss) => scene.polled(miss.receiver).is_none(),
            Reason::NoRoom { .. } => true,
            Reason::Lock { .. } | Reason::Circle(_) | Reason::Gone(_) => true,
            Reason::Missing { .. } | Reason::NoMessage(_) | Reason::Stopped(_) => true,
            Reason::Traced(_) | Reason::NotBegun(_) | Reason::Outside(_) => false,
            Reason::Elsewhere(_) | Reason::Polling(_) | Reason::Unknown => false,
        }
    }
}

/// Finds the reason.
pub fn find(scene: &Scene<'_>) -> Reason {
    let held_up = held_up_by(scene);
    let those =
        |is: &dyn Fn(u32) -> bool| -> Vec<u32> { held_up.iter().copied().filter(|&rank| is(rank)).collect() };
    let is = |wanted: Doing<'static>| move |rank| scene.doing(rank) == wanted;
    let stopped = those(&is(Doing::Stopped));
    if !stopped.is_empty() {
        return Reason::Stopped(stopped);
    }
    let traced = those(&is(Doing::Traced));
    if !traced.is_empty() {
        return Reason::Traced(traced);
    }
    let gone = those(&|rank| matches!(scene.doing(rank), Doing::Ended | Doing::Left));
    if !gone.is_empty() {
        return Reason::Gone(gone);
    }
    let fresh: Vec<u32> = of_stage(scene, Stage::Fresh);
    if !fresh.is_empty() && !of_stage(scene, Stage::Starting).is_empty() {
        return Reason::NotBegun(fresh);
    }
    let outside = those(&is(Doing::Outside));
    among_waiting(scene, &outside)
        .or_else(|| (!outside.is_empty()).then_some(Reason::Outside(outside)))
        .or_else(|| elsewhere(scene).map(Reason::Elsewhere))
        .or_else(|| missing(scene))
        .or_else(|| no_message(scene))
        .or_else(|| (!scene.someone_waits()).then(|| Reason::Polling(scene.polling())))
        .unwrap_or(Reason::Unknown)
}

/// The reasons that lie among the ranks that wait; `outside`: those that do not, for which others
/// wait.
fn among_waiting(scene: &Scene<'_>, outside: &[u32]) -> Option<Reason> {
    let numbers = || scene.ranks().iter().map(|rank| rank.number);
    let no_room = numbers().find_map(|rank| no_room_of(scene, rank, outside.is_empty()));
    if no_room.is_some() {
        return no_room;
    }
    // What is to come from a rank that computes may be the right message.
    let may_come = |miss: &NearMiss| match miss.wanted.process {
        Some(sender) => outside.contains(&sender),
        None => scene.members(miss.wanted.communicator()).iter().any(|&one| is_outside(scene, one)),
    };
    let miss = numbers().find_map(|rank| near_miss::of_rank(scene, rank).filter(|miss| !may_come(miss)));
    if let Some(miss) = miss {
        return Some(Reason::NearMiss(miss));
    }
    numbers().find_map(|rank| lock_of(scene, rank)).or_else(|| circle::find(scene).map(Reason::Circle))
}

fn is_outside(scene: &Scene<'_>, rank: u32) -> bool {
    scene.doing(rank) == Doing::Outside
}

/// The receiver for whose room a rank waits, if it waits for that rank itself, through others or
/// not. `counts_possible`: also as one of several that may send what it waits for.
fn no_room_of(scene: &Scene<'_>, sender: u32, counts_possible: bool) -> Option<Reason> {
    let Doing::Waiting(wait) = scene.doing(sender) else { return None };
    let (Awaited::All(operations) | Awaited::Any(operations)) = &wait.awaited else { return None };
    let receiver = operations.iter().find_map(|operation| match operation {
        Operation::Held(message) if message.is_the_programs() => message.process,
        _ => None,
    })?;
    let (mut seen, mut next) = (vec![receiver], vec![receiver]);
    while let Some(rank) = next.pop() {
        let must = scene.blockers(rank).into_iter().map(|blocker| blocker.rank);
        let may = if counts_possible { possible_senders(scene, rank) } else { Vec::new() };
        for other in must.chain(may) {
            if other == sender {
                return Some(Reason::NoRoom { sender, receiver });
            }
            if !seen.contains(&other) {
                seen.push(other);
                next.push(other);
            }
        }
    }
    None
}

/// The lock for which a rank waits, if its holders are known.
fn lock_of(scene: &Scene<'_>, waiting: u32) -> Option<Reason> {
    let Doing::Waiting(wait) = scene.doing(waiting) else { return None };
    let Awaited::Lock(lock) = &wait.awaited else { return None };
    let holders: Vec<u32> =
        scene.holders(lock.context, lock.owner).into_iter().filter(|&rank| rank != waiting).collect();
    (!holders.is_empty()).then(|| Reason::Lock { waiting, lock: lock.clone(), holders })
}

/// The ranks that others wait for, directly or not; and with a lock of unknown holders, or a
/// collective of unknown members, all that do not wait.
fn held_up_by(scene: &Scene<'_>) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for rank in scene.ranks() {
        let Doing::Waiting(wait) = scene.doing(rank.number) else { continue };
        found.extend(scene.blockers(rank.number).iter().map(|blocker| blocker.rank));
        found.extend(possible_senders(scene, rank.number));
        let is_unknown = match &wait.awaited {
            Awaited::Lock(lock) => scene.holders(lock.context, lock.owner).is_empty(),
            Awaited::Collective(collective) => scene.members(collective.context).is_empty(),
            other => *other == Awaited::Other,
        };
        if is_unknown {
            let others = scene.ranks().iter().map(|other| other.number);
            found.extend(others.filter(|&other| !matches!(scene.doing(other), Doing::Waiting(_))));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The ranks of which any one may send what a rank waits for.
fn possible_senders(scene: &Scene<'_>, rank: u32) -> Vec<u32> {
    let receives = scene.wait(rank).map(|wait| receives_of(&wait.awaited)).unwrap_or_default();
    let any = receives.iter().filter(|(message, must)| message.process.is_none() || !must);
    let senders = any.flat_map(|(message, _)| match message.process {
        Some(process) => vec![process],
        None => scene.members(message.communicator()),
    });
    senders.filter(|&sender| sender != rank && !is_left(scene, sender)).collect()
}

/// Returns whether a rank has gone properly: one of several possible senders may.
fn is_left(scene: &Scene<'_>, rank: u32) -> bool {
    matches!(scene.doing(rank), Doing::Left | Doing::Ended)
}

fn of_stage(scene: &Scene<'_>, stage: Stage) -> Vec<u32> {
    scene.ranks().iter().filter(|rank| rank.stage == stage).map(|rank| rank.number).collect()
}

/// A rank that waits for processes of another job, or for what may come from one.
fn elsewhere(scene: &Scene<'_>) -> Option<u32> {
    let is_elsewhere = |rank: u32| scene.doing(rank) == Doing::Elsewhere;
    let waits_there = |rank: u32| {
        let Some(wait) = scene.wait(rank) else { return false };
        let from_any = |(message, _): &(Message, bool)| match message.process {
            Some(process) => is_elsewhere(process),
            None => scene.stranger(message.communicator()).is_some(),
        };
        scene.blockers(rank).iter().any(|blocker| is_elsewhere(blocker.rank))
            || receives_of(&wait.awaited).iter().any(from_any)
            || collective_of(wait).is_some_and(|own| scene.stranger(own.context).is_some())
            || matches!(wait.awaited, Awaited::OtherJob(_))
    };
    scene.ranks().iter().map(|rank| rank.number).find(|&rank| waits_there(rank))
}

/// Ranks that wait for something other than the collective in which others are.
fn missing(scene: &Scene<'_>) -> Option<Reason> {
    scene.ranks().iter().find_map(|rank| {
        let Doing::Waiting(wait) = scene.doing(rank.number) else { return None };
        collective_of(wait)?;
        let blockers = scene.blockers(rank.number).into_iter();
        let missing: Vec<u32> =
            blockers.filter(|blocker| blocker.why == Why::Collective).map(|blocker| blocker.rank).collect();
        (!missing.is_empty()).then_some(Reason::Missing { waiting: rank.number, missing })
    })
}

/// A rank that waits for a message which no rank has sent, and no rank will.
fn no_message(scene: &Scene<'_>) -> Option<Reason> {
    let waits = |number: u32| scene.wait(number).is_some_and(|wait| !receives_of(&wait.awaited).is_empty());
    let mut numbers = scene.ranks().iter().map(|rank| rank.number);
    numbers.find(|&number| waits(number)).map(Reason::NoMessage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::near_miss::Differs;
    use crate::rank::RunState;
    use crate::testing::{Cast, OTHER, WORLD, barrier, collective, held, lock, message, receive, send};

    fn reason(cast: &Cast) -> Reason {
        find(&Scene::new(cast.ranks()))
    }

    #[test]
    fn a_rank_that_computes_is_found_behind_a_chain() {
        let cast = Cast::new(3).waits(0, receive(1, 1)).waits(1, receive(2, 1)).outside(2);
        assert_eq!(reason(&cast), Reason::Outside(vec![2]));
        assert!(!reason(&cast).is_certain(&Scene::new(cast.ranks())));
    }

    #[test]
    fn those_that_do_not_wait_hold_up_a_collective_of_unknown_members() {
        let cast = Cast::new(3).waits(0, collective(99, "MPI_File_open", 1)).outside(2);
        assert_eq!(reason(&cast), Reason::Outside(vec![1, 2]));
    }

    #[test]
    fn a_stopped_rank_comes_first() {
        let mut cast = Cast::new(3).waits(0, barrier(1)).waits(1, send(0, 1)).waits(2, barrier(1));
        cast.rank(1).state = RunState::Stopped;
        assert_eq!(reason(&cast), Reason::Stopped(vec![1]));
    }

    #[test]
    fn a_wrong_tag_is_seen_though_its_sender_waits() {
        let cast = Cast::new(2).waits(0, receive(1, 7)).arrived(0, message(0, 1, 8)).waits(1, barrier(1));
        let Reason::NearMiss(miss) = reason(&cast) else { panic!("{:?}", reason(&cast)) };
        assert_eq!((miss.receiver, miss.differs), (0, Differs::Tag));
    }

    #[test]
    fn full_room_comes_before_all_that_follows_from_it() {
        let room = Reason::NoRoom { sender: 0, receiver: 1 };
        let base = || Cast::new(2).waits(0, held(1, 4)).arrived(1, message(0, 0, 4));
        for wait in [receive(0, 99), barrier(1), held(0, 4)] {
            let cast = base().waits(1, wait);
            assert_eq!(reason(&cast), room);
            assert!(reason(&cast).is_certain(&Scene::new(cast.ranks())));
        }
        let mut any = base().waits(1, receive(0, 99));
        let Awaited::All(all) = &mut any.wait(1).awaited else { unreachable!() };
        all[0] = Operation::Receive(Message { process: None, ..message(0, 0, 99) });
        assert_eq!(reason(&any), room);
    }

    #[test]
    fn full_room_is_no_cause_while_its_receiver_waits_for_others() {
        let cast = || Cast::new(3).waits(0, held(1, 4));
        assert_eq!(reason(&cast().waits(1, receive(2, 1)).outside(2)), Reason::Outside(vec![2]));
        assert_eq!(reason(&cast().outside(1).outside(2)), Reason::Outside(vec![1]));
        let circle = cast().waits(1, send(2, 1)).waits(2, send(1, 1));
        assert!(matches!(reason(&circle), Reason::Circle(_)));
    }

    #[test]
    fn a_message_may_still_come_from_a_rank_that_computes() {
        let cast = Cast::new(2).waits(0, receive(1, 7)).arrived(0, message(0, 1, 8)).outside(1);
        assert_eq!(reason(&cast), Reason::Outside(vec![1]));
    }

    #[test]
    fn a_lock_is_told_with_its_holder() {
        let cast = Cast::new(3).waits(0, lock(1)).holds(2, 1).waits(2, barrier(1)).waits(1, barrier(1));
        let Reason::Lock { waiting, holders, .. } = reason(&cast) else { panic!("{:?}", reason(&cast)) };
        assert_eq!((waiting, holders), (0, vec![2]));
    }

    #[test]
    fn a_lock_of_an_unknown_holder_may_be_that_of_a_rank_that_computes() {
        let cast = Cast::new(3).waits(0, lock(1)).waits(1, barrier(1)).outside(2);
        assert_eq!(reason(&cast), Reason::Outside(vec![2]));
    }

    #[test]
    fn different_communicators_are_a_circle() {
        let cast = Cast::new(2)
            .waits(0, collective(WORLD, "MPI_Barrier", 1))
            .waits(1, collective(OTHER, "MPI_Barrier", 1));
        let Reason::Circle(circle) = reason(&cast) else { panic!("{:?}", reason(&cast)) };
        assert!(circle.is_of(Why::Collective));
    }

    #[test]
    fn a_rank_that_waits_for_anything_misses_the_collective() {
        let mut cast = Cast::new(3).waits(0, barrier(1)).waits(1, barrier(1)).waits(2, receive(0, 1));
        let Awaited::All(all) = &mut cast.wait(2).awaited else { unreachable!() };
        let any = crate::snapshot::Message { process: None, ..message(0, 0, 1) };
        all[0] = crate::snapshot::Operation::Receive(any);
        let reason = reason(&cast);
        assert_eq!(reason, Reason::Missing { waiting: 0, missing: vec![2] });
        assert!(reason.is_certain(&Scene::new(cast.ranks())));
    }

    #[test]
    fn a_thread_beside_one_that_waits_may_still_send() {
        let mut cast = Cast::new(2).waits(0, receive(1, 5)).waits(1, receive(0, 5));
        assert!(reason(&cast).is_certain(&Scene::new(cast.ranks())));
        cast.rank(1).processor_percent = Some(97);
        assert!(matches!(reason(&cast), Reason::Circle(_)));
        assert!(!reason(&cast).is_certain(&Scene::new(cast.ranks())));
    }

    #[test]
    fn who_waits_for_another_job_may_wait_for_long() {
        let from_there = Cast::new(2).waits(0, receive(7, 1)).waits(1, barrier(1));
        assert_eq!(reason(&from_there), Reason::Elsewhere(0));
        assert!(!reason(&from_there).is_certain(&Scene::new(from_there.ranks())));
        let mut from_any = Cast::new(1).waits(0, receive(0, 1));
        let Awaited::All(all) = &mut from_any.wait(0).awaited else { unreachable!() };
        all[0] = crate::snapshot::Operation::Receive(Message { process: None, ..message(0, 0, 1) });
        from_any.snapshot(0).communicators[0].members = vec![(0, 3)];
        assert_eq!(reason(&from_any), Reason::Elsewhere(0));
    }

    #[test]
    fn a_receive_without_a_send_is_told() {
        let mut cast = Cast::new(2).waits(0, receive(1, 1)).waits(1, receive(0, 1));
        for rank in 0..2 {
            let Awaited::All(all) = &mut cast.wait(rank).awaited else { unreachable!() };
            let any = crate::snapshot::Message { process: None, ..message(0, 0, 1) };
            all[0] = crate::snapshot::Operation::Receive(any);
        }
        assert_eq!(reason(&cast), Reason::NoMessage(0));
    }

    #[test]
    fn a_rank_that_never_began_is_told() {
        let mut cast = Cast::new(2);
        cast.rank(0).stage = Stage::Starting;
        cast.rank(1).stage = Stage::Fresh;
        assert_eq!(reason(&cast), Reason::NotBegun(vec![1]));
        cast.rank(1).stage = Stage::Ended;
        assert_eq!(reason(&cast), Reason::Unknown);
    }
}
