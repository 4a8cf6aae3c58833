//! Start-up: from nothing to a connected process (MPI-5.0, 11.2).
//!
//! There are three steps: ask the launcher who we are; open the channels on this side and exchange
//! in one round what the others need to know of them; connect. The line to the launcher is kept for
//! the end of the job.

use crate::engine_settings::engine_settings;
use crate::error::Error;
use crate::process::opening::{Opening, compared};
use crate::process::{Origin, Process};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use verbena_boot::spawn::{Children, Order, SpawnError};
use verbena_boot::{Boot, BootError};
use verbena_channel::{Peer, Place, Shared, trace};
use verbena_engine::{Engine, Scheme};
use verbena_machine::cores::Load;
use verbena_machine::random;
use verbena_settings::{LOST_RANKS, THREAD_ENGINES};
use verbena_waiting::{Eventful, NAP, Plain, SLEEP_MAX, Waiter};
use verbena_wires::{Wire, registry};

/// A started process and its line to the launcher.
pub struct Started {
    /// The process.
    pub process: Process,
    /// The launcher's side of the job.
    pub launch: Launch,
}

/// The launcher's words, and the line to it.
pub struct Launch {
    boot: Mutex<Option<Boot>>,
    /// The protocol of the launcher.
    pub launcher: &'static str,
    /// The job's name, the same in all its processes and in no other job.
    pub job: String,
    /// Number of processes that the user's machines could run, if the launcher said
    /// (`MPI_UNIVERSE_SIZE`).
    pub universe_size: Option<u32>,
    /// The part of an MPMD command line that this process is from (`MPI_APPNUM`).
    pub appnum: Option<u32>,
    /// The port of the program that spawned this one, if one did.
    pub parent: Option<String>,
    /// True if the user wants any process of the job to go on when others are killed, whatever its
    /// program says: the same in all of them.
    pub any_survives: bool,
}

/// The line to the launcher of a process that could not be made: [`fail_unlaunched`] takes it.
static LEFT_LINE: Mutex<Line> = Mutex::new(Line::Unopened);

/// The line to the launcher before there is a process.
enum Line {
    Unopened,
    /// The process could not be made.
    Left(Box<Boot>),
    /// In use elsewhere, or broken.
    Taken,
}

/// Takes the line to the launcher, opened now if it was not; `None` if it was taken before.
fn take_line() -> Result<Option<Boot>, BootError> {
    let mut line = LEFT_LINE.lock().unwrap_or_else(PoisonError::into_inner);
    match std::mem::replace(&mut *line, Line::Taken) {
        Line::Unopened => Boot::start().map(Some),
        Line::Left(boot) => Ok(Some(*boot)),
        Line::Taken => Ok(None),
    }
}

/// Starts this process. Where it `has_threads` that call MPI at the same time, they may have
/// engines of their own. The error's text has all that the user needs.
pub fn start(has_threads: bool) -> Result<Started, Error> {
    read_settings()?;
    let mut boot = match take_line().map_err(Error::boot)? {
        Some(boot) => boot,
        None => Boot::start().map_err(Error::boot)?,
    };
    match make(&mut boot, has_threads) {
        Ok(mut started) => {
            *started.launch.boot.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(boot);
            Ok(started)
        }
        Err(error) => {
            *LEFT_LINE.lock().unwrap_or_else(PoisonError::into_inner) = Line::Left(Box::new(boot));
            Err(error)
        }
    }
}

