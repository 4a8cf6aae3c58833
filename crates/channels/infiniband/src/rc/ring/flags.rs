//! The head and tail flags (paper 1, 4.2).
//!
//! The head flag is the first half of a slot, the size its second; the tail flag follows the
//! packet. The receiver takes a packet when the head is set and the tail, at the place that the
//! size tells, equals it. The memory there is that of an earlier packet, so the sender takes the
//! one of two flag values that does not lie there already. It knows what lies there without asking:
//! its own slot has the same content, except for the head words, which the receiver clears.
//!
//! This relies on the device writing the bytes of one RDMA write in the order of their addresses,
//! at least to an observer. The InfiniBand specification does not promise it; every device known
//! does it, and so does Soft-RoCE: each packet of a write is copied after the one before. A device
//! may copy byte by byte. So the kind, which is never 0, is the last byte of the head word: with it
//! the word is whole. Of the tail all bytes are compared.

/// Bytes of a flag.
pub(crate) const FLAG_BYTES: usize = 4;

/// The flag, unless it lies at the tail's place already.
pub const PRIMARY: u32 = 0x9c3a_51f7;
/// The flag in that case.
pub const SECONDARY: u32 = 0x63c5_ae08;

/// Bytes at the front of each slot that the receiver clears: head flag and size.
const HEAD_BYTES: usize = 8;

/// Returns the offset of the tail flag from the front of the packet.
#[inline]
pub(crate) fn tail_offset(packet_bytes: usize) -> usize {
    packet_bytes.next_multiple_of(FLAG_BYTES)
}

/// Chooses the flag for a packet, given what the sender's own memory has at the tail's place.
#[inline]
pub(crate) fn choose(own_old: u32, is_cleared: bool) -> u32 {
    let old = if is_cleared { 0 } else { own_old };
    if old == PRIMARY { SECONDARY } else { PRIMARY }
}

/// Returns whether the receiver has cleared the place at this offset from the ring's front. Behind
/// the last slot nothing is cleared.
#[inline]
pub(crate) fn is_cleared(offset: usize, slot_bytes: usize, slots: usize) -> bool {
    // Slots are whole multiples of 64 bytes, so most places need no division.
    offset % 64 < HEAD_BYTES && offset % slot_bytes < HEAD_BYTES && offset / slot_bytes < slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_differs_from_what_lies_there() {
        for old in [0, 1, PRIMARY, SECONDARY] {
            assert_ne!(choose(old, false), old);
        }
        assert_eq!(choose(PRIMARY, true), PRIMARY);
    }

    #[test]
    fn heads_are_cleared_up_to_the_last_slot() {
        let cleared = |offset| is_cleared(offset, 192, 4);
        assert!(cleared(0) && cleared(196) && cleared(3 * 192));
        assert!(!cleared(64) && !cleared(8) && !cleared(200) && !cleared(4 * 192));
    }
}
