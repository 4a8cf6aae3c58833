//! The engines of a process: the first one, which does everything, and further ones for the
//! program's messages on some communicators, so that threads that communicate on different
//! communicators do not wait for each other (MPI-5.0, 11.6).
//!
//! Further engines reach the processes of the node, each through rings of its own. There are none
//! unless all processes of the node begin with `MPI_THREAD_MULTIPLE`. The engine of a communicator
//! follows from its context and its members alone, so that all members have the same one: what one
//! sends there is looked for there. Only messages of the program between two processes go by
//! further engines. Collectives, windows, files and other jobs are the first one's.
//!
//! Programs of one thread also begin with `MPI_THREAD_MULTIPLE`, and make communicators that they
//! never send on. So an engine that has nothing under way and has found nothing for some rounds is
//! looked at rarely, until the program uses it again, or before a sleep.
//!
//! Ids of requests and messages carry the number of their engine; here it is put on and taken off.
//!
//! Of two engines' locks the first engine's is taken first.

use super::Process;
use crate::comm::{Comm, Traffic};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use verbena_channel::Peer;
use verbena_engine::{
    Counters, ENGINES_MAX, Engine, Envelope, MessageId, PendingMessages, Posted, ReceiveRequest, RequestId,
    RouteReport, SendRequest, SendUnderWay,
};
use verbena_waiting::lock::{Lock, is_shared};

/// A thread that waits at one engine sees to the other active ones once in this many rounds.
const OTHERS_EVERY: u32 = 8;
/// And to all once in this many, or in these where a round gives other processes the core.
const ALL_EVERY: u32 = 64;
const ALL_EVERY_SHARED: u32 = 4;
/// After this many rounds that found nothing, an engine with nothing under way is active no more.
const QUIET_AFTER: u32 = 64;

/// A further engine, with cache lines of its own.
#[repr(align(128))]
struct Further {
    engine: Lock<Engine>,
    /// The rounds that found nothing, since one found something or the program used the engine.
    quiet: AtomicU32,
}

/// The engines beside the first one.
#[derive(Default)]
pub(super) struct FurtherEngines {
    /// Those of the numbers from 1 on.
    engines: Box<[Further]>,
    /// The processes that have such engines, in order.
    peers: Vec<Peer>,
    /// A bit for each that a communicator has: the others are not looked at.
    in_use: AtomicU32,
    /// A bit for each of these that has something to do, or had a moment ago.
    active: AtomicU32,
    /// The calls that ask and do not wait.
    turns: AtomicU32,
}

impl FurtherEngines {
    fn new(engines: Vec<Engine>, peers: Vec<Peer>) -> FurtherEngines {
        assert!(engines.len() < ENGINES_MAX);
        let further = |engine| Further { engine: Lock::new(engine), quiet: AtomicU32::new(0) };
        let engines = engines.into_iter().map(further).collect();
        FurtherEngines { engines, peers, ..FurtherEngines::default() }
    }

    /// Returns whether any is in use.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) != 0
    }

    /// The engine of this number, if it is one of these.
    #[inline]
    fn get(&self, number: usize) -> Option<&Lock<Engine>> {
        self.engines.get(number.checked_sub(1)?).map(|further| &further.engine)
    }

    /// Notes that the program has used the engine of this number.
    #[inline]
    fn note_use(&self, number: usize) {
        self.engines[number - 1].quiet.store(0, Ordering::Relaxed);
        if self.active.load(Ordering::Relaxed) & 1 << number == 0 {
            self.active.fetch_or(1 << number, Ordering::Relaxed);
        }
    }

    /// Makes a round of the engine of this number, and notes whether it found anything.
    #[inline]
    fn round(&self, number: usize, engine: &mut Engine, round: impl Fn(&mut Engine) -> bool) -> bool {
        let moved = round(engine);
        match moved {
            true => self.note_use(number),
            false => self.note_quiet(number, engine),
        }
        moved
    }

    #[inline]
    fn note_quiet(&self, number: usize, engine: &Engine) {
        let quiet = &self.engines[number - 1].quiet;
        let rounds = quiet.load(Ordering::Relaxed).saturating_add(1);
        quiet.store(rounds, Ordering::Relaxed);
        if rounds >= QUIET_AFTER && self.active.load(Ordering::Relaxed) & 1 << number != 0 && engine.is_idle()
        {
            self.active.fetch_and(!(1 << number), Ordering::Relaxed);
        }
    }

    /// Those that are in use, with their numbers.
    fn used(&self) -> impl Iterator<Item = (usize, &Lock<Engine>)> {
        self.these(self.in_use.load(Ordering::Acquire))
    }

    /// Those whose bits are set, with their numbers.
    fn these(&self, bits: u32) -> impl Iterator<Item = (usize, &Lock<Engine>)> {
        let all = (1..).zip(self.engines.iter().map(|further| &further.engine));
        all.filter(move |(number, _)| bits & 1 << number != 0)
    }

    /// The number of the engine for a communicator with this context and these members; 0 if that
    /// is the first one.
    fn number_for(&self, context: u64, members: &[Peer]) -> usize {
        let all_have_them = || members.iter().all(|peer| self.peers.binary_search(peer).is_ok());
        match self.engines.len() as u64 {
            // A process alone with itself has no rings that could be apart.
            count @ 1.. if members.len() > 1 && all_have_them() => (1 + (context >> 2) % count) as usize,
            _ => 0,
        }
    }
}