/// Makes the process; the caller gives its line to it.
fn make(boot: &mut Boot, has_threads: bool) -> Result<Started, Error> {
    if let Some(warning) = boot.warning() {
        verbena_fault::complain(&warning);
    }
    if boot.rank() == 0 {
        verbena_settings::load().unknown.iter().for_each(verbena_fault::complain);
    }
    let engines = if has_threads { wanted_engines() } else { 0 };
    let place = Place { me: boot.rank(), size: boot.size(), job: boot.job().to_string(), engines };
    let mut opening = Opening::open(&place)?;
    let job = random_job()?;
    let survives = [u8::from(survives())];
    let card = [&job.to_le_bytes()[..], &survives, &opening.card()].concat();
    let (job, any_survives, cards) = parted(boot.exchange(&card).map_err(Error::boot)?);
    let cards = compared(cards)?;
    let second = match opening.second_card(&cards)? {
        Some(card) => Some(boot.exchange(&card).map_err(Error::boot)?),
        None => None,
    };
    let load = opening.load(&cards);
    let mut channels = opening.connect(&cards, second.as_deref(), &load)?;
    trace::start(place.me, job).map_err(Error::setting)?;
    if trace::is_on() {
        channels = channels.into_iter().map(Wire::traced).collect();
    }
    let shared = channels.iter().map(|channel| channel.shared()).fold(Shared::default(), Shared::or);
    let (waiter, sleep_max) = waiter(shared.waiter, &channels, &load);
    let further = further_engines(&place, &channels);
    let mut engine = Engine::over(place.me, place.size, channels, engine_settings());
    if waiter.shares_cores() {
        // A wait that yields the core in each round has no round to spare.
        engine.poll_by_default(Scheme::All);
    }
    let launch = Launch {
        universe_size: boot.universe_size().or_else(|| own_cores(boot)),
        appnum: boot.appnum(),
        launcher: boot.kind(),
        parent: boot.parent().map(str::to_owned),
        boot: Mutex::new(None),
        job: place.job,
        any_survives,
    };
    let process = Process::new(place.me, place.size, engine, waiter)
        .with_engines(further.engines, further.peers)
        .with_boards(shared.boards)
        .with_neighbors(shared.neighbors)
        .with_heap(shared.heap)
        .with_sleep_max(sleep_max)
        .with_origin(Origin {
            job,
            cores: registry::cores_beside(place.me, &cards),
            make_waiter: shared.make_waiter,
        });
    Ok(Started { process, launch })
}

/// The number of engines that this process wants beside its first one. Traces tell messages apart
/// by their order in one engine.
fn wanted_engines() -> u32 {
    if verbena_settings::TRACE.get().is_some() { 0 } else { THREAD_ENGINES.get() as u32 }
}

/// Engines beside the first one, and the processes that they reach.
#[derive(Default)]
struct Further {
    engines: Vec<Engine>,
    peers: Vec<Peer>,
}

/// The further engines over these channels of the first one, as many as all processes of the node
/// have.
fn further_engines(place: &Place, channels: &[Wire]) -> Further {
    let Some(shm) = channels.iter().find(|channel| matches!(channel, Wire::Shm(_))) else {
        return Further::default();
    };
    let numbers = (1..).map_while(|number| {
        let wires: Vec<Wire> = channels.iter().filter_map(|channel| channel.beside(number)).collect();
        let is_there = wires.iter().any(|wire| matches!(wire, Wire::Shm(_)));
        is_there.then(|| Engine::over(place.me, place.size, wires, engine_settings()))
    });
    let peers = shm.near().map_or_else(Vec::new, <[Peer]>::to_vec);
    Further { engines: numbers.collect(), peers }
}

/// Reads the settings and fixes those that decide how the library starts. `MPI_ERR_OTHER` for the
/// first invalid one.
fn read_settings() -> Result<(), Error> {
    let wrong = verbena_settings::load().wrong.first();
    verbena_settings::freeze();
    wrong.map_or(Ok(()), |fault| Err(Error::setting(fault.clone())))
}

/// The cores that a process may use which no launcher started, if there are several.
fn own_cores(boot: &Boot) -> Option<u32> {
    let cores: u32 = std::thread::available_parallelism().ok()?.get().try_into().ok()?;
    (cores > 1 && boot.kind() == "singleton").then_some(cores)
}

/// A number that no other job has, if this process has rank 0.
fn random_job() -> Result<u128, Error> {
    let word = || random::secret().map(u128::from).map_err(Error::channel);
    Ok(word()? << 64 | word()?)
}

/// Returns whether the user wants this process to go on when others are killed, whatever the
/// program says.
pub fn survives() -> bool {
    const SURVIVE: usize = 1;
    LOST_RANKS.get() == SURVIVE
}

/// The number of the job, which is that of rank 0; whether any process [`survives`]; and the rest
/// of all cards.
fn parted(mut cards: Vec<Vec<u8>>) -> (u128, bool, Vec<Vec<u8>>) {
    const JOB_BYTES: usize = size_of::<u128>();
    let number = |card: &Vec<u8>| card.first_chunk().map(|job| u128::from_le_bytes(*job));
    let job = cards.first().and_then(number).unwrap_or(0);
    let any_survives = cards.iter().any(|card| card.get(JOB_BYTES).is_some_and(|survives| *survives != 0));
    cards.iter_mut().for_each(|card| drop(card.drain(..card.len().min(JOB_BYTES + 1))));
    (job, any_survives, cards)
}

