//! The words of a process about itself to those who watch it: its launcher, for reports of hangs.
//!
//! A wait costs nothing more until its first sleep, and then a look at the clock. One that has
//! lasted for a moment is counted; its words are found only when somebody asks.

use super::{Process, abroad};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};
use verbena_channel::Peer;
use verbena_engine::{PendingMessage, PendingOperation, PendingQueue, RequestId};
use verbena_fault::Fault;
use verbena_hang::snapshot::MESSAGES_MAX;
use verbena_hang::{Awaited, Message, Operation, Queue, Snapshot, Traffic, Wait};

/// A wait that has lasted for so long is counted.
const MOMENT: Duration = Duration::from_millis(50);
/// The time between two looks at whether anything moves.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The time in which what processes of other jobs sent before they died is taken: some longer than
/// their channels take to give them up.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);

/// The launcher's word that a process is dead comes within this time after a channel to it has
/// broken, if it is dead.
pub const NEWS_TIME_MAX: Duration = Duration::from_secs(1);

/// The watcher of this program's process.
static WATCHER: OnceLock<Arc<dyn Watch>> = OnceLock::new();

/// A watcher of this process, and what it knows of the program around it.
pub trait Watch: Send + Sync {
    /// Takes a sign of life: the process has got further.
    fn beat(&self);
    /// The number of the watcher's last question.
    fn question(&self) -> u64;
    /// Returns whether nothing was said since the last question.
    fn is_asked(&self) -> bool;
    /// The number of processes of the job that have died, as far as the watcher knows. One that
    /// knows no other process knows of none.
    fn deaths(&self) -> u64 {
        0
    }
    /// These processes.
    fn dead(&self) -> Vec<Peer> {
        Vec::new()
    }
    /// Changes whenever the watcher tells something new about other processes.
    fn news(&self) -> u64 {
        0
    }
    /// Sleeps until there is other news than `known`, for so long at most.
    fn await_news(&self, _known: u64, at_most: Duration) {
        std::thread::sleep(at_most);
    }
    /// Returns whether this process goes on when others die.
    fn goes_on(&self) -> bool {
        false
    }
    /// The clock of the host, in milliseconds.
    fn now_ms(&self) -> u64;
    /// Takes the number of threads that have waited for more than a moment.
    fn set_waits(&self, waits: u64);
    /// Adds to a wait of the calling thread its call and its places in the program.
    fn locate(&self, wait: &mut Wait);
    /// Adds the communicators, and the locks of windows.
    fn complete(&self, snapshot: &mut Snapshot);
    /// Takes what the process says as the answer to this question.
    fn say(&self, snapshot: Snapshot, question: u64);
}

/// A process's watcher, and the waits that it was told of.
#[derive(Default)]
pub(super) struct Watched {
    watch: Option<Arc<dyn Watch>>,
    waits: Mutex<Waits>,
    /// The number of deaths that this process has been told of.
    deaths: AtomicU64,
}

/// The waits of all threads that have lasted.
#[derive(Default)]
struct Waits {
    next: u64,
    /// Each wait by its number; `None` before it was asked for.
    lasting: Vec<(u64, Option<Wait>)>,
}

impl Watched {
    /// Somebody who is watched by `watch`.
    pub(super) fn by(watch: Option<Arc<dyn Watch>>) -> Watched {
        if let Some(watch) = &watch {
            let _ = WATCHER.set(watch.clone());
        }
        Watched { watch, ..Watched::default() }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn enter(&self, watch: &dyn Watch) -> u64 {
        let mut waits = self.waits();
        waits.next += 1;
        let number = waits.next;
        waits.lasting.push((number, None));
        watch.set_waits(waits.lasting.len() as u64);
        number
    }

    fn leave(&self, watch: &dyn Watch, number: u64) {
        let mut waits = self.waits();
        waits.lasting.retain(|(own, _)| *own != number);
        watch.set_waits(waits.lasting.len() as u64);
        watch.beat();
    }
}

impl Process {
    /// Gives a sign of life, and answers if somebody asks.
    pub(super) fn give_sign_of_life(&self) {
        if let Some(watch) = &self.watched.watch {
            watch.beat();
            self.answer();
            self.note_deaths();
            self.clear_suspects();
        }
    }

