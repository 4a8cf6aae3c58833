//! The control area at the start of the segment.
//!
//! | part | size | content |
//! | --- | --- | --- |
//! | head | 2 lines | what the segment is; where the next ring goes |
//! | words | 1 line for each rank | bell, number of incoming rings announced, where the rank is |
//! | tables | one word for each pair | for each receiver, by sender: offset of the ring, and log2 of its bytes in the low bits |
//! | pool | room for a ring between every two ranks | rings, each on its own pages |
//! | boards | what is left of them | boards, see `boards` |
//! | cells | a slice for each rank | cells, see `cells` |
//! | further engines | the same once more for each, smaller and without boards | where the ranks' threads have engines of their own |
//!
//! Ranks are counted on the node here (0 is the one that created the segment). A program gone wild
//! may have written anything here, so all is checked before use.

use super::cell_layout::{CellLine, CellMeasures};
use super::segment::{PAGE_BYTES, Segment};
use crate::board;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use verbena_memory::Region;
use verbena_waiting::bell::Bell;
use verbena_waiting::whereabouts::{ReportedPlace, Whereabouts};

const MAGIC: u64 = u64::from_le_bytes(*b"verbena1");

/// Bytes of a ring beyond its lines: the page of the consumer's position and of the divisions'
/// words.
pub(crate) const RING_EXTRA_BYTES: usize = PAGE_BYTES;

/// Log2 of the smallest ring's bytes.
pub(crate) const RING_LOG2_MIN: u32 = 12;

/// The measures of a segment, fixed when it is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measures {
    /// Ranks on the node.
    pub(crate) ranks: u32,
    /// Log2 of a ring's bytes.
    pub(crate) ring_log2: u32,
    /// The number of boards that there is room for, at most [`BOARDS_MAX`].
    pub(crate) boards: u32,
    /// The cells of each rank.
    pub(crate) cells: CellMeasures,
    /// The number of engines of each rank beside its first one.
    pub(crate) engines: u32,
}

/// The most engines of a rank beside its first one.
pub(crate) const ENGINES_MAX: u32 = 7;

/// The most boards of a segment: they are counted in the bits of a word.
pub(crate) const BOARDS_MAX: u32 = 64;

/// The bytes before each board: a page that counts the sides that were given up.
pub(super) const BOARD_HEAD_BYTES: usize = PAGE_BYTES;

/// The bytes in the segment of a board with this many members.
pub(super) fn board_bytes(members: usize) -> usize {
    BOARD_HEAD_BYTES + board::memory::Measures::of(members).bytes()
}

impl Measures {
    /// The bytes of the control area, whole pages.
    pub(crate) fn control_bytes(&self) -> usize {
        let ranks = self.ranks as usize;
        (size_of::<Head>() + ranks * size_of::<RankWords>() + ranks * ranks * 8).next_multiple_of(PAGE_BYTES)
    }

    /// The offset of the boards: behind room for a ring between every two ranks.
    pub(crate) fn boards_at(&self) -> usize {
        let ranks = self.ranks as usize;
        self.control_bytes() + ranks * (ranks - 1) * (RING_EXTRA_BYTES + (1 << self.ring_log2))
    }

    /// The bytes kept for each board, whatever its number of members.
    pub(crate) fn board_bytes(&self) -> usize {
        (2..=self.ranks as usize).map(board_bytes).max().unwrap_or(0)
    }

    /// The bytes of the whole segment.
    pub(crate) fn total_bytes(&self) -> usize {
        self.engine_at(self.engines + 1)
    }

    /// The bytes of the part that the first engines have.
    fn first_bytes(&self) -> usize {
        (self.cells_at() + self.ranks as usize * self.cells.slice_bytes()).next_multiple_of(PAGE_BYTES)
    }

    /// The measures of the part that further engines of one number have. Fewer messages go there,
    /// so the rings are a quarter as large.
    fn of_engine(&self) -> Measures {
        let ring_log2 = self.ring_log2.saturating_sub(2).max(RING_LOG2_MIN).min(self.ring_log2);
        Measures { ring_log2, boards: 0, engines: 0, ..*self }
    }

