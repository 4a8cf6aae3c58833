//! The receiving ends: the rings of all ranks that have sent something.

use super::cell_layout::CellLine;
use super::cells::Cells;
use super::control::Control;
use super::division::{self, DivisionWords};
use super::mapped::{MappedRing, line_at};
use super::note::{NOTE_BYTES, Note};
use super::ring::{Consumer, Found, Lines, payload_of_line};
use std::hint::{black_box, spin_loop};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use verbena_channel::packet::{HEADER_BYTES, Header, Kind};
use verbena_channel::{Division, End, Landing, Peer, Sink, look};
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_memory::copy::copy_wide;
use verbena_waiting::bell::Bell;

/// Packets taken from one ring per poll, so that a busy peer does not keep others waiting.
const PACKETS_PER_POLL_MAX: usize = 16;

/// Looks at the count of a cell that is being filled, before the receiver does something else: the
/// sender was interrupted.
const LOOKS_AT_CELL_MAX: u32 = 2000;

/// All incoming rings.
#[derive(Debug)]
pub(super) struct Inbox {
    /// The number of rings announced to this rank: a word in shared memory.
    counter: NonNull<AtomicU32>,
    rings: Vec<Incoming>,
    /// The counter when last looked at.
    announced: u32,
    /// True for the ranks of the node whose ring is known (or was refused).
    known: Vec<bool>,
    /// For each process of the job the place of its ring, or `NONE`; only as long as needed so far.
    places: Vec<u32>,
    cells: Arc<Cells>,
}

/// No ring.
const NONE: u32 = u32::MAX;

// SAFETY: the counter is atomic and stays mapped as long as the channel that holds this.
unsafe impl Send for Inbox {}

#[derive(Clone, Copy, Debug)]
struct FlagWord(*const AtomicU64);

// SAFETY: an address in shared memory that stays mapped as long as the channel that holds this.
unsafe impl Send for FlagWord {}

#[derive(Debug)]
struct Incoming {
    /// The flag word at the next position: a poll of a silent peer only reads it.
    next: FlagWord,
    consumer: Consumer,
    ring: MappedRing,
    divisions: DivisionWords,
    peer: Peer,
    cells: Arc<Cells>,
    /// The line of a note whose sender was interrupted, before which a direct receive gave up.
    stalled: Option<u64>,
    /// The sender's bell, for when it sleeps on a full ring.
    bell: NonNull<Bell>,
    fence_always: bool,
}

// SAFETY: the bell is made of atomics and stays mapped as long as the channel that holds this.
unsafe impl Send for Incoming {}

impl Inbox {
    /// The inbox of rank `me`; `control` must outlive it.
    pub(super) fn new(control: &Control, me: u32, cells: &Arc<Cells>) -> Inbox {
        let counter = NonNull::from(&control.words(me).announced);
        let (rings, known, places) = (Vec::new(), Vec::new(), Vec::new());
        Inbox { counter, rings, announced: 0, known, places, cells: cells.clone() }
    }

    /// Delivers what has arrived and returns the number of packets. Corrupt rings are put into
    /// `faults` and left alone from then on.
    #[inline]
    pub(super) fn poll<S: Sink + ?Sized>(&mut self, sink: &mut S, faults: &mut Vec<(Peer, Fault)>) -> usize {
        let mut packets = 0;
        let mut index = 0;
        while let Some(ring) = self.rings.get_mut(index) {
            if !ring.is_silent() {
                match ring.drain(sink) {
                    Ok(taken) => packets += taken,
                    Err(fault) => {
                        faults.push((self.remove(index), *fault));
                        continue;
                    }
                }
            }
            index += 1;
        }
        packets
    }

    /// Returns whether no ring has anything and none is new: one load for each ring.
    #[inline(always)]
    pub(super) fn is_silent(&self) -> bool {
        self.rings.iter().all(Incoming::is_silent) && !self.is_behind()
    }

    /// Measures the price of a look, which is the same whether the others, who may be ahead of this
    /// process, have sent something already.
    pub(super) fn look_ns(&self) -> Option<u32> {
        look::empty_look_ns(|| {
            black_box(self.is_silent());
            true
        })
    }