    /// Finds out whether the peers that a channel has lost are dead. Nobody waits for longer than
    /// the launcher's word takes, and for one that lives [`NEWS_TIME_MAX`] once.
    #[cold]
    #[inline(never)]
    pub(super) fn clear_suspects(&self) {
        while self.goes_on()
            && let Some(peer) = self.suspect()
        {
            if is_told_dead(peer) {
                self.note_deaths();
                // Of one of another job nobody has told.
                self.bury_suspect(peer);
            } else {
                self.command_all(|engine| engine.clear_suspect(peer));
                self.notify();
            }
        }
    }

    /// Gives up a suspect that has turned out to be dead, unless another thread has done so, or has
    /// parted from its job meanwhile.
    fn bury_suspect(&self, peer: Peer) {
        self.command_all(|engine| {
            if engine.is_suspect(peer) {
                engine.bury(peer, self.fault_of(peer));
            }
        });
        self.notify();
    }

    fn fault_of(&self, dead: Peer) -> Fault {
        if dead < self.size() { dead_fault(self.me(), dead) } else { gone_fault(dead) }
    }

    /// Gives up all processes that have died so far, as far as this process can know, also those of
    /// other jobs once all is taken that they sent.
    pub(crate) fn look_for_deaths(&self) {
        self.note_deaths();
        if self.is_abroad() {
            abroad::look();
            self.take_last_words();
        }
        self.clear_suspects();
    }

    /// Waits until the channels have given up all processes of other jobs that have ended.
    fn take_last_words(&self) {
        let until = Instant::now() + LAST_WORDS_MAX;
        loop {
            let is_left = |peer: &Peer| self.look(|engine| !engine.has_lost(*peer));
            let left: Vec<Peer> = abroad::ended().into_iter().filter(is_left).collect();
            if left.is_empty() {
                return;
            }
            if Instant::now() > until {
                return self.note_dead(left);
            }
            if !self.progress() {
                std::thread::yield_now();
            }
        }
    }

    /// Gives up the processes that have died since the last look.
    #[inline]
    pub fn note_deaths(&self) {
        if let Some(watch) = &self.watched.watch {
            let deaths = watch.deaths();
            if deaths != self.watched.deaths.load(Ordering::Relaxed) {
                self.bury(watch.as_ref(), deaths);
            }
        }
    }

    #[cold]
    fn bury(&self, watch: &dyn Watch, deaths: u64) {
        self.note_dead(watch.dead());
        self.watched.deaths.store(deaths, Ordering::Relaxed);
    }

    /// Gives up these processes, which are dead.
    #[cold]
    pub fn note_dead(&self, dead: Vec<Peer>) {
        self.command_all(|engine| {
            for peer in &dead {
                if !engine.dead().contains(peer) {
                    engine.bury(*peer, self.fault_of(*peer));
                }
            }
        });
        (self.on_death)();
        self.notify();
    }

    /// Looks whether a death explains a failure that the system has told before the launcher did:
    /// for [`NEWS_TIME_MAX`] at most, and only where the process goes on after it.
    #[cold]
    pub(crate) fn await_death<T>(&self, look: impl Fn() -> Option<T>) -> Option<T> {
        let noted = || {
            self.note_deaths();
            look()
        };
        let watch = self.watched.watch.as_deref().filter(|_| self.goes_on())?;
        await_news(watch, Instant::now() + NEWS_TIME_MAX, noted)
    }

    /// Answers if somebody asks.
    pub(super) fn answer(&self) {
        self.answer_with(&|_| None);
    }