    /// The offset of the part of engines of this number, which counts from 1.
    fn engine_at(&self, number: u32) -> usize {
        match self.engines {
            0 => self.first_bytes(),
            _ => self.first_bytes() + (number as usize - 1) * self.of_engine().total_bytes(),
        }
    }

    /// The offset of the cells, whole pages.
    pub(crate) fn cells_at(&self) -> usize {
        (self.boards_at() + self.boards as usize * self.board_bytes()).next_multiple_of(PAGE_BYTES)
    }
}

#[repr(C, align(64))]
struct Head {
    magic: AtomicU64,
    secret: AtomicU64,
    ranks: AtomicU32,
    ring_log2: AtomicU32,
    boards: AtomicU32,
    /// Small and large cells of each rank.
    cells: [AtomicU32; 2],
    engines: AtomicU32,
    pool: Pool,
}

impl Head {
    fn cells(&self) -> CellMeasures {
        CellMeasures { small: self.cells[0].load(Relaxed), large: self.cells[1].load(Relaxed) }
    }
}

#[repr(C, align(64))]
struct Pool {
    /// The offset in the segment at which the next ring is made.
    next: AtomicU64,
    /// A bit for each board in use.
    boards: AtomicU64,
    /// Bytes of the heap that ranks are about to take.
    reserving: AtomicU64,
}

/// The line of one rank: its senders read it after every packet, and it is seldom written.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct RankWords {
    /// Wakes the rank when it sleeps.
    pub(crate) bell: Bell,
    /// The number of rings that were announced to the rank.
    pub(crate) announced: AtomicU32,
    /// The core where the rank was when it last waited for long, or where its progress thread was
    /// when it last woke: twice the core plus 1, and 1 more for the thread; 0 before that.
    place: AtomicU32,
    /// The rank's process, and the pid namespace in which it has that number; 0 if not known.
    process: [AtomicU32; 2],
}

impl RankWords {
    /// Tells the others which process the rank is.
    pub(crate) fn introduce(&self, pid: u32, namespace: u32) {
        self.process[0].store(pid, Relaxed);
        self.process[1].store(namespace, Relaxed);
    }

    /// The rank's process and its pid namespace; 0 for what is not known.
    pub(crate) fn process(&self) -> (u32, u32) {
        (self.process[0].load(Relaxed), self.process[1].load(Relaxed))
    }
}

/// The control area of a mapped segment.
#[derive(Debug)]
pub(crate) struct Control {
    segment: Segment,
    measures: Measures,
    /// The control area of the first engines, whose bells those of others ring too: a process
    /// sleeps at one bell.
    first: Option<Arc<Control>>,
}

impl Control {
    /// Writes the control areas of a new segment. Their pages are reserved first.
    pub(crate) fn create(segment: Segment, measures: Measures, secret: u64) -> std::io::Result<Arc<Control>> {
        let control = Arc::new(Control::begin(segment, measures, secret)?);
        for number in 1..=measures.engines {
            let part = control.part(number).ok_or(std::io::ErrorKind::InvalidInput)?;
            Control::begin(part, measures.of_engine(), secret)?;
        }
        Ok(control)
    }

    /// Writes one control area.
    fn begin(segment: Segment, measures: Measures, secret: u64) -> std::io::Result<Control> {
        segment.reserve(0, measures.control_bytes())?;
        let control = Control { segment, measures, first: None };
        let head = control.head();
        head.secret.store(secret, Relaxed);
        head.ranks.store(measures.ranks, Relaxed);
        head.ring_log2.store(measures.ring_log2, Relaxed);
        head.boards.store(measures.boards, Relaxed);
        head.cells[0].store(measures.cells.small, Relaxed);
        head.cells[1].store(measures.cells.large, Relaxed);
        head.engines.store(measures.engines, Relaxed);
        head.pool.next.store(measures.control_bytes() as u64, Relaxed);
        head.magic.store(MAGIC, Release);
        Ok(control)
    }

