//! Events (MPI-5.0, 15.3.8): the engine's listener notes what happens and when; a task of progress
//! calls back those who registered.
//!
//! So a callback runs in an MPI call that makes progress, with nothing locked: it may call any MPI
//! function, which is the level `MPI_T_CB_REQUIRE_NONE`. While nobody is registered, the engine has
//! no listener and progress no task.

use super::subject::Subject;
use super::{Type, lock, refusal};
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::process::Process;
use crate::task::Task;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use verbena_engine::{Event, EventKind, Listener};

/// The most events that wait for their callbacks; more are dropped and counted.
const QUEUE_MAX: usize = 4096;

/// A type of event.
#[derive(Debug)]
pub struct EventType {
    /// The name of the type.
    pub name: &'static str,
    /// The description that the program can ask for.
    pub help: &'static str,
    /// The subject that it belongs to.
    pub subject: Subject,
    /// The elements; they lie in [`Instance::bytes`] one behind the other.
    pub elements: &'static [Element],
    kind: EventKind,
}

/// A value that an event carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Length of the message in bytes.
    Bytes,
    /// The other process, as a rank in `MPI_COMM_WORLD`.
    Process,
    /// Rank of the sender in the message's communicator.
    Source,
    /// The message's tag.
    Tag,
}

impl Element {
    /// The type of the element.
    pub fn element_type(self) -> Type {
        if self == Element::Bytes { Type::Count } else { Type::Int }
    }
}

const MESSAGE: &[Element] = &[Element::Bytes, Element::Process, Element::Source, Element::Tag];

/// All types of events.
pub static TYPES: &[EventType] = &[
    EventType {
        name: "unexpected_message",
        help: "a message came before its receive; elements: bytes, process, source, tag",
        subject: Subject::Matching,
        elements: MESSAGE,
        kind: EventKind::Unexpected,
    },
    EventType {
        name: "rendezvous_begun",
        help: "a receive took a long message and begins to move it; elements: bytes, process, source, tag",
        subject: Subject::Engine,
        elements: MESSAGE,
        kind: EventKind::Rendezvous,
    },
    EventType {
        name: "channel_failover",
        help: "a channel has lost a process, and another one takes its place; element: process",
        subject: Subject::Engine,
        elements: &[Element::Process],
        kind: EventKind::Failover,
    },
    EventType {
        name: "peer_broken",
        help: "a process cannot be reached any more; element: process",
        subject: Subject::Engine,
        elements: &[Element::Process],
        kind: EventKind::Broken,
    },
];

impl EventType {
    /// The place of each element in [`Instance::bytes`].
    pub fn displacements(&self) -> Vec<usize> {
        self.elements
            .iter()
            .scan(0, |next, element| Some(std::mem::replace(next, *next + element.element_type().bytes())))
            .collect()
    }
}

/// Something that happened, while the callback runs.
#[derive(Debug)]
pub struct Instance {
    event_type: &'static EventType,
    event: Event,
    /// The time, in ticks of the source.
    pub timestamp: i64,
}

impl Instance {
    /// The value of an element, as it lies in memory. `MPI_T_ERR_INVALID_INDEX` if there is none.
    pub fn element(&self, index: i32) -> Result<Vec<u8>> {
        Ok(match super::at(self.event_type.elements, index)? {
            Element::Bytes => (self.event.bytes as i64).to_ne_bytes().to_vec(),
            Element::Process => self.event.peer.to_ne_bytes().to_vec(),
            Element::Source => self.event.source.to_ne_bytes().to_vec(),
            Element::Tag => self.event.tag.to_ne_bytes().to_vec(),
        })
    }

    /// The bytes of all elements.
    pub fn bytes(&self) -> Vec<u8> {
        (0..self.event_type.elements.len() as i32)
            .filter_map(|index| self.element(index).ok())
            .flatten()
            .collect()
    }
}

/// A function called for an event, with the program's data from its registration.
pub type Callback = Arc<dyn Fn(Arc<Instance>, usize) + Send + Sync>;
/// A function called with the number of dropped events, and the program's data from its
/// registration.
pub type DroppedHandler = Arc<dyn Fn(i64, usize) + Send + Sync>;

