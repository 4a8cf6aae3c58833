//! The protocol of a one-way ring: which line holds what, and who may write it when.
//!
//! A ring is a power of two of 64-byte lines. A record takes whole lines: a flag word, the packet
//! header, the payload. One process produces, one consumes. Positions count lines and never wrap; a
//! position's line is its remainder. Three rules make it work:
//!
//! 1. The flag word at the next position is zero until the record there is complete. The producer
//!    clears the word *behind* a record before it publishes the record, so the consumer polls one
//!    word and never meets old bytes.
//! 2. A record never wraps. If it does not fit before the end, a skip flag sends the consumer to
//!    line 0; it is published after the record there, so both appear at once.
//! 3. The consumer tells its position only every quarter ring. A record takes a quarter at most, so
//!    a producer that finds no room has always some unread record ahead, or a position about to be
//!    told: no stall.
//!
//! A record of one line may hold a note instead of a payload: the packet's payload is in a cell
//! (`cells`). Its flag word has another low bit set, so that whoever takes lines passes it by.
//!
//! The words themselves are behind [`Lines`]: mapped memory in the channel, loom's atomics in the
//! model check (`cargo test -p verbena-node --lib ring`).

use super::note::NOTE_BYTES;
use verbena_memory::LINE_BYTES;

/// Bytes of a record before its payload: flag word and packet header.
pub(crate) const RECORD_HEAD_BYTES: usize = 8 + verbena_channel::packet::HEADER_BYTES;

/// The longest payload of a record of one line.
pub(crate) const LINE_PAYLOAD_BYTES_MAX: usize = LINE_BYTES - RECORD_HEAD_BYTES;

/// The longest record, in lines, that is passed on with care ([`Producer::pass_on`]): a longer one
/// takes so long to copy that its lines travel meanwhile.
const CARE_LINES_MAX: u64 = 40;

const SKIP: u64 = 2;

/// The flag word of a note: a record of one line whose payload says where the packet's payload is.
const NOTED: u64 = (NOTE_BYTES as u64) << 2 | 3;

/// The words through which the two ends of a ring speak.
pub(crate) trait Lines {
    /// Number of lines, a power of two, at least 8.
    fn count(&self) -> u64;
    /// Reads the flag word of a line (acquire).
    fn flag(&self, line: u64) -> u64;
    /// Publishes a flag word (release).
    fn publish(&self, line: u64, flag: u64);
    /// Zeroes a flag word; the next `publish` orders it.
    fn clear(&self, line: u64);
    /// The consumer's position as it last told it (acquire).
    fn consumed(&self) -> u64;
    /// Tells the consumer's position (release).
    fn tell_consumed(&self, position: u64);
    /// Asks for a line to be brought into this processor's cache, to be written. Changes nothing.
    fn fetch(&self, _line: u64) {}
    /// Pushes a line out of this processor's own cache, to where the others find it sooner. Changes
    /// nothing.
    fn demote(&self, _line: u64) {}
}

/// Lines that a record with this payload takes.
#[inline]
pub(crate) fn lines_for(payload_bytes: usize) -> u64 {
    (RECORD_HEAD_BYTES + payload_bytes).div_ceil(LINE_BYTES) as u64
}

/// Bytes of the payload of the record with this flag word, if it takes one line; `None` for every
/// other word.
#[inline(always)]
pub(crate) fn payload_of_line(flag: u64) -> Option<usize> {
    // The two low bits, which are 1 in a record, get to the top, so that one comparison sees all.
    let bytes = flag.wrapping_sub(1).rotate_right(2);
    (bytes <= LINE_PAYLOAD_BYTES_MAX as u64).then_some(bytes as usize)
}

