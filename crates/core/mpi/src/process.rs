//! One MPI process: its engine, how it waits, and the tasks that progress drives.
//!
//! Nothing here knows of C or of handles. The library has one [`Process`]. Locks are taken in the
//! order task list, task, engine; user callbacks run with the engine unlocked.

mod abroad;
mod acquaintances;
mod allocated;
mod engines;
mod failure;
pub(crate) mod foreign;
pub(crate) mod opening;
mod outside;
mod polls;
mod progress_thread;
pub mod task;
mod wait;
mod watch;
pub use abroad::Blindness;
use allocated::Allocated;
pub use allocated::Freed;
use engines::FurtherEngines;
pub use failure::{checked, completion_error, failure_error, revoked};
pub(crate) use failure::{ends_all, is_end};
use foreign::ForeignState;
pub use foreign::Origin;
use progress_thread::Aside;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use task::TaskList;
use verbena_channel::Peer;
use verbena_channel::board::Boards;
use verbena_channel::heap::Heap;
use verbena_channel::neighbor::Neighbors;
use verbena_engine::{Completion, Engine, Envelope, MaySend, OnRevoke, Posted, RequestId, SendRequest};
use verbena_waiting::current::CurrentWaiter;
use verbena_waiting::lock::{Lock, SingleThread, SingleThreadGuard, is_shared};
use verbena_waiting::{SLEEP_MAX, Waiter};
use watch::Watched;
pub use watch::{NEWS_TIME_MAX, Watch, is_known_dead};

/// The state of this process.
pub struct Process {
    me: Peer,
    size: u32,
    /// The first engine.
    engine: Lock<Engine>,
    further: FurtherEngines,
    waiter: CurrentWaiter,
    sleep_max: Duration,
    shares_cores: AtomicBool,
    /// True while this process goes on when others die.
    goes_on: AtomicBool,
    /// True if one of the two above is, processes of other jobs are watched, or the launcher asks:
    /// calls that do not wait take care of more than messages.
    polls_with_care: AtomicBool,
    /// Set by a signal that says that the launcher asks, until the next call that does not wait.
    question_noted: AtomicBool,
    foreign: ForeignState,
    boards: Option<Arc<dyn Boards>>,
    neighbors: Option<Arc<dyn Neighbors>>,
    heap: Option<Arc<dyn Heap>>,
    allocated: Allocated,
    tasks: TaskList,
    sleepers: AtomicUsize,
    /// Set while the progress thread sleeps, or is about to.
    progress_thread_sleeps: AtomicBool,
    /// Rounds of progress of threads that wait or poll while others share the library.
    rounds: AtomicU32,
    /// The place of the progress thread while it keeps away.
    aside: Aside,
    slept: AtomicU64,
    /// The number of calls without waiting that found nothing, since one found something.
    polled_in_vain: AtomicU32,
    contexts: AtomicU64,
    watched: Watched,
    /// Called whenever a process has died.
    on_death: fn(),
}

/// Exclusive use of an engine for a moment. The library locks it, the simulator lends it.
pub trait Access {
    /// Calls `f` with the engine for a command, and wakes the threads that may wait for it.
    fn with<R>(&mut self, f: impl FnOnce(&mut Engine) -> R) -> R;

    /// Calls `f` with the engine and wakes nobody: for what no other thread waits for. A task looks
    /// so whether it can go on, since each look happens in the last round before a thread sleeps
    /// and would wake it at once.
    #[inline]
    fn look<R>(&mut self, f: impl FnOnce(&mut Engine) -> R) -> R {
        self.with(f)
    }

    /// Says that a look became a command after all: it began a message.
    #[inline]
    fn begun(&mut self) {}
}

impl Access for &mut Engine {
    #[inline]
    fn with<R>(&mut self, f: impl FnOnce(&mut Engine) -> R) -> R {
        f(self)
    }
}