    /// Takes a packet of one line, as [`verbena_channel::Channel::take_direct`]: it calls nothing,
    /// so nothing need be saved. Rare cases are left to `take_direct`.
    #[inline(always)]
    pub(super) fn take_line(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        let ring = self.of(peer)?;
        // SAFETY: see FlagWord.
        let bytes = payload_of_line(unsafe { &*ring.next.0 }.load(Acquire))?;
        // SAFETY: the flag word says that a record begins there which takes this line only; we move
        // on below.
        let (head, payload) = unsafe { line_at(ring.next.0, bytes) };
        if bytes > into.len() || !header.is_in(head) || !ring.consumer.advance_silently(&ring.ring) {
            return None;
        }
        into.write_short(payload);
        ring.next = ring.next();
        Some(bytes)
    }

    /// Takes the next packet; see [`verbena_channel::Channel::take_direct`].
    pub(super) fn take_direct(&mut self, peer: Peer, header: &Header, into: Region) -> Option<usize> {
        let ring = self.of(peer)?;
        let bytes = ring.take_direct(header, into)?;
        ring.next = ring.next();
        Some(bytes)
    }

    #[inline(always)]
    fn of(&mut self, peer: Peer) -> Option<&mut Incoming> {
        let index = *self.places.get(peer as usize)?;
        self.rings.get_mut(index as usize)
    }

    /// Opens a division of a message from `peer`.
    pub(super) fn divide(&mut self, peer: Peer, parts: u32) -> Option<Division> {
        self.of(peer).and_then(|ring| ring.divisions.open(&ring.ring, parts))
    }

    /// Takes a part of a message from `peer`, from the front.
    pub(super) fn take_part(&mut self, peer: Peer, division: Division) -> Option<u32> {
        self.of(peer).and_then(|ring| division::take_part(&ring.ring, division, End::Front))
    }

    /// Ends a division and says how many parts the sender took: none if the ring is gone.
    pub(super) fn end_division(&mut self, peer: Peer, division: Division) -> u32 {
        self.of(peer).map_or(0, |ring| ring.divisions.end(&ring.ring, division))
    }

    /// Ends a division whose parts are all taken.
    pub(super) fn forget_division(&mut self, peer: Peer, division: Division) {
        if let Some(ring) = self.of(peer) {
            ring.divisions.forget(division);
        }
    }

    /// Gives up rings whose told position was overwritten (only this end writes it): their senders
    /// might wait for room for ever.
    pub(super) fn inspect(&mut self, faults: &mut Vec<(Peer, Fault)>) {
        let mut index = 0;
        while let Some(ring) = self.rings.get(index) {
            let position = ring.ring.consumed();
            if position == ring.consumer.told() {
                index += 1;
                continue;
            }
            let peer = self.remove(index);
            faults.push((peer, *corrupt(peer, "the receiver's position", position)));
        }
    }

    fn remove(&mut self, index: usize) -> Peer {
        let removed = self.rings.swap_remove(index).peer;
        if let Some(moved) = self.rings.get(index) {
            self.places[moved.peer as usize] = index as u32;
        }
        self.places[removed as usize] = NONE;
        removed
    }

    /// Returns whether rings were announced that `adopt` has not seen.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        // SAFETY: see `new`.
        unsafe { self.counter.as_ref() }.load(Acquire) != self.announced
    }

    /// Looks for new rings towards `me`. `peers` are the ranks of the node, as processes of the
    /// job.
    #[cold]
    pub(super) fn adopt(
        &mut self,
        control: &Control,
        me: u32,
        peers: &[Peer],
        fence_always: bool,
        faults: &mut Vec<(Peer, Fault)>,
    ) {
        self.announced = control.words(me).announced.load(Acquire);
        self.known.resize(peers.len(), false);
        for (from, &peer) in (0u32..).zip(peers) {
            let word = control.ring_word(me, from).load(Acquire);
            if word == 0 || std::mem::replace(&mut self.known[from as usize], true) {
                continue;
            }
            match MappedRing::at(control, (word & !63) as usize, (word & 63) as u32) {
                Some(ring) => self.add(ring, peer, NonNull::from(control.bell(from)), fence_always),
                None => faults.push((peer, *corrupt(peer, "place of the ring", word))),
            }
        }
    }

    fn add(&mut self, ring: MappedRing, peer: Peer, bell: NonNull<Bell>, fence_always: bool) {
        let (next, consumer, divisions) =
            (FlagWord(ring.flag_word(0)), Consumer::new(), DivisionWords::new());
        let processes = self.places.len().max(peer as usize + 1);
        self.places.resize(processes, NONE);
        self.places[peer as usize] = self.rings.len() as u32;
        let cells = self.cells.clone();
        let stalled = None;
        let incoming = Incoming { next, consumer, ring, divisions, peer, cells, stalled, bell, fence_always };
        self.rings.push(incoming);
    }
}

