//! The sending end towards one peer: its ring, made at the first packet.
//!
//! The channel lends it to the engine ([`ShmChannel::lend`](super::ShmChannel::lend)), which keeps
//! it beside the peer: a small message then asks no table and calls nothing.

use super::cells::{Cells, Taken};
use super::control::{Control, RING_EXTRA_BYTES, RING_LOG2_MIN};
use super::mapped::MappedRing;
use super::note::{NOTE_BYTES, Note};
use super::ring::{LINE_PAYLOAD_BYTES_MAX, Producer, lines_for, payload_bytes_max};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::Instant;
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::{Payload, Peer};
use verbena_fault::Fault;
use verbena_machine::kept;
use verbena_memory::copy::{self, Stores, copy_wide};
use verbena_memory::{Buffer, Region};
use verbena_waiting::bell::Bell;

/// The sending end of the ring towards a peer.
#[derive(Debug)]
pub struct Lane {
    ring: MappedRing,
    producer: Producer,
    /// The peer's bell, in the segment.
    bell: NonNull<Bell>,
    /// True if this process is not registered for the sleepers' barrier.
    fence_always: bool,
    /// The value of `heard` when the last message of several lines was sent.
    heard: u32,
    /// The longest packet that goes through the ring.
    packet_bytes_max: usize,
    /// The receiver's rank on the node.
    to: u32,
    cells: Arc<Cells>,
    /// Keeps ring and bell mapped.
    _control: Arc<Control>,
}

/// The chunk in which a message goes that is copied in and out at the same time.
const CHUNK_BYTES: usize = 8 << 10;

// SAFETY: the bell is made of atomics and stays mapped as long as this, which holds the segment.
unsafe impl Send for Lane {}

impl Lane {
    /// The longest payload of a packet of one line.
    pub const LINE_BYTES_MAX: usize = LINE_PAYLOAD_BYTES_MAX;

    /// Sends one packet, which must be no longer than the channel said
    /// ([`verbena_channel::Reach`]); false if the ring is full, or if it takes a cell and none is
    /// free.
    pub fn send(&mut self, header: &Header, payload: Payload<'_>) -> bool {
        let payload_bytes = payload.len();
        if self.cells.serves(payload_bytes) && self.send_in_cell(header, payload) {
            return true;
        }
        if payload_bytes > self.packet_bytes_max {
            return false;
        }
        let Some(claim) = self.producer.claim(&self.ring, lines_for(payload_bytes)) else { return false };
        // SAFETY: these lines were claimed just now.
        let record = unsafe { self.ring.record_mut(claim.line, payload_bytes) };
        let (head, body) = record.split_at_mut(HEADER_BYTES);
        head.copy_from_slice(&header.emit());
        payload.copy_to(body);
        self.producer.commit(&self.ring, claim, payload_bytes);
        self.notify();
        true
    }

    /// Sends a whole message that lies in one piece, as `send`. `heard` counts what came from the
    /// peer (wrapping): a peer that has said something since the last message probably waits for
    /// this one.
    #[inline(always)]
    pub fn send_region(&mut self, header: Header, region: Region, heard: u32) -> bool {
        self.send_line(header, region) || self.send_words(header.words(), region, heard)
    }

    /// Returns whether `send_line` would send a message of this length.
    #[inline(always)]
    pub fn has_line(&self, bytes: usize) -> bool {
        bytes <= LINE_PAYLOAD_BYTES_MAX && self.producer.has_quick_line()
    }

    /// Sends as `send_region`, but returns false if it takes more than one line that is at hand.
    #[inline(always)]
    pub fn send_line(&mut self, header: Header, region: Region) -> bool {
        // A copy, so that the compiler knows that nothing written to the ring changes it.
        let ring = self.ring;
        let line = self.producer.quick_line(&ring).filter(|_| region.len() <= LINE_PAYLOAD_BYTES_MAX);
        let Some(line) = line else { return false };
        // SAFETY: the line is free, and the payload fits.
        unsafe { ring.fill_line(line, header.words(), region) };
        self.producer.commit_quick_line(&ring, line, region.len());
        // SAFETY: see the field. Quick lines are for processes that need not fence always.
        unsafe { self.bell.as_ref() }.notify(false);
        true
    }

