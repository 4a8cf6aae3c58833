//! Long messages, moved by RDMA without a copy (paper 1, 3.3; paper 2, 5 and 6).
//!
//! A transfer is one message, or what is left of one. It is posted in pieces, a few under way at a
//! time: so packets for the same peer, which share its queue pair, get their turn, and the device's
//! limits on reads hold. Every piece is signalled, since each makes room for the next. A write has
//! ended when the peer's device has acknowledged it: what comes through that device later lies
//! behind it in the peer's memory too.
//!
//! When a connection breaks, its queue pair is closed before anything else: from then on the device
//! touches no memory for it, and its transfers end with the reason.

use super::RcChannel;
use super::adapter::{Adapter, Operation, Remote, Work};
use super::failure;
use super::id::Id;
use super::moves::Moves;
use super::peers::Connection;
use super::settings::Settings;
use super::short_reads::{self, Place, ShortReads};
use crate::cache::watch::Watch;
use crate::cache::{Bounds, Cache, Lease, Purpose};
use crate::device::{Completion, Post, Refused};
use slab::Slab;
use verbena_channel::key::ExposedMemory;
use verbena_channel::learner::Learned;
use verbena_channel::{
    ATOMIC_BYTES, Access, Atomic, AtomicScope, Atomics, Choice, Direction, Key, Peer, Registrations,
    RemoteMemory, Sink, Started, Transfer,
};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The most pieces of writes under way to one peer; also of reads, if the device takes as many.
const PIECES_MAX: u32 = 4;
/// The number of places of the send queue that are left to packets.
const PLACES_LEFT: u32 = 4;

/// The transfers and exposures of all peers.
pub(super) struct Memory {
    /// Registrations of the program's memory.
    pub cache: Cache,
    /// The reason why registrations are not kept, if they should be.
    unkept: Option<String>,
    short_reads: ShortReads,
    moves: Slab<Move>,
    /// The transfers that ended with a connection that was given back, to be reported.
    pub given_up: Vec<(u64, Fault)>,
    exposed: Slab<Lease>,
}

/// A transfer under way.
#[derive(Debug)]
struct Move {
    token: u64,
    peer: Peer,
    motion: Motion,
    local: Region,
    remote: Remote,
    way: Way,
    /// Bytes posted.
    posted: usize,
    /// Pieces under way.
    under_way: u32,
}

/// The way to the local memory of a transfer.
#[derive(Debug)]
enum Way {
    /// The processor copies the bytes when they are posted.
    Inline,
    /// The processor copies them when they have come.
    Short(Place),
    /// The device accesses them.
    Registered(Lease),
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug)]
enum Motion {
    Read,
    Write,
    /// An atomic operation; only the number of before moves.
    Atomic(Atomic),
}

impl Memory {
    /// Makes one without transfers, with registrations for each operation alone.
    pub(super) fn new(settings: &Settings) -> Memory {
        let bounds = Bounds { bytes_max: settings.cache_bytes_max, entries_max: settings.cache_entries_max };
        Memory {
            cache: Cache::new(bounds, None),
            unkept: None,
            short_reads: ShortReads::default(),
            moves: Slab::new(),
            given_up: Vec::new(),
            exposed: Slab::new(),
        }
    }
}

impl<A: Adapter> RemoteMemory for RcChannel<A> {
    /// Registers memory that the peer may access as `access` says from now on; `None` if the peer
    /// is not connected, or the memory cannot be registered (which is counted).
    fn expose(&mut self, peer: Peer, region: Region, access: Access) -> Option<Key> {
        self.peers.look(peer).filter(|connection| connection.is_up())?;
        let memory = &mut self.memory;
        let lease = memory.cache.lease(&mut self.adapter, region, Purpose::Shown(access)).ok()?;
        let (key, base) = (u64::from(lease.remote_key), region.address());
        let number = memory.exposed.insert(lease) as u32;
        Some(ExposedMemory { base, bytes: region.len() as u64, key, number }.emit())
    }

    fn conceal(&mut self, _peer: Peer, key: &Key) {
        let number = ExposedMemory::of(key).number;
        if let Some(lease) = self.memory.exposed.try_remove(number as usize) {
            self.memory.cache.end(&mut self.adapter, lease);
        }
    }

    fn get(&mut self, peer: Peer, key: &Key, offset: u64, into: Region, token: u64) -> Started {
        self.move_memory(peer, Motion::Read, key, offset, into, token)
    }

