//! The ranks that wait for others, and for whom.

use crate::rank::{Rank, RunState, Stage};
use crate::snapshot::{Awaited, Collective, Communicator, Message, Operation, Wait};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A rank that waits in MPI or in the system sleeps nearly all the time. One that uses so much of a
/// processor, in percent, has a thread that computes.
pub const COMPUTES_PERCENT: u32 = 10;

/// A rank's doings, as far as others need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doing<'a> {
    /// The process has ended.
    Ended,
    /// The process belongs to another job, of which nothing is known here.
    Elsewhere,
    /// The rank has left MPI.
    Left,
    /// The rank has not called `MPI_Init`.
    Fresh,
    /// The rank waits in `MPI_Init` for all others.
    Starting,
    /// A signal has stopped it.
    Stopped,
    /// A debugger holds it.
    Traced,
    /// The rank waits in MPI.
    Waiting(&'a Wait),
    /// The rank does not wait in MPI.
    Outside,
}

/// The reason why one rank holds up another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The other has not received a message.
    Receive,
    /// The other has not sent a message.
    Send,
    /// The other is not in a collective.
    Collective,
    /// The other holds a lock.
    Lock,
    /// The other has not opened or closed an epoch of a window.
    Epoch,
    /// The other has not carried out operations on its part of a window.
    OneSided,
    /// The other has not called `MPI_Init`.
    Start,
}

/// A rank that holds up another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocker {
    /// The rank.
    pub rank: u32,
    /// The reason.
    pub why: Why,
}

/// The ranks of a job, and what is known of their communicators.
pub struct Scene<'a> {
    ranks: &'a [Rank],
    communicators: BTreeMap<u64, &'a Communicator>,
    /// The sends that have not ended, by the process to which they go; each with its sender.
    sends: BTreeMap<u32, Vec<Message>>,
    /// The ranks that have not come to a collective: many wait in the same one.
    absent: RefCell<BTreeMap<Collective, Vec<Blocker>>>,
}

impl<'a> Scene<'a> {
    /// The scene of these ranks, in order of number.
    pub fn new(ranks: &'a [Rank]) -> Scene<'a> {
        let snapshots = ranks.iter().filter_map(|rank| rank.snapshot.as_ref());
        let mut communicators = BTreeMap::new();
        for known in snapshots.flat_map(|snapshot| &snapshot.communicators) {
            let kept = communicators.entry(known.context).or_insert(known);
            if kept.members.is_empty() {
                *kept = known;
            }
        }
        Scene { ranks, communicators, sends: sends(ranks), absent: RefCell::default() }
    }

    /// All ranks.
    pub fn ranks(&self) -> &'a [Rank] {
        self.ranks
    }

