//! The launcher's side of PMI, without I/O: it takes bytes from the ranks and returns bytes for the
//! ranks and events.
//!
//! Call [`Server::handle_bytes`] when a rank's line has bytes, then [`Server::poll_output`] and
//! [`Server::poll_event`] until they are empty.

mod commands1;
mod commands2;
mod spawn1;

use crate::layout::process_mapping;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::rc::Rc;
use verbena_boot::card;
use verbena_boot::wire::{Dialect, Inbox, Message, WireError};

/// The longest message taken from a rank, in bytes.
const MESSAGE_LENGTH_MAX: usize = 1 << 20;
/// The longest key, as told to the ranks, in bytes.
const KEY_LENGTH_MAX: usize = 64;
/// The longest value, as told to the ranks, in bytes.
const VALUE_LENGTH_MAX: usize = 1024;

/// The most that all ranks together may store, in bytes: this much, plus a share for each rank.
const STORE_BYTES_MAX: usize = 16 << 20;
const STORE_BYTES_MAX_EACH: usize = 64 << 10;

/// The stage of a rank's life as an MPI process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The rank has not called `MPI_Init`: it may not be an MPI program.
    Fresh,
    /// The rank is between `MPI_Init` and `MPI_Finalize`.
    Initialised,
    /// The rank has called `MPI_Finalize`.
    Finalised,
}

/// An event for the supervisor.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A rank called `MPI_Abort`.
    Abort {
        /// The rank.
        rank: u32,
        /// The exit code.
        code: i32,
        /// The reason, if it says one.
        reason: Option<Reason>,
    },
    /// A rank sent something that is not PMI; its line is of no use any more.
    Garbled {
        /// The rank.
        rank: u32,
        /// The error in its message.
        error: WireError,
    },
    /// A rank wants programs started; it waits for [`Server::answer_spawn`].
    Spawn {
        /// The rank.
        rank: u32,
        /// The words of a command line.
        words: Vec<OsString>,
        /// The port at which the new processes find the rank, or values for them
        /// ([`verbena_boot::spawn::values_of`]).
        parent: String,
        /// The ranks that will be connected with them, if that is known.
        ranks: Vec<u32>,
    },
    /// No communicator of a rank leads to programs any more.
    SpawnParted {
        /// The rank.
        rank: u32,
        /// The number of the programs.
        number: u32,
    },
    /// A rank asks about such programs; it waits for [`Server::answer_spawn_state`].
    SpawnState {
        /// The rank.
        rank: u32,
        /// The number of the programs.
        number: u32,
    },
}

/// The reason for which a rank ended the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The MPI function that failed; `None` if the program called the job off.
    pub call: Option<String>,
    /// The text for the user.
    pub text: String,
}

impl Reason {
    /// The reason in a message of a rank.
    fn of(message: &Message) -> Option<Reason> {
        let decoded = |key| {
            let bytes = card::decode(message.get(key)?).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let call = decoded("call").map(|call| call.replace(char::is_control, " "));
        Some(Reason { call, text: decoded("text")? })
    }
}

/// Facts about the job that the ranks can ask for.
#[derive(Debug, Clone)]
pub struct About {
    /// The job's name.
    pub job: String,
    /// The number of the MPMD part of each rank.
    pub appnums: Vec<u32>,
    /// The number of the host of each rank, counted from 0 in the order of their lowest ranks.
    pub nodes: Vec<u32>,
    /// Values that the ranks find from the start.
    pub values: Vec<(String, String)>,
}

/// The call in which a rank waits for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Barrier,
    Fence,
    Exchange,
}

#[derive(Debug)]
struct Peer {
    inbox: Inbox,
    dialect: Dialect,
    stage: Stage,
    waiting: Option<Waiting>,
    card: String,
    /// Set inside a block of lines of a PMI-1 command, which ends with `endcmd`.
    in_block: bool,
    /// The programs that it orders by such blocks, until it is answered.
    spawn: Option<spawn1::Spawn>,
}

/// The launcher's side of all ranks' lines.
#[derive(Debug)]
pub struct Server {
    about: About,
    peers: Vec<Peer>,
    values: HashMap<String, String>,
    /// The ports of published names, and the ranks that published them.
    names: HashMap<String, (String, u32)>,
    /// The length of all keys and values in `values` and `names`.
    stored_bytes: usize,
    /// The number of ranks that have left MPI.
    finalised: usize,
    outputs: VecDeque<(u32, Rc<[u8]>)>,
    events: VecDeque<Event>,
}

impl Server {
    /// A server for one job; `about.appnums` gives the number of ranks.
    pub fn new(about: About) -> Server {
        let peer = |_: &u32| Peer {
            inbox: Inbox::new(MESSAGE_LENGTH_MAX),
            dialect: Dialect::One,
            stage: Stage::Fresh,
            waiting: None,
            card: String::new(),
            in_block: false,
            spawn: None,
        };
        let peers = about.appnums.iter().map(peer).collect::<Vec<_>>();
        let mapping = process_mapping(&about.nodes);
        let mut values = HashMap::from([("PMI_process_mapping".to_owned(), mapping)]);
        values.extend(about.values.iter().cloned());
        let (outputs, events, names) = Default::default();
        Server { about, peers, values, names, stored_bytes: 0, finalised: 0, outputs, events }
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.about.job
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.peers.len()
    }

    /// The number of a rank's MPMD part.
    pub fn appnum(&self, rank: u32) -> u32 {
        self.about.appnums[rank as usize]
    }

    /// The stage of a rank.
    pub fn stage(&self, rank: u32) -> Stage {
        self.peers[rank as usize].stage
    }

    /// The number of ranks that have left MPI.
    pub fn finalised(&self) -> usize {
        self.finalised
    }

