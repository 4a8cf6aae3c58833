//! Cross-memory attach: a process reads and writes another process's memory by a system call.
//!
//! `process_vm_readv` and `process_vm_writev` copy once where packets copy twice, and need no
//! cooperation of the other side. They are often forbidden: by another user or pid namespace, by
//! Yama, by a container's seccomp filter. So the channel tries: [`CmaChannel::reach`] reads a known
//! word of the peer, writes another one, and says what worked. A later refusal is a [`Fault`]; from
//! then on the peer is not reached, and the engine copies through packets.
//!
//! `VERBENA_CMA=0` leaves the channel out.

mod card;
mod copy;
mod direct;
mod tracer;

use card::Card;
use copy::Verb;
use std::collections::BTreeMap;
use std::io::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tracer::ptrace_scope;
use verbena_channel::key::ExposedMemory;
use verbena_channel::packet::Header;
use verbena_channel::{
    Access, Channel, Cost, Key, Opening, Payload, Peer, Place, Reach, RemoteMemory, Report, SendError,
    Shared, Sink, Started, Transfer,
};
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_machine::{node, random};
use verbena_memory::Region;

pub use direct::own_memory;
pub use tracer::allow_tracers;

/// The cost of a copy by system call in either direction, measured with `examples/channel_bench`.
const COST: Cost = Cost { start_ns: 500, byte_ps: 36 };

/// The setting that turns the channel off, as messages name it.
const SETTING: &str = "VERBENA_CMA";

/// Opens the channel on this side, except for a job of one or with `VERBENA_CMA=0`.
pub fn open(place: &Place) -> Result<Option<CmaOpening>, Fault> {
    if place.size < 2 || !verbena_settings::CMA.get() {
        return Ok(None);
    }
    let opening = CmaOpening::new(place.me).map_err(|e| no_random(place.me, &e))?;
    Ok(Some(opening))
}

/// Words that the others read and write to see whether they can.
#[derive(Debug)]
struct Probes {
    known: AtomicU64,
    scratch: AtomicU64,
}

/// The channel on this side.
#[derive(Debug)]
pub struct CmaOpening {
    me: Peer,
    card: Card,
    probes: Arc<Probes>,
}

impl CmaOpening {
    fn new(me: Peer) -> std::io::Result<CmaOpening> {
        allow_tracers();
        let word = random::word()?;
        let probes = Arc::new(Probes { known: AtomicU64::new(word), scratch: AtomicU64::new(0) });
        let card = Card {
            node: node::identity(),
            pid_namespace: node::namespace("pid"),
            pid: std::process::id(),
            known_at: probes.known.as_ptr() as u64,
            scratch_at: probes.scratch.as_ptr() as u64,
            word,
        };
        Ok(CmaOpening { me, card, probes })
    }

    fn connect_cma(self, cards: &[Option<Vec<u8>>]) -> CmaChannel {
        let ways = (0..).zip(cards).map(|(peer, bytes)| (peer, self.way(peer, bytes.as_deref())));
        let ways = ways.filter(|(_, way)| !matches!(way, Way::Elsewhere)).collect();
        CmaChannel { me: self.me, ways, probes: self.probes }
    }

    fn way(&self, peer: Peer, bytes: Option<&[u8]>) -> Way {
        match bytes.and_then(Card::parse) {
            _ if peer == self.me => Way::Elsewhere,
            Some(card) if card.node != self.card.node => Way::Elsewhere,
            Some(card) if card.pid_namespace != self.card.pid_namespace => {
                Way::Refused("it is in another pid namespace (container)".into())
            }
            Some(card) => Way::Untried(card),
            None => Way::Elsewhere,
        }
    }
}

impl Opening for CmaOpening {
    type Channel = CmaChannel;

    fn card(&self) -> Vec<u8> {
        self.card.emit()
    }

    fn connect(self, cards: &[Option<Vec<u8>>], _load: &Load) -> Result<CmaChannel, Fault> {
        Ok(self.connect_cma(cards))
    }
}

/// The channel, connected.
#[derive(Debug)]
pub struct CmaChannel {
    me: Peer,
    ways: Ways,
    /// The words that others probe as long as the channel lives.
    probes: Arc<Probes>,
}