/// The largest payload of a ring of this many bytes: its record takes a quarter.
pub(crate) fn payload_bytes_max(ring_bytes: usize) -> usize {
    ring_bytes / 4 - RECORD_HEAD_BYTES
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Producer {
    /// The position of the next record.
    head: u64,
    /// The position up to which flag words are zero, from `head` on (exclusive). While `quick` is
    /// not 0 those up to `head + 2` are too.
    clean: u64,
    /// The position below which may be written.
    limit: u64,
    /// The position below which a record of one line needs no look at anything else: there is room
    /// for it and for the two flag words behind, and the first of these is zero.
    quick: u64,
    /// True if there may be quick lines at all.
    may_be_quick: bool,
}

/// Lines that the producer may fill now.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The first line of the record.
    pub(crate) line: u64,
    lines: u64,
    skip: u64,
}

impl Producer {
    /// The producer of a new ring, whose memory is zero.
    pub(crate) fn new(lines: &impl Lines, may_be_quick: bool) -> Producer {
        Producer { head: 0, clean: lines.count(), limit: lines.count(), quick: 0, may_be_quick }
    }

    /// A free line, to be filled and then given to `commit_quick_line`; `None` if `claim` must be
    /// asked.
    #[inline(always)]
    pub(crate) fn quick_line(&mut self, ring: &impl Lines) -> Option<u64> {
        self.has_quick_line().then(|| self.head & (ring.count() - 1))
    }

    /// Returns whether `quick_line` would give one.
    #[inline(always)]
    pub(crate) fn has_quick_line(&self) -> bool {
        self.head < self.quick
    }

    /// Commits the record of one line that was written to a quick line.
    #[inline(always)]
    pub(crate) fn commit_quick_line(&mut self, ring: &impl Lines, line: u64, payload_bytes: usize) {
        ring.publish(line, (payload_bytes as u64) << 2 | 1);
        ring.clear((line + 2) & (ring.count() - 1));
        self.head += 1;
    }

    /// Claims room for a record of `count` lines; `None` if there is none now.
    #[inline]
    pub(crate) fn claim(&mut self, ring: &impl Lines, count: u64) -> Option<Claim> {
        let line = self.head & (ring.count() - 1);
        if line + count <= ring.count() && self.head + count < self.limit {
            return Some(Claim { line, lines: count, skip: 0 });
        }
        self.claim_again(ring, count)
    }

    #[cold]
    fn claim_again(&mut self, ring: &impl Lines, count: u64) -> Option<Claim> {
        let line = self.head & (ring.count() - 1);
        let skip = if line + count <= ring.count() { 0 } else { ring.count() - line };
        if self.head + skip + count >= self.limit {
            self.look_at_consumed(ring);
        }
        let line = if skip == 0 { line } else { 0 };
        (self.head + skip + count < self.limit).then_some(Claim { line, lines: count, skip })
    }

    /// Looks at the consumer's position. An impossible one (a stray write by the program) gives no
    /// room.
    fn look_at_consumed(&mut self, ring: &impl Lines) {
        let consumed = ring.consumed();
        if consumed <= self.head && consumed + ring.count() > self.limit {
            self.limit = consumed + ring.count();
        }
    }

    /// Publishes the record that was written to the claimed lines.
    ///
    /// The flag word two lines on is cleared *after* the publication: for records of one line the
    /// word that rule 1 asks for is then clear already, and no store to another line stands between
    /// a message and its arrival.
    #[inline]
    pub(crate) fn commit(&mut self, ring: &impl Lines, claim: Claim, payload_bytes: usize) {
        self.commit_as(ring, claim, (payload_bytes as u64) << 2 | 1);
    }

    /// Publishes the note that was written to the claimed line, as `commit`.
    #[inline]
    pub(crate) fn commit_note(&mut self, ring: &impl Lines, claim: Claim) {
        debug_assert_eq!(claim.lines, 1);
        self.commit_as(ring, claim, NOTED);
    }

    #[inline(always)]
    fn commit_as(&mut self, ring: &impl Lines, claim: Claim, flag: u64) {
        let mask = ring.count() - 1;
        if self.quick != 0 {
            self.clean = self.clean.max(self.head + 2);
        }
        let next = self.head + claim.skip + claim.lines;
        if self.clean <= next {
            ring.clear(next & mask);
            self.clean = next + 1;
        }
        ring.publish(claim.line, flag);
        if claim.skip != 0 {
            ring.publish(self.head & mask, SKIP);
        }
        self.head = next;
        if self.clean == next + 1 && next + 1 < self.limit {
            ring.clear((next + 1) & mask);
            self.clean = next + 2;
        }
        // At `head` the words at `head` and `head + 1` are zero, and each quick line clears one
        // more.
        self.quick =
            if self.may_be_quick && self.clean >= next + 2 { self.limit.saturating_sub(2) } else { 0 };
    }
}