    /// The part of the segment for engines of this number, which counts from 1.
    fn part(&self, number: u32) -> Option<Segment> {
        let is_one = (1..=self.measures.engines).contains(&number);
        let bytes = self.measures.of_engine().total_bytes();
        self.segment.part(self.measures.engine_at(number), bytes).filter(|_| is_one)
    }

    /// The control area for the engines of this number, which counts from 1; `None` if there are
    /// none.
    pub(crate) fn of_engine(self: &Arc<Control>, number: u32) -> Option<Arc<Control>> {
        let secret = self.head().secret.load(Relaxed);
        let first = Some(self.clone());
        Control::read(self.part(number)?, self.measures.ranks, secret, first)
    }

    /// Reads the control area of a segment that another process made; `None` if it is not the one
    /// with this secret for this many ranks.
    pub(crate) fn adopt(segment: Segment, ranks: u32, secret: u64) -> Option<Arc<Control>> {
        Control::read(segment, ranks, secret, None)
    }

    fn read(segment: Segment, ranks: u32, secret: u64, first: Option<Arc<Control>>) -> Option<Arc<Control>> {
        segment.at(0, size_of::<Head>())?;
        let mut control = Control { segment, measures: Measures { ranks, ..Measures::default() }, first };
        let head = control.head();
        let (ring_log2, boards) = (head.ring_log2.load(Relaxed), head.boards.load(Relaxed));
        let engines = head.engines.load(Relaxed);
        let cells = head.cells();
        let told = head.magic.load(Acquire) == MAGIC
            && head.secret.load(Relaxed) == secret
            && head.ranks.load(Relaxed) == ranks
            && ring_log2 < 40
            && boards <= BOARDS_MAX
            && engines <= ENGINES_MAX
            && cells.is_sound();
        control.measures = Measures { ranks, ring_log2, boards, cells, engines };
        (told && control.segment.len() == control.measures.total_bytes()).then(|| Arc::new(control))
    }

    /// Returns whether a program has left alone what was written when the segment was made, and
    /// rank `me` was told of no more rings than there can be.
    pub(crate) fn is_sound(&self, me: u32) -> bool {
        let (head, Measures { ranks, ring_log2, boards, cells, engines }) = (self.head(), self.measures);
        head.magic.load(Relaxed) == MAGIC
            && head.ranks.load(Relaxed) == ranks
            && head.ring_log2.load(Relaxed) == ring_log2
            && head.boards.load(Relaxed) == boards
            && head.cells() == cells
            && head.engines.load(Relaxed) == engines
            && self.words(me).announced.load(Relaxed) < ranks
    }

    /// The measures of the segment.
    pub(crate) fn measures(&self) -> Measures {
        self.measures
    }

    /// The memory.
    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    fn head(&self) -> &Head {
        self.place(0)
    }

    /// The line of rank `rank` of this node.
    pub(crate) fn words(&self, rank: u32) -> &RankWords {
        assert!(rank < self.measures.ranks);
        self.place(size_of::<Head>() + rank as usize * size_of::<RankWords>())
    }

    /// The bell of a rank, whichever of its engines a message is for.
    pub(crate) fn bell(&self, rank: u32) -> &Bell {
        &self.first.as_deref().unwrap_or(self).words(rank).bell
    }

    /// The word that says where the ring from `sender` to `receiver` is.
    pub(crate) fn ring_word(&self, receiver: u32, sender: u32) -> &AtomicU64 {
        let ranks = self.measures.ranks as usize;
        assert!(receiver < self.measures.ranks && sender < self.measures.ranks);
        let index = receiver as usize * ranks + sender as usize;
        self.place(size_of::<Head>() + ranks * size_of::<RankWords>() + index * 8)
    }