/// The waiter of the first channel that has one, `shared`, since the others of the node ring it;
/// and the longest time that it may sleep. It watches channels that announce arrivals by
/// descriptors; if it cannot, it only naps.
fn waiter(shared: Option<Arc<dyn Waiter>>, channels: &[Wire], load: &Load) -> (Arc<dyn Waiter>, Duration) {
    let descriptors: Vec<_> = channels.iter().flat_map(|channel| channel.descriptors()).collect();
    match shared {
        Some(waiter) if descriptors.is_empty() => (waiter, SLEEP_MAX),
        Some(waiter) => {
            let watched = waiter.watch(descriptors).is_ok();
            (waiter, if watched { SLEEP_MAX } else { NAP })
        }
        None if descriptors.is_empty() => (Arc::new(Plain::new(load)), SLEEP_MAX),
        None => match Eventful::new(descriptors, load) {
            Ok(waiter) => (Arc::new(waiter), SLEEP_MAX),
            Err(_) => (Arc::new(Plain::new(load)), NAP),
        },
    }
}

impl Launch {
    /// Ends the whole job with this exit code (`MPI_Abort`, MPI-5.0, 9.7).
    pub fn abort(&self, code: i32, message: &str) -> ! {
        match self.boot.lock().ok().and_then(|mut boot| boot.take()) {
            Some(mut boot) => boot.abort(code, message),
            None => abort_unlaunched(code, message),
        }
    }

    /// Ends the whole job after an error in `call`, with the message for the user.
    pub fn fail(&self, code: i32, call: &str, message: &str) -> ! {
        match self.boot.lock().ok().and_then(|mut boot| boot.take()) {
            Some(mut boot) => boot.fail(code, call, message),
            None => abort_unlaunched(code, message),
        }
    }

    /// Has programs started; returns once all their processes run. `mpiexec` is the program that
    /// starts them where no launcher can.
    ///
    /// # Errors
    /// Why none runs.
    pub fn spawn(&self, order: &Order, mpiexec: Option<&Path>) -> Result<Children, SpawnError> {
        match &mut *self.boot() {
            Some(boot) => boot.spawn(order, mpiexec),
            None => Err(SpawnError::Refused(Vec::new(), "this process has left its launcher".into())),
        }
    }

    /// Returns whether all processes of these programs have ended, as far as can be known.
    pub fn have_ended(&self, children: &mut Children) -> Result<bool, Error> {
        self.ask(false, |boot| boot.have_ended(children))
    }

    /// Says that this process is connected with these programs no more ([`Boot::part`]).
    pub fn part(&self, children: Children) -> Result<(), Error> {
        self.ask((), |boot| boot.part(children))
    }

    /// Publishes a name at the launcher; returns whether it took it.
    pub fn publish(&self, service: &[u8], port: &[u8]) -> Result<bool, Error> {
        self.ask(false, |boot| boot.publish(service, port))
    }

    /// Takes a name back from the launcher; returns whether it had it.
    pub fn unpublish(&self, service: &[u8]) -> Result<bool, Error> {
        self.ask(false, |boot| boot.unpublish(service))
    }

    /// The port of a service, if the launcher knows it.
    pub fn lookup(&self, service: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.ask(None, |boot| boot.lookup(service))
    }

    fn boot(&self) -> MutexGuard<'_, Option<Boot>> {
        self.boot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the launcher; `gone` is the answer of one that was left.
    fn ask<T>(&self, gone: T, ask: impl FnOnce(&mut Boot) -> Result<T, BootError>) -> Result<T, Error> {
        self.boot().as_mut().map_or(Ok(gone), |boot| ask(boot).map_err(Error::boot))
    }

    /// Tells the launcher that this process is done with MPI.
    pub fn finalize(&self) -> Result<(), Error> {
        let boot = self.boot.lock().ok().and_then(|mut boot| boot.take());
        boot.map_or(Ok(()), |boot| boot.finalize().map_err(Error::boot))
    }
}

/// Ends the whole job after an error in `call` before there was a process, or in its making: as
/// [`Launch::fail`] does, if the launcher can be reached.
pub fn fail_unlaunched(code: i32, call: &str, message: &str) -> ! {
    match take_line() {
        Ok(Some(mut boot)) => boot.fail(code, call, message),
        Ok(None) | Err(_) => abort_unlaunched(code, message),
    }
}

/// Ends this process with a message, when there is no launcher to tell.
pub fn abort_unlaunched(code: i32, message: &str) -> ! {
    verbena_fault::complain(message);
    verbena_boot::link::exit_now(verbena_boot::exit_byte(code))
}