impl Producer {
    /// After the record of `count` lines at `line` was committed, pushes its lines towards the
    /// consumer, and fetches the next `count` lines and the one behind, if they may be written. The
    /// consumer has read those, so they lie in its processor's cache, and the next record would
    /// wait for each.
    #[inline]
    pub(crate) fn pass_on(&self, ring: &impl Lines, line: u64, count: u64) {
        if count > CARE_LINES_MAX {
            return;
        }
        (line..line + count).for_each(|line| ring.demote(line));
        if self.head + count < self.limit {
            (self.head..=self.head + count).for_each(|position| ring.fetch(position & (ring.count() - 1)));
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Consumer {
    /// The position of the next record.
    tail: u64,
    /// The position last told to the producer.
    told: u64,
}

/// The content at the consumer's position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing yet.
    Nothing,
    /// A record whose payload has this many bytes.
    Record {
        /// The record's first line.
        line: u64,
        /// Bytes of its payload; record and payload lie within the ring.
        payload_bytes: usize,
    },
    /// A record whose payload is in a cell.
    Note {
        /// The line of the record, which holds header and note.
        line: u64,
    },
    /// Something that no producer writes.
    Corrupt(u64),
}

impl Consumer {
    /// The consumer of a ring from which nothing was consumed yet.
    pub(crate) fn new() -> Consumer {
        Consumer { tail: 0, told: 0 }
    }

    /// The position last told to the producer.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    /// The line to poll.
    #[inline]
    pub(crate) fn line(&self, ring: &impl Lines) -> u64 {
        self.tail & (ring.count() - 1)
    }

    /// Looks at the next position.
    #[inline(always)]
    pub(crate) fn look(&mut self, ring: &impl Lines) -> Found {
        let line = self.line(ring);
        let flag = ring.flag(line);
        if flag == 0 {
            return Found::Nothing;
        }
        // A record of one line lies within the ring wherever it is.
        if let Some(payload_bytes) = payload_of_line(flag) {
            return Found::Record { line, payload_bytes };
        }
        self.look_closely(ring, line, flag)
    }

    fn look_closely(&mut self, ring: &impl Lines, mut line: u64, mut flag: u64) -> Found {
        if flag == SKIP && line != 0 {
            self.tail += ring.count() - line;
            line = 0;
            flag = ring.flag(line);
        }
        if flag == 0 {
            return Found::Nothing;
        }
        if flag == NOTED {
            return Found::Note { line };
        }
        let payload_bytes = flag >> 2;
        // The first comparison keeps the sum in the second from overflowing.
        let fits = payload_bytes < ring.count() * LINE_BYTES as u64 / 4
            && line + lines_for(payload_bytes as usize) <= ring.count();
        if flag & 3 != 1 || !fits {
            return Found::Corrupt(flag);
        }
        Found::Record { line, payload_bytes: payload_bytes as usize }
    }

    /// Moves on past a record of one line; false, and nothing happened, if the position must be
    /// told.
    #[inline(always)]
    pub(crate) fn advance_silently(&mut self, ring: &impl Lines) -> bool {
        let silent = self.tail + 1 - self.told < ring.count() / 4;
        if silent {
            self.tail += 1;
        }
        silent
    }

    /// Moves on past the record that `look` found. True if the position was told to the producer.
    #[inline]
    pub(crate) fn advance(&mut self, ring: &impl Lines, payload_bytes: usize) -> bool {
        self.tail += lines_for(payload_bytes);
        if self.tail - self.told < ring.count() / 4 {
            return false;
        }
        ring.tell_consumed(self.tail);
        self.told = self.tail;
        true
    }
}

#[cfg(test)]
mod tests;