    /// Returns whether somebody asks and has no answer yet.
    pub(super) fn is_asked(&self) -> bool {
        self.watched.watch.as_ref().is_some_and(|watch| watch.is_asked())
    }

    /// Answers if somebody asks, with what this thread polls for.
    pub(super) fn answer_with(&self, polled: &dyn Fn(&Process) -> Option<Awaited>) {
        if let Some(watch) = self.watched.watch.as_ref().filter(|watch| watch.is_asked()) {
            self.say(watch.as_ref(), None, polled(self));
        }
    }

    /// Says what this process does; with the wait of this thread, by its number, or with what it
    /// polls for.
    #[cold]
    fn say(&self, watch: &dyn Watch, own: Option<(u64, Wait)>, polled: Option<Awaited>) {
        let question = watch.question();
        let (pending, counters) = (self.pending_messages(MESSAGES_MAX), self.counters());
        let room = self.look(|engine| engine.unexpected_bytes_max());
        // Held to the end: one thread at a time speaks.
        let mut waits = self.watched.waits();
        if let Some((number, wait)) = own
            && let Some((_, place)) = waits.lasting.iter_mut().find(|(known, _)| *known == number)
        {
            *place = Some(wait);
        }
        let traffic = counters.channels.iter().map(|channel| Traffic {
            name: channel.name.into(),
            packets_sent: channel.packets_sent,
            packets_received: channel.packets_received,
            bytes_sent: channel.bytes_sent.saturating_add(channel.put_bytes),
            bytes_received: channel.bytes_received.saturating_add(channel.get_bytes),
        });
        let mut snapshot = Snapshot {
            waits: waits.lasting.iter().filter_map(|(_, wait)| wait.clone()).collect(),
            polled,
            posted: queue(&pending.receives),
            sends: queue(&pending.sends),
            arrived: queue(&pending.unexpected),
            channels: traffic.collect(),
            unexpected_bytes_max: room as u64,
            ..Snapshot::default()
        };
        watch.complete(&mut snapshot);
        watch.say(snapshot, question);
    }

    /// The wait for this request, in words for others.
    pub fn awaited(&self, request: RequestId) -> Awaited {
        Awaited::All(self.operation(request).into_iter().collect())
    }