impl Process {
    /// Gives the process further engines, which reach these processes and are looked for there.
    pub fn with_engines(self, engines: Vec<Engine>, mut peers: Vec<Peer>) -> Process {
        peers.sort_unstable();
        Process { further: FurtherEngines::new(engines, peers), ..self }
    }

    /// The number of engines beside the first one.
    pub fn further_engines(&self) -> usize {
        self.further.engines.len()
    }

    /// The number of engines beside the first one that a communicator has.
    pub fn further_engines_in_use(&self) -> u64 {
        u64::from(self.further.in_use.load(Ordering::Relaxed).count_ones())
    }

    /// The number of the engine for the program's messages on this communicator: the same for all
    /// members. The engine is looked at from now on.
    pub(crate) fn engine_for(&self, comm: &Comm) -> usize {
        if comm.is_inter() {
            return 0;
        }
        let number = self.further.number_for(comm.context(Traffic::Point), comm.group().members());
        if number > 0 {
            self.further.in_use.fetch_or(1 << number, Ordering::AcqRel);
        }
        number
    }

    /// Ends what is under way in the further engines on a communicator that was revoked, as the
    /// first engine says, which may be locked. The program may have freed the communicator.
    pub fn note_revoked_beside(&self, context: u64) {
        self.further.used().for_each(|(_, engine)| engine.lock().note_revoked(context));
    }

    /// The first engine and those in use beside it, with their numbers.
    fn engines(&self) -> impl Iterator<Item = (usize, &Lock<Engine>)> {
        std::iter::once((0, &self.engine)).chain(self.further.used())
    }

    /// Gives `f` the engine of this number for a command.
    #[inline]
    pub fn command_in<R>(&self, number: usize, f: impl FnOnce(&mut Engine) -> R) -> R {
        match self.further.get(number) {
            None => self.command(f),
            Some(engine) => self.command_further(number, engine, f),
        }
    }

    /// Like [`Process::command_in`], for a look that changes nothing other threads wait for.
    #[inline]
    pub fn look_in<R>(&self, number: usize, f: impl FnOnce(&mut Engine) -> R) -> R {
        f(&mut self.further.get(number).unwrap_or(&self.engine).lock())
    }

    /// Gives `f` the engine of this request for a command, and the id as it knows it.
    #[inline]
    pub fn command_at<R>(&self, id: RequestId, f: impl FnOnce(&mut Engine, RequestId) -> R) -> R {
        match self.further.get(id.engine()) {
            // An id of an engine that does not exist is of no request of the first one.
            None => self.command(|engine| f(engine, id)),
            Some(engine) => self.command_further(id.engine(), engine, |engine| f(engine, id.in_engine())),
        }
    }

    /// Like [`Process::command_at`], for a look that changes nothing other threads wait for.
    #[inline]
    pub fn look_at<R>(&self, id: RequestId, f: impl FnOnce(&mut Engine, RequestId) -> R) -> R {
        match self.further.get(id.engine()) {
            None => f(&mut self.engine.lock(), id),
            Some(engine) => f(&mut engine.lock(), id.in_engine()),
        }
    }

    #[inline]
    fn command_further<R>(
        &self,
        number: usize,
        engine: &Lock<Engine>,
        f: impl FnOnce(&mut Engine) -> R,
    ) -> R {
        let result = self.command_with(engine, f);
        self.further.note_use(number);
        result
    }

    #[inline]
    pub(super) fn command_with<R>(&self, engine: &Lock<Engine>, f: impl FnOnce(&mut Engine) -> R) -> R {
        let mut engine = engine.lock();
        let result = f(&mut engine);
        if is_shared() {
            let work = engine.has_work();
            drop(engine);
            self.tell_others(work);
        }
        result
    }

