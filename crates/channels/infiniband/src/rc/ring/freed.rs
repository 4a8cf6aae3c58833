//! The slots that the receiver has freed (paper 1, 4.4).
//!
//! Packets are taken in order, but need not be freed in order. The tail pointer moves only over
//! free slots, up to the first that is not; credits are given for these alone.

/// The receiver's tail pointer and the slots freed before it came to them.
#[derive(Debug)]
pub(crate) struct Freed {
    slots: u32,
    tail: u32,
    /// Slots that the tail may pass over.
    early: Vec<u64>,
    /// The number of these.
    early_count: u32,
}

impl Freed {
    /// Makes a ring of `slots` slots, all to be written first.
    pub(crate) fn new(slots: u32) -> Freed {
        Freed { slots, tail: 0, early: vec![0; slots.div_ceil(64) as usize], early_count: 0 }
    }

    /// Frees `span` slots from `first` on. Returns how far the tail moved.
    #[inline]
    pub(crate) fn free(&mut self, first: u32, span: u32) -> u32 {
        if first != self.tail {
            self.keep(first, span);
            return 0;
        }
        let tail = self.tail + span;
        self.tail = if tail >= self.slots { tail - self.slots } else { tail };
        if self.early_count == 0 { span } else { span + self.pass_early() }
    }

    #[cold]
    fn keep(&mut self, first: u32, span: u32) {
        for slot in (first..first + span).map(|slot| slot % self.slots) {
            self.early[slot as usize / 64] |= 1 << (slot % 64);
        }
        self.early_count += span;
    }

    #[cold]
    fn pass_early(&mut self) -> u32 {
        let mut passed = 0;
        while self.early_count > 0 && self.early[self.tail as usize / 64] >> (self.tail % 64) & 1 == 1 {
            self.early[self.tail as usize / 64] &= !(1 << (self.tail % 64));
            self.tail = (self.tail + 1) % self.slots;
            self.early_count -= 1;
            passed += 1;
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_moves_over_freed_slots_only() {
        let mut freed = Freed::new(5);
        assert_eq!(freed.free(0, 1), 1);
        // 1 is still in use.
        assert_eq!(freed.free(2, 2), 0);
        assert_eq!(freed.free(1, 1), 3);
        // Over the end: 4 and 0 as one packet, freed after 1.
        assert_eq!(freed.free(1, 1), 0);
        assert_eq!(freed.free(4, 2), 3);
        assert_eq!(freed.tail, 2);
    }

    /// Packets of all spans freed in any order within a window: all slots come back.
    #[test]
    fn nothing_is_lost_in_any_order() {
        let slots = 70;
        let mut freed = Freed::new(slots);
        let (mut random, mut head, mut room) = (12345u32, 0, slots);
        let mut held: Vec<(u32, u32)> = Vec::new();
        for _ in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let span = 1 + (random >> 8) % 4;
            if room >= span && random >> 30 != 0 {
                held.push((head, span));
                head = (head + span) % slots;
                room -= span;
            } else if !held.is_empty() {
                let (first, span) = held.remove((random >> 12) as usize % held.len());
                room += freed.free(first, span);
            }
        }
        held.into_iter().for_each(|(first, span)| room += freed.free(first, span));
        assert_eq!((room, freed.tail, freed.early_count), (slots, head, 0));
    }
}
