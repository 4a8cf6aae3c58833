//! The protocol of the logs: one writer each, and all members read.
//!
//! A log is a ring of bytes. A record is a head word and its payload, and takes whole granules
//! ([`Packing`]). Positions count bytes and never wrap; a position's offset is its remainder. Four
//! rules make it work:
//!
//! 1. A log has four quarters, and a record takes at most a quarter's bytes. The writer zeroes a
//!    quarter before it writes there, and then tells that it has entered it. A reader looks only
//!    where the writer has entered, so at the place of a record it finds zero until the head is
//!    published. (Old bytes would not do: they might look like a head. Having zeroed the quarter,
//!    the writer also owns its cache lines before anybody reads there.)
//! 2. A record never wraps. If it does not fit before the end, it stands at the start of the next
//!    lap, which every member computes.
//! 3. Before the writer enters a quarter, all others must have closed the last collective that
//!    wrote there a lap ago.
//! 4. Each member tells which collective it closed last whenever any of the logs came into another
//!    quarter. All members compute that alike, so what a member waits for by rule 3 was told, or
//!    will be told without its help. One in whose eyes records were shorter, as calls did not
//!    match, tells it by beginning a later collective.
//!
//! A head states the number of its collective, which counts all blocking ones of the communicator,
//! also those that went by messages or failed before they began. So a member whose call failed
//! finds records that it has not passed, goes past them, and is in step again; and members that are
//! in different collectives find out. For this reason no head stands where a payload might be taken
//! for it: a record that does not fit into the rest of a cache line begins a new one. And one that
//! passed a record of another length without reading it finds the next one elsewhere than it
//! thought (module `search`).
//!
//! The words are behind [`Words`]: mapped memory in `mapped`, loom's atomics in the model check
//! (`cargo test -p verbena-node --lib board`).

use verbena_channel::board::{ANY_BYTES, Clash, Look, Packing, Shape};
use verbena_channel::mark::Mark;
use verbena_memory::{LINE_BYTES, Region};

mod search;

/// Bytes of a head.
pub(crate) const HEAD_BYTES: usize = 8;
const QUARTERS: u64 = 4;
/// The bits of a head that describe the record: the payload's bytes, above them whether it tells
/// what is elsewhere, the writer's call, and in the highest of them the packing. The number of the
/// collective is above.
const LENGTH_BITS: u32 = 32;
const TIGHT: u64 = 1 << (LENGTH_BITS - 1);
/// Bits for the payload's bytes, which are less than a quarter of a log.
const BYTES_BITS: u32 = 14;
const BYTES: u64 = (1 << BYTES_BITS) - 1;
const MEETS: u64 = 1 << BYTES_BITS;
const CALL_AT: u32 = BYTES_BITS + 1;

/// Bits of a collective's number, one less than a head has room for: numbers begin at 1.
const NUMBER_BITS: u32 = 31;

/// The words through which members speak.
pub(crate) trait Words {
    /// Reads the head at `offset` of the log of `rank` (acquire).
    fn head(&self, rank: usize, offset: u64) -> u64;
    /// Publishes a head in this member's log (release).
    fn publish(&self, offset: u64, head: u64);
    /// Zeroes `bytes` bytes of this member's log.
    fn erase(&self, offset: u64, bytes: usize);
    /// Brings `bytes` bytes of this member's log here, to be written later. Changes nothing.
    fn fetch(&self, _offset: u64, _bytes: u64) {}
    /// The number of quarters beyond the first lap that `rank` has told that it entered (acquire).
    fn entered(&self, rank: usize) -> u64;
    /// Tells the number of quarters beyond the first lap that this member entered, before it writes
    /// there (release, and a fence).
    fn tell_entered(&self, quarters: u64);
    /// The collective of the last record that `rank` published, as heads state it, and its offset
    /// below (acquire).
    fn latest(&self, rank: usize) -> u64;
    /// Tells the collective and offset of this member's last record (release).
    fn tell_latest(&self, latest: u64);
    /// The payload of `bytes` bytes behind the head at `offset` of the log of `rank`.
    fn payload(&self, rank: usize, offset: u64, bytes: usize) -> Region;
    /// The number of the last collective that `rank` has told that it closed (acquire).
    fn closed(&self, rank: usize) -> u64;
    /// Tells the number of the last collective that this member closed (release).
    fn tell_closed(&self, number: u64);
    /// Returns whether `rank` has begun a later collective than this one, or given this one up
    /// (acquire).
    fn has_left(&self, rank: usize, number: u64) -> bool;
}