impl Access for &Process {
    #[inline]
    fn with<R>(&mut self, f: impl FnOnce(&mut Engine) -> R) -> R {
        self.command(f)
    }

    #[inline]
    fn look<R>(&mut self, f: impl FnOnce(&mut Engine) -> R) -> R {
        Process::look(self, f)
    }

    #[inline]
    fn begun(&mut self) {
        if is_shared() {
            let work = Process::look(self, |engine| engine.has_work());
            self.tell_others(work);
        }
    }
}

/// First context counter that a process hands out.
const FIRST_COUNTER: u64 = 2;
impl Process {
    /// Process `me` of `size` over this engine.
    pub fn new(me: Peer, size: u32, engine: Engine, waiter: Arc<dyn Waiter>) -> Process {
        Process {
            me,
            size,
            engine: Lock::new(engine),
            further: FurtherEngines::default(),
            shares_cores: AtomicBool::new(waiter.shares_cores()),
            goes_on: AtomicBool::new(false),
            polls_with_care: AtomicBool::new(waiter.shares_cores()),
            question_noted: AtomicBool::new(false),
            waiter: CurrentWaiter::new(waiter),
            foreign: ForeignState::default(),
            sleep_max: SLEEP_MAX,
            boards: None,
            neighbors: None,
            heap: None,
            allocated: Allocated::default(),
            tasks: TaskList::default(),
            sleepers: AtomicUsize::new(0),
            progress_thread_sleeps: AtomicBool::new(false),
            rounds: AtomicU32::new(0),
            aside: Aside::default(),
            slept: AtomicU64::new(0),
            polled_in_vain: AtomicU32::new(0),
            contexts: AtomicU64::new(FIRST_COUNTER),
            watched: Watched::default(),
            on_death: || (),
        }
    }

    /// Limits each sleep of a waiting call to this time.
    pub fn with_sleep_max(self, sleep_max: Duration) -> Process {
        Process { sleep_max, ..self }
    }

    /// Gives the process memory that it can share with others.
    pub fn with_boards(self, boards: Option<Arc<dyn Boards>>) -> Process {
        Process { boards, ..self }
    }

    /// Gives the process access to the memory of others.
    pub fn with_neighbors(self, neighbors: Option<Arc<dyn Neighbors>>) -> Process {
        Process { neighbors, ..self }
    }

    /// Gives the process memory that all processes of its node have mapped.
    pub fn with_heap(self, heap: Option<Arc<dyn Heap>>) -> Process {
        Process { heap, ..self }
    }

    /// Lets this process say to `watch` what it waits for.
    pub fn with_watch(self, watch: Option<Arc<dyn Watch>>) -> Process {
        Process { watched: Watched::by(watch), ..self }
    }

    /// Calls `on_revoke` whenever a communicator was revoked.
    pub fn with_on_revoke(self, on_revoke: OnRevoke) -> Process {
        self.engine.lock().set_on_revoke(on_revoke);
        self
    }

    /// Calls `on_death` whenever this process has noted that others died.
    pub fn with_on_death(self, on_death: fn()) -> Process {
        Process { on_death, ..self }
    }

    /// Makes receives from any source fail if a process that may send to them is lost, unless it
    /// may have left properly.
    pub fn with_senders(self, may_send: MaySend, may_have_left: fn(Peer) -> bool) -> Process {
        self.command_all(|engine| {
            engine.set_senders(may_send);
            engine.set_leaving(may_have_left);
        });
        self
    }

    /// Access to the memory of other processes.
    pub(crate) fn neighbors(&self) -> Option<&dyn Neighbors> {
        self.neighbors.as_deref()
    }

    /// Memory that all processes of this node have mapped, if there are several and it is not
    /// turned off.
    pub fn heap(&self) -> Option<&Arc<dyn Heap>> {
        self.heap.as_ref()
    }

    /// Memory that this process can share with others.
    pub(crate) fn boards(&self) -> Option<&dyn Boards> {
        self.boards.as_deref()
    }