    /// The rank of this number.
    pub fn rank(&self, number: u32) -> Option<&'a Rank> {
        // Nearly always they are all there.
        let here = self.ranks.get(number as usize).filter(|rank| rank.number == number);
        here.or_else(|| self.ranks.iter().find(|rank| rank.number == number))
    }

    /// The communicator of this context.
    pub fn communicator(&self, context: u64) -> Option<&'a Communicator> {
        self.communicators.get(&context).copied()
    }

    /// The members of a communicator that are known.
    pub fn members(&self, context: u64) -> Vec<u32> {
        let ranges = self.communicator(context).map_or(&[][..], |known| &known.members);
        let is_member = |number: &u32| ranges.iter().any(|&(first, last)| (first..=last).contains(number));
        self.ranks.iter().map(|rank| rank.number).filter(is_member).collect()
    }

    /// A member of a communicator that belongs to another job, if there is one.
    pub fn stranger(&self, context: u64) -> Option<u32> {
        let ranges = self.communicator(context).map_or(&[][..], |known| &known.members);
        let last = self.ranks.last().map_or(0, |rank| rank.number);
        ranges.iter().map(|&(_, end)| end).find(|&end| end > last)
    }

    /// Returns whether a thread of a rank computes while another one waits in MPI: what others wait
    /// for may yet come from there.
    pub fn computes_beside(&self, number: u32) -> bool {
        let percent = self.rank(number).and_then(|rank| rank.processor_percent).unwrap_or(0);
        matches!(self.doing(number), Doing::Waiting(_)) && percent >= COMPUTES_PERCENT
    }

    /// The sends to a rank that have not ended, each with its sender.
    pub fn sends_to(&self, number: u32) -> &[Message] {
        self.sends.get(&number).map_or(&[], Vec::as_slice)
    }

    /// A rank's doings.
    pub fn doing(&self, number: u32) -> Doing<'a> {
        let Some(rank) = self.rank(number) else { return Doing::Elsewhere };
        match (rank.stage, rank.state) {
            (Stage::Ended, _) => Doing::Ended,
            (_, RunState::Stopped) => Doing::Stopped,
            (_, RunState::Traced) => Doing::Traced,
            (Stage::Fresh, _) => Doing::Fresh,
            (Stage::Starting, _) => Doing::Starting,
            (Stage::Finalised, _) => Doing::Left,
            (Stage::Initialised, _) => {
                let wait = rank.snapshot.as_ref().and_then(|snapshot| snapshot.waits.first());
                wait.map_or(Doing::Outside, Doing::Waiting)
            }
        }
    }

    /// The wait that a rank is in, also if it is stopped there.
    pub fn wait(&self, number: u32) -> Option<&'a Wait> {
        self.rank(number)?.snapshot.as_ref()?.waits.first()
    }

    /// The operations that a rank polls for, if it does not wait in MPI.
    pub fn polled(&self, number: u32) -> Option<&'a Awaited> {
        let rank = self.rank(number).filter(|rank| rank.is_answered)?;
        let polled = rank.snapshot.as_ref()?.polled.as_ref();
        polled.filter(|_| self.doing(number) == Doing::Outside)
    }

    /// Returns whether any rank waits in MPI.
    pub fn someone_waits(&self) -> bool {
        let waits = |rank: &Rank| matches!(self.doing(rank.number), Doing::Waiting(_) | Doing::Starting);
        self.ranks.iter().any(waits)
    }

    /// The ranks that poll, or may: those between `MPI_Init` and `MPI_Finalize` that do not wait
    /// there, but are in MPI again and again.
    pub fn polling(&self) -> Vec<u32> {
        let may_poll = |rank: &&Rank| {
            self.doing(rank.number) == Doing::Outside && (rank.polls().is_some() || rank.is_answered)
        };
        self.ranks.iter().filter(may_poll).map(|rank| rank.number).collect()
    }

    /// The ranks that must all do something before this one goes on.
    pub fn blockers(&self, number: u32) -> Vec<Blocker> {
        let mut found = match self.doing(number) {
            Doing::Starting => {
                let fresh = self.ranks.iter().filter(|rank| rank.stage == Stage::Fresh);
                fresh.map(|rank| Blocker { rank: rank.number, why: Why::Start }).collect()
            }
            Doing::Waiting(wait) => self.blockers_of(number, &wait.awaited),
            _ => Vec::new(),
        };
        found.retain(|blocker| blocker.rank != number || blocker.why != Why::Collective);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn blockers_of(&self, number: u32, awaited: &Awaited) -> Vec<Blocker> {
        match awaited {
            Awaited::All(operations) => {
                operations.iter().flat_map(|operation| self.blockers_of_one(operation)).collect()
            }
            // Any of several may come true: only one alone must.
            Awaited::Any(operations) => match &operations[..] {
                [operation] => self.blockers_of_one(operation),
                _ => Vec::new(),
            },
            Awaited::Collective(collective) => self.absent(collective),
            Awaited::Probe(message) => blocker(message, Why::Send).into_iter().collect(),
            Awaited::Lock(lock) => {
                let holders = self.holders(lock.context, lock.owner).into_iter();
                holders.filter(|&rank| rank != number).map(|rank| Blocker { rank, why: Why::Lock }).collect()
            }
            Awaited::Epoch { processes, .. } => {
                processes.iter().map(|&rank| Blocker { rank, why: Why::Epoch }).collect()
            }
            // Whoever waits inside MPI carries them out meanwhile.
            Awaited::OneSided { processes, .. } => {
                let is_away = |rank: u32| !matches!(self.doing(rank), Doing::Waiting(_));
                let away = processes.iter().filter(|&&rank| rank != number && is_away(rank));
                away.map(|&rank| Blocker { rank, why: Why::OneSided }).collect()
            }
            Awaited::OtherJob(_) | Awaited::Other => Vec::new(),
        }
    }

    fn blockers_of_one(&self, operation: &Operation) -> Vec<Blocker> {
        match operation {
            Operation::Send(message) | Operation::Held(message) => {
                blocker(message, Why::Receive).into_iter().collect()
            }
            Operation::Receive(message) => blocker(message, Why::Send).into_iter().collect(),
            Operation::Collective(collective) => self.absent(collective),
            Operation::Other => Vec::new(),
        }
    }

    /// The members of a communicator that have not come to a collective.
    fn absent(&self, collective: &Collective) -> Vec<Blocker> {
        if let Some(known) = self.absent.borrow().get(collective) {
            return known.clone();
        }
        let members = self.members(collective.context).into_iter();
        let absent = members.filter(|&member| !self.has_come(member, collective));
        let absent: Vec<Blocker> = absent.map(|rank| Blocker { rank, why: Why::Collective }).collect();
        self.absent.borrow_mut().insert(collective.clone(), absent.clone());
        absent
    }

    /// Returns whether a rank is in a collective, or was.
    fn has_come(&self, number: u32, collective: &Collective) -> bool {
        if let Some(own) = self.wait(number).and_then(collective_of)
            && own.context == collective.context
            && own.nonblocking == collective.nonblocking
        {
            // Who learns of the communicator's board does not say from which call.
            let is_call = own.call == collective.call || own.call.is_empty() || collective.call.is_empty();
            let same = own.number == collective.number && is_call;
            return same || own.number > collective.number;
        }
        let snapshot = self.rank(number).and_then(|rank| rank.snapshot.as_ref());
        let known = snapshot.and_then(|snapshot| {
            snapshot.communicators.iter().find(|known| known.context == collective.context)
        });
        known.is_some_and(|known| {
            let begun = if collective.nonblocking { known.nonblocking } else { known.blocking };
            begun >= collective.number
        })
    }

    /// The ranks that hold the lock of a process's part of a window.
    pub fn holders(&self, context: u64, owner: u32) -> Vec<u32> {
        let holds = |rank: &&Rank| {
            let held = rank.snapshot.iter().flat_map(|snapshot| &snapshot.locks);
            held.into_iter().any(|lock| lock.context == context && lock.owner == owner)
        };
        self.ranks.iter().filter(holds).map(|rank| rank.number).collect()
    }
}