    /// The operation of this request, while it has not ended.
    pub fn operation(&self, request: RequestId) -> Option<Operation> {
        self.look_at(request, |engine, id| engine.pending_operation(id)).map(|operation| match operation {
            PendingOperation::Send(pending) => Operation::Send(message(&pending)),
            PendingOperation::Held(pending) => Operation::Held(message(&pending)),
            PendingOperation::Receive(pending) => Operation::Receive(message(&pending)),
        })
    }
}

/// Returns whether the launcher says now, or within [`NEWS_TIME_MAX`] since this was first asked of
/// the process, that it is dead, or whether a process of another job has ended. No time is lost
/// where a death ends the job.
pub(super) fn is_told_dead(peer: Peer) -> bool {
    let Some(watch) = WATCHER.get().filter(|watch| watch.goes_on()) else { return false };
    let until = *lost_until().entry(peer).or_insert_with(|| Instant::now() + NEWS_TIME_MAX);
    if let Some(ended) = abroad::ends_until(peer, until) {
        return ended;
    }
    await_news(watch.as_ref(), until, || watch.dead().contains(&peer).then_some(())).is_some()
}

/// The processes that a channel has lost, and until when the launcher's word of each is awaited.
fn lost_until() -> MutexGuard<'static, HashMap<Peer, Instant>> {
    static UNTIL: OnceLock<Mutex<HashMap<Peer, Instant>>> = OnceLock::new();
    UNTIL.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Forgets that a channel has lost these processes: their numbers are others' now.
pub(super) fn forget_lost(peers: &[Peer]) {
    lost_until().retain(|lost, _| !peers.contains(lost));
}

/// Returns whether the launcher has said that this process is dead, and the job goes on.
#[cold]
pub fn is_known_dead(peer: Peer) -> bool {
    WATCHER.get().filter(|watch| watch.goes_on()).is_some_and(|watch| watch.dead().contains(&peer))
}

/// Looks whenever the launcher tells something new, and at the end of the time.
fn await_news<T>(watch: &dyn Watch, until: Instant, look: impl Fn() -> Option<T>) -> Option<T> {
    loop {
        let (news, found) = (watch.news(), look());
        let left = until.saturating_duration_since(Instant::now());
        if found.is_some() || left.is_zero() {
            return found;
        }
        watch.await_news(news, left);
    }
}

fn dead_fault(me: Peer, peer: Peer) -> Fault {
    Fault {
        what: "a process has failed".into(),
        on: format!("process {peer} of the job, seen by process {me}"),
        cause: "it was killed, or crashed; the launcher has said so".into(),
        remedy: "see mpiexec's message for the signal; go on with MPIX_Comm_revoke and MPIX_Comm_shrink"
            .into(),
    }
}

fn gone_fault(peer: Peer) -> Fault {
    Fault {
        what: "a process of another job has failed".into(),
        on: format!("process {peer}, as this process numbers those of other jobs"),
        cause: "it was killed, or has ended without MPI_Comm_disconnect".into(),
        remedy: "see the message of that job's mpiexec; go on with MPIX_Comm_revoke and MPIX_Comm_shrink"
            .into(),
    }
}

fn queue(pending: &PendingQueue) -> Queue {
    Queue { total: pending.total as u64, first: pending.first.iter().map(message).collect() }
}

fn message(pending: &PendingMessage) -> Message {
    let PendingMessage { context, peer, tag, bytes } = *pending;
    Message { context, process: peer, tag, bytes }
}

/// A wait that has come to its first sleep.
pub(super) struct LongWait<'p> {
    process: &'p Process,
    began: Instant,
    /// The number of the wait, once it has lasted for a moment.
    number: Option<u64>,
    next_look: Instant,
    /// The question that was answered last.
    answered: Option<u64>,
    bytes_moved: u64,
}

impl<'p> LongWait<'p> {
    pub(super) fn begin(process: &'p Process) -> LongWait<'p> {
        let began = Instant::now();
        LongWait { process, began, number: None, next_look: began + MOMENT, answered: None, bytes_moved: 0 }
    }

    /// Counts the wait once it has lasted, notes whether anything moves, and answers who asks.
    pub(super) fn look(&mut self, awaited: &impl Fn(&Process) -> Awaited) {
        let Some(watch) = &self.process.watched.watch else { return };
        self.process.note_deaths();
        self.process.clear_suspects();
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK_EVERY;
        let moved = self.process.bytes_moved();
        let has_moved = std::mem::replace(&mut self.bytes_moved, moved) != moved;
        match self.number {
            None => self.number = Some(self.process.watched.enter(watch.as_ref())),
            Some(_) if has_moved => watch.beat(),
            Some(_) => {}
        }
        let question = watch.question();
        if let Some(number) = self.number.filter(|_| self.answered != Some(question) && question > 0) {
            self.answered = Some(question);
            let waited_ms = now.saturating_duration_since(self.began).as_millis() as u64;
            let mut wait = Wait {
                call: String::new(),
                began_ms: watch.now_ms().saturating_sub(waited_ms),
                awaited: awaited(self.process),
                frames: Vec::new(),
                python: Vec::new(),
            };
            watch.locate(&mut wait);
            self.process.say(watch.as_ref(), Some((number, wait)), None);
        }
    }
}

impl Drop for LongWait<'_> {
    fn drop(&mut self) {
        if let (Some(number), Some(watch)) = (self.number, &self.process.watched.watch) {
            self.process.watched.leave(watch.as_ref(), number);
        }
    }
}
