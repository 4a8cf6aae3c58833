//! The receiver's end of a ring.

use super::{Geometry, POINTER_BYTES, WORD_BYTES, flags};
use crate::rc::adapter::{Adapter, Operation, Remote, Work};
use crate::rc::frame::{PREFIX_BYTES, packet_bytes};
use crate::rc::id::Id;
use crate::rc::pinned::Pinned;
use crate::rc::settings::Notify;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use verbena_channel::{Access, Peer};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The progress of the agreement about the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The sender has not said yet whether it will use it.
    Offered,
    /// The ring is in use.
    Open,
    /// The ring is taken back; the sender has not said yet that it wrote for the last time.
    Withdrawing,
}

/// The knowledge of a ring's writer whether this process rests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The peer need not ring.
    #[default]
    Awake,
    /// The peer's word is up since this time, and `heard` packets have come since.
    Announced {
        /// The time by the adapter's clock.
        since_ns: u64,
        /// Packets.
        heard: u32,
    },
}

/// The finding where the next packet must come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// Nothing, or not all of it yet.
    Nothing,
    /// A whole packet, without its tail flag, and the slots that it takes.
    Packet(Region, u32),
    /// Something that cannot be a packet.
    Nonsense,
}

/// The receiver's end.
#[derive(Debug)]
pub(crate) struct Incoming<D> {
    /// The progress of the agreement about it.
    pub stage: Stage,
    /// True if the sender has been told so.
    pub told: bool,
    /// The freed slots that the sender has not been told of.
    pub owed: u16,
    /// The sender's knowledge whether this process rests.
    pub rest: Rest,
    geometry: Geometry,
    /// The value of [`Geometry::worth`].
    worth: u32,
    memory: Pinned,
    /// The head pointer: where the next packet must come.
    head: u32,
    /// The descriptors that write the word for this: down, and up. Empty until the sender has said
    /// where.
    words: Vec<D>,
    pointer: Option<Pointer<D>>,
}

/// The further state for [`Notify::Pointer`].
#[derive(Debug)]
struct Pointer<D> {
    /// Slots ever taken and freed: the tail pointer. The sender's head pointer is ahead of it if
    /// there is a packet.
    taken: u64,
    /// The part of it that the sender has been told.
    told: u64,
    /// One descriptor for each slot, to write the tail pointer; empty until the sender has said
    /// where.
    descriptors: Vec<D>,
}

impl<D> Incoming<D> {
    /// Makes a ring for the peer to write into.
    ///
    /// # Errors
    /// If its memory cannot be registered.
    pub(crate) fn new<A: Adapter<Descriptor = D>>(
        adapter: &mut A,
        geometry: Geometry,
    ) -> Result<Incoming<D>, Fault> {
        let pointer = (geometry.notify == Notify::Pointer).then(|| Pointer {
            taken: 0,
            told: 0,
            descriptors: Vec::new(),
        });
        Ok(Incoming {
            stage: Stage::Offered,
            told: false,
            owed: 0,
            rest: Rest::Awake,
            words: Vec::new(),
            worth: geometry.worth(),
            geometry,
            memory: Pinned::new(adapter, geometry.bytes(), Access::WRITE)?,
            head: 0,
            pointer,
        })
    }

    /// Returns the memory, when the ring is used no more.
    pub(crate) fn into_memory(self) -> Pinned {
        self.memory
    }

