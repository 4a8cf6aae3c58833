//! Opening the channel and finding the others of the node.

use super::card::Card;
use super::cell_layout::CellMeasures;
use super::control::{BOARDS_MAX, Control, ENGINES_MAX, Measures, RING_LOG2_MIN};
use super::handover::{self, Gift, Offer};
use super::segment::{self, Segment};
use super::{ShmChannel, heap};
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verbena_channel::{Opening, Peer, Place};
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_machine::{headroom, node, random};

/// The time for which the ranks of a node wait for each other at connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// The channel on this side: a listening socket and a card.
#[derive(Debug)]
pub struct ShmOpening {
    me: Peer,
    card: Card,
    listener: UnixListener,
    limit: Duration,
}

/// Opens the channel; nothing to do for a job of one.
pub fn open(place: &Place) -> Result<Option<ShmOpening>, Fault> {
    if place.size < 2 {
        return Ok(None);
    }
    let opening =
        ShmOpening::new(place.me, place.engines, CONNECT_LIMIT).map_err(|e| no_socket(place.me, &e))?;
    Ok(Some(opening))
}

impl ShmOpening {
    pub(super) fn new(me: Peer, engines: u32, limit: Duration) -> std::io::Result<ShmOpening> {
        let (socket, secret) = (random::word()?, random::word()?);
        let card = Card { node: node::identity(), socket, secret, engines: engines.min(ENGINES_MAX) as u8 };
        Ok(ShmOpening { me, card, listener: handover::listen(socket)?, limit })
    }

    pub(super) fn connect_shm(self, cards: &[Option<Vec<u8>>], load: &Load) -> Result<ShmChannel, Fault> {
        let cards: Vec<Option<Card>> = cards.iter().map(|c| c.as_deref().and_then(Card::parse)).collect();
        let mates: Vec<(Peer, &Card)> = (0..)
            .zip(&cards)
            .filter_map(|(p, c)| Some((p, c.as_ref()?)))
            .filter(|(_, c)| c.node == self.card.node)
            .collect();
        let me = mates.iter().position(|&(p, c)| p == self.me && *c == self.card);
        let me = me.ok_or_else(|| no_own_card(self.me))? as u32;
        let peers: Vec<Peer> = mates.iter().map(|&(p, _)| p).collect();
        // What one lacks the others cannot send to.
        let engines = mates.iter().map(|(_, card)| u32::from(card.engines)).min().unwrap_or(0);
        let memory = if me == 0 { self.provide(&peers, engines)? } else { self.obtain(me, &mates)? };
        // Ranks of other nodes on the same cores are left out: to sleep earlier for their sake
        // costs ranks that talk over a network more than it gives (kernels of four ranks on two
        // nodes of one emulated machine took 1.3 times as long).
        let load = Load { local_ranks: peers.len() as u32, ..*load };
        Ok(ShmChannel::new(memory, me, peers, load))
    }

    /// Makes segment and heap and serves the others, as the lowest rank; tells them too if there is
    /// no segment.
    fn provide(&self, peers: &[Peer], engines: u32) -> Result<Memory, Fault> {
        let ranks = peers.len() as u32;
        let made = create(ranks, engines, self.card.secret);
        let heap = heap::create(ranks);
        let regret = made.as_ref().err().map_or_else(String::new, Fault::to_string);
        let offer = match &made {
            Ok((_, segment)) => Offer::Memory(
                segment.as_fd(),
                heap.as_ref().map(|(_, heap)| heap.as_fd()).map_err(|why| &**why),
            ),
            Err(_) => Offer::Regret(&regret),
        };
        let missing =
            handover::serve(&self.listener, self.card.secret, ranks, offer, Instant::now() + self.limit)
                .map_err(|e| no_socket(self.me, &e))?;
        // All descriptors are closed now.
        let (control, _) = made?;
        match missing.is_empty() {
            true => Ok(Memory { control, heap: heap.map(|(heap, _)| heap) }),
            false => {
                let missing: Vec<Peer> = missing.iter().map(|&rank| peers[rank as usize]).collect();
                Err(absent(&missing, self.limit))
            }
        }
    }

    /// Asks the lowest rank for segment and heap.
    fn obtain(&self, me: u32, mates: &[(Peer, &Card)]) -> Result<Memory, Fault> {
        let (server, card) = mates[0];
        let gift = handover::ask(card.socket, card.secret, me, Instant::now() + self.limit);
        match gift.map_err(|e| no_answer(self.me, server, &e, self.limit))? {
            Gift::Regret(text) => Err(refused(server, &text)),
            Gift::Memory(segment, heap) => {
                let segment = Segment::adopt(segment).map_err(|e| no_segment(0, &e))?;
                let control = Control::adopt(segment, mates.len() as u32, card.secret);
                let control = control.ok_or_else(|| wrong_memory(server))?;
                Ok(Memory { control, heap: heap.and_then(heap::adopt) })
            }
        }
    }
}

/// The memory that the ranks of a node share.
pub(super) struct Memory {
    pub(super) control: Arc<Control>,
    /// The heap, or why there is none.
    pub(super) heap: Result<Segment, String>,
}

impl Opening for ShmOpening {
    type Channel = ShmChannel;

    fn card(&self) -> Vec<u8> {
        self.card.emit()
    }

    fn connect(self, cards: &[Option<Vec<u8>>], load: &Load) -> Result<ShmChannel, Fault> {
        self.connect_shm(cards, load)
    }
}