/// A record that was claimed and not published yet.
#[derive(Clone, Copy, Debug)]
struct Claim {
    at: u64,
    shape: Shape,
}

/// One member's knowledge of all logs of a board.
#[derive(Debug)]
pub(crate) struct Logs {
    me: usize,
    /// Bytes of a log, a power of two.
    capacity: u64,
    /// For each log, the position of the next record.
    next: Vec<u64>,
    /// The log whose next record was found just there, whatever its shape; none if it is no rank.
    found_in: usize,
    /// The end of this member's last record.
    own_end: u64,
    /// The collective that is open, counted from 1.
    number: u64,
    /// This member's call in the collective that is open, and the bytes that it told.
    call: Mark,
    bytes: u64,
    /// The collective that was opened before, and this member's call in it.
    previous: (u64, Mark),
    /// Set when a log has come into another quarter since something was last told.
    crossed: bool,
    claim: Option<Claim>,
    /// For each log the quarter, counted from the first lap, up to which it may be read; this
    /// member's own may also be written up to there.
    entered: Vec<u64>,
    /// For each quarter, the collective that others must have closed before it is written again.
    marks: [u64; QUARTERS as usize],
}

impl Logs {
    /// The logs of a new board, whose memory is zero.
    pub(crate) fn new(me: usize, ranks: usize, capacity: usize) -> Logs {
        Logs {
            me,
            capacity: capacity as u64,
            next: vec![0; ranks],
            found_in: usize::MAX,
            own_end: 0,
            number: 0,
            call: Mark::NONE,
            bytes: ANY_BYTES,
            previous: (0, Mark::NONE),
            crossed: false,
            claim: None,
            entered: vec![QUARTERS - 1; ranks],
            marks: [0; QUARTERS as usize],
        }
    }

    /// Number of members.
    pub(crate) fn ranks(&self) -> usize {
        self.next.len()
    }

    /// The longest payload.
    pub(crate) fn bytes_max(&self) -> usize {
        ((self.capacity / QUARTERS) as usize - HEAD_BYTES).min(BYTES as usize)
    }

    /// The collective that was opened last, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Begins the collective of this number; numbers grow, and only their low 32 bits are told.
    #[inline]
    pub(crate) fn open(&mut self, number: u32) {
        if self.next[self.me] < self.own_end {
            // It left the last one before it passed its own record.
            self.next[self.me] = self.own_end;
            self.crossed = true;
        }
        self.previous = (self.number, self.call);
        (self.call, self.bytes) = (Mark::NONE, ANY_BYTES);
        self.number += u64::from(number.wrapping_sub(self.number as u32));
    }

    /// Sets this member's call in the collective that is open, and the bytes that it tells.
    #[inline]
    pub(crate) fn set_call(&mut self, call: Mark, bytes: u64) {
        (self.call, self.bytes) = (call, bytes);
    }

    /// This member's call in the collective that is open, and the bytes that it told.
    pub(crate) fn call(&self) -> (Mark, u64) {
        (self.call, self.bytes)
    }

    /// The number of the collective that is open, as heads state it: never 0.
    fn stated(&self) -> u64 {
        stated(self.number)
    }

    /// Returns whether a head's number is of an earlier collective than the one that is open.
    fn is_past(&self, stated: u64) -> bool {
        self.stated().wrapping_sub(stated) & ((1 << NUMBER_BITS) - 1) < 1 << (NUMBER_BITS - 1)
    }

    fn quarter(&self, position: u64) -> u64 {
        position / (self.capacity / QUARTERS)
    }

    /// The position of the record that comes next to `position`.
    #[inline]
    fn place(&self, position: u64, shape: Shape) -> u64 {
        let position = begin(position, shape);
        let offset = position & (self.capacity - 1);
        if offset + record_bytes(shape) > self.capacity {
            position + self.capacity - offset
        } else {
            position
        }
    }

    /// Claims room for a record in this member's log.
    #[inline]
    pub(crate) fn claim(&mut self, words: &impl Words, shape: Shape) -> Option<Region> {
        assert!(shape.bytes <= self.bytes_max(), "a record of {} bytes", shape.bytes);
        let at = self.place(self.next[self.me], shape);
        let last = self.quarter(at + record_bytes(shape) - 1);
        if last > self.entered[self.me] && !self.enter(words, last) {
            return None;
        }
        self.claim = Some(Claim { at, shape });
        Some(words.payload(self.me, at & (self.capacity - 1), shape.bytes))
    }

