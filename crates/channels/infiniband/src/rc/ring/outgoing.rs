//! The sender's end of a ring.

use super::{Geometry, POINTER_BYTES, flags};
use crate::device::queue::SendQueue;
use crate::device::{Post, QueuePair, Refused};
use crate::rc::adapter::{Adapter, Operation, Remote, Work};
use crate::rc::frame::{Frame, Kind, PREFIX_BYTES, packet_bytes, read_words};
use crate::rc::id::Id;
use crate::rc::pinned::Pinned;
use crate::rc::settings::Notify;
use std::sync::atomic::{Ordering, fence};
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::{Access, Peer};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The progress of the agreement about the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The receiver does not know yet that it is used.
    Accepting,
    /// The ring is in use.
    Open,
    /// The receiver takes it back: nothing more is put in.
    Closing,
    /// The receiver has been told that nothing more comes.
    Closed,
}

/// The manner in which work on it is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The queue pair.
    pub pair: QueuePair,
    /// The most bytes that are posted inline.
    pub inline_bytes_max: usize,
    /// True if all of it is signalled.
    pub signalled: bool,
}

/// The sender's end.
#[derive(Debug)]
pub(crate) struct Outgoing<D> {
    /// The progress of the agreement about it.
    pub stage: Stage,
    /// True while packets are only put in place.
    pub held: bool,
    geometry: Geometry,
    memory: Pinned,
    /// The offset of the word by which the receiver says that it rests.
    word_at: usize,
    /// One descriptor for each slot, filled in once.
    descriptors: Vec<D>,
    /// The headers of packets by their first slots: some go without.
    headers: Vec<[u64; 4]>,
    /// The head pointer: where the next packet goes.
    head: u32,
    /// Slots from there to the tail pointer, which credits move on.
    free: u32,
    /// The first packet that is in place but not posted, and the slots of all such.
    waiting: u32,
    waiting_slots: u32,
    pointer: Option<Pointer<D>>,
}

/// The room that a packet takes in the ring, worked out once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// The bytes that are written, its tail flag among them.
    bytes: usize,
    /// The number of slots.
    span: u32,
}

/// A packet that is written to its place, except for its tail flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// The room that the packet takes.
    pub fit: Fit,
    /// The packet's place.
    pub place: Region,
    /// The packet's flag.
    pub flag: u32,
    /// The packet's header, even if that is not sent.
    pub header: [u64; 4],
}

/// The further state for [`Notify::Pointer`].
#[derive(Debug)]
struct Pointer<D> {
    /// Slots ever written, as the receiver is told.
    written: u64,
    /// The slots that the receiver has told to be free.
    freed: u64,
    /// One descriptor for each slot, to write the head pointer after the packet that begins there.
    descriptors: Vec<D>,
    /// True while packets are posted, but the pointer behind them is not.
    due: bool,
    /// The first slot of the last of them.
    last: u32,
}

impl<D> Outgoing<D> {
    /// Makes the sender's end of the peer's ring at `remote`.
    ///
    /// # Errors
    /// If its memory cannot be registered.
    pub(crate) fn new<A: Adapter<Descriptor = D>>(
        adapter: &mut A,
        geometry: Geometry,
        remote: Remote,
        peer: Peer,
    ) -> Result<Outgoing<D>, Fault> {
        let memory = Pinned::new(adapter, geometry.bytes(), Access::WRITE)?;
        let describe = |offset: usize, bytes: usize, to: u64| {
            let operation = Operation::Write(Remote { address: remote.address + to, key: remote.key });
            let (local, local_key) = (memory.region().part(offset, bytes), memory.local_key());
            adapter.describe(&Work { id: Id::Ring(peer).word(), operation, local, local_key })
        };
        let slot = |slot: u32| {
            let bytes = geometry.offset(geometry.span_max);
            describe(geometry.offset(slot), bytes, geometry.offset(slot) as u64)
        };
        let pointer = |slot: u32| {
            describe(geometry.pointer_offset(slot), POINTER_BYTES, geometry.replica_offset() as u64)
        };
        let pointer = (geometry.notify == Notify::Pointer).then(|| Pointer {
            written: 0,
            freed: 0,
            descriptors: (0..geometry.slots).map(pointer).collect(),
            due: false,
            last: 0,
        });
        Ok(Outgoing {
            stage: Stage::Accepting,
            held: false,
            geometry,
            word_at: geometry.word_offset(),
            descriptors: (0..geometry.slots).map(slot).collect(),
            headers: vec![[0; 4]; geometry.slots as usize],
            memory,
            head: 0,
            free: geometry.slots,
            waiting: 0,
            waiting_slots: 0,
            pointer,
        })
    }

    /// Returns the memory, when the ring is used no more.
    pub(crate) fn into_memory(self) -> Pinned {
        self.memory
    }