    fn put(&mut self, peer: Peer, key: &Key, offset: u64, from: Region, token: u64) -> Started {
        self.move_memory(peer, Motion::Write, key, offset, from, token)
    }

    fn atomics(&mut self) -> Option<&mut dyn Atomics> {
        self.limits.atomics.is_some().then_some(self as &mut dyn Atomics)
    }

    fn choose_direction(&mut self, bytes: u64, estimate: Direction) -> Option<Choice> {
        if !self.limits.mixes {
            return Some(Choice { direction: Direction::Read, bytes });
        }
        let now_ns = self.adapter.now_ns();
        let learned = self.learner.as_mut()?.choose(bytes, estimate as usize, now_ns);
        let reads = usize::from(learned.way) == Direction::Read as usize;
        let direction = if reads { Direction::Read } else { Direction::Write };
        Some(Choice { direction, bytes: learned.bytes })
    }

    fn choice_ended(&mut self, choice: Choice) {
        let now_ns = self.adapter.now_ns();
        if let Some(learner) = &mut self.learner {
            learner.end(Learned { way: choice.direction as u8, bytes: choice.bytes }, now_ns);
        }
    }
}

impl<A: Adapter> Atomics for RcChannel<A> {
    fn scope(&self) -> AtomicScope {
        self.limits.atomics.expect("a device with atomic operations")
    }

    fn atomic(
        &mut self,
        peer: Peer,
        key: &Key,
        offset: u64,
        operation: Atomic,
        former: Region,
        token: u64,
    ) -> Started {
        if former.len() != ATOMIC_BYTES {
            return Err(out_of_range(peer));
        }
        self.move_memory(peer, Motion::Atomic(operation), key, offset, former, token)
    }
}

impl<A: Adapter> RcChannel<A> {
    /// Begins a transfer between `local` and the memory that `key` exposes.
    ///
    /// # Errors
    /// The peer is not connected, the place does not lie within, or our own memory cannot be
    /// registered.
    fn move_memory(
        &mut self,
        peer: Peer,
        motion: Motion,
        key: &Key,
        offset: u64,
        local: Region,
        token: u64,
    ) -> Started {
        let exposed = ExposedMemory::of(key);
        let address = exposed.part(offset, local.len()).ok_or_else(|| out_of_range(peer))?;
        if matches!(motion, Motion::Atomic(_)) && !address.is_multiple_of(ATOMIC_BYTES as u64) {
            return Err(unaligned(peer, address));
        }
        let remote = Remote { address, key: exposed.key as u32 };
        if self.peers.look(peer).is_none_or(|connection| !connection.is_up()) {
            return Err(not_connected(peer));
        }
        if local.is_empty() {
            return Ok(Transfer::Done);
        }
        let way = self.way(motion, local)?;
        let begun = Move { token, peer, motion, local, remote, way, posted: 0, under_way: 0 };
        let number = self.memory.moves.insert(begun) as u32;
        self.peers.get(peer).expect("connected").moves.waiting.push_back(number);
        self.post_moves(peer);
        Ok(Transfer::Pending)
    }

    /// Finds the way to the local memory of a transfer; registers it unless it is short.
    fn way(&mut self, motion: Motion, local: Region) -> Result<Way, Fault> {
        let (memory, adapter) = (&mut self.memory, &mut self.adapter);
        let purpose = match motion {
            Motion::Write if local.len() <= self.settings.inline_bytes_max => return Ok(Way::Inline),
            Motion::Write => Purpose::Work(Access::READ),
            Motion::Read | Motion::Atomic(_) => {
                let is_short = local.len() <= short_reads::BYTES_MAX;
                if let Some(place) = is_short.then(|| memory.short_reads.take(adapter, local.len())).flatten()
                {
                    return Ok(Way::Short(place));
                }
                Purpose::Work(Access::WRITE)
            }
        };
        memory.cache.lease(adapter, local, purpose).map(Way::Registered)
    }

    /// Posts pieces of the peer's transfers while there is room. A piece that finds none is tried
    /// again at the next completion of a piece, or as a duty if none is under way.
    fn post_moves(&mut self, peer: Peer) {
        loop {
            match self.post_piece(peer) {
                Ok(true) => {}
                Ok(false) | Err(Refused::Full) => break,
                Err(Refused::Broken(fault)) => {
                    let fault = failure::refused(&self.ends(peer), fault);
                    return self.break_connection(peer, fault);
                }
            }
        }
        if self.peers.get(peer).is_some_and(|connection| connection.moves.is_stuck()) {
            self.enlist(peer);
        }
    }