    /// Sends as `send_region`, for all that takes no quick line.
    #[inline(never)]
    fn send_words(&mut self, words: [u64; 4], region: Region, heard: u32) -> bool {
        let header = Header::of_words(words);
        let waited_for = std::mem::replace(&mut self.heard, heard) != heard;
        match region.len() {
            0..=LINE_PAYLOAD_BYTES_MAX => self.send(&header, Payload::Region(region)),
            bytes if self.cells.serves(bytes) && self.send_in_cell(&header, Payload::Region(region)) => true,
            bytes if bytes > self.packet_bytes_max => false,
            _ => self.send_lines(&header, region, waited_for),
        }
    }

    /// Sends a packet whose payload goes in a cell; false if none is free, or the ring is full.
    fn send_in_cell(&mut self, header: &Header, payload: Payload<'_>) -> bool {
        let Some(claim) = self.producer.claim(&self.ring, 1) else { return false };
        let payload = in_one_piece(payload);
        let bytes = payload.len();
        let contiguous = matches!(payload, Payload::Region(_));
        let Some(cell) = self.cells.take(bytes, contiguous) else { return false };
        let ready = self.fill(cell, payload);
        let Some(line) = self.cells.hand_over(cell.number, self.to, bytes, ready) else { return false };
        // SAFETY: this line was claimed just now.
        let record = unsafe { self.ring.record_mut(claim.line, NOTE_BYTES) };
        let (head, body) = record.split_at_mut(HEADER_BYTES);
        head.copy_from_slice(&header.emit());
        body.copy_from_slice(&Note { number: cell.number, bytes, ready }.emit());
        self.producer.commit_note(&self.ring, claim);
        self.notify();
        if let Payload::Region(region) = payload
            && ready < bytes
        {
            for at in (ready..bytes).step_by(CHUNK_BYTES) {
                let len = CHUNK_BYTES.min(bytes - at);
                copy_wide(region.part(at, len), cell.memory.part(at, len));
                line.tell_ready(at + len);
            }
            // The receiver may have gone to sleep before all was there.
            self.notify();
        }
        true
    }

    /// Copies a payload into a cell, or the first chunk if the receiver is to copy out meanwhile;
    /// returns how much is there.
    fn fill(&self, cell: Taken, payload: Payload<'_>) -> usize {
        let bytes = payload.len();
        let target = cell.memory.part(0, bytes);
        match payload {
            Payload::Region(region) if cell.stores == Stores::NonTemporal => {
                copy::copy(region, target, Stores::NonTemporal);
            }
            Payload::Region(region) if cell.is_timed => {
                let start = Instant::now();
                copy_wide(region, target);
                self.cells.note_time(bytes, start.elapsed().as_nanos() as u64);
            }
            Payload::Region(region) if self.cells.overlaps && bytes > CHUNK_BYTES => {
                copy_wide(region.part(0, CHUNK_BYTES), target.part(0, CHUNK_BYTES));
                return CHUNK_BYTES;
            }
            Payload::Region(region) => copy_wide(region, target),
            // SAFETY: the cell is this process's, and nobody reads it before it is handed over.
            _ => payload.copy_to(unsafe { target.bytes_mut() }),
        }
        bytes
    }

    /// Sends a message of several lines. If the peer waits for it, its lines are pushed towards the
    /// receiver once it is published, and those of a next message like it are fetched while nobody
    /// waits for them: measured alone, 17 lines then take 327 ns from one core to another, and 395
    /// without (2 lines 147 and 223). In a stream of messages this would do harm.
    fn send_lines(&mut self, header: &Header, region: Region, waited_for: bool) -> bool {
        let (bytes, count) = (region.len(), lines_for(region.len()));
        let Some(claim) = self.producer.claim(&self.ring, count) else { return false };
        // SAFETY: these lines were claimed just now.
        let record = unsafe { self.ring.record_mut(claim.line, bytes) };
        let (head, body) = record.split_at_mut(HEADER_BYTES);
        if count == 2 {
            // The line that the receiver looks at goes last, so that it stays here until all is
            // there. With more lines that costs more than it saves (measured).
            let (first, rest) = body.split_at_mut(LINE_PAYLOAD_BYTES_MAX);
            region.read(LINE_PAYLOAD_BYTES_MAX, rest);
            region.read(0, first);
        } else {
            region.read(0, body);
        }
        head.copy_from_slice(&header.emit());
        let line = claim.line;
        self.producer.commit(&self.ring, claim, bytes);
        self.notify();
        if waited_for {
            self.producer.pass_on(&self.ring, line, count);
        }
        true
    }

