//! The engines of a process: the first one, which does everything, and further ones for the
//! program's messages on some communicators, so that threads that communicate on different
//! communicators do not wait for each other (MPI-5.0, 11.6).
//!
//! Further engines reach the processes of the node, each through rings of its own. There are none
//! unless all processes of the node begin with `MPI_THREAD_MULTIPLE`. The engine of a communicator
//! follows from its context and its members alone, so that all members have the same one: what one
//! sends there is looked for there. Only messages of the program between two processes go by further
//! engines. Collectives, windows, files and other jobs are the first one's.
//!
//! Ids of requests and messages carry the number of their engine; here it is put on and taken off.
//!
//! Of two engines' locks the first engine's is taken first.

use super::Process;
use crate::comm::{Comm, Traffic};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use verbena_channel::Peer;
use verbena_engine::{
    Counters, ENGINES_MAX, Engine, Envelope, MessageId, PendingMessages, Posted, ReceiveRequest, RequestId,
    RouteReport, SendRequest, SendUnderWay,
};
use verbena_waiting::lock::{Lock, is_shared};

/// A thread that waits at one engine sees to the others once in this many rounds.
const OTHERS_EVERY: u32 = 8;

thread_local! {
    /// The rounds of this thread at a single engine.
    static ROUNDS: Cell<u32> = const { Cell::new(0) };
}

/// An engine with cache lines of its own.
#[repr(align(128))]
struct Aligned(Lock<Engine>);

/// The engines beside the first one.
#[derive(Default)]
pub(super) struct FurtherEngines {
    /// Those of the numbers from 1 on.
    engines: Box<[Aligned]>,
    /// The processes that have such engines, in order.
    peers: Vec<Peer>,
    /// A bit for each that a communicator has: the others are not looked at.
    in_use: AtomicU32,
}

impl FurtherEngines {
    fn new(engines: Vec<Engine>, peers: Vec<Peer>) -> FurtherEngines {
        assert!(engines.len() < ENGINES_MAX);
        let engines = engines.into_iter().map(|engine| Aligned(Lock::new(engine))).collect();
        FurtherEngines { engines, peers, in_use: AtomicU32::new(0) }
    }

    /// Returns whether any is in use.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) != 0
    }

    /// The engine of this number, if it is one of these.
    #[inline]
    fn get(&self, number: usize) -> Option<&Lock<Engine>> {
        self.engines.get(number.checked_sub(1)?).map(|engine| &engine.0)
    }

    /// Those that are in use, with their numbers.
    fn used(&self) -> impl Iterator<Item = (usize, &Lock<Engine>)> {
        let in_use = self.in_use.load(Ordering::Acquire);
        let all = (1..).zip(self.engines.iter().map(|engine| &engine.0));
        all.filter(move |(number, _)| in_use & 1 << number != 0)
    }

    /// The number of the engine for a communicator with this context and these members; 0 if that
    /// is the first one.
    fn number_for(&self, context: u64, members: &[Peer]) -> usize {
        let all_have_them = || members.iter().all(|peer| self.peers.binary_search(peer).is_ok());
        match self.engines.len() as u64 {
            0 => 0,
            count if all_have_them() => (1 + (context >> 2) % count) as usize,
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

    /// Ends what is under way on a communicator that was revoked, as the first engine says, by its
    /// own engine if that is another one. The first engine may be locked.
    pub fn note_revoked_beside(&self, comm: &Comm) {
        if let Some(engine) = self.further.get(comm.engine()) {
            engine.lock().note_revoked(comm.context(Traffic::Point));
        }
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
            Some(engine) => self.command_with(engine, f),
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
            Some(engine) => self.command_with(engine, |engine| f(engine, id.in_engine())),
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
        (0..=self.further.engines.len()).for_each(|number| self.command_in(number, &mut f));
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
                self.command_with(engine, |engine| f(engine, id.in_engine())).of_engine(id.engine())
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

    /// The ways to the peers that were met; where several engines have met one, the way of the first
    /// of these.
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
    /// waits for or asks, and in turn in the others and in the tasks. What another thread holds
    /// just now that one moves on.
    pub(super) fn progress_by_turns(
        &self,
        wanted: Option<usize>,
        round: impl Fn(&mut Engine) -> bool,
    ) -> bool {
        let own = wanted.map(|number| self.further.get(number).unwrap_or(&self.engine));
        let moved = own.is_some_and(|engine| round(&mut engine.lock()));
        if wanted.is_some() && !self.shares_cores() && !others_are_due() {
            return self.conclude(moved, false);
        }
        let others = self.engines().filter(|(number, _)| Some(*number) != wanted);
        let others = others.filter_map(|(_, engine)| engine.try_lock());
        let moved = others.fold(moved, |moved, mut engine| round(&mut engine) | moved);
        self.conclude(moved, true)
    }
}

/// Counts a round of this thread at one engine; returns whether the others have their turn.
fn others_are_due() -> bool {
    let rounds = ROUNDS.get().wrapping_add(1);
    ROUNDS.set(rounds);
    rounds.is_multiple_of(OTHERS_EVERY)
}

#[cfg(test)]
mod tests;