    /// Gives `f` all engines for a command, one after the other, also those not in use yet.
    pub fn command_all(&self, mut f: impl FnMut(&mut Engine)) {
        self.command(&mut f);
        self.further.engines.iter().for_each(|further| self.command_with(&further.engine, &mut f));
    }

    /// Starts a send by the engine of this number.
    #[inline]
    pub fn send_in(&self, number: usize, send: SendRequest) -> Posted {
        self.command_in(number, |engine| engine.send(send)).of_engine(number)
    }

    /// Starts a receive by the engine of this number.
    #[inline]
    pub fn receive_in(&self, number: usize, receive: ReceiveRequest) -> Posted {
        self.command_in(number, |engine| engine.receive(receive)).of_engine(number)
    }

    /// Posts a receive at the engine of this number; there is a request also if it ends at once.
    #[inline]
    pub fn post_in(&self, number: usize, receive: ReceiveRequest) -> RequestId {
        self.command_in(number, |engine| engine.post(receive)).of_engine(number)
    }

    /// Takes the first message that such a receive would match out of matching, if there is one.
    pub fn match_probe_in(
        &self,
        number: usize,
        context: u64,
        source: i32,
        tag: i32,
    ) -> Option<(MessageId, Envelope)> {
        let found = self.look_in(number, |engine| engine.match_probe(context, source, tag));
        found.map(|(message, envelope)| (message.of_engine(number), envelope))
    }

    /// The engine of a message that was taken out of matching, locked, and the message as it knows
    /// it.
    pub fn look_at_message<R>(&self, id: MessageId, f: impl FnOnce(&mut Engine, MessageId) -> R) -> R {
        match self.further.get(id.engine()) {
            None => f(&mut self.engine.lock(), id),
            Some(engine) => f(&mut engine.lock(), id.in_engine()),
        }
    }

    /// The generation of the request with this index, which says its engine, if there is one.
    pub fn generation(&self, index: u32) -> Option<u32> {
        self.look_at(RequestId { index, generation: 0 }, |engine, id| engine.generation(id.index))
    }

    /// Starts a command with a message that was taken out of matching.
    pub fn command_at_message(
        &self,
        id: MessageId,
        f: impl FnOnce(&mut Engine, MessageId) -> Posted,
    ) -> Posted {
        match self.further.get(id.engine()) {
            None => self.command(|engine| f(engine, id)),
            Some(engine) => {
                let posted = self.command_further(id.engine(), engine, |engine| f(engine, id.in_engine()));
                posted.of_engine(id.engine())
            }
        }
    }

    /// The sends under way of all engines.
    pub fn sends_under_way(&self) -> Vec<SendUnderWay> {
        let of_engine = |(number, engine): (usize, &Lock<Engine>)| {
            let sends = engine.lock().sends_under_way();
            let numbered =
                move |send: SendUnderWay| SendUnderWay { request: send.request.of_engine(number), ..send };
            sends.into_iter().map(numbered)
        };
        self.engines().flat_map(of_engine).collect()
    }

    /// The ways to the peers that were met; where several engines have met one, the way of the
    /// first of these.
    pub fn routes(&self) -> Vec<RouteReport> {
        let mut routes = self.command(|engine| engine.routes());
        for (_, engine) in self.further.used() {
            let more = engine.lock().routes();
            let is_new = |route: &RouteReport| routes.iter().all(|known| known.peer != route.peer);
            let new: Vec<RouteReport> = more.into_iter().filter(is_new).collect();
            routes.extend(new);
        }
        routes
    }

    /// The counters of all engines together.
    pub fn counters(&self) -> Counters {
        let mut counters = self.look(|engine| engine.counters());
        self.further.used().for_each(|(_, engine)| counters.add(engine.lock().counters()));
        counters
    }

    /// The messages that wait at all engines; of each queue the first `most`.
    pub fn pending_messages(&self, most: usize) -> PendingMessages {
        let mut pending = self.look(|engine| engine.pending_messages(most));
        let more = self.further.used().map(|(_, engine)| engine.lock().pending_messages(most));
        more.for_each(|more| pending.append(more, most));
        pending
    }

    /// The lengths of the queues of all engines, as [`Engine::queues`].
    pub fn queues(&self) -> [usize; 3] {
        let add = |sum: [usize; 3], (_, engine): (usize, &Lock<Engine>)| {
            let more = engine.lock().queues();
            std::array::from_fn(|at| sum[at] + more[at])
        };
        self.engines().fold([0; 3], add)
    }