    /// Tries again where no completion will; `None` if still without success.
    pub(super) fn post_stuck_moves(&mut self, peer: Peer) -> Option<()> {
        if self.peers.get(peer)?.moves.is_stuck() {
            self.post_moves(peer);
        }
        (!self.peers.get(peer)?.moves.is_stuck()).then_some(())
    }

    /// Posts one piece; `false` if there is none or no room.
    fn post_piece(&mut self, peer: Peer) -> Result<bool, Refused> {
        let Some(connection) = self.peers.get(peer) else { return Ok(false) };
        let (Some(pair), Some(number)) = (connection.pair, connection.moves.waiting.front().copied()) else {
            return Ok(false);
        };
        let moving = &mut self.memory.moves[number as usize];
        if !connection.has_room_for(moving.motion.is_answered(), self.limits.reads_max) {
            return Ok(false);
        }
        let work = moving.next_piece(peer, number, self.settings.piece_bytes);
        let bytes = work.local.len();
        let mut descriptor = self.adapter.describe(&work);
        let inline = matches!(moving.way, Way::Inline);
        self.adapter.post(pair, &mut descriptor, bytes, Post { signalled: true, inline })?;
        moving.posted += bytes;
        moving.under_way += 1;
        if moving.posted == moving.local.len() {
            connection.moves.waiting.pop_front();
        }
        match moving.motion.is_answered() {
            true => connection.moves.reads += 1,
            false => {
                connection.moves.writes += 1;
                connection.queue.posted(true);
            }
        }
        Ok(true)
    }

    /// Takes in that a piece has ended.
    pub(super) fn memory_done(
        &mut self,
        peer: Peer,
        number: u32,
        completion: &Completion,
        sink: &mut dyn Sink,
    ) {
        let Some(connection) = self.peers.get(peer) else { return };
        if connection.pair != Some(completion.pair) {
            return; // broken meanwhile
        }
        let Some(moving) = self.memory.moves.get_mut(number as usize) else { return };
        moving.under_way -= 1;
        let has_ended = moving.under_way == 0 && moving.posted == moving.local.len();
        match moving.motion.is_answered() {
            true => connection.moves.reads -= 1,
            false => connection.moves.writes -= 1,
        }
        match completion.outcome {
            Err(failed) => return self.work_failed(peer, failed),
            Ok(_) if moving.motion.is_answered() => {}
            Ok(_) => self.done(peer, completion),
        }
        if has_ended {
            self.end_move(number, Ok(()), sink);
        }
        self.post_moves(peer);
    }

    fn end_move(&mut self, number: u32, outcome: Result<(), Fault>, sink: &mut dyn Sink) {
        if let Some(token) = self.take_move(number, outcome.is_ok()) {
            sink.transferred(token, outcome);
        }
    }

    /// Takes a transfer out that has ended: its token.
    fn take_move(&mut self, number: u32, is_done: bool) -> Option<u64> {
        let moving = self.memory.moves.try_remove(number as usize)?;
        match moving.way {
            Way::Inline => {}
            Way::Short(place) => {
                if is_done {
                    moving.local.copy_from(place.region);
                }
                self.memory.short_reads.give_back(place);
            }
            Way::Registered(lease) => self.memory.cache.end(&mut self.adapter, lease),
        }
        Some(moving.token)
    }

    fn moves_of(&self, peer: Peer) -> Vec<u32> {
        let of_peer = self.memory.moves.iter().filter(|(_, moving)| moving.peer == peer);
        of_peer.map(|(at, _)| at as u32).collect()
    }

    /// Ends all transfers of a peer whose connection is given back: its queue pair is closed. A
    /// poll reports them.
    #[cold]
    pub(super) fn give_up_moves(&mut self, peer: Peer) {
        for number in self.moves_of(peer) {
            let token = self.take_move(number, false);
            self.memory.given_up.extend(token.map(|token| (token, given_back(peer))));
        }
    }

    /// Reports the transfers that ended with a connection that was given back.
    #[cold]
    pub(super) fn report_given_up(&mut self, sink: &mut dyn Sink) -> usize {
        let given_up = std::mem::take(&mut self.memory.given_up);
        let events = given_up.len();
        given_up.into_iter().for_each(|(token, fault)| sink.transferred(token, Err(fault)));
        events
    }

