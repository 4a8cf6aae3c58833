//! Start-up: from nothing to a connected process (MPI-5.0, 11.2).
//!
//! Three steps: ask the launcher who we are, open the channels on this side and exchange what the
//! others need to know of them in one round, connect. The launcher's line is kept for the end of the job.

use crate::error::Error;
use crate::process::Process;
use std::sync::{Arc, Mutex};
use verbena_boot::Boot;
use verbena_channel::wait::{Plain, Waiter};
use verbena_channel::{Channel, Place, registry};
use verbena_engine::{Engine, Settings};

/// A started process and its line to the launcher.
pub struct Started {
    /// The process.
    pub process: Process,
    /// The launcher's side of the job.
    pub launch: Launch,
}

/// What the launcher told and how to speak to it.
pub struct Launch {
    boot: Mutex<Option<Boot>>,
    /// Number of processes that the user's machines could run, if the launcher said (`MPI_UNIVERSE_SIZE`).
    pub universe_size: Option<u32>,
    /// Which part of an MPMD command line this process is from (`MPI_APPNUM`).
    pub appnum: Option<u32>,
}

/// Starts this process. The error's text has all that the user needs.
pub fn start() -> Result<Started, Error> {
    crate::coll::choose::load()?;
    let mut boot = Boot::start().map_err(Error::boot)?;
    if let Some(warning) = boot.warning() {
        eprintln!("{warning}");
    }
    let place = Place { me: boot.rank(), size: boot.size(), job: boot.job().to_string() };
    let wanted = std::env::var("VERBENA_CHANNELS").ok();
    let opened = registry::open(&place, wanted.as_deref()).map_err(Error::channel)?;
    let cards = boot.exchange(&opened.card()).map_err(Error::boot)?;
    let channels = opened.connect(&cards).map_err(Error::channel)?;
    let waiter = waiter(&channels);
    let boards = channels.iter().find_map(|channel| channel.boards());
    let engine = Engine::new(place.me, place.size, channels, Settings::default());
    let launch =
        Launch { universe_size: boot.universe_size(), appnum: boot.appnum(), boot: Mutex::new(Some(boot)) };
    let process = Process::new(place.me, place.size, engine, waiter).with_boards(boards);
    Ok(Started { process, launch })
}

/// The waiter of the first channel that has one: it can be rung by the others.
fn waiter(channels: &[Box<dyn Channel>]) -> Arc<dyn Waiter> {
    channels.iter().find_map(|channel| channel.waiter()).unwrap_or_else(|| Arc::new(Plain::default()))
}

impl Launch {
    /// Ends the whole job with this exit code (`MPI_Abort`, MPI-5.0, 9.7).
    pub fn abort(&self, code: i32, message: &str) -> ! {
        match self.boot.lock().ok().and_then(|mut boot| boot.take()) {
            Some(mut boot) => boot.abort(code, message),
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