    /// Takes room for a ring out of the pool and returns its offset; `None` if the pool is used up
    /// (only a program that wrote into the segment brings this about).
    pub(crate) fn take_ring(&self) -> Option<usize> {
        let bytes = RING_EXTRA_BYTES + (1 << self.measures.ring_log2);
        let offset = self.head().pool.next.fetch_add(bytes as u64, Relaxed) as usize;
        let sound = offset >= self.measures.control_bytes() && offset.is_multiple_of(PAGE_BYTES);
        (sound && self.segment.at(offset, bytes).is_some()).then_some(offset)
    }

    /// Takes a free board, or `None`.
    pub(crate) fn take_board(&self) -> Option<u32> {
        let taken = |bits: u64| {
            let free = bits.trailing_ones();
            (free < self.measures.boards).then(|| bits | 1 << free)
        };
        let before = self.head().pool.boards.fetch_update(AcqRel, Acquire, taken).ok()?;
        Some(before.trailing_ones())
    }

    /// Gives back a board, whose memory is zero.
    pub(crate) fn give_board(&self, board: u32) {
        self.head().pool.boards.fetch_and(!(1 << board), AcqRel);
    }

    /// The bytes of the heap that the ranks of the node are about to take, all together.
    pub(crate) fn reserving(&self) -> &AtomicU64 {
        &self.head().pool.reserving
    }

    /// Offset of a board in the segment.
    pub(crate) fn board_at(&self, board: u32) -> usize {
        assert!(board < self.measures.boards);
        self.measures.boards_at() + board as usize * self.measures.board_bytes()
    }

    /// The line of a cell; `None` if there is none of this number.
    #[inline]
    pub(crate) fn cell_line(&self, number: u32) -> Option<&CellLine> {
        let at = self.measures.cells.line_at(number, self.measures.ranks)?;
        Some(self.place(self.measures.cells_at() + at))
    }

    /// The memory of a cell; `None` if there is none of this number.
    #[inline]
    pub(crate) fn cell_memory(&self, number: u32) -> Option<Region> {
        let (at, len) = self.measures.cells.cell_at(number, self.measures.ranks)?;
        // SAFETY: within the mapping, which outlives what holds this; only the cell's owner touches
        // it.
        self.segment.at(self.measures.cells_at() + at, len).map(|at| unsafe { Region::new(at.as_ptr(), len) })
    }

    fn place<T>(&self, offset: usize) -> &T {
        let at = self.segment.at(offset, size_of::<T>()).expect("the control area lies within the segment");
        // SAFETY: within the mapping (checked), aligned by the layout above, and made of atomics
        // only, for which every bit pattern is valid and shared change is allowed.
        unsafe { at.cast::<T>().as_ref() }
    }
}

/// The words of a rank in a mapped segment, with its memory kept alive.
#[derive(Clone, Debug)]
pub(crate) struct MappedRankWords {
    /// The control area of its segment.
    pub(crate) control: Arc<Control>,
    /// The rank on the node.
    pub(crate) rank: u32,
}

impl AsRef<Bell> for MappedRankWords {
    fn as_ref(&self) -> &Bell {
        self.control.bell(self.rank)
    }
}

impl Whereabouts for MappedRankWords {
    fn report(&self, ReportedPlace { core, helper }: ReportedPlace) {
        let told = core.wrapping_add(1) << 1 | u32::from(helper);
        let word = &self.control.words(self.rank).place;
        // Every sender to this rank reads the line of its words.
        if word.load(Relaxed) != told {
            word.store(told, Relaxed);
        }
    }

    fn me(&self) -> u32 {
        self.rank
    }

    fn reported(&self) -> impl Iterator<Item = Option<ReportedPlace>> {
        let words = (0..self.control.measures.ranks).map(|rank| self.control.words(rank).place.load(Relaxed));
        words.map(|word| Some(ReportedPlace { core: (word >> 1).checked_sub(1)?, helper: word & 1 == 1 }))
    }

    fn awake(&self) -> u32 {
        let awake = |rank: &u32| !self.control.bell(*rank).is_raised();
        (0..self.control.measures.ranks).filter(awake).count() as u32
    }
}
