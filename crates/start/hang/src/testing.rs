//! Ranks for tests.

use crate::rank::{Rank, RunState, Stage};
use crate::snapshot::{
    Awaited, AwaitedLock, Collective, Communicator, HeldLock, Message, Operation, Snapshot, Wait,
};

/// The context of a communicator of all ranks.
pub(crate) const WORLD: u64 = 8;
/// The context of another one of all ranks.
pub(crate) const OTHER: u64 = 16;

/// The ranks of a job.
pub(crate) struct Cast(Vec<Rank>);

impl Cast {
    /// This many ranks, which do not wait.
    pub(crate) fn new(size: u32) -> Cast {
        let rank = |number| {
            let communicator = |context, name: &str| Communicator {
                context,
                name: name.into(),
                members: vec![(0, size - 1)],
                blocking: 0,
                nonblocking: 0,
            };
            let communicators = vec![communicator(WORLD, "MPI_COMM_WORLD"), communicator(OTHER, "mine")];
            Rank {
                stage: Stage::Initialised,
                state: RunState::Sleeping,
                now_ms: 61_000,
                snapshot: Some(Snapshot { communicators, ..Snapshot::default() }),
                is_answered: true,
                ..Rank::new(number, "node", 100 + number as i32)
            }
        };
        Cast((0..size).map(rank).collect())
    }

    pub(crate) fn ranks(&self) -> &[Rank] {
        &self.0
    }

    pub(crate) fn rank(&mut self, number: u32) -> &mut Rank {
        &mut self.0[number as usize]
    }

    pub(crate) fn snapshot(&mut self, number: u32) -> &mut Snapshot {
        self.rank(number).snapshot.as_mut().expect("a snapshot")
    }

    pub(crate) fn wait(&mut self, number: u32) -> &mut Wait {
        &mut self.snapshot(number).waits[0]
    }

    /// Lets a rank wait.
    pub(crate) fn waits(mut self, number: u32, (call, awaited): (&str, Awaited)) -> Cast {
        let wait =
            Wait { call: call.into(), began_ms: 1000, awaited, frames: Vec::new(), python: Vec::new() };
        self.snapshot(number).waits.push(wait);
        self
    }

    /// Lets a rank compute.
    pub(crate) fn outside(mut self, number: u32) -> Cast {
        self.rank(number).state = RunState::Running;
        self.rank(number).is_answered = false;
        self
    }

    /// Sets the number of collectives that a rank has begun.
    pub(crate) fn begun(mut self, number: u32, context: u64, blocking: u32) -> Cast {
        let mut all = self.snapshot(number).communicators.iter_mut();
        all.find(|known| known.context == context).expect("known").blocking = blocking;
        self
    }

    /// Adds a message that no receive asked for.
    pub(crate) fn arrived(mut self, number: u32, message: Message) -> Cast {
        let queue = &mut self.snapshot(number).arrived;
        queue.total += 1;
        queue.first.push(message);
        self
    }

    /// Adds a lock that a rank holds.
    pub(crate) fn holds(mut self, number: u32, owner: u32) -> Cast {
        self.snapshot(number).locks.push(HeldLock { context: OTHER, owner, exclusive: true });
        self
    }
}

pub(crate) fn message(context: u64, process: u32, tag: i32) -> Message {
    Message { context: WORLD + context, process: Some(process), tag: Some(tag), bytes: 1 << 20 }
}

pub(crate) fn send(to: u32, tag: i32) -> (&'static str, Awaited) {
    ("MPI_Send", Awaited::All(vec![Operation::Send(message(0, to, tag))]))
}

pub(crate) fn held(to: u32, tag: i32) -> (&'static str, Awaited) {
    let short = Message { bytes: 4000, ..message(0, to, tag) };
    ("MPI_Send", Awaited::All(vec![Operation::Held(short)]))
}

pub(crate) fn receive(from: u32, tag: i32) -> (&'static str, Awaited) {
    ("MPI_Recv", Awaited::All(vec![Operation::Receive(message(0, from, tag))]))
}

pub(crate) fn barrier(number: u32) -> (&'static str, Awaited) {
    collective(WORLD, "MPI_Barrier", number)
}

pub(crate) fn collective(context: u64, call: &'static str, number: u32) -> (&'static str, Awaited) {
    (call, Awaited::Collective(Collective { context, call: call.into(), number, nonblocking: false }))
}

pub(crate) fn lock(owner: u32) -> (&'static str, Awaited) {
    let lock = AwaitedLock { context: OTHER, window: "table".into(), owner, exclusive: true };
    ("MPI_Win_lock", Awaited::Lock(lock))
}