    #[cold]
    fn enter(&mut self, words: &impl Words, last: u64) -> bool {
        let quarter_bytes = self.capacity / QUARTERS;
        while self.entered[self.me] < last {
            let next = self.entered[self.me] + 1;
            let mark = self.marks[(next % QUARTERS) as usize];
            let is_there = |rank: usize| words.closed(rank) < mark && !words.has_left(rank, mark);
            if (0..self.ranks()).any(|rank| rank != self.me && is_there(rank)) {
                return false;
            }
            words.erase(next % QUARTERS * quarter_bytes, quarter_bytes as usize);
            words.tell_entered(next - (QUARTERS - 1));
            self.entered[self.me] = next;
        }
        true
    }

    /// Publishes the claimed record.
    #[inline]
    pub(crate) fn publish(&mut self, words: &impl Words) {
        let Claim { at, shape } = self.claim.take().expect("a record was claimed");
        let offset = at & (self.capacity - 1);
        words.publish(offset, self.stated() << LENGTH_BITS | described(shape, self.call));
        words.tell_latest(self.stated() << LENGTH_BITS | offset);
        // Its readers' caches hold the quarter that is zeroed next: all of it would be waited for
        // at once.
        words.fetch((offset + self.capacity / QUARTERS) & (self.capacity - 1), record_bytes(shape));
        self.own_end = at + record_bytes(shape);
        for quarter in self.quarter(at)..=self.quarter(self.own_end - 1) {
            self.marks[(quarter % QUARTERS) as usize] = self.number;
        }
    }

    /// Looks at the record of `rank`, which should have this shape. Goes past records of
    /// collectives that this member did not get to.
    #[inline]
    pub(crate) fn look(&mut self, words: &impl Words, rank: usize, shape: Shape) -> Look {
        let at = self.expected(rank, shape);
        if self.quarter(at) > self.entered[rank] && !self.follow(words, rank, self.quarter(at)) {
            return Look::Nothing;
        }
        let offset = at & (self.capacity - 1);
        let head = words.head(rank, offset);
        match head >> LENGTH_BITS {
            0 => Look::Nothing,
            number if number == self.stated() => {
                if self.call.is_unlike(called(head)) || (head & MEETS != 0) != shape.meets {
                    return Look::Unlike(self.clash(rank, self.number, self.call, head));
                }
                let bytes = (head & BYTES) as usize;
                Look::Record(words.payload(rank, offset, bytes.min(self.bytes_max())))
            }
            number if self.is_past(number) => self.look_beyond(words, rank, shape, head),
            // What stands there may be payload.
            _ if self.search(words, rank, at) => self.look(words, rank, shape),
            _ if !self.is_ahead(words, rank) => Look::Nothing,
            number => Look::Astray(self.clash(rank, number, self.call, head)),
        }
    }

    /// The position at which the next record of `rank` is looked for.
    #[inline]
    fn expected(&self, rank: usize, shape: Shape) -> u64 {
        match self.found_in == rank {
            true => self.next[rank],
            false => self.place(self.next[rank], shape),
        }
    }

    #[cold]
    fn look_beyond(&mut self, words: &impl Words, rank: usize, shape: Shape, head: u64) -> Look {
        let (number, call) = self.previous;
        if head >> LENGTH_BITS == stated(number) && call.is_unlike(called(head)) {
            // This member went through that collective and never read the record.
            return Look::Unlike(self.clash(rank, number, call, head));
        }
        self.pass(rank, self.shape_of(head));
        self.look(words, rank, shape)
    }

    /// The shape of the record that a head describes.
    fn shape_of(&self, head: u64) -> Shape {
        let packing = if head & TIGHT == 0 { Packing::Lines } else { Packing::Tight };
        let bytes = ((head & BYTES) as usize).min(self.bytes_max());
        Shape { bytes, packing, meets: head & MEETS != 0 }
    }

