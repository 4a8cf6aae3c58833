//! The conversations with a launcher: PMI-1, PMI-2, PMI-1 with our extension, and PMIx.

mod names;
mod ours;
mod pmi1;
mod pmi2;
pub mod pmix;

use crate::card;
use crate::environment::{Launched, Line, Place, Process, Speech};
use crate::error::BootError;
use crate::link::Link;
use names::Names;
use std::time::Duration;

/// A launcher that has been greeted.
#[derive(Debug)]
pub enum Client {
    /// A launcher that speaks PMI-1.
    Pmi1(pmi1::Pmi1),
    /// A launcher that speaks PMI-2.
    Pmi2(pmi2::Pmi2),
    /// Our own launcher.
    Ours(ours::Ours),
    /// A server of PMIx.
    Pmix(pmix::Pmix),
}

impl Client {
    /// Takes up the line, greets the launcher and learns what this process is.
    ///
    /// # Errors
    /// The launcher cannot be reached or does not answer as PMI demands.
    pub fn open(launched: Launched) -> Result<(Client, Process), BootError> {
        let (link, rank, size) = take_up(&launched.line)?;
        match launched.speech {
            Speech::Verbena { job, appnum, universe_size, parent } => {
                // Cores that this job fills anyhow say nothing about how many processes may come.
                let universe_size = universe_size.filter(|cores| *cores > size);
                let process = Process { rank, size, universe_size, appnum: Some(appnum), job, parent };
                Ok((Client::Ours(ours::Ours::greet(link)?), process))
            }
            Speech::Pmi2 => Client::open_pmi2(link, rank, launched.job),
            Speech::Pmi1 => match pmi1::Pmi1::greet(link)? {
                pmi1::Greeting::Accepted(mut client) => {
                    client.counts_slots = launched.job.is_some();
                    let process = client.process(rank, size, launched.is_spawned)?;
                    Ok((Client::Pmi1(client), process))
                }
                pmi1::Greeting::WantsPmi2(link) => Client::open_pmi2(link, rank, launched.job),
            },
        }
    }

    /// Connects to a server of PMIx and learns what this process is. No answer is waited for longer
    /// than `answer_time_max`.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, is silent, or is none.
    pub fn open_pmix(place: &Place, answer_time_max: Duration) -> Result<(Client, Process), BootError> {
        let (client, process) = pmix::Pmix::greet(place, answer_time_max)?;
        Ok((Client::Pmix(client), process))
    }

    fn open_pmi2(link: Link, rank: u32, job: Option<String>) -> Result<(Client, Process), BootError> {
        let (client, process) = pmi2::Pmi2::greet(link, rank, job)?;
        Ok((Client::Pmi2(client), process))
    }