impl Incoming {
    /// Returns whether the ring is empty.
    #[inline(always)]
    fn is_silent(&self) -> bool {
        // SAFETY: see FlagWord.
        unsafe { &*self.next.0 }.load(Relaxed) == 0
    }

    /// Delivers the packets that are there, up to a bound.
    #[inline(always)]
    fn drain<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<usize, Box<Fault>> {
        let taken = self.deliver(sink);
        self.next = self.next();
        taken
    }

    #[inline(always)]
    fn deliver<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<usize, Box<Fault>> {
        for taken in 0..PACKETS_PER_POLL_MAX {
            let (line, payload_bytes) = match self.consumer.look(&self.ring) {
                Found::Record { line, payload_bytes } => (line, payload_bytes),
                Found::Note { line } => match self.deliver_from_cell(line, sink)? {
                    true => continue,
                    false => return Ok(taken),
                },
                Found::Nothing => return Ok(taken),
                Found::Corrupt(flag) => return Err(corrupt(self.peer, "flag word", flag)),
            };
            // SAFETY: `look` checked that the record lies within the ring; we move on below.
            let record = unsafe { self.ring.record(line, payload_bytes) };
            let (head, payload) = record.split_at(HEADER_BYTES);
            let head = head.try_into().expect("split at the header's length");
            let Some(header) = Header::parse(head) else {
                return Err(corrupt(self.peer, "packet kind", u64::from(head[0])));
            };
            sink.packet(self.peer, &header, payload);
            self.pass(payload_bytes);
        }
        Ok(PACKETS_PER_POLL_MAX)
    }

    /// Delivers the packet whose payload is in a cell, and keeps the cell; false if the payload is
    /// not all there yet.
    #[inline(never)]
    fn deliver_from_cell<S: Sink + ?Sized>(&mut self, line: u64, sink: &mut S) -> Result<bool, Box<Fault>> {
        let (head, note) = self.note(line);
        let Some((memory, its_line)) = self.cells.noted(note) else {
            return Err(corrupt(self.peer, "number of a cell", u64::from(note.number)));
        };
        let Some(header) = Header::parse(&head) else {
            return Err(corrupt(self.peer, "packet kind", u64::from(head[0])));
        };
        if note.ready < note.bytes && its_line.ready() < note.bytes {
            // A part of a long message: its place is known.
            let landing = match header.kind {
                Kind::Data if self.stalled != Some(line) => {
                    sink.landing(self.peer, &header, note.bytes as u64)
                }
                _ => Landing::Nowhere,
            };
            let Landing::Here(into) = landing else { return Ok(false) };
            let whole = copy_behind(memory, its_line, note, into);
            self.stalled = (!whole).then_some(line);
            if whole {
                self.cells.keep(note.number);
                self.pass(NOTE_BYTES);
            }
            sink.landed(self.peer, &header, note.bytes as u64, whole);
            return Ok(whole);
        }
        self.stalled = None;
        // SAFETY: the cell is this process's, the sender is done with it, and we keep it below.
        sink.packet(self.peer, &header, unsafe { memory.bytes() });
        self.cells.keep(note.number);
        self.pass(NOTE_BYTES);
        Ok(true)
    }