    /// Finds a record of the open collective in the log of `rank`, for a member that publishes none
    /// and expects none.
    #[cold]
    pub(crate) fn find(&self, words: &impl Words, rank: usize) -> Option<Clash> {
        // Of any length and packing, it stands where one of these would.
        let line = LINE_BYTES - HEAD_BYTES;
        let shapes = [(0, Packing::Tight), (line, Packing::Lines), (self.bytes_max(), Packing::Lines)];
        let places = shapes.map(|(bytes, packing)| {
            let at = self.place(self.next[rank], Shape { bytes, packing, meets: false });
            (self.quarter(at) < words.entered(rank) + QUARTERS).then_some(at)
        });
        // Or it is the last one, wherever that is, but not one that this member has passed: then
        // both have gone on to messages.
        let latest = words.latest(rank);
        let ahead = latest.wrapping_sub(self.next[rank]) & (self.capacity - 1);
        let is_last = latest >> LENGTH_BITS == self.stated() && ahead <= self.capacity / 2;
        let head_at = |position: u64| {
            let head = words.head(rank, position & (self.capacity - 1));
            (head >> LENGTH_BITS == self.stated()).then_some(head)
        };
        // Where no record stands for this member to read, the writer may be a lap ahead, and have
        // payload that looks like a head. It tells so before it writes any.
        let is_there_still = |at: u64| words.entered(rank) <= self.quarter(at);
        let in_place = |at: u64| head_at(at).filter(|_| is_there_still(at));
        let head = places.into_iter().flatten().find_map(in_place);
        let head = head.or_else(|| is_last.then(|| head_at(latest)).flatten());
        head.map(|head| self.clash(rank, self.number, self.call, head))
    }

    #[cold]
    fn clash(&self, rank: usize, number: u64, mine: Mark, head: u64) -> Clash {
        let theirs = if head & MEETS == 0 { head & BYTES } else { ANY_BYTES };
        Clash { number, rank, mine, theirs: called(head), bytes: [self.bytes, theirs] }
    }

    /// Goes, for a reader that waits, to the record of `rank` if it stands elsewhere than where it
    /// is looked for. This happens when `rank` failed in a collective whose record this member
    /// passed without reading, or published one of another length.
    #[cold]
    pub(crate) fn seek(&mut self, words: &impl Words, rank: usize, shape: Shape) {
        self.search(words, rank, self.expected(rank, shape));
    }

    /// Returns whether `rank` has entered this quarter.
    #[cold]
    fn follow(&mut self, words: &impl Words, rank: usize, quarter: u64) -> bool {
        self.entered[rank] = words.entered(rank) + QUARTERS - 1;
        self.entered[rank] >= quarter
    }

    /// Goes past a record.
    #[inline]
    pub(crate) fn pass(&mut self, rank: usize, shape: Shape) {
        let end = self.expected(rank, shape) + record_bytes(shape);
        if self.found_in == rank {
            self.found_in = usize::MAX;
        }
        self.crossed |= self.quarter(end) != self.quarter(self.next[rank]);
        self.next[rank] = end;
    }

    /// Ends a collective. True if others were told.
    #[inline]
    pub(crate) fn close(&mut self, words: &impl Words) -> bool {
        if !std::mem::take(&mut self.crossed) {
            return false;
        }
        words.tell_closed(self.number);
        true
    }
}

/// The position of the record that comes next to `position`, without regard to the log's end.
#[inline]
fn begin(position: u64, shape: Shape) -> u64 {
    let position = position.next_multiple_of(granule(shape.packing));
    let line = LINE_BYTES as u64;
    let fits = position % line + record_bytes(shape) <= line;
    if fits { position } else { position.next_multiple_of(line) }
}

/// The bits of a head that describe the record and its writer's call.
#[inline]
fn described(shape: Shape, call: Mark) -> u64 {
    let tight = if shape.packing == Packing::Tight { TIGHT } else { 0 };
    let meets = if shape.meets { MEETS } else { 0 };
    debug_assert!(shape.bytes as u64 <= BYTES);
    shape.bytes as u64 | meets | u64::from(call.0) << CALL_AT | tight
}

/// The call of the writer of a head.
#[inline]
fn called(head: u64) -> Mark {
    Mark((head >> CALL_AT) as u16)
}

/// The number of a collective as heads state it: never 0.
#[inline]
fn stated(number: u64) -> u64 {
    (number.wrapping_sub(1) & ((1 << NUMBER_BITS) - 1)) + 1
}

#[inline]
fn granule(packing: Packing) -> u64 {
    match packing {
        Packing::Tight => 16,
        Packing::Lines => LINE_BYTES as u64,
    }
}

/// Bytes that a record takes.
#[inline]
fn record_bytes(shape: Shape) -> u64 {
    ((HEAD_BYTES + shape.bytes) as u64).next_multiple_of(granule(shape.packing))
}

#[cfg(test)]
mod tests;
