//! The processes of other jobs that this process knows: their numbers here, and what connects it
//! with them.

use super::acquaintances::{Acquaintances, Known};
use super::watch::forget_lost;
use super::{Blindness, Process, abroad};
use crate::error::{Error, Result};
use crate::tie::{Identity, Loosened, Tie};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verbena_channel::Peer;
use verbena_engine::Scheme;
use verbena_machine::random;
use verbena_waiting::{Eventful, MakeWaiter, Waiter};
use verbena_wires::foreign::{Foreign as ForeignWire, Numbers};
use verbena_wires::{Wire, registry};

/// The bit of contexts that are unique among all jobs; those of one job stay below it.
const ABROAD: u64 = 1 << 62;

/// The facts about its own job that a process needs when it meets another.
pub struct Origin {
    /// A number that the job has and no other.
    pub job: u128,
    /// The parts about cores of the cards of this process, first, and of others of the job that may
    /// share them ([`registry::cores_beside`]).
    pub cores: Vec<Option<Vec<u8>>>,
    /// Makes further waiters at the bell that the processes of the node ring.
    pub make_waiter: Option<Arc<dyn MakeWaiter>>,
}

/// The knowledge that a process has of other jobs.
#[derive(Default)]
pub(super) struct ForeignState {
    origin: Option<Origin>,
    table: Mutex<Acquaintances>,
    loosened: Loosened,
    /// Set once the process is about to meet others: its contexts are unique among all jobs then.
    abroad: AtomicBool,
    /// The seed and the count of such contexts.
    seed: AtomicU64,
}

/// A process of another job that comes new to this one.
pub(crate) struct Newcomer {
    pub identity: Identity,
    /// The place of its card among those of the introduction.
    pub place: usize,
    /// The system's number of the process, if it is one of this machine that can be watched.
    pub pid: Option<u32>,
}

/// Mixes a number's bits (SplitMix64): unlike numbers give unlike results.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl ForeignState {
    fn table(&self) -> MutexGuard<'_, Acquaintances> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A context that is unique among all jobs, if the process has begun to meet others.
    pub(super) fn new_context(&self) -> Option<u64> {
        self.abroad.load(Ordering::Acquire).then(|| {
            let count = self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            ABROAD | (mixed(count) & (ABROAD - 1) & !3)
        })
    }
}

impl Process {
    /// Tells the process what it needs to meet other jobs.
    pub fn with_origin(mut self, origin: Origin) -> Process {
        self.foreign.table().begin(self.size);
        self.foreign.origin = Some(origin);
        self
    }

    fn origin(&self) -> Result<&Origin> {
        self.foreign.origin.as_ref().ok_or_else(no_origin)
    }

