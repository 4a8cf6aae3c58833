//! One-way rings of slots that the sender's device writes into (paper 1, 3.2 and 4.1 to 4.4).
//!
//! Slot i here always lands in slot i there (persistent buffer association), so address and
//! descriptor are filled in once. The sender fills slots in a circle; the receiver looks at one
//! word, where the next packet must come.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`flags`] | the head and tail flags, which show that a packet is there |
//! | [`outgoing`] | the sender's end |
//! | [`incoming`] | the receiver's end |
//!
//! A packet longer than a slot takes several in a row. One that begins in a late slot may reach
//! past the last: the memory has room behind it for the longest packet. The slots from the first on
//! that the packet would otherwise have taken stay unused for this round. So every packet is one
//! write to contiguous memory, and both ends agree on where the next one begins.
//!
//! Slots are freed in the order in which packets are taken. Paper 1 (4.1) also frees them out of
//! order, since a packet that no receive waits for stays in its slot there. Here the engine copies
//! such a packet out before the next one is taken. One packet that stays would hold the tail
//! pointer, and with it all slots behind it: after the rest of the ring (31 packets of 2 KiB by
//! default) its sender goes by send and receive, until the program asks for the first.
//!
//! With [`Notify::Pointer`](super::settings::Notify) there are no flags: after each packet the
//! sender writes a head pointer, and the receiver a tail pointer back (paper 2, 4.2).

pub(crate) mod flags;
pub(super) mod incoming;
pub(super) mod outgoing;

use super::frame::PREFIX_BYTES;
use super::settings::{Notify, SLOT_BYTES_MAX, Settings};

/// Bytes of a pointer.
pub(super) const POINTER_BYTES: usize = 8;
/// Bytes of the word by which a receiver says that it rests.
pub(super) const WORD_BYTES: usize = 8;

/// The largest size of slots whose packets cost hardly more than one that only brings credits.
const SMALL_SLOT_BYTES: u32 = 4096;

/// The longest ring of a peer, in bytes, that this process always has memory for; for longer ones
/// if its own are as long.
const RING_BYTES_MAX: usize = 64 << 20;

/// The layout of a ring; the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// The number of slots.
    pub slots: u32,
    /// Bytes of each.
    pub slot_bytes: u32,
    /// The number of slots of the longest packet.
    pub span_max: u32,
    /// The way in which packets are noticed.
    pub notify: Notify,
}

impl Geometry {
    /// Returns the ring that these settings ask for. A packet takes half of the slots at most, so
    /// that the next one can be written while one is read.
    pub(super) fn of(settings: &Settings) -> Geometry {
        let longest =
            settings.chunk_bytes.max(settings.buffer_bytes) + super::frame::DATA_BYTES + flags::FLAG_BYTES;
        let span = longest.div_ceil(settings.slot_bytes).clamp(1, settings.slots / 2);
        Geometry {
            slots: settings.slots as u32,
            slot_bytes: settings.slot_bytes as u32,
            span_max: span as u32,
            notify: settings.notify,
        }
    }

    /// Returns the bytes of the largest ring of a peer's that a process with these settings uses,
    /// and so has the same memory for.
    pub(super) fn bytes_max(settings: &Settings) -> usize {
        Geometry::of(settings).bytes().max(RING_BYTES_MAX)
    }

    /// Returns whether a ring can have this layout.
    pub(super) fn is_sound(&self) -> bool {
        let slot_bytes = self.slot_bytes as usize;
        self.slots >= 2
            && (1..=self.slots).contains(&self.span_max)
            && slot_bytes.is_multiple_of(64)
            && (PREFIX_BYTES + 8..=SLOT_BYTES_MAX).contains(&slot_bytes)
            && self.slots <= u32::from(u16::MAX)
    }

    /// Returns the offset of a slot.
    #[inline]
    pub(super) fn offset(&self, slot: u32) -> usize {
        slot as usize * self.slot_bytes as usize
    }

    /// Returns the bytes of all slots and the room behind them; the pointers follow.
    pub(super) fn slots_bytes(&self) -> usize {
        self.offset(self.slots + self.span_max - 1)
    }

    /// Returns the offset of this slot's pointer: each is written from its own place, since the
    /// device may read it late.
    pub(super) fn pointer_offset(&self, slot: u32) -> usize {
        self.slots_bytes() + POINTER_BYTES * (1 + slot as usize)
    }

    /// Returns the offset of the pointer that the other end writes.
    pub(super) fn replica_offset(&self) -> usize {
        self.slots_bytes()
    }

    /// Returns the bytes of the whole memory of one end.
    pub(super) fn bytes(&self) -> usize {
        self.word_offset() + 2 * WORD_BYTES
    }

    /// Returns the offset of the word by which the receiver says that it rests (`sleep.rs`). At
    /// the receiver's end the two values are written from here, one behind the other.
    pub(super) fn word_offset(&self) -> usize {
        match self.notify {
            Notify::Piggyback => self.slots_bytes(),
            Notify::Pointer => self.pointer_offset(self.slots),
        }
    }

    /// Returns the bytes that are written for a packet of `packet_bytes`, with its prefix.
    #[inline]
    pub(super) fn written_bytes(&self, packet_bytes: usize) -> usize {
        match self.notify {
            Notify::Piggyback => flags::tail_offset(packet_bytes) + flags::FLAG_BYTES,
            Notify::Pointer => packet_bytes,
        }
    }

    /// Returns how many slots `bytes` bytes take.
    #[inline]
    pub(super) fn span_of(&self, bytes: usize) -> u32 {
        if bytes <= self.slot_bytes as usize { 1 } else { (bytes as u32).div_ceil(self.slot_bytes) }
    }

    /// Returns how many freed slots are worth a packet of their own, if none goes to the sender:
    /// few enough that a longest packet has room without them. Three quarters, since an answer that
    /// carries them usually comes first, and a sender that finds no slot meanwhile goes by send and
    /// receive. Long chunks make the sender wait sooner, and such a packet costs little beside
    /// them.
    #[inline]
    pub(super) fn worth(&self) -> u32 {
        let is_long = self.slot_bytes > SMALL_SLOT_BYTES;
        let worth = if is_long { self.slots / 2 } else { (self.slots - self.slots / 4).max(2) };
        worth.min(self.slots - self.span_max + 1)
    }

    /// Returns the longest body that fits.
    pub(super) fn body_bytes_max(&self) -> usize {
        self.offset(self.span_max) - PREFIX_BYTES - flags::FLAG_BYTES
    }

    /// Returns the slot that is `span` after another.
    #[inline]
    pub(super) fn after(&self, slot: u32, span: u32) -> u32 {
        let next = slot + span;
        if next >= self.slots { next - self.slots } else { next }
    }
}