    /// Fails all transfers of the peer: its queue pair is closed.
    #[cold]
    pub(super) fn fail_moves(&mut self, peer: Peer, fault: &Fault, sink: &mut dyn Sink) {
        if let Some(connection) = self.peers.get(peer) {
            connection.moves = Moves::default();
        }
        for number in self.moves_of(peer) {
            self.end_move(number, Err(fault.clone()), sink);
        }
    }

    /// Keeps registrations of the program's memory beyond their operation, as long as the watch has
    /// nothing to tell of it. To be called before the first message.
    pub fn keep_registrations(&mut self, watch: Box<dyn Watch>) {
        self.memory.cache = Cache::new(self.memory.cache.bounds(), Some(watch));
    }

    /// Registers the program's memory for each operation, for this reason.
    pub fn keep_no_registrations(&mut self, reason: String) {
        self.memory.unkept = Some(reason);
    }

    /// Returns what a user wants to know of registrations.
    pub(super) fn memory_findings(&self) -> String {
        let Registrations { hits, misses, entries, bytes, evicted, invalidated, refused } =
            self.memory.cache.counts();
        let kept = match &self.memory.unkept {
            _ if self.memory.cache.keeps() => "kept until memory is given back".into(),
            Some(reason) => format!("made for each operation ({reason})"),
            None => "made for each operation".into(),
        };
        format!(
            "{}: registrations are {kept}: {entries} of {bytes} bytes, {hits} hits, {misses} misses, \
             {evicted} evicted, {invalidated} invalidated, {refused} refused",
            self.name
        )
    }
}

impl Motion {
    /// Returns whether bytes come back from the peer's device.
    fn is_answered(self) -> bool {
        !matches!(self, Motion::Write)
    }
}

impl Move {
    fn next_piece(&self, peer: Peer, number: u32, piece_bytes: usize) -> Work {
        let bytes = piece_bytes.min(self.local.len() - self.posted);
        let (local, local_key) = match &self.way {
            Way::Inline => (self.local, 0),
            Way::Short(place) => (place.region, place.local_key),
            Way::Registered(lease) => (self.local, lease.local_key),
        };
        let remote = Remote { address: self.remote.address + self.posted as u64, ..self.remote };
        Work {
            id: Id::Memory(peer, number).word(),
            operation: match self.motion {
                Motion::Read => Operation::Read(remote),
                Motion::Write => Operation::Write(remote),
                Motion::Atomic(atomic) => Operation::Atomic(remote, atomic),
            },
            local: local.part(self.posted, bytes),
            local_key,
        }
    }
}

impl<D> Connection<D> {
    /// Returns whether there is room for a piece. Reads have places of their own on the device;
    /// writes share the send queue with packets, and leave some to them.
    fn has_room_for(&self, is_answered: bool, reads_max: u32) -> bool {
        match is_answered {
            true => self.moves.reads < reads_max.clamp(1, PIECES_MAX),
            false if self.moves.writes == 0 => self.queue.has_room(1),
            false => self.moves.writes < PIECES_MAX && self.queue.has_room(1 + PLACES_LEFT),
        }
    }
}

fn out_of_range(peer: Peer) -> Fault {
    Fault::new(
        "a transfer does not lie within the exposed memory",
        format!("process {peer}"),
        "the key was damaged on its way, or the protocol asked for too much: a defect of Verbena",
        "please report it; VERBENA_LARGE=pipeline avoids it meanwhile",
    )
}

fn given_back(peer: Peer) -> Fault {
    Fault::new(
        "a connection was given back while memory was moved over it",
        format!("process {peer}"),
        "there are fewer connections than processes that want one",
        "nothing: the transfer is done again in another way",
    )
}

fn unaligned(peer: Peer, address: u64) -> Fault {
    Fault::new(
        "an atomic operation is not at a multiple of eight bytes",
        format!("process {peer}, address {address:#x}"),
        "devices carry out atomic operations on aligned numbers of eight bytes only",
        "align the memory, or use packets: a defect of Verbena unless the program chose the address",
    )
}

fn not_connected(peer: Peer) -> Fault {
    Fault::new(
        "there is no connection to move memory over",
        format!("process {peer}"),
        "packets to that process go over another channel, and none went over this one yet",
        "nothing: the message is copied instead",
    )
}