    /// Prepares to meet other jobs: contexts are unique among all jobs from now on.
    ///
    /// # Errors
    /// The kernel gives no random bits.
    pub fn go_abroad(&self) -> Result<()> {
        if !self.foreign.abroad.load(Ordering::Acquire) {
            let seed = random::secret().map_err(Error::channel)?;
            self.foreign.seed.store(seed, Ordering::Relaxed);
            self.foreign.abroad.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Returns whether it has begun to meet other jobs.
    pub fn is_abroad(&self) -> bool {
        self.foreign.abroad.load(Ordering::Acquire)
    }

    /// Says whether this process receives nothing any more: then processes of other jobs learn that
    /// what they send it is in vain.
    pub fn refuse_foreign(&self, refuses: bool) {
        if self.is_abroad() {
            self.command(|engine| engine.refuse_foreign(refuses));
        }
    }

    /// Returns why it would not see the end of every process of another job that it knows; `None`
    /// if it would.
    pub fn blindness(&self) -> Option<Blindness> {
        if self.is_abroad() { abroad::blindness() } else { None }
    }

    /// Looks, now and then, whether processes of other jobs have ended. Their channels give them up
    /// in a later round of progress, once all is taken that they sent.
    #[inline]
    pub(super) fn look_abroad(&self) {
        if abroad::is_watching() {
            abroad::look_in_turn();
        }
    }

    /// The identity of a process that this one knows.
    pub(crate) fn identity(&self, peer: Peer) -> Identity {
        let job = self.foreign.origin.as_ref().map_or(0, |origin| origin.job);
        let foreign = (peer >= self.size).then(|| self.foreign.table().identity(peer)).flatten();
        foreign.unwrap_or(Identity { job, rank: peer })
    }

    /// A number that this process has alike with those that have mapped the heap of its node, as it
    /// has, and with no other process anywhere: they can make windows of shared memory together.
    pub fn memory(&self) -> u64 {
        let sharing = self.heap().and_then(|heap| (0..self.size).find(|&peer| heap.unites(peer)));
        // DefaultHasher::new() is the same function in every process.
        let mut hasher = DefaultHasher::new();
        (self.identity(sharing.unwrap_or(self.me)), sharing.is_some()).hash(&mut hasher);
        hasher.finish()
    }

    /// The number of the process with this identity, and what must be held while it is used; `None`
    /// if this process does not know it, or has lost it.
    pub(crate) fn acquaintance(&self, identity: &Identity) -> Option<(Peer, Option<Arc<Tie>>)> {
        let job = self.foreign.origin.as_ref().map_or(0, |origin| origin.job);
        if identity.job == job {
            return (identity.rank < self.size).then_some((identity.rank, None));
        }
        let Known { peer, tie } = self.foreign.table().known(identity)?;
        let tie = tie.upgrade()?;
        let is_lost = self.look(|engine| engine.has_lost(peer));
        (!is_lost).then_some((peer, Some(tie)))
    }

    /// Takes in processes of another job that are connected by these channels. `cards` are the
    /// channels' parts of all cards of the introduction.
    pub(crate) fn admit(
        &self,
        newcomers: &[Newcomer],
        wires: Vec<Wire>,
        cards: &[Vec<u8>],
    ) -> Result<Arc<Tie>> {
        let identities: Vec<Identity> = newcomers.iter().map(|newcomer| newcomer.identity).collect();
        let cores = newcomers.iter().map(|newcomer| registry::cores(&cards[newcomer.place])).collect();
        let mut table = self.foreign.table();
        let (number, peers) = table.admit(&identities, cores);
        let tie = Arc::new(Tie::new(number, self.foreign.loosened.clone()));
        table.tie(number, &tie);
        drop(table);
        forget_lost(&peers);
        let pids = peers.iter().zip(newcomers).map(|(peer, newcomer)| (*peer, newcomer.pid));
        let ends = abroad::watch(number, pids);
        let mut numbers = vec![None; cards.len()];
        newcomers.iter().zip(&peers).for_each(|(newcomer, peer)| numbers[newcomer.place] = Some(*peer));
        let numbers = Numbers::new(numbers.into_iter());
        let wires = wires.into_iter().filter(|wire| wire.name() != "loopback");
        let wires = wires.map(|wire| {
            Wire::Foreign(Box::new(ForeignWire::new(
                wire,
                numbers.clone(),
                self.waiter.clone(),
                ends.clone(),
            )))
        });
        let wires: Vec<Wire> = wires.collect();
        self.command(|engine| engine.admit(number, &peers, wires));
        self.choose_care();
        // The tie goes with an error, and then all is taken back.
        self.renew_waiter()?;
        Ok(tie)
    }

    /// Returns whether a process was given up.
    pub fn has_lost(&self, peer: Peer) -> bool {
        self.look(|engine| engine.has_lost(peer))
    }

    /// Parts from the processes of other jobs that no group names any more; returns whether nothing
    /// is left that is still on its way to one of them.
    pub fn part(&self) -> bool {
        let loosened =
            std::mem::take(&mut *self.foreign.loosened.lock().unwrap_or_else(PoisonError::into_inner));
        let mut left = loosened;
        if left.is_empty() {
            return true;
        }
        // A waiter must not watch descriptors that are closed: it gets new ones right after.
        let before = left.len();
        left.retain(|number| {
            let gone = self.command(|engine| engine.dismiss(*number));
            if gone {
                self.foreign.table().dismiss(*number);
                abroad::forget(*number);
            }
            !gone
        });
        if left.len() < before {
            self.choose_care();
            // If there is no other, the old one naps beside descriptors that are closed.
            let _ = self.renew_waiter();
        }
        let done = left.is_empty();
        self.foreign.loosened.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        done
    }

    /// Agrees anew how this process waits, since the processes on its cores have changed and there
    /// are other channels to watch.
    fn renew_waiter(&self) -> Result<()> {
        let origin = self.origin()?;
        let foreign = self.foreign.table().cores();
        let cores: Vec<Option<Vec<u8>>> = origin.cores.iter().cloned().chain(foreign).collect();
        let load = registry::load_of_cores(0, &cores);
        let descriptors = self.look(|engine| engine.descriptors());
        let made: std::io::Result<Arc<dyn Waiter>> = match &origin.make_waiter {
            Some(maker) => maker.make(&load, descriptors),
            None => Eventful::new(descriptors, &load).map(|waiter| Arc::new(waiter) as Arc<dyn Waiter>),
        };
        let waiter = made.map_err(|error| no_waiter(&error))?;
        let shares_cores = waiter.shares_cores();
        self.waiter.replace(waiter);
        self.set_shares_cores(shares_cores);
        let scheme = if shares_cores { Scheme::All } else { Scheme::Dynamic };
        self.command(|engine| engine.poll_by_default(scheme));
        // Threads that sleep at the old waiter look again, and find the new one.
        self.waiter.get().ring_self();
        Ok(())
    }
}

#[cold]
fn no_origin() -> Error {
    Error::unsupported("meeting processes of other jobs in a simulated process")
}

#[cold]
fn no_waiter(error: &std::io::Error) -> Error {
    Error::new(
        crate::generated::constants::MPI_ERR_OTHER,
        "a process that meets another job cannot sleep as it must",
        format!("a socket of process {}: {error}", std::process::id()),
        "no descriptor is left (ulimit -n), or a sandbox forbids sockets",
        "raise the limit, or allow AF_UNIX sockets",
    )
}