    /// Returns the bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.region().len() + self.geometry.slots as usize * (size_of::<D>() + size_of::<[u64; 4]>())
    }

    /// Returns the number of slots.
    #[inline]
    pub(crate) fn slots(&self) -> u32 {
        self.geometry.slots
    }

    /// Returns the longest body of a packet.
    pub(crate) fn body_bytes_max(&self) -> usize {
        self.geometry.body_bytes_max()
    }

    /// Returns whether nothing waits to be posted.
    #[inline]
    pub(crate) fn is_posted(&self) -> bool {
        self.waiting_slots == 0 && self.pointer.as_ref().is_none_or(|pointer| !pointer.due)
    }

    /// Takes in that the receiver has freed `slots` slots. Returns `false`, and does nothing, if
    /// they are more than are in use.
    #[inline]
    #[must_use]
    pub(crate) fn credit(&mut self, slots: u16) -> bool {
        let is_possible = u32::from(slots) <= self.geometry.slots - self.free;
        self.free += if is_possible { u32::from(slots) } else { 0 };
        is_possible
    }

    /// Returns the packets in place that the receiver has not told to have taken. Their slots are
    /// not used again until it has.
    pub(crate) fn uncredited(&mut self) -> Vec<(Header, Vec<u8>)> {
        if self.pointer.is_some() {
            self.read_tail();
        }
        let mut left = self.geometry.slots - self.free;
        let mut at = self.geometry.after(self.head, self.geometry.slots - left) % self.geometry.slots;
        let mut packets = Vec::new();
        while left > 0 {
            let front = self.memory.region().part(self.geometry.offset(at), PREFIX_BYTES);
            let frame = Frame::of_words(read_words(front), 0).expect("a packet of this end");
            let packet = self.memory.region().part(self.geometry.offset(at), frame.bytes());
            let skipped = frame.prefix_bytes() + if frame.kind == Kind::Data { HEADER_BYTES } else { 0 };
            packets.push((
                Header::of_words(self.headers[at as usize]),
                packet.part(skipped, packet.len() - skipped).to_vec(),
            ));
            let span = self.geometry.span_of(self.geometry.written_bytes(frame.bytes()));
            left = left.saturating_sub(span);
            at = self.geometry.after(at, span);
        }
        packets
    }

    /// Returns the place where the receiver writes its tail pointer, with [`Notify::Pointer`].
    pub(crate) fn tail(&self) -> Remote {
        let address = self.memory.region().address() + self.geometry.replica_offset() as u64;
        Remote { address, key: self.memory.remote_key() }
    }

    /// Returns whether the receiver rests, by what it has said so far: it must be rung
    /// (`sleep.rs`).
    #[inline(always)]
    pub(crate) fn peer_rests(&self) -> bool {
        // The packet is posted before this looks; the receiver raises the word before it looks for
        // packets.
        fence(Ordering::SeqCst);
        self.memory.word(self.word_at).load(Ordering::Relaxed) != 0
    }

    /// Returns [`Outgoing::peer_rests`] before a packet is posted: a bell might be needed, so there
    /// must be room for one.
    #[inline(always)]
    pub(crate) fn peer_may_rest(&self) -> bool {
        self.memory.word(self.word_at).load(Ordering::Relaxed) != 0
    }

    /// Returns what a packet of `packet_bytes` with its prefix takes of the ring; `None` if it may
    /// not go there.
    #[inline(always)]
    pub(crate) fn fit(&self, packet_bytes: usize) -> Option<Fit> {
        let bytes = self.geometry.written_bytes(packet_bytes);
        let span = self.geometry.span_of(bytes);
        (self.stage == Stage::Open && span <= self.geometry.span_max).then_some(Fit { bytes, span })
    }

    /// Returns whether such a packet goes into the ring now.
    #[inline(always)]
    pub(crate) fn has_room(&mut self, fit: Fit) -> bool {
        let wanted = if self.held { fit.span.max(self.turn_slots()) } else { fit.span };
        if self.free < wanted && self.pointer.is_some() {
            self.read_tail();
        }
        self.free >= wanted
    }

    /// Returns how many slots must be free before packets are put in place to be held: all, so that
    /// copying and transferring take turns (paper 2, 4.2). Without pointers the receiver keeps some
    /// of them to itself for a while.
    #[cold]
    fn turn_slots(&self) -> u32 {
        match (self.waiting_slots, &self.pointer) {
            (0, Some(_)) => self.geometry.slots,
            (0, None) => self.geometry.slots - self.geometry.worth() + 1,
            _ => 0,
        }
    }

    /// Reads the receiver's tail pointer.
    #[cold]
    fn read_tail(&mut self) {
        let tail = self.memory.word(self.geometry.replica_offset()).load(Ordering::Acquire);
        let Some(pointer) = &mut self.pointer else { return };
        let freed = tail.wrapping_sub(pointer.freed);
        // If a pointer is being written byte by byte, only a part may be there: then it is read
        // again later.
        if freed <= u64::from(self.geometry.slots - self.free) {
            self.free += freed as u32;
            pointer.freed = tail;
        }
    }

    /// Returns the place of the next packet.
    #[inline(always)]
    pub(crate) fn place(&self, fit: Fit) -> Region {
        self.memory.region().part(self.geometry.offset(self.head), fit.bytes)
    }

    /// Returns the head flag of the packet that is to be written here, the next one (anything, with
    /// [`Notify::Pointer`]).
    #[inline(always)]
    pub(crate) fn flag(&self, place: Region) -> u32 {
        if self.pointer.is_some() {
            return flags::PRIMARY;
        }
        let old = place.load(place.len() - flags::FLAG_BYTES);
        let at = self.geometry.offset(self.head) + place.len() - flags::FLAG_BYTES;
        let cleared = flags::is_cleared(at, self.geometry.slot_bytes as usize, self.geometry.slots as usize);
        flags::choose(u32::from_le_bytes(old), cleared)
    }

    /// Enters the packet that is written to its place, except for its tail flag. From now on it is
    /// in the ring, and [`Outgoing::post`] posts it.
    #[inline(always)]
    pub(crate) fn put(&mut self, packet: Placed) {
        if self.pointer.is_none() {
            packet.write_tail();
        }
        self.enter(packet);
    }

    /// Enters the packet at the head into the ring, where it waits to be posted.
    #[inline(always)]
    fn enter(&mut self, Placed { fit, header, .. }: Placed) {
        self.headers[self.head as usize] = header;
        self.head = self.geometry.after(self.head, fit.span);
        self.free -= fit.span;
        self.waiting_slots += fit.span;
    }

    /// Puts the packet that is written to its place into the ring, as [`Outgoing::put`] does, and
    /// posts it; nothing may wait before it.
    ///
    /// # Errors
    /// The errors of [`Outgoing::post`]. The packet is in the ring nevertheless.
    #[inline(always)]
    pub(crate) fn put_and_post<A: Adapter<Descriptor = D>>(
        &mut self,
        packet: Placed,
        adapter: &mut A,
        queue: &mut SendQueue,
        manner: Manner,
    ) -> Result<(), Refused> {
        if self.pointer.is_some() {
            self.put(packet);
            return self.post(adapter, queue, manner);
        }
        // The device begins, then this end's own account is brought up to date.
        packet.write_tail();
        let how = manner.of(packet.fit.bytes, queue);
        let posted =
            adapter.post(manner.pair, &mut self.descriptors[self.head as usize], packet.fit.bytes, how);
        self.enter(packet);
        if posted.is_ok() {
            queue.posted(how.signalled);
            self.advance(packet.fit.span);
        }
        posted
    }

    /// Posts what is in place, while the queue has room.
    ///
    /// # Errors
    /// [`Refused::Full`] if something remains, to be posted later.
    #[inline]
    pub(crate) fn post<A: Adapter<Descriptor = D>>(
        &mut self,
        adapter: &mut A,
        queue: &mut SendQueue,
        manner: Manner,
    ) -> Result<(), Refused> {
        while !self.is_posted() {
            if !queue.has_room(1) {
                return Err(Refused::Full);
            }
            if self.pointer.as_ref().is_some_and(|pointer| pointer.due) {
                self.post_pointer(adapter, queue, manner)?;
                continue;
            }
            let [first] = read_words(self.memory.region().part(self.geometry.offset(self.waiting), 8));
            let bytes = self.geometry.written_bytes(packet_bytes(u64::from_le(first)));
            let how = manner.of(bytes, queue);
            adapter.post(manner.pair, &mut self.descriptors[self.waiting as usize], bytes, how)?;
            queue.posted(how.signalled);
            self.advance(self.geometry.span_of(bytes));
        }
        Ok(())
    }

    /// Notes that the first packet that waited, of `span` slots, is posted. The head pointer
    /// follows the last of those that wait.
    #[inline]
    fn advance(&mut self, span: u32) {
        if let Some(pointer) = &mut self.pointer {
            pointer.written += u64::from(span);
            (pointer.last, pointer.due) = (self.waiting, self.waiting_slots == span);
        }
        self.waiting = self.geometry.after(self.waiting, span);
        self.waiting_slots -= span;
    }

    /// Posts the head pointer behind the packets that are posted (paper 2, 4.2).
    fn post_pointer<A: Adapter<Descriptor = D>>(
        &mut self,
        adapter: &mut A,
        queue: &mut SendQueue,
        manner: Manner,
    ) -> Result<(), Refused> {
        let Some(pointer) = &mut self.pointer else { return Ok(()) };
        let at = self.geometry.pointer_offset(pointer.last);
        self.memory.word(at).store(pointer.written, Ordering::Relaxed);
        let how = manner.of(POINTER_BYTES, queue);
        adapter.post(manner.pair, &mut pointer.descriptors[pointer.last as usize], POINTER_BYTES, how)?;
        queue.posted(how.signalled);
        pointer.due = false;
        Ok(())
    }
}

impl Placed {
    #[inline(always)]
    fn write_tail(&self) {
        self.place.store(self.place.len() - flags::FLAG_BYTES, self.flag.to_le_bytes());
    }
}

impl Manner {
    #[inline]
    fn of(&self, bytes: usize, queue: &SendQueue) -> Post {
        Post { signalled: self.signalled || queue.is_due(), inline: bytes <= self.inline_bytes_max }
    }
}
