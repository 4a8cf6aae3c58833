//! Start-up: from nothing to a connected process (MPI-5.0, 11.2).
//!
//! There are three steps: ask the launcher who we are; open the channels on this side and exchange
//! in one round what the others need to know of them; connect. The line to the launcher is kept for
//! the end of the job.

use crate::error::Error;
use crate::process::Process;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use verbena_boot::Boot;
use verbena_channel::{Place, Shared, trace};
use verbena_engine::{Engine, Scheme, Settings};
use verbena_machine::cores::Load;
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
}

/// Starts this process. The error's text has all that the user needs.
pub fn start() -> Result<Started, Error> {
    read_settings()?;
    let mut boot = Boot::start().map_err(Error::boot)?;
    if let Some(warning) = boot.warning() {
        eprintln!("{warning}");
    }
    if boot.rank() == 0 {
        verbena_settings::load().unknown.iter().for_each(|warning| eprintln!("{warning}"));
    }
    let place = Place { me: boot.rank(), size: boot.size(), job: boot.job().to_string() };
    let wanted = verbena_settings::CHANNELS.get();
    let mut opened = registry::open(&place, wanted.as_deref()).map_err(Error::channel)?;
    let cards = boot.exchange(&card::join(&verbena_settings::card(), &opened.card())).map_err(Error::boot)?;
    let cards = compared(cards)?;
    let second = match opened.second_card(&cards).map_err(Error::channel)? {
        Some(card) => Some(boot.exchange(&card).map_err(Error::boot)?),
        None => None,
    };
    let load = registry::load(place.me, &cards);
    let mut channels = opened.connect(&cards, second.as_deref(), &load).map_err(Error::channel)?;
    trace::start();
    if trace::is_on() {
        channels = channels.into_iter().map(Wire::traced).collect();
    }
    let shared = channels.iter().map(|channel| channel.shared()).fold(Shared::default(), Shared::or);
    let (waiter, sleep_max) = waiter(shared.waiter, &channels, &load);
    let mut engine = Engine::over(place.me, place.size, channels, Settings::current());
    if waiter.shares_cores() {
        // A wait that yields the core in each round has no round to spare.
        engine.poll_by_default(Scheme::All);
    }
    let launch = Launch {
        universe_size: boot.universe_size(),
        appnum: boot.appnum(),
        launcher: boot.kind(),
        boot: Mutex::new(Some(boot)),
        job: place.job,
    };
    let process = Process::new(place.me, place.size, engine, waiter)
        .with_boards(shared.boards)
        .with_neighbors(shared.neighbors)
        .with_heap(shared.heap)
        .with_sleep_max(sleep_max);
    Ok(Started { process, launch })
}

/// Reads the settings and fixes those that decide how the library starts. `MPI_ERR_OTHER` for the
/// first invalid one.
fn read_settings() -> Result<(), Error> {
    let wrong = verbena_settings::load().wrong.first();
    verbena_settings::freeze();
    wrong.map_or(Ok(()), |fault| Err(Error::setting(fault.clone())))
}

/// The channels' parts of all cards, once it is clear that the settings of all processes fit
/// together.
fn compared(cards: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
    let mut rest = Vec::with_capacity(cards.len());
    for (rank, card) in cards.iter().enumerate() {
        let (settings, channels) = card::split(card);
        if let Some(fault) = verbena_settings::unlike(rank, settings) {
            return Err(Error::setting(fault));
        }
        rest.push(channels.to_vec());
    }
    Ok(rest)
}

/// The two parts of a process's card: its settings, then its channels.
mod card {
    /// Joins the length of the first part (4 bytes, little-endian), the first and the second part.
    pub(super) fn join(settings: &[u8], channels: &[u8]) -> Vec<u8> {
        [&(settings.len() as u32).to_le_bytes()[..], settings, channels].concat()
    }

    /// The two parts; a torn card has empty ones.
    pub(super) fn split(card: &[u8]) -> (&[u8], &[u8]) {
        let parts = card
            .split_first_chunk::<4>()
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
        parts.unwrap_or_default()
    }
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

    /// Tells the launcher that this process is done with MPI.
    pub fn finalize(&self) -> Result<(), Error> {
        let boot = self.boot.lock().ok().and_then(|mut boot| boot.take());
        boot.map_or(Ok(()), |boot| boot.finalize().map_err(Error::boot))
    }
}

/// Ends this process with a message, when there is no launcher to tell.
pub fn abort_unlaunched(code: i32, message: &str) -> ! {
    eprintln!("{message}");
    verbena_boot::link::exit_now(verbena_boot::exit_byte(code))
}