/// The ways to the processes of the node, but for this one. Those of a large job are elsewhere.
type Ways = BTreeMap<Peer, Way>;

/// The state of the way to one process's memory.
#[derive(Clone, Debug)]
enum Way {
    /// On another node, or this process itself.
    Elsewhere,
    Untried(Card),
    /// Tried; at least one of the two works.
    Tried {
        pid: u32,
        read: bool,
        write: bool,
    },
    /// Refused, with the reason.
    Refused(String),
}

impl CmaChannel {
    fn way(&mut self, peer: Peer) -> &Way {
        let Some(way) = self.ways.get_mut(&peer) else { return &Way::Elsewhere };
        if let Way::Untried(card) = way {
            *way = probe(card);
        }
        way
    }

    /// Does one transfer with the memory that `key` describes.
    fn transfer(&mut self, verb: Verb, peer: Peer, key: &Key, offset: u64, local: Region) -> Started {
        let pid = match *self.way(peer) {
            Way::Tried { pid, read, write } if if verb == Verb::Read { read } else { write } => pid,
            _ => return Err(self.not_offered(verb, peer)),
        };
        let exposed = ExposedMemory::of(key);
        let address = exposed
            .part(offset, local.len())
            .ok_or_else(|| out_of_range(peer, exposed.bytes, offset, local.len()))?;
        match copy::transfer(verb, pid, local, address) {
            Ok(()) => Ok(Transfer::Done),
            Err(error) => Err(self.failed(verb, peer, local.len(), &error)),
        }
    }

    /// Ends the way to this peer: a permission that was taken back will not return.
    fn failed(&mut self, verb: Verb, peer: Peer, len: usize, error: &Error) -> Fault {
        if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES)) {
            self.ways.insert(peer, Way::Refused(format!("refused later: {}", reason(error))));
        }
        failed(verb, peer, self.me, len, error)
    }

    fn not_offered(&self, verb: Verb, peer: Peer) -> Fault {
        let cause = match self.ways.get(&peer) {
            Some(Way::Refused(why)) => why.clone(),
            _ => "the process is on another node, or only the other direction works".into(),
        };
        Fault {
            what: format!("{verb} another process's memory is not possible"),
            on: format!("process {peer}, seen from process {}", self.me),
            cause,
            remedy: "nothing: messages are copied through shared memory instead".into(),
        }
    }
}

/// The fault for a transfer that the kernel refused.
#[cold]
fn failed(verb: Verb, peer: Peer, me: Peer, len: usize, error: &Error) -> Fault {
    Fault {
        what: format!("{verb} {len} bytes of another process failed: {error}"),
        on: format!("process {peer}, seen from process {me}"),
        cause: match error.raw_os_error() {
            Some(libc::ESRCH) => "that process ended".into(),
            Some(libc::EFAULT) => {
                "a buffer was freed or protected meanwhile, or lies in the memory of a device".into()
            }
            _ => reason(error),
        },
        remedy: format!("if it happens again, set {SETTING}=0 to copy through shared memory instead"),
    }
}

/// Tries both directions on the words that the peer keeps for that.
fn probe(card: &Card) -> Way {
    let mut word = [0u8; 8];
    let mut mark = std::process::id().to_le_bytes().repeat(2);
    // SAFETY: both live until the calls below are over.
    let (into, from) = unsafe { (Region::of(&mut word), Region::of(&mut mark)) };
    let read = copy::transfer(Verb::Read, card.pid, into, card.known_at);
    if read.is_ok() && into.to_vec() != card.word.to_le_bytes() {
        // Another process, or a pid seen through different glasses: its memory must not be written.
        return Way::Refused(format!("process id {} is not that rank here (pid namespace)", card.pid));
    }
    let write = copy::transfer(Verb::Write, card.pid, from, card.scratch_at);
    match (&read, &write) {
        // Writing alone is not used: without the word nothing shows that it is the right process.
        (Err(error), _) => Way::Refused(reason(error)),
        (Ok(()), _) => Way::Tried { pid: card.pid, read: true, write: write.is_ok() },
    }
}