    /// Returns the bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.region().len()
    }

    /// Returns its place, for the sender.
    pub(crate) fn remote(&self) -> Remote {
        Remote { address: self.memory.region().address(), key: self.memory.remote_key() }
    }

    /// Returns its layout.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the address of the word that changes when a packet comes, and its value until then.
    #[inline]
    pub(crate) fn watch(&self) -> (u64, u64) {
        let front = self.memory.region().address();
        match &self.pointer {
            None => (front + self.geometry.offset(self.head) as u64, 0),
            Some(pointer) => (front + self.geometry.replica_offset() as u64, pointer.taken.to_le()),
        }
    }

    /// Looks for the next packet. It stays where it is until [`Incoming::free`].
    #[inline(always)]
    pub(crate) fn look(&self) -> Found {
        let at = self.geometry.offset(self.head);
        if let Some(pointer) = &self.pointer {
            let written = self.memory.word(self.geometry.replica_offset()).load(Ordering::Acquire);
            // If a pointer is being written byte by byte, only a part may be there. That is either
            // none that can be, or not ahead of the whole one, so what it tells of has come.
            if !(1..=u64::from(self.geometry.slots)).contains(&written.wrapping_sub(pointer.taken)) {
                return Found::Nothing;
            }
        }
        let first = u64::from_le(self.memory.word(at).load(Ordering::Acquire));
        // The kind is the last byte of the word, and never 0: a device that copies byte by byte may
        // not be there yet.
        if first >> 56 == 0 {
            return Found::Nothing;
        }
        let packet_bytes = packet_bytes(first);
        let bytes = self.geometry.written_bytes(packet_bytes);
        let span = self.geometry.span_of(bytes);
        // Nobody sends a short prefix with too few bytes either.
        if span > self.geometry.span_max || packet_bytes < PREFIX_BYTES {
            return Found::Nonsense;
        }
        let packet = self.memory.region().part(at, bytes);
        if self.pointer.is_none() && load_flag(packet, bytes - flags::FLAG_BYTES) != first as u32 {
            return Found::Nothing;
        }
        // What lies between head and tail is read after both.
        fence(Ordering::Acquire);
        Found::Packet(packet.part(0, packet_bytes), span)
    }

    /// Frees the slots of the packet that [`Incoming::look`] found (paper 1, 4.4): the head pointer
    /// moves on over `span` slots, and their head words are cleared, so that they can be seen to
    /// change.
    #[inline(always)]
    pub(crate) fn free(&mut self, span: u32) {
        let first = self.head;
        // Those behind the last slot are never looked at, and the sender knows that they are not
        // cleared.
        for slot in first..(first + span).min(self.geometry.slots) {
            self.memory.word(self.geometry.offset(slot)).store(0, Ordering::Relaxed);
        }
        self.head = self.geometry.after(first, span);
        match &mut self.pointer {
            // A sender can owe more than there are only if it has none to write into.
            None => self.owed = self.owed.saturating_add(span as u16),
            Some(pointer) => pointer.taken += u64::from(span),
        }
    }

    /// Returns whether the sender should be told of freed slots although nothing else goes that
    /// way.
    #[inline]
    pub(crate) fn is_worth_telling(&self) -> bool {
        u32::from(self.owed) >= self.worth
    }

    /// Notes the sender's place for the tail pointer, and with it that of the word (`sleep.rs`).
    pub(crate) fn set_tail<A: Adapter<Descriptor = D>>(&mut self, adapter: &mut A, to: Remote, peer: Peer) {
        let (word_at, tail_at) = (self.geometry.word_offset(), self.geometry.replica_offset());
        let describe = |value: usize| {
            let at = word_at + WORD_BYTES * value;
            self.memory.word(at).store(value as u64, Ordering::Relaxed);
            let (local, local_key) = (self.memory.region().part(at, WORD_BYTES), self.memory.local_key());
            let address = to.address + (word_at - tail_at) as u64;
            let operation = Operation::Write(Remote { address, key: to.key });
            adapter.describe(&Work { id: Id::Ring(peer).word(), operation, local, local_key })
        };
        self.words = (0..2).map(describe).collect();
        let Some(pointer) = &mut self.pointer else { return };
        let describe = |slot: u32| {
            let local = self.memory.region().part(self.geometry.pointer_offset(slot), POINTER_BYTES);
            let (operation, local_key) = (Operation::Write(to), self.memory.local_key());
            adapter.describe(&Work { id: Id::Ring(peer).word(), operation, local, local_key })
        };
        pointer.descriptors = (0..self.geometry.slots).map(describe).collect();
    }

    /// Returns the descriptor that writes the word.
    pub(crate) fn word(&mut self, up: bool) -> Option<&mut D> {
        self.words.get_mut(usize::from(up))
    }

    /// Returns whether a tail pointer is to be written (paper 2, 4.2).
    #[inline]
    pub(crate) fn owes_pointer(&self) -> bool {
        self.pointer.as_ref().is_some_and(|pointer| pointer.told != pointer.taken)
    }

    /// Returns the descriptor that writes the tail pointer now. Once it is posted,
    /// [`Incoming::pointer_posted`] says so.
    pub(crate) fn pointer(&mut self) -> Option<&mut D> {
        let pointer = self.pointer.as_mut()?;
        // The next ones come from other places, so the device may read this one late.
        let slot = (pointer.taken % u64::from(self.geometry.slots)) as u32;
        self.memory.word(self.geometry.pointer_offset(slot)).store(pointer.taken, Ordering::Relaxed);
        pointer.descriptors.get_mut(slot as usize)
    }

    /// Notes that the tail pointer is posted.
    pub(crate) fn pointer_posted(&mut self) {
        if let Some(pointer) = &mut self.pointer {
            pointer.told = pointer.taken;
        }
    }
}

/// Loads the flag at this offset of a packet.
#[inline]
fn load_flag(packet: Region, offset: usize) -> u32 {
    let at = packet.part(offset, flags::FLAG_BYTES).address();
    assert!(at.is_multiple_of(4));
    // SAFETY: within the ring's memory by `part`, aligned, and alive while the ring is; accesses to
    // words that the peer's device may write meanwhile are atomic.
    u32::from_le(unsafe { AtomicU32::from_ptr(at as *mut u32) }.load(Ordering::Acquire))
}