/// The sends of all ranks, by the process to which they go.
fn sends(ranks: &[Rank]) -> BTreeMap<u32, Vec<Message>> {
    let mut sends: BTreeMap<u32, Vec<Message>> = BTreeMap::new();
    for rank in ranks {
        for send in rank.snapshot.iter().flat_map(|snapshot| &snapshot.sends.first) {
            if let Some(receiver) = send.process {
                let sender = Some(rank.number);
                sends.entry(receiver).or_default().push(Message { process: sender, ..*send });
            }
        }
    }
    sends
}

fn blocker(message: &Message, why: Why) -> Option<Blocker> {
    message.process.map(|rank| Blocker { rank, why })
}

/// The collective that a wait is for.
pub fn collective_of(wait: &Wait) -> Option<&Collective> {
    match &wait.awaited {
        Awaited::Collective(collective) => Some(collective),
        Awaited::All(operations) => operations.iter().find_map(|operation| match operation {
            Operation::Collective(collective) => Some(collective),
            _ => None,
        }),
        _ => None,
    }
}

/// The receives that are waited for, each with whether it must end.
pub fn receives_of(awaited: &Awaited) -> Vec<(Message, bool)> {
    let of = |operations: &[Operation], must| -> Vec<(Message, bool)> {
        let receives = operations.iter().filter_map(|operation| match operation {
            Operation::Receive(message) => Some((*message, must)),
            _ => None,
        });
        receives.collect()
    };
    match awaited {
        Awaited::All(operations) => of(operations, true),
        Awaited::Any(operations) => of(operations, operations.len() == 1),
        Awaited::Probe(message) => vec![(*message, true)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cast, WORLD, barrier, receive, send};

    #[test]
    fn a_send_and_a_receive_wait_for_their_peers() {
        let cast = Cast::new(3).waits(0, send(1, 5)).waits(1, receive(2, 7)).outside(2);
        let scene = Scene::new(cast.ranks());
        assert_eq!(scene.blockers(0), [Blocker { rank: 1, why: Why::Receive }]);
        assert_eq!(scene.blockers(1), [Blocker { rank: 2, why: Why::Send }]);
        assert_eq!((scene.blockers(2).len(), scene.doing(2)), (0, Doing::Outside));
    }

    #[test]
    fn operations_wait_for_those_who_do_not_wait_in_mpi() {
        let one_sided = Awaited::OneSided { window: "w".into(), processes: vec![0, 1, 2] };
        let cast = Cast::new(3).waits(0, ("MPI_Win_flush_all", one_sided)).waits(1, receive(0, 7)).outside(2);
        let scene = Scene::new(cast.ranks());
        assert_eq!(scene.blockers(0), [Blocker { rank: 2, why: Why::OneSided }]);
    }

    #[test]
    fn a_collective_waits_for_those_who_have_not_come() {
        let cast = Cast::new(4).waits(0, barrier(3)).waits(1, barrier(3)).waits(2, receive(0, 1)).outside(3);
        // Rank 2 has been there, rank 3 has not.
        let cast = cast.begun(2, WORLD, 3).begun(3, WORLD, 2);
        let scene = Scene::new(cast.ranks());
        assert_eq!(scene.blockers(0), [Blocker { rank: 3, why: Why::Collective }]);
    }

    #[test]
    fn a_rank_in_another_collective_of_that_number_has_not_come() {
        let mut cast = Cast::new(2).waits(0, barrier(3)).waits(1, barrier(3)).begun(1, WORLD, 3);
        let Awaited::Collective(other) = &mut cast.wait(1).awaited else { unreachable!() };
        other.call = "MPI_Bcast".into();
        let scene = Scene::new(cast.ranks());
        assert_eq!(scene.blockers(0), [Blocker { rank: 1, why: Why::Collective }]);
    }

    #[test]
    fn a_collective_without_a_name_is_that_of_its_number() {
        let mut cast = Cast::new(3).waits(0, barrier(4)).waits(1, barrier(4)).waits(2, receive(0, 1));
        let Awaited::Collective(other) = &mut cast.wait(1).awaited else { unreachable!() };
        other.call = String::new();
        let scene = Scene::new(cast.ranks());
        for rank in [0, 1] {
            assert_eq!(scene.blockers(rank), [Blocker { rank: 2, why: Why::Collective }]);
        }
    }

    #[test]
    fn who_starts_waits_for_those_who_have_not_begun() {
        let mut cast = Cast::new(2);
        cast.rank(0).stage = Stage::Starting;
        cast.rank(1).stage = Stage::Fresh;
        let scene = Scene::new(cast.ranks());
        assert_eq!(scene.blockers(0), [Blocker { rank: 1, why: Why::Start }]);
        assert!(scene.someone_waits());
    }

    #[test]
    fn one_of_several_holds_nobody_up_for_certain() {
        let any = Awaited::Any(vec![
            Operation::Receive(crate::testing::message(0, 1, 1)),
            Operation::Receive(crate::testing::message(0, 2, 1)),
        ]);
        let mut cast = Cast::new(3).waits(0, receive(1, 1));
        cast.wait(0).awaited = any;
        assert_eq!(Scene::new(cast.ranks()).blockers(0), []);
    }
}