/// The levels of safety, from the least demanding on.
const LEVELS: [i32; 4] = [
    mpi::MPI_T_CB_REQUIRE_NONE,
    mpi::MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    mpi::MPI_T_CB_REQUIRE_THREAD_SAFE,
    mpi::MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// The place of a level; `MPI_T_ERR_INVALID` if it is none.
pub fn level(safety: i32) -> Result<usize> {
    let place = LEVELS.iter().position(|level| *level == safety);
    place.ok_or_else(|| refusal(mpi::MPI_T_ERR_INVALID, "there is no such level of safety"))
}

/// A program's registration for a type of event.
pub struct Registration {
    /// The type.
    pub event_type: &'static EventType,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// The function and the program's data for it, by level of safety.
    callbacks: [Option<(Callback, usize)>; LEVELS.len()],
    dropped_handler: Option<DroppedHandler>,
    /// The number of events dropped since the handler was called.
    dropped: i64,
}

static REGISTERED: Mutex<Vec<Arc<Registration>>> = Mutex::new(Vec::new());
static QUEUE: Mutex<VecDeque<Instance>> = Mutex::new(VecDeque::new());
/// True while the engine has a listener and progress the task.
static LISTENING: Mutex<bool> = Mutex::new(false);

impl Registration {
    /// Registers for a type, with no function yet.
    pub fn new(event_type: &'static EventType) -> Arc<Registration> {
        let registration = Arc::new(Registration { event_type, calls: Mutex::default() });
        lock(&REGISTERED).push(registration.clone());
        registration
    }

    /// Sets the function of a level, or takes it away.
    pub fn set_callback(&self, level: usize, callback: Option<(Callback, usize)>) {
        lock(&self.calls).callbacks[level] = callback;
    }

    /// Returns whether the level has a function.
    pub fn has_callback(&self, level: usize) -> bool {
        lock(&self.calls).callbacks[level].is_some()
    }

    /// Sets the function for dropped events, or takes it away.
    pub fn set_dropped_handler(&self, handler: Option<DroppedHandler>) {
        lock(&self.calls).dropped_handler = handler;
    }

    /// Frees the registration: from now on nobody is called.
    pub fn free(self: &Arc<Registration>) {
        *lock(&self.calls) = Calls::default();
        lock(&REGISTERED).retain(|other| !Arc::ptr_eq(other, self));
    }

    /// The function to call: that of the least demanding level, since no level is demanded.
    fn callback(&self) -> Option<(Callback, usize)> {
        lock(&self.calls).callbacks.iter().flatten().next().cloned()
    }

    fn is_wanted(&self) -> bool {
        self.callback().is_some()
    }

    fn tell_dropped(&self) {
        let mut calls = lock(&self.calls);
        let data = calls.callbacks.iter().flatten().next().map_or(0, |(_, data)| *data);
        let Some(handler) = calls.dropped_handler.clone().filter(|_| calls.dropped > 0) else { return };
        let count = std::mem::take(&mut calls.dropped);
        drop(calls);
        handler(count, data);
    }
}

fn wanted(kind: EventKind) -> Vec<Arc<Registration>> {
    let of_kind = |one: &&Arc<Registration>| one.event_type.kind == kind && one.is_wanted();
    lock(&REGISTERED).iter().filter(of_kind).cloned().collect()
}

/// Lets the engine tell what happens, if somebody registered; `clock` gives the time in ticks of
/// the source.
pub fn attach(process: &Process, clock: fn() -> i64) {
    let mut listening = lock(&LISTENING);
    if *listening || !is_somebody_there() {
        return;
    }
    *listening = true;
    drop(listening);
    process.command_all(|engine| engine.listen(Some(Box::new(Ear { clock }))));
    process.tasks().start(process, Box::new(Delivery));
}

fn is_somebody_there() -> bool {
    lock(&REGISTERED).iter().any(|registration| registration.is_wanted())
}

/// The engine's listener.
struct Ear {
    clock: fn() -> i64,
}

impl Listener for Ear {
    fn hear(&mut self, event: Event) {
        let Some(event_type) = TYPES.iter().find(|one| one.kind == event.kind) else { return };
        let mut queue = lock(&QUEUE);
        if queue.len() < QUEUE_MAX {
            queue.push_back(Instance { event_type, event, timestamp: (self.clock)() });
            return;
        }
        drop(queue);
        for registration in wanted(event.kind) {
            lock(&registration.calls).dropped += 1;
        }
    }
}

/// The task that calls back at each progress, until nobody is registered.
struct Delivery;

impl Task for Delivery {
    fn advance(&mut self, process: &Process) -> Result<bool> {
        loop {
            let Some(instance) = lock(&QUEUE).pop_front() else { break };
            let instance = Arc::new(instance);
            for registration in wanted(instance.event_type.kind) {
                if let Some((callback, data)) = registration.callback() {
                    callback(instance.clone(), data);
                }
            }
        }
        let all = lock(&REGISTERED).clone();
        all.iter().for_each(|registration| registration.tell_dropped());
        let mut listening = lock(&LISTENING);
        *listening = is_somebody_there();
        if !*listening {
            process.command_all(|engine| engine.listen(None));
        }
        Ok(!*listening)
    }
}