    /// Returns whether looking again without yielding holds up no rank that is waited for.
    #[inline]
    pub(crate) fn may_spin(&self) -> bool {
        !self.shares_cores()
    }

    #[inline]
    fn shares_cores(&self) -> bool {
        self.shares_cores.load(Ordering::Relaxed)
    }

    #[inline]
    fn polls_with_care(&self) -> bool {
        self.polls_with_care.load(Ordering::Relaxed)
    }

    /// Notes whether ranks share cores.
    fn set_shares_cores(&self, shares_cores: bool) {
        self.shares_cores.store(shares_cores, Ordering::Relaxed);
        self.choose_care();
    }

    /// Chooses anew whether calls that do not wait take care of more than messages.
    fn choose_care(&self) {
        let cares = self.shares_cores() || self.goes_on() || abroad::is_watching();
        self.polls_with_care.store(cares, Ordering::SeqCst);
        // A signal in between has stored its own, or is seen here.
        if self.question_noted.load(Ordering::SeqCst) {
            self.polls_with_care.store(true, Ordering::Relaxed);
        }
    }

    /// Lets the next call that does not wait say what it asks for, since the launcher wants to
    /// know. Safe in a handler of a signal.
    pub fn note_question(&self) {
        self.question_noted.store(true, Ordering::SeqCst);
        self.polls_with_care.store(true, Ordering::SeqCst);
    }

    /// Notes whether this process goes on when others die: then it looks for deaths in all calls.
    pub fn set_goes_on(&self, goes_on: bool) {
        self.goes_on.store(goes_on, Ordering::Relaxed);
        self.choose_care();
        self.command_all(|engine| engine.set_goes_on(goes_on));
    }

    /// Returns whether this process goes on when others die.
    pub fn goes_on(&self) -> bool {
        self.goes_on.load(Ordering::Relaxed)
    }

    /// This process's number in the job.
    #[inline]
    pub fn me(&self) -> Peer {
        self.me
    }

    /// Number of processes in the job.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns a context that is unique in the job: this process's number and a count. Once the
    /// process has met other jobs, one that is unique among all.
    pub fn new_context(&self) -> u64 {
        if let Some(context) = self.foreign.new_context() {
            return context;
        }
        let count = self.contexts.fetch_add(1, Ordering::Relaxed);
        (u64::from(self.me) << 34) | (count << 2)
    }

    /// Gives `f` the first engine for a command.
    #[inline]
    pub fn command<R>(&self, f: impl FnOnce(&mut Engine) -> R) -> R {
        self.command_with(&self.engine, f)
    }

    /// Like [`Process::command`], for a look that changes nothing other threads wait for.
    #[inline]
    pub fn look<R>(&self, f: impl FnOnce(&mut Engine) -> R) -> R {
        f(&mut self.engine.lock())
    }

    /// Does once more what is due if the communicator with this context was revoked: another member
    /// may have done that before it, or something that is made over it, was ready here.
    pub fn recall_revoked(&self, context: u64) {
        if self.look(|engine| engine.is_revoked(context)) {
            self.command(|engine| engine.recall_revoked(context));
        }
    }

    /// Says that something happened outside the engine that a waiting thread may look for.
    pub fn notify(&self) {
        self.wake_other_threads();
    }

    /// The bell that wakes the threads that wait here, when something ends beside them.
    pub fn waker(&self) -> &CurrentWaiter {
        &self.waiter
    }

    /// The list of tasks that progress drives.
    pub fn tasks(&self) -> &TaskList {
        &self.tasks
    }

    /// Makes one round of progress: channels, protocols, tasks. Returns whether anything happened.
    #[inline]
    pub fn progress(&self) -> bool {
        self.progress_in(None)
    }

    /// Like [`Process::progress`]; of several engines in the `wanted` one, and in turn in the
    /// others.
    #[inline]
    fn progress_in(&self, wanted: Option<usize>) -> bool {
        match self.further.any() {
            false => self.progress_by(|engine| engine.progress()),
            true => self.poll_by_turns(wanted),
        }
    }

