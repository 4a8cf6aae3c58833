//! Records of what has arrived from a peer, and when to acknowledge it.

use super::{NEVER, SPAN, distance};

/// The words of the bitmap.
pub const WORDS: usize = (SPAN / 64) as usize;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The first fragment that is missing: all before it have arrived.
    pub next: u32,
    /// Bit `i` is set if fragment `next + i` has arrived.
    pub bits: [u64; WORDS],
    /// Time in nanoseconds from the last arrival until this was said.
    pub delay_ns: u64,
}

impl Ack {
    /// Returns whether nothing has arrived beyond the first missing one.
    pub fn is_plain(&self) -> bool {
        self.bits == [0; WORDS]
    }

    /// Returns whether the fragment this far behind the first missing one has arrived.
    pub fn has(&self, behind: u32) -> bool {
        self.bits.get((behind / 64) as usize).is_some_and(|word| word >> (behind % 64) & 1 == 1)
    }
}

/// The verdict on a fragment that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The fragment was not here before.
    Fresh,
    /// The fragment was here before.
    Double,
    /// The fragment is further ahead than any honest sender sends.
    Beyond,
}

/// The receiving side of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    next: u32,
    bits: [u64; WORDS],
    /// The fragments of whole groups that no acknowledgement has told of.
    owed: u32,
    /// The time when one is due.
    due_ns: u64,
    /// The time when the last fragment arrived.
    heard_ns: u64,
}

impl Default for Incoming {
    fn default() -> Incoming {
        Incoming { next: 0, bits: [0; WORDS], owed: 0, due_ns: NEVER, heard_ns: 0 }
    }
}

impl Incoming {
    /// Begins as if `number` fragments had come before.
    #[cfg(test)]
    pub fn starting_at(number: u32) -> Incoming {
        Incoming { next: number, ..Incoming::default() }
    }

    /// Takes a fragment that arrives. One that was here before, or that comes out of order or fills
    /// a gap, is answered at once: the sender waits for that.
    pub fn take(&mut self, number: u32, now_ns: u64) -> Turn {
        self.heard_ns = now_ns;
        let behind = distance(self.next, number);
        if behind >= SPAN as i32 {
            return Turn::Beyond;
        }
        if behind < 0 || self.has(behind as u32) {
            self.due_ns = now_ns;
            return Turn::Double;
        }
        let plain = self.bits == [0; WORDS];
        if behind == 0 && plain {
            self.next = self.next.wrapping_add(1);
            return Turn::Fresh;
        }
        self.bits[behind as usize / 64] |= 1 << (behind % 64);
        while self.bits[0] & 1 == 1 {
            self.advance();
        }
        self.due_ns = now_ns;
        Turn::Fresh
    }

    fn has(&self, behind: u32) -> bool {
        self.bits[behind as usize / 64] >> (behind % 64) & 1 == 1
    }

    /// Moves everything up by a run of arrived fragments, at most a word's, since the first has
    /// arrived.
    fn advance(&mut self) {
        let run = self.bits[0].trailing_ones();
        self.next = self.next.wrapping_add(run);
        if run == 64 {
            self.bits.rotate_left(1);
            self.bits[WORDS - 1] = 0;
            return;
        }
        for word in 0..WORDS {
            let above = self.bits.get(word + 1).copied().unwrap_or(0);
            self.bits[word] = self.bits[word] >> run | above << (64 - run);
        }
    }

    /// Notes that a group of `fragments` fragments is whole; `wanted` if its sender waits for the
    /// acknowledgement, which otherwise is due after `every` fragments or `delay_ns`.
    pub fn completed(&mut self, (every, delay_ns): (u32, u64), fragments: u32, wanted: bool, now_ns: u64) {
        self.owed += fragments;
        let at_once = wanted || self.owed >= every;
        let due_ns = if at_once { now_ns } else { now_ns + delay_ns };
        self.due_ns = self.due_ns.min(due_ns);
    }

    /// Returns when an acknowledgement is due; [`NEVER`] if there is nothing to say.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Returns the acknowledgement to send now.
    #[inline]
    pub fn ack(&self, now_ns: u64) -> Ack {
        Ack { next: self.next, bits: self.bits, delay_ns: now_ns.saturating_sub(self.heard_ns) }
    }

    /// Notes that the number of the next fragment rode on another. Nothing more is to be said if
    /// none has arrived beyond it.
    #[inline]
    pub fn told_next(&mut self) {
        if self.bits == [0; WORDS] {
            self.told();
        }
    }

    /// Notes that the acknowledgement was sent.
    #[inline]
    pub fn told(&mut self) {
        self.owed = 0;
        self.due_ns = NEVER;
    }

    /// Puts off an acknowledgement that could not be sent now until that time.
    pub fn put_off(&mut self, until_ns: u64) {
        self.due_ns = until_ns;
    }
}