    fn finalise(&mut self, rank: u32) {
        let stage = std::mem::replace(&mut self.peers[rank as usize].stage, Stage::Finalised);
        self.finalised += usize::from(stage != Stage::Finalised);
        self.forget_names(rank);
    }

    /// Removes the names that a rank has published: it has ended, or left MPI.
    pub fn forget_names(&mut self, rank: u32) {
        let own = self.names.iter().filter(|(_, (_, owner))| *owner == rank);
        for name in own.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.unpublish(&name);
        }
    }

    /// Returns whether some rank waits for all others; it waits for ever if one of them has ended.
    pub fn someone_waits(&self) -> bool {
        self.peers.iter().any(|peer| peer.waiting.is_some())
    }

    /// Returns whether a rank waits for all others.
    pub fn is_waiting(&self, rank: u32) -> bool {
        self.peers[rank as usize].waiting.is_some()
    }

    /// Takes bytes that a rank has sent.
    pub fn handle_bytes(&mut self, rank: u32, bytes: &[u8]) {
        self.peers[rank as usize].inbox.push(bytes);
        loop {
            let peer = &mut self.peers[rank as usize];
            let dialect = peer.dialect;
            match peer.inbox.next(dialect) {
                Ok(None) => return,
                Ok(Some(frame)) => self.handle_frame(rank, &frame, dialect),
                Err(error) => return self.events.push_back(Event::Garbled { rank, error }),
            }
        }
    }

    /// Takes the next bytes for a rank.
    pub fn poll_output(&mut self) -> Option<(u32, Rc<[u8]>)> {
        self.outputs.pop_front()
    }

    /// Takes the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn handle_frame(&mut self, rank: u32, frame: &str, dialect: Dialect) {
        if self.peers[rank as usize].in_block {
            return self.handle_block_line(rank, frame);
        }
        match Message::parse(frame, dialect) {
            Ok(message) if dialect == Dialect::Two => self.handle2(rank, &message),
            Ok(message) => self.handle1(rank, frame, &message),
            Err(error) => self.events.push_back(Event::Garbled { rank, error }),
        }
    }

    fn answer(&mut self, rank: u32, message: &Message) {
        let bytes = message.emit(self.peers[rank as usize].dialect);
        self.outputs.push_back((rank, bytes.into()));
    }

    /// Stores a value; returns whether there was room.
    fn store(&mut self, key: &str, value: &str) -> bool {
        let before = self.values.get(key).map_or(0, |old| key.len() + old.len());
        let fits = self.has_room(before, key.len() + value.len());
        if fits {
            self.values.insert(key.to_owned(), value.to_owned());
        }
        fits
    }

    /// Stores the port of a name; returns whether there was room.
    fn publish(&mut self, rank: u32, name: &str, port: &str) -> bool {
        let fits = self.has_room(0, name.len() + port.len());
        if fits {
            self.names.insert(name.to_owned(), (port.to_owned(), rank));
        }
        fits
    }

    /// Takes room for so much in the place of what was there, in bytes; returns whether there is.
    fn has_room(&mut self, before: usize, bytes: usize) -> bool {
        let room = STORE_BYTES_MAX + self.peers.len() * STORE_BYTES_MAX_EACH;
        let stored = (self.stored_bytes + bytes).saturating_sub(before);
        let fits = stored <= room;
        if fits {
            self.stored_bytes = stored;
        }
        fits
    }

    /// Removes a name's port.
    fn unpublish(&mut self, name: &str) -> bool {
        let found = self.names.remove(name);
        let bytes = found.as_ref().map_or(0, |(port, _)| name.len() + port.len());
        self.stored_bytes = self.stored_bytes.saturating_sub(bytes);
        found.is_some()
    }

    fn abort(&mut self, rank: u32, message: &Message) {
        let code = message.number("exitcode").unwrap_or(1);
        self.events.push_back(Event::Abort { rank, code, reason: Reason::of(message) });
    }

    /// Lets a rank wait; when all ranks wait, all go on.
    fn wait(&mut self, rank: u32, waiting: Waiting) {
        self.peers[rank as usize].waiting = Some(waiting);
        if self.peers.iter().all(|peer| peer.waiting.is_some()) {
            self.release();
        }
    }

    fn release(&mut self) {
        let exchanges = self.peers.iter().filter(|peer| peer.waiting == Some(Waiting::Exchange)).count();
        let cards = match exchanges {
            0 => Rc::from([]),
            _ if exchanges == self.peers.len() => self.all_cards(),
            _ => mixed_up(),
        };
        for rank in 0..self.peers.len() as u32 {
            match self.peers[rank as usize].waiting.take() {
                Some(Waiting::Exchange) => self.outputs.push_back((rank, Rc::clone(&cards))),
                Some(Waiting::Fence) => self.answer(rank, &Message::new("kvs-fence-response").with("rc", 0)),
                _ => self.answer(rank, &Message::new("barrier_out").with("rc", 0)),
            }
        }
    }

    /// The message with all cards, made once for all ranks.
    fn all_cards(&mut self) -> Rc<[u8]> {
        let cards: Vec<String> = self.peers.iter_mut().map(|peer| std::mem::take(&mut peer.card)).collect();
        Message::new("verbena_cards").with("cards", cards.join(",")).emit(Dialect::One).into()
    }
}

/// The answer when some ranks exchange cards and others only wait: they run different programs or
/// versions.
fn mixed_up() -> Rc<[u8]> {
    let words = "some ranks called barrier where others exchange cards";
    Message::new("verbena_cards")
        .with("rc", -1)
        .with("msg", words.replace(' ', "_"))
        .emit(Dialect::One)
        .into()
}

#[cfg(test)]
mod tests;