fn reason(error: &Error) -> String {
    let hint = match (error.raw_os_error(), ptrace_scope()) {
        (Some(libc::ENOSYS), _) => "the kernel or a seccomp filter (container) does not offer it".into(),
        (Some(libc::EPERM), Some(scope)) if scope != "0" => {
            format!("Yama forbids it (ptrace_scope {scope}), or seccomp")
        }
        (Some(libc::EPERM), _) => "another user, or a seccomp filter (container without SYS_PTRACE)".into(),
        _ => "unexpected".into(),
    };
    format!("{error}: {hint}")
}

impl Channel for CmaChannel {
    fn name(&self) -> &'static str {
        "cma"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        let Way::Tried { read, write, .. } = *self.way(peer) else { return None };
        Some(Reach {
            packet_bytes_max: 0,
            eager_bytes_max: 0,
            whole_bytes_max: 0,
            ordered: true,
            get: read.then_some(COST),
            put: write.then_some(COST),
            in_background: false,
            // The default was measured with `examples/channel_bench` (2 cores, best of 15 runs): 64
            // KiB take 4.3 us through the ring and 2.8 us by a read, which needs a handshake of a
            // microsecond besides; 256 KiB take 16.8 and 9.5 us.
            memory_bytes_min: verbena_settings::CMA_BYTES_MIN.get(),
            latency_ns: 1000,
        })
    }

    fn send(&mut self, peer: Peer, _header: &Header, _payload: Payload<'_>) -> Result<(), SendError> {
        Err(SendError::Broken(Fault {
            what: "the channel cma moves memory, not packets".into(),
            on: format!("process {peer}"),
            cause: "the protocol chose a channel that does not offer packets: a defect of Verbena".into(),
            remedy: format!("please report it; {SETTING}=0 avoids it meanwhile"),
        }))
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> usize {
        0
    }

    fn beside(&self) -> Option<Box<dyn Channel>> {
        let CmaChannel { me, ways, probes } = self;
        Some(Box::new(CmaChannel { me: *me, ways: ways.clone(), probes: probes.clone() }))
    }

    fn shared(&self) -> Shared {
        let neighbors = Arc::new(direct::Reachable::new(self.me, self.ways.clone()));
        Shared { neighbors: Some(neighbors), ..Shared::default() }
    }

    fn report(&self) -> Report {
        let word = |works: bool| if works { "yes" } else { "no" };
        let say = |(peer, way): (&Peer, &Way)| match way {
            Way::Elsewhere => None,
            Way::Untried(_) => Some(format!("process {peer}: not tried yet")),
            Way::Tried { read, write, .. } => {
                Some(format!("process {peer}: read {}, write {}", word(*read), word(*write)))
            }
            Way::Refused(why) => Some(format!("process {peer}: refused: {why}")),
        };
        Report { findings: self.ways.iter().filter_map(say).collect(), absence: None }
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        Some(self)
    }
}

impl RemoteMemory for CmaChannel {
    fn expose(&mut self, peer: Peer, region: Region, _access: Access) -> Option<Key> {
        matches!(self.way(peer), Way::Tried { .. }).then(|| ExposedMemory::by_address(region).emit())
    }

    /// Nothing is kept of an exposure.
    fn conceal(&mut self, _peer: Peer, _key: &Key) {}

    fn get(&mut self, peer: Peer, key: &Key, offset: u64, into: Region, _token: u64) -> Started {
        self.transfer(Verb::Read, peer, key, offset, into)
    }

    fn put(&mut self, peer: Peer, key: &Key, offset: u64, from: Region, _token: u64) -> Started {
        self.transfer(Verb::Write, peer, key, offset, from)
    }
}

fn out_of_range(peer: Peer, exposed: u64, offset: u64, len: usize) -> Fault {
    Fault {
        what: format!("{len} bytes at {offset} do not lie within the exposed memory of {exposed} bytes"),
        on: format!("process {peer}"),
        cause: "the key was damaged on its way, or the protocol asked for too much: a defect of Verbena"
            .into(),
        remedy: format!("please report it; {SETTING}=0 avoids it meanwhile"),
    }
}

fn no_random(me: Peer, error: &Error) -> Fault {
    Fault {
        what: format!("no random word from the kernel: {error}"),
        on: format!("process {me}"),
        cause: "a sandbox forbids getrandom".into(),
        remedy: format!("allow it, or set {SETTING}=0"),
    }
}

#[cfg(test)]
mod tests;