    /// Header and note of the record at this line.
    fn note(&self, line: u64) -> ([u8; HEADER_BYTES], Note) {
        // SAFETY: a record of one line lies within the ring; the caller moves on later.
        let record = unsafe { self.ring.record(line, NOTE_BYTES) };
        let (head, note) = record.split_at(HEADER_BYTES);
        let head = head.try_into().expect("split at the header's length");
        (head, Note::parse(note.try_into().expect("the rest is the note")))
    }

    fn take_direct(&mut self, header: &Header, into: Region) -> Option<usize> {
        let (line, payload_bytes) = match self.consumer.look(&self.ring) {
            Found::Record { line, payload_bytes } => (line, payload_bytes),
            Found::Note { line } => return self.take_from_cell(line, header, into),
            Found::Nothing | Found::Corrupt(_) => return None,
        };
        // SAFETY: `look` checked that the record lies within the ring; we move on below.
        let record = unsafe { self.ring.record(line, payload_bytes) };
        let (head, payload) = record.split_at(HEADER_BYTES);
        if payload_bytes > into.len() || !header.is_in(head.try_into().expect("split at the header's length"))
        {
            return None;
        }
        into.write(0, payload);
        self.pass(payload_bytes);
        Some(payload_bytes)
    }

    /// Takes the packet whose payload is in a cell, behind the sender if it is still filling it. If
    /// that was interrupted this gives up: the packet is still there, and what is in `into` by then
    /// comes once more.
    #[inline(never)]
    fn take_from_cell(&mut self, line: u64, header: &Header, into: Region) -> Option<usize> {
        let (head, note) = self.note(line);
        if note.bytes > into.len() || !header.is_in(&head) {
            return None;
        }
        let (memory, its_line) = self.cells.noted(note)?;
        // Once it was given up, nothing is copied again before all is there.
        if self.stalled == Some(line) && its_line.ready() < note.bytes {
            return None;
        }
        if !copy_behind(memory, its_line, note, into) {
            self.stalled = Some(line);
            return None;
        }
        self.stalled = None;
        self.cells.keep(note.number);
        self.pass(NOTE_BYTES);
        Some(note.bytes)
    }

    /// Moves on past a record; a sender that sleeps on a full ring is woken when it is told.
    #[inline(always)]
    fn pass(&mut self, payload_bytes: usize) {
        if self.consumer.advance(&self.ring, payload_bytes) {
            // SAFETY: see the field.
            unsafe { self.bell.as_ref() }.notify(self.fence_always);
        }
    }

    /// The flag word of the next record.
    #[inline(always)]
    fn next(&self) -> FlagWord {
        FlagWord(self.ring.flag_word(self.consumer.line(&self.ring)))
    }
}

/// Copies a message out of its cell, behind the sender if it is still filling it; false if that was
/// interrupted.
fn copy_behind(memory: Region, its_line: &CellLine, note: Note, into: Region) -> bool {
    let mut done = 0;
    let mut ready = note.ready;
    loop {
        copy_wide(memory.part(done, ready - done), into.part(done, ready - done));
        done = ready;
        if done == note.bytes {
            return true;
        }
        let more = (0..LOOKS_AT_CELL_MAX).find_map(|_| {
            let ready = its_line.ready();
            if ready > done {
                return Some(ready.min(note.bytes));
            }
            spin_loop();
            None
        });
        let Some(more) = more else { return false };
        ready = more;
    }
}

#[cold]
fn corrupt(peer: Peer, part: &str, found: u64) -> Box<Fault> {
    overwritten(
        format!("the shared-memory ring holds nonsense: {part} {found:#x}"),
        format!("packets from process {peer}"),
    )
}

/// The fault of a corrupt head of the segment, towards `peer`.
#[cold]
pub(super) fn corrupt_segment(peer: Peer) -> Box<Fault> {
    let what = "the memory that the ranks of this node share was overwritten: its head holds nonsense";
    overwritten(what.into(), format!("packets to and from process {peer}"))
}

fn overwritten(what: String, on: String) -> Box<Fault> {
    Box::new(Fault {
        what,
        on,
        cause: "a process of the job wrote through a wild pointer into memory that the ranks of a node share"
            .into(),
        remedy: "run the program under a memory checker, the sending process first".into(),
    })
}