/// Creates the segment with rings as large as wanted, or as the limits of this process allow;
/// further engines, cells and boards are given up first. The descriptor is for the others.
fn create(ranks: u32, engines: u32, secret: u64) -> Result<(Arc<Control>, OwnedFd), Fault> {
    let cells = CellMeasures::chosen(ranks, headroom::bytes());
    let engines = if ranks > 1 { engines } else { 0 };
    let mut measures = Measures { ranks, ring_log2: ring_log2(ranks), boards: BOARDS_MAX, cells, engines };
    loop {
        let made = Segment::create(measures.total_bytes())
            .and_then(|(segment, memory)| Ok((Control::create(segment, measures, secret)?, memory)));
        match made {
            Ok(made) => return Ok(made),
            Err(_) if measures.engines > 0 => measures.engines = 0,
            Err(_) if measures.cells != CellMeasures::default() => measures.cells = CellMeasures::default(),
            Err(_) if measures.boards > 0 => measures.boards /= 8,
            Err(_) if measures.ring_log2 > RING_LOG2_MIN => measures.ring_log2 -= 1,
            Err(e) => return Err(no_segment(measures.total_bytes(), &e)),
        }
    }
}

/// Log2 of a ring's bytes: as set, or as memory allows.
fn ring_log2(ranks: u32) -> u32 {
    match verbena_settings::SHM_RING_BYTES.get() {
        Some(bytes) => log2_of(bytes),
        None => default_ring_log2(ranks, headroom::bytes()),
    }
}

/// Log2 of the smallest ring that holds this many bytes.
pub(super) fn log2_of(bytes: usize) -> u32 {
    bytes.next_power_of_two().ilog2().max(RING_LOG2_MIN)
}

/// Log2 of a ring's bytes by default: the rings of one rank take about 4 MiB when all speak with
/// all, and those of the node at most a quarter of the memory that is free.
pub(super) fn default_ring_log2(ranks: u32, free_bytes: u64) -> u32 {
    let pairs = u64::from(ranks) * u64::from(ranks - 1).max(1);
    let wanted = ((4 << 20) / ranks).ilog2().clamp(14, 18);
    let affordable = (free_bytes / 4 / pairs).max(1).ilog2();
    wanted.min(affordable).max(RING_LOG2_MIN)
}

fn no_socket(me: Peer, error: &Error) -> Fault {
    Fault {
        what: format!("no local socket to hand shared memory over: {error}"),
        on: format!("process {me}, node {}", node::host_name()),
        cause: "no descriptors left (ulimit -n), or a sandbox forbids sockets".into(),
        remedy: "raise the limit, allow AF_UNIX sockets, or leave the channel shm out by VERBENA_CHANNELS"
            .into(),
    }
}

fn no_own_card(me: Peer) -> Fault {
    Fault {
        what: "the cards of the job do not hold this process's own card".into(),
        on: format!("process {me}"),
        cause: "the launcher mixed up two jobs or two processes with the same rank".into(),
        remedy: "start the program with one launcher only; report it if that does not help".into(),
    }
}

fn absent(ranks: &[Peer], limit: Duration) -> Fault {
    Fault {
        what: format!("processes did not come for the node's shared memory within {} s", limit.as_secs_f32()),
        on: format!("ranks {ranks:?}, node {}", node::host_name()),
        cause: "they died or hang in MPI_Init, or the node is too busy to start them".into(),
        remedy: "look at the output of these ranks".into(),
    }
}

fn no_answer(me: Peer, server: Peer, error: &Error, limit: Duration) -> Fault {
    let what = match error.kind() {
        ErrorKind::TimedOut => {
            format!("no answer within {} s to the request for shared memory", limit.as_secs_f32())
        }
        ErrorKind::PermissionDenied => {
            "the process that hands over shared memory belongs to another user".into()
        }
        _ => format!("the request for shared memory failed: {error}"),
    };
    Fault {
        what,
        on: format!("process {me}, asking process {server} on node {}", node::host_name()),
        cause: "that process died or hangs in MPI_Init".into(),
        remedy: "look at the output of that rank".into(),
    }
}

fn refused(server: Peer, text: &str) -> Fault {
    Fault {
        what: "the node has no shared memory".into(),
        on: format!("process {server}, which makes it, said:\n{text}"),
        cause: "that process could not make it, for the reason that it said".into(),
        remedy: "mend what that process said".into(),
    }
}

fn no_segment(bytes: usize, error: &Error) -> Fault {
    let limit = segment::file_limit().map_or("none".into(), |l| format!("{l} bytes"));
    Fault {
        what: format!("no shared memory for the ranks of this node: {error}"),
        on: format!(
            "{bytes} bytes (smallest rings), node {}; file size limit (ulimit -f): {limit}",
            node::host_name()
        ),
        cause: "a limit of this process (ulimit -f, -v, -n), or no memory left in the cgroup (container)"
            .into(),
        remedy: "raise the limit, start fewer ranks, or leave the channel shm out by VERBENA_CHANNELS".into(),
    }
}

fn wrong_memory(server: Peer) -> Fault {
    Fault {
        what: "the memory that was handed over is not this job's".into(),
        on: format!("process {server}, node {}", node::host_name()),
        cause: "the ranks run different versions of Verbena".into(),
        remedy: "make sure that all ranks load the same libmpi_abi.so.1 (verbena info shows the path)".into(),
    }
}