    #[inline(always)]
    fn notify(&self) {
        // SAFETY: see the field.
        unsafe { self.bell.as_ref() }.notify(self.fence_always);
    }

    /// The ring, for what both ends share beside packets. It must not outlive the segment.
    pub(super) fn ring(&self) -> MappedRing {
        self.ring
    }

    /// Makes the ring from `me` to `to` (ranks on the node): takes room from the pool, reserves
    /// pages, publishes the offset, tells the receiver. Where memory is short the ring is smaller,
    /// as long as a packet fits.
    pub(super) fn make(
        control: &Arc<Control>,
        me: u32,
        to: u32,
        packet_bytes_max: usize,
        cells: &Arc<Cells>,
        fence_always: bool,
    ) -> Result<Lane, std::io::Error> {
        let full = || std::io::Error::from_raw_os_error(libc::ENOSPC);
        let offset = control.take_ring().ok_or_else(full)?;
        let log2 = reserve_ring(control, offset, packet_bytes_max)?;
        let ring = MappedRing::at(control, offset, log2).ok_or_else(full)?;
        control.ring_word(to, me).store(offset as u64 | u64::from(log2), Release);
        control.words(to).announced.fetch_add(1, Release);
        Ok(Lane {
            producer: Producer::new(&ring, !fence_always),
            ring,
            bell: NonNull::from(control.bell(to)),
            fence_always,
            heard: 0,
            packet_bytes_max,
            to,
            cells: cells.clone(),
            _control: control.clone(),
        })
    }
}

/// The payload, as a region if its bytes lie side by side.
#[inline]
fn in_one_piece(payload: Payload<'_>) -> Payload<'_> {
    match payload {
        Payload::Buffer { buffer: Buffer::Contiguous(region), offset, len } => {
            Payload::Region(region.part(offset, len))
        }
        other => other,
    }
}

fn reserve_ring(control: &Control, offset: usize, packet_bytes_max: usize) -> Result<u32, std::io::Error> {
    let mut log2 = control.measures().ring_log2;
    loop {
        match control.segment().reserve(offset, RING_EXTRA_BYTES + (1 << log2)) {
            Ok(()) => return Ok(log2),
            Err(_) if log2 > RING_LOG2_MIN && payload_bytes_max(1 << (log2 - 1)) >= packet_bytes_max => {
                log2 -= 1
            }
            Err(e) => return Err(e),
        }
    }
}

/// The fault for a ring that could not be made.
pub(super) fn no_ring(control: &Control, to: Peer, error: &std::io::Error) -> Fault {
    if kept::is_lost(error) {
        return Fault {
            what: format!("no ring can be made, since its memory cannot be reserved: {error}"),
            on: format!("shared memory towards process {to}"),
            cause: "the program closed descriptors of the library (closefrom, a daemon's start)".into(),
            remedy: "close only descriptors that the program opened, or do so before MPI_Init".into(),
        };
    }
    let bytes = RING_EXTRA_BYTES + (1 << control.measures().ring_log2);
    Fault {
        what: format!("no memory for a ring of {bytes} bytes, nor for a smaller one: {error}"),
        on: format!("shared memory towards process {to}"),
        cause: "the machine, or the memory limit of the cgroup (container), has no pages left".into(),
        remedy: "give the container more memory, start fewer ranks, or set VERBENA_SHM_RING_BYTES lower"
            .into(),
    }
}
