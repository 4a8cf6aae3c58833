//! The words of this process about itself to its launcher while it waits: communicators, locks, and
//! where it is in the program. Under other launchers than ours nobody asks: see
//! [`alone`](crate::alone).

use crate::frames::{self, Frames};
use crate::handles::{COMMS, FILES, WINS};
use crate::python;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use verbena_boot::status::{self, BYTES_MAX, StatusPlace};
use verbena_channel::Peer;
use verbena_hang::{Awaited, Communicator, HeldLock, Operation, Snapshot, Wait};
use verbena_mpi::process::Watch;

/// The most communicators that are told.
const COMMUNICATORS_MAX: usize = 16;
/// The most locks that are told.
const LOCKS_MAX: usize = 64;

/// The launcher, which watches.
struct Launcher {
    place: &'static StatusPlace,
}

/// The place where the launcher of this process reads, if it is ours.
pub(crate) fn place() -> Option<&'static StatusPlace> {
    static PLACE: OnceLock<Option<StatusPlace>> = OnceLock::new();
    PLACE.get_or_init(StatusPlace::inherit).as_ref()
}

/// The launcher of this process, if it is ours.
pub(crate) fn launcher() -> Option<Arc<dyn Watch>> {
    let place = place()?;
    Some(Arc::new(Launcher { place }))
}

impl Watch for Launcher {
    fn beat(&self) {
        self.place.beat();
    }

    fn question(&self) -> u64 {
        self.place.question()
    }

    fn is_asked(&self) -> bool {
        self.place.is_asked()
    }

    fn deaths(&self) -> u64 {
        self.place.deaths()
    }

    fn dead(&self) -> Vec<Peer> {
        self.place.dead()
    }

    fn news(&self) -> u64 {
        self.place.news()
    }

    fn await_news(&self, known: u64, at_most: Duration) {
        self.place.await_news(known, at_most);
    }

    fn goes_on(&self) -> bool {
        self.place.goes_on()
    }

    fn now_ms(&self) -> u64 {
        status::now_ms()
    }

    fn set_waits(&self, waits: u64) {
        self.place.set_waits(waits);
    }

    fn locate(&self, wait: &mut Wait) {
        locate(wait);
    }

    fn complete(&self, snapshot: &mut Snapshot) {
        complete(snapshot);
    }

    fn say(&self, snapshot: Snapshot, question: u64) {
        self.place.write(&snapshot.encode_within(BYTES_MAX), question);
    }
}

/// Adds to a wait of this thread its call and its places in the program.
pub(crate) fn locate(wait: &mut Wait) {
    let Frames { call, program } = frames::here();
    (wait.call, wait.frames) = (call, program);
    wait.python = python::lines();
}

/// Adds the communicators that a snapshot speaks of, and the locks of windows.
pub(crate) fn complete(snapshot: &mut Snapshot) {
    snapshot.communicators = communicators(&contexts(snapshot));
    snapshot.locks = locks();
}

/// The contexts that a snapshot speaks of.
fn contexts(snapshot: &Snapshot) -> Vec<u64> {
    let of_operation = |operation: &Operation| match operation {
        Operation::Send(message) | Operation::Held(message) | Operation::Receive(message) => {
            Some(message.communicator())
        }
        Operation::Collective(collective) => Some(collective.context),
        Operation::Other => None,
    };
    let of_awaited = |awaited: &Awaited| -> Vec<u64> {
        match awaited {
            Awaited::All(all) | Awaited::Any(all) => all.iter().filter_map(of_operation).collect(),
            Awaited::Collective(collective) => vec![collective.context],
            Awaited::Probe(message) => vec![message.communicator()],
            Awaited::Lock(_)
            | Awaited::Epoch { .. }
            | Awaited::OneSided { .. }
            | Awaited::OtherJob(_)
            | Awaited::Other => Vec::new(),
        }
    };
    let queues = [&snapshot.arrived, &snapshot.sends, &snapshot.posted];
    let queued = queues.into_iter().flat_map(|queue| &queue.first).map(|message| message.communicator());
    let awaited = snapshot.waits.iter().map(|wait| &wait.awaited).chain(&snapshot.polled);
    awaited.flat_map(of_awaited).chain(queued).collect()
}

/// The communicators of the program, and those of its windows and files, those of these contexts
/// first.
fn communicators(wanted: &[u64]) -> Vec<Communicator> {
    let found = RefCell::new(Vec::new());
    let add = |told: Communicator| {
        found.borrow_mut().push(told);
        false
    };
    COMMS.find(|comm| add(comm.told(String::from_utf8_lossy(&comm.name()).into_owned())));
    WINS.find(|win| add(win.told()));
    FILES.find(|file| add(file.told()));
    let mut found = found.into_inner();
    found.sort_by_key(|known: &Communicator| !wanted.contains(&known.context));
    found.truncate(COMMUNICATORS_MAX);
    found
}

/// The locks of windows that this process holds.
fn locks() -> Vec<HeldLock> {
    let found = RefCell::new(Vec::new());
    WINS.find(|win| {
        found.borrow_mut().extend(win.held_locks());
        false
    });
    let mut found = found.into_inner();
    found.truncate(LOCKS_MAX);
    found
}