    /// The version spoken, for people. Our extension is a part of PMI-1.
    pub fn kind(&self) -> &'static str {
        match self {
            Client::Pmi1(_) | Client::Ours(_) => "pmi-1",
            Client::Pmi2(_) => "pmi-2",
            Client::Pmix(_) => "pmix",
        }
    }

    /// See [`crate::Boot::exchange`].
    ///
    /// # Errors
    /// As there.
    pub fn exchange(&mut self, process: &Process, mine: &[u8]) -> Result<Vec<Vec<u8>>, BootError> {
        match self {
            Client::Pmi1(client) => exchange_by_keys(client, process, mine),
            Client::Pmi2(client) => exchange_by_keys(client, process, mine),
            Client::Ours(client) => client.exchange(process, mine),
            Client::Pmix(client) => client.exchange(process, mine),
        }
    }

    /// See [`crate::Boot::publish`].
    ///
    /// # Errors
    /// As there.
    pub fn publish(&mut self, service: &[u8], port: &[u8]) -> Result<bool, BootError> {
        self.naming().map_or(Ok(false), |mut names| names.publish(service, port))
    }

    /// See [`crate::Boot::unpublish`].
    ///
    /// # Errors
    /// As there.
    pub fn unpublish(&mut self, service: &[u8]) -> Result<bool, BootError> {
        self.naming().map_or(Ok(false), |mut names| names.unpublish(service))
    }

    /// See [`crate::Boot::lookup`].
    ///
    /// # Errors
    /// As there.
    pub fn lookup(&mut self, service: &[u8]) -> Result<Option<Vec<u8>>, BootError> {
        self.naming().map_or(Ok(None), |mut names| names.lookup(service))
    }

    /// The launcher's name service, if it has one that we speak.
    fn naming(&mut self) -> Option<Names<'_>> {
        match self {
            Client::Pmi1(client) => Some(client.names()),
            Client::Ours(client) => Some(client.names()),
            Client::Pmi2(_) | Client::Pmix(_) => None,
        }
    }

    /// See [`crate::Boot::barrier`].
    ///
    /// # Errors
    /// As there.
    pub fn barrier(&mut self) -> Result<(), BootError> {
        match self {
            Client::Pmi1(client) => client.fence(),
            Client::Pmi2(client) => client.fence(),
            Client::Ours(client) => client.barrier(),
            Client::Pmix(client) => client.barrier(),
        }
    }

    /// Tells the launcher to end the job.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        match self {
            Client::Pmi1(client) => client.abort(code, message),
            Client::Pmi2(client) => client.abort(code, message),
            Client::Ours(client) => client.abort(code, message),
            Client::Pmix(client) => client.abort(code, message),
        }
    }

    /// Says good-bye.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn finalize(self) -> Result<(), BootError> {
        match self {
            Client::Pmi1(client) => client.finalize(),
            Client::Pmi2(client) => client.finalize(),
            Client::Ours(client) => client.finalize(),
            Client::Pmix(client) => client.finalize(),
        }
    }
}

/// Opens the line; over a port the launcher tells rank and size there.
fn take_up(line: &Line) -> Result<(Link, u32, u32), BootError> {
    match line {
        Line::Descriptor { fd, rank, size } => Ok((Link::inherit(*fd), *rank, *size)),
        Line::Port { address, id } => {
            let mut link = Link::connect(address)?;
            let (rank, size) = pmi1::introduce(&mut link, *id)?;
            Ok((link, rank, size))
        }
    }
}

/// A launcher's key-value space.
trait KeyValues {
    /// The longest value, in bytes.
    fn value_length_max(&self) -> usize;
    /// Returns the number of exchanges so far, and counts one more.
    fn next_round(&mut self) -> u32;
    /// Stores a value; others see it after the next fence.
    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError>;
    /// Waits for all, and makes what they have put visible.
    fn fence(&mut self) -> Result<(), BootError>;
    /// Reads the value that `rank` has put.
    fn value(&mut self, rank: u32, key: &str) -> Result<String, BootError>;
}

/// The exchange with a launcher that knows only put, fence and get.
fn exchange_by_keys(
    space: &mut impl KeyValues,
    process: &Process,
    mine: &[u8],
) -> Result<Vec<Vec<u8>>, BootError> {
    let round = space.next_round();
    for (part, text) in card::split(mine, space.value_length_max()).iter().enumerate() {
        space.put(&key(round, process.rank, part), text)?;
    }
    space.fence()?;
    let fetch = |rank| if rank == process.rank { Ok(mine.to_vec()) } else { fetch(space, round, rank) };
    (0..process.size).map(fetch).collect()
}

/// Keys are short (launchers allow 64 bytes) and new in every round (some refuse a second put).
fn key(round: u32, rank: u32, part: usize) -> String {
    format!("vb-{round}-{rank}-{part}")
}

fn fetch(space: &mut impl KeyValues, round: u32, rank: u32) -> Result<Vec<u8>, BootError> {
    let first = space.value(rank, &key(round, rank, 0))?;
    let (parts, text) = card::announced(&first).map_err(|why| BootError::BadCard { rank, why })?;
    let mut text = text.to_owned();
    for part in 1..parts {
        text += &space.value(rank, &key(round, rank, part))?;
    }
    card::decode(&text).map_err(|why| BootError::BadCard { rank, why })
}