    /// The highest marks of the unexpected messages, as [`Engine::take_peaks`]: of several engines
    /// the sums, which are no lower.
    pub fn take_peaks(&self) -> (usize, usize) {
        let add = |(messages, bytes), (_, engine): (usize, &Lock<Engine>)| {
            let (more_messages, more_bytes) = engine.lock().take_peaks();
            (messages + more_messages, bytes + more_bytes)
        };
        self.engines().fold((0, 0), add)
    }

    /// The bytes that all engines have moved so far.
    pub(super) fn bytes_moved(&self) -> u64 {
        self.engines().fold(0, |sum: u64, (_, engine)| sum.wrapping_add(engine.lock().bytes_moved()))
    }

    /// A peer that a channel has lost, of whom the owner has yet to say whether it is dead.
    pub(super) fn suspect(&self) -> Option<Peer> {
        self.engines().find_map(|(_, engine)| engine.lock().suspect())
    }

    /// Returns whether any context that is meant is in use: as [`Engine::is_used`].
    pub fn is_used(&self, is_meant: impl Fn(u64) -> bool) -> bool {
        self.engines().any(|(_, engine)| engine.lock().is_used(&is_meant))
    }

    /// Returns whether nothing is left that needs progress here before the process may leave.
    pub fn is_quiet(&self) -> bool {
        self.engines().fold(true, |quiet, (_, engine)| engine.lock().is_quiet() & quiet)
    }

    /// Leaves for good: to be called until it returns `true`, with progress between.
    pub fn farewell(&self) -> bool {
        self.engines().fold(true, |left, (_, engine)| engine.lock().farewell() & left)
    }

    /// Prepares all engines for a sleep; returns for how long it may last.
    pub(super) fn arm(&self) -> Duration {
        self.engines().fold(Duration::MAX, |longest, (_, engine)| longest.min(engine.lock().arm()))
    }

    /// The sleep is over.
    pub(super) fn disarm(&self) {
        self.engines().for_each(|(_, engine)| engine.lock().disarm());
    }

    /// Makes a round of progress in each engine.
    pub(super) fn progress_in_all(&self) -> bool {
        self.engines().fold(false, |moved, (_, engine)| engine.lock().progress() | moved)
    }

    /// Makes a round of progress where several engines are in use: in the engine that the caller
    /// waits for or asks, which is the first one if it does not say, and in turn in the others and
    /// in the tasks. `turn` counts the caller's rounds.
    #[inline]
    pub(super) fn progress_by_turns(
        &self,
        wanted: Option<usize>,
        turn: u32,
        round: impl Fn(&mut Engine) -> bool,
    ) -> bool {
        let number = wanted.unwrap_or(0);
        let moved = match self.further.get(number) {
            None => round(&mut self.engine.lock()),
            Some(engine) => self.further.round(number, &mut engine.lock(), &round),
        };
        let is_alone = wanted.is_some() && !turn.is_multiple_of(OTHERS_EVERY) && !self.shares_cores();
        match is_alone {
            true => self.conclude(moved, number == 0),
            false => self.conclude(self.progress_in_others(number, turn, round) | moved, true),
        }
    }

    /// Makes a round of progress in the engines other than this one: in those that are active, and
    /// in turn in all. What another thread holds just now that one moves on.
    #[inline(never)]
    fn progress_in_others(&self, own: usize, turn: u32, round: impl Fn(&mut Engine) -> bool) -> bool {
        let all_every = if self.shares_cores() { ALL_EVERY_SHARED } else { ALL_EVERY };
        let bits = match turn.is_multiple_of(all_every) {
            true => self.further.in_use.load(Ordering::Relaxed),
            false => self.further.active.load(Ordering::Relaxed),
        };
        let mut moved = own > 0 && self.engine.try_lock().is_some_and(|mut engine| round(&mut engine));
        for (number, engine) in self.further.these(bits & !(1 << own)) {
            let it = engine.try_lock();
            moved |= it.is_some_and(|mut engine| self.further.round(number, &mut engine, &round));
        }
        moved
    }

    /// Makes a round for a call that asks and does not wait. Not in line: where there is one engine
    /// such calls are short.
    #[inline(never)]
    pub(super) fn poll_by_turns(&self, wanted: Option<usize>) -> bool {
        // Threads may lose counts of each other.
        let turn = self.further.turns.load(Ordering::Relaxed).wrapping_add(1);
        self.further.turns.store(turn, Ordering::Relaxed);
        self.progress_by_turns(wanted, turn, |engine| engine.progress())
    }
}

#[cfg(test)]
mod tests;
