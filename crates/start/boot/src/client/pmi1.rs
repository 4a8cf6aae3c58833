//! The PMI-1 client.

use super::KeyValues;
use crate::environment::Process;
use crate::error::BootError;
use crate::link::Link;
use crate::wire::{Message, shorten};

/// The longest line that every launcher takes, in bytes.
const LINE_LENGTH_MAX: usize = 1000;

/// A launcher that accepted PMI-1.
#[derive(Debug)]
pub struct Pmi1 {
    link: Link,
    space: String,
    value_length_max: usize,
    round: u32,
}

/// A launcher's answer to the greeting.
pub enum Greeting {
    /// The launcher speaks PMI-1.
    Accepted(Pmi1),
    /// The launcher does not, but offers PMI-2.
    WantsPmi2(Link),
}

/// Introduces this process over a port: says which one calls, and learns its rank and size.
pub(super) fn introduce(link: &mut Link, id: u32) -> Result<(u32, u32), BootError> {
    link.ask(&Message::new("initack").with("pmiid", id), "initack")?;
    let (mut rank, mut size) = (None, None);
    // Three `set` messages come: size, rank and debug. The last one is of no interest, but must be
    // read.
    for _ in 0..3 {
        let message = link.expect("initack", "set")?;
        size = message.number::<u32>("size").or(size);
        rank = message.number::<u32>("rank").or(rank);
    }
    match (rank, size) {
        (Some(rank), Some(size)) if rank < size => Ok((rank, size)),
        _ => Err(unexpected("initack", "rank and size", &format!("rank {rank:?}, size {size:?}"))),
    }
}

impl Pmi1 {
    /// Offers PMI-1.
    pub fn greet(mut link: Link) -> Result<Greeting, BootError> {
        link.send(&Message::new("init").with("pmi_version", 1).with("pmi_subversion", 1))?;
        let answer = link.receive("init")?;
        let refused = answer.get("rc").is_some_and(|rc| rc != "0");
        match answer.number::<u32>("pmi_version") {
            Some(1) if !refused => {
                let client = Pmi1 { link, space: String::new(), value_length_max: 0, round: 0 };
                Ok(Greeting::Accepted(client))
            }
            Some(2) => Ok(Greeting::WantsPmi2(link)),
            _ => Err(unexpected("init", "pmi_version=1 and rc=0", &format!("{answer:?}"))),
        }
    }

    /// Asks for all that is to know.
    pub fn process(&mut self, rank: u32, size: u32) -> Result<Process, BootError> {
        let maxes = self.link.ask(&Message::new("get_maxes"), "maxes")?;
        self.value_length_max = maxes.number("vallen_max").unwrap_or(256);
        let appnum = self.link.ask(&Message::new("get_appnum"), "appnum")?.number("appnum");
        let universe = self.link.ask(&Message::new("get_universe_size"), "universe_size")?;
        let space = self.link.ask(&Message::new("get_my_kvsname"), "my_kvsname")?;
        let named = space.get("kvsname").ok_or_else(|| unexpected("get_my_kvsname", "kvsname", "none"))?;
        self.space = named.to_owned();
        Ok(Process { rank, size, universe_size: universe.number("size"), appnum, job: self.space.clone() })
    }

    /// See [`crate::Boot::abort`].
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        self.link.send(&Message::new("abort").with("exitcode", code).with("message", message))
    }

    /// See [`crate::Boot::finalize`].
    pub fn finalize(mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("finalize"), "finalize_ack").map(drop)
    }
}

impl KeyValues for Pmi1 {
    fn value_length_max(&self) -> usize {
        // Launchers read a line of PMI-1 into 1024 bytes, whatever limits they announce for its
        // parts (Slurm 22.05 announces 1024 for the value alone). Room for the words around the
        // value, and for the key.
        let line_room = LINE_LENGTH_MAX.saturating_sub(self.space.len() + 80);
        // The limit told may count a closing zero byte.
        self.value_length_max.saturating_sub(1).min(line_room)
    }

    fn next_round(&mut self) -> u32 {
        self.round += 1;
        self.round
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let put = Message::new("put").with("kvsname", &self.space).with("key", key).with("value", value);
        self.link.ask(&put, "put_result").map(drop)
    }

    fn fence(&mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("barrier_in"), "barrier_out").map(drop)
    }

    fn value(&mut self, _rank: u32, key: &str) -> Result<String, BootError> {
        let get = Message::new("get").with("kvsname", &self.space).with("key", key);
        let answer = self.link.ask(&get, "get_result")?;
        answer.get("value").map(str::to_owned).ok_or_else(|| unexpected("get", key, "no value"))
    }
}

fn unexpected(command: &str, expected: &str, got: &str) -> BootError {
    BootError::Unexpected { command: command.to_owned(), expected: expected.to_owned(), got: shorten(got) }
}