    /// Like [`Process::progress`], before a sleep: waits for engines that other threads have.
    fn progress_before_sleep(&self) -> bool {
        match self.further.any() {
            false => self.progress(),
            true => self.conclude(self.progress_in_all(), true),
        }
    }

    /// Like [`Process::progress`], for a round of a wait: channels that are expensive to poll take
    /// turns, and so do engines other than the `wanted` one, if the wait is for one. `turn` counts
    /// the rounds of the wait.
    #[inline]
    fn progress_in_turn(&self, wanted: Option<usize>, turn: u32) -> bool {
        let moved = match self.further.any() {
            false => self.progress_by(|engine| engine.progress_in_turn()),
            true => self.progress_by_turns(wanted, turn, |engine| engine.progress_in_turn()),
        };
        if moved {
            self.note_round();
        }
        moved
    }

    #[inline(always)]
    fn progress_by(&self, round: impl FnOnce(&mut Engine) -> bool) -> bool {
        let moved = round(&mut self.engine.lock());
        self.conclude(moved, true)
    }

    /// Ends a round of progress: tasks, and those that wait for what happened.
    #[inline(always)]
    fn conclude(&self, mut moved: bool, tasks_are_due: bool) -> bool {
        if tasks_are_due && !self.tasks.is_empty() {
            moved |= self.tasks.advance(self);
        }
        if moved {
            self.wake_other_threads();
        }
        moved
    }

    /// Starts a send by the engine of this number. Returns `Ok(None)` if it is complete already,
    /// else its request, or the completion of one that failed.
    #[inline]
    pub fn start_send(&self, engine: usize, send: SendRequest) -> Result<Option<RequestId>, Box<Completion>> {
        match self.send_in(engine, send) {
            Posted::Pending(id) => Ok(Some(id)),
            Posted::Done(completion) if completion.failure.is_none() => Ok(None),
            Posted::Done(completion) => Err(Box::new(completion)),
        }
    }

    /// Returns the engine for a call alone in MPI: nobody sleeps who would have to be woken.
    #[inline(always)]
    pub fn engine_alone(&self, alone: SingleThread) -> SingleThreadGuard<'_, Engine> {
        self.engine.lock_alone(alone)
    }

    /// Returns the first message that a receive would match, or says that there is none even after
    /// a round of progress. `None` if a caller that finds nothing should step aside, or if there
    /// are tasks: then [`Process::poll`] does what is due; and if it finds nothing after a process
    /// was lost.
    #[inline(always)]
    pub fn probe_alone(
        &self,
        alone: SingleThread,
        context: u64,
        source: i32,
        tag: i32,
    ) -> Option<Option<Envelope>> {
        if self.polls_with_care() || !self.tasks.is_empty() {
            return None;
        }
        let mut engine = self.engine_alone(alone);
        let found = engine.probe_or_progress(context, source, tag);
        (found.is_some() || engine.losses() == 0).then_some(found)
    }

    /// The number of times that a wait slept.
    pub fn slept(&self) -> u64 {
        self.slept.load(Ordering::Relaxed)
    }

    /// Tells threads of this process that sleep in [`Process::wait`] that something happened.
    #[inline]
    fn wake_other_threads(&self) {
        if is_shared() {
            self.tell_others(false);
        }
    }

    /// Wakes the threads that wait for what a command did, and the progress thread for the rest.
    fn tell_others(&self, work: bool) {
        let wanted = work && self.progress_thread_sleeps.load(Ordering::SeqCst);
        if wanted || self.sleepers.load(Ordering::SeqCst) > 0 {
            self.waiter.get().ring_self();
        }
    }

    /// Wakes all threads that sleep in MPI, the progress thread too.
    pub fn wake_sleepers(&self) {
        self.waiter.get().ring_self();
    }
}
