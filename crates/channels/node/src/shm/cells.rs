//! Cells: memory for messages of some kilobytes, which changes owner.
//!
//! A ring suits packets of a few lines. From some kilobytes on its lines cost: the sender writes
//! into lines that the receiver's core has read last, and each has to be called back (8 ns a line
//! near, 28 far, measured on Zen 4). Lines that the sender itself received last cost a quarter of
//! that. So a long message goes in a **cell**, and the ring carries a note of one line that says in
//! which. With the note the cell is the receiver's, who keeps it and answers in it:
//!
//! 1. **Hot.** A receiver keeps the cells that it has read, the newest on top, and sends from the
//!    top first, with plain stores. Above a limit the oldest goes back to its home.
//! 2. **Cold.** Each cell has a home, the rank whose slice it lies in. A sender without a hot cell
//!    takes the next of its slice in turn: always the one that was longest away from its core, over
//!    more memory than the second-level cache holds. How it writes there follows from what that
//!    costs just now ([`stores`]): it changes within seconds.
//! 3. **Two sizes.** Short messages have cells of their own. Otherwise a short answer would make a
//!    large cell hot though the peer has read few of its lines, and short messages would touch too
//!    little memory in a stream.
//! 4. **Overlap.** A message of several chunks is announced when the first is there. The sender
//!    counts in the cell's own line how much is; the receiver copies out behind it.
//!
//! Nothing waits for a cell. If none is free the message goes as it would without cells: through
//! the ring, or announced by the engine. So cells that a busy or dead rank holds delay nobody, and
//! a cell is never waited for in a circle. Every cell has one owner, by a word in its line that
//! only the owner writes ([`owners`], where loom tries the interleavings); the home takes back what
//! a process holds that has ended.
//!
//! Slices are address space in the node's segment: pages are reserved when a cell is first used. A
//! slice has a third of its bytes in small cells, the rest in large ones ([`super::cell_layout`]).

mod owners;
mod stores;

use super::cell_layout::{self, CellLine, Size, hot_max};
use super::control::Control;
use super::note::Note;
use owners::Owner;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stores::StoreCosts;
use verbena_channel::CellCounts;
use verbena_machine::alive::WatchedProcess;
use verbena_machine::node;
use verbena_memory::copy::Stores;
use verbena_memory::{LINE_BYTES, Region};

/// Cold cells that are looked at for one that is free.
const LOOKS_MAX: u32 = 16;

/// After so often that none was free, the home looks for owners that have ended.
const SHORTAGES_BEFORE_SEARCH: u32 = 1024;

/// A cell that this process owns and may fill.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) number: u32,
    /// The cell's memory.
    pub(super) memory: Region,
    /// The way to write it.
    pub(super) stores: Stores,
    /// The time that the copy takes is of interest.
    pub(super) is_timed: bool,
}

/// The cells as one process sees them, for all its rings.
#[derive(Debug)]
pub(super) struct Cells {
    control: Arc<Control>,
    me: u32,
    /// The shortest and the longest message that go in cells.
    bytes_min: usize,
    bytes_max: usize,
    /// True if copying in and out overlap: both sides run at the same time.
    pub(super) overlaps: bool,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    sizes: [OfSize; 2],
    counts: CellCounts,
    shortages: u32,
    /// No page is left for further cells.
    is_out_of_pages: bool,
}

#[derive(Debug)]
struct OfSize {
    /// Cells that were read and are this process's, the newest at the back.
    hot: VecDeque<u32>,
    hot_max: usize,
    /// Cells of the own slice that have pages.
    grown: u32,
    /// The place in the own slice where the next cold cell is looked for.
    next: u32,
    costs: StoreCosts,
}

impl Cells {
    /// The cells of rank `me`. `overlaps` says that sender and receiver run at the same time.
    pub(super) fn new(control: &Arc<Control>, me: u32, overlaps: bool) -> Cells {
        let measures = control.measures();
        let of_size = |size| OfSize {
            hot: VecDeque::new(),
            hot_max: hot_max(measures.cells.count(size), measures.ranks),
            grown: 0,
            next: 0,
            costs: StoreCosts::set(),
        };
        let (bytes_min, bytes_max) = cell_layout::message_bytes(measures.cells);
        Cells {
            control: control.clone(),
            me,
            bytes_min,
            bytes_max,
            overlaps,
            kept: Mutex::new(Kept {
                sizes: Size::ALL.map(of_size),
                counts: CellCounts::default(),
                shortages: 0,
                is_out_of_pages: false,
            }),
        }
    }

    /// The longest message that goes in a cell; 0 if there are none.
    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns whether a message of this length goes in a cell if one is free.
    #[inline]
    pub(super) fn serves(&self, bytes: usize) -> bool {
        (self.bytes_min..=self.bytes_max).contains(&bytes)
    }

    /// Takes a cell for a message of this length, which they serve; `None` if none is free. One
    /// for a message that is not `contiguous` is written plainly, as packing does.
    pub(super) fn take(&self, bytes: usize, contiguous: bool) -> Option<Taken> {
        let size = Size::of_message(bytes);
        let mut kept = self.lock();
        let kept = &mut *kept;
        if let Some(number) = kept.sizes[size as usize].hot.pop_back() {
            kept.counts.hot += 1;
            let memory = self.memory(number)?;
            return Some(Taken { number, memory, stores: Stores::Ordinary, is_timed: false });
        }
        let number = self.take_cold(kept, size)?;
        let memory = self.memory(number)?;
        let (stores, is_timed) = match contiguous {
            true => kept.sizes[size as usize].costs.choose(),
            false => (Stores::Ordinary, false),
        };
        match stores {
            Stores::Ordinary => kept.counts.cold += 1,
            Stores::NonTemporal => kept.counts.non_temporal += 1,
        }
        Some(Taken { number, memory, stores, is_timed })
    }

    fn take_cold(&self, kept: &mut Kept, size: Size) -> Option<u32> {
        let measures = self.control.measures().cells;
        let of_size = &mut kept.sizes[size as usize];
        if of_size.grown < measures.count(size) && !kept.is_out_of_pages {
            let number = measures.number(self.me, size, of_size.grown);
            match self.reserve(number, of_size.grown == 0) {
                // Its line is zero: it is free.
                Ok(()) => {
                    of_size.grown += 1;
                    self.line(number)?.owner.take(self.me);
                    return Some(number);
                }
                // Messages go without further cells from now on.
                Err(_) => kept.is_out_of_pages = true,
            }
        }
        let of_size = &mut kept.sizes[size as usize];
        for _ in 0..LOOKS_MAX.min(of_size.grown) {
            let number = measures.number(self.me, size, of_size.next);
            of_size.next = (of_size.next + 1) % of_size.grown;
            if self.line(number)?.owner.is_free() {
                self.line(number)?.owner.take(self.me);
                return Some(number);
            }
        }
        kept.counts.none_free += 1;
        kept.shortages += 1;
        if kept.shortages == SHORTAGES_BEFORE_SEARCH {
            kept.shortages = 0;
            self.take_back_from_ended(kept);
        }
        None
    }

    /// Reserves the pages of a cell of this rank, and before its first one those of the lines.
    fn reserve(&self, number: u32, is_first: bool) -> std::io::Result<()> {
        let (measures, segment) = (self.control.measures(), self.control.segment());
        if is_first {
            let (at, len) = measures.cells.lines_of(self.me);
            segment.reserve(measures.cells_at() + at, len)?;
        }
        let cell = measures.cells.cell_at(number, measures.ranks);
        let (at, len) = cell.ok_or(std::io::ErrorKind::InvalidInput)?;
        segment.reserve(measures.cells_at() + at, len)
    }

    /// Hands a filled cell, or one that is being filled, to the receiver: from the note on it is
    /// the receiver's. To be called before the note is published.
    #[inline]
    pub(super) fn hand_over(&self, number: u32, to: u32, bytes: usize, ready: usize) -> Option<&CellLine> {
        let line = self.line(number)?;
        line.begin(bytes, ready);
        line.owner.hand_over(to);
        Some(line)
    }

    /// Notes the time that a timed copy of this length took.
    pub(super) fn note_time(&self, bytes: usize, ns: u64) {
        let lines = bytes.div_ceil(LINE_BYTES) as u64;
        self.lock().sizes[Size::of_message(bytes) as usize].costs.note(lines, ns);
    }

    /// The cell that a note names, with its line; `None` if that is not this rank's, or the note
    /// says what no sender writes.
    #[inline]
    pub(super) fn noted(&self, note: Note) -> Option<(Region, &CellLine)> {
        let line = self.line(note.number)?;
        let memory = self.memory(note.number)?;
        let sound = line.owner.is_of(self.me) && note.bytes <= memory.len() && note.ready <= note.bytes;
        sound.then(|| (memory.part(0, note.bytes), line))
    }

    /// Keeps a cell whose message was read.
    #[inline]
    pub(super) fn keep(&self, number: u32) {
        let size = self.control.measures().cells.size_of(number);
        let mut kept = self.lock();
        let of_size = &mut kept.sizes[size as usize];
        of_size.hot.push_back(number);
        if of_size.hot.len() > of_size.hot_max
            && let Some(oldest) = of_size.hot.pop_front()
        {
            self.give_back(oldest);
        }
    }

    fn give_back(&self, number: u32) {
        if let Some(line) = self.line(number) {
            line.owner.give_back();
        }
    }

    /// The cells of the own slice that a process holds which has ended are free again. The owners
    /// are read when it is known who has ended: such a process has handed on what it meant to. A
    /// cell that a third one may still be filling stays lost.
    #[cold]
    fn take_back_from_ended(&self, kept: &mut Kept) {
        let measures = self.control.measures();
        let has_ended = |rank| rank != self.me && has_ended(&self.control, rank);
        let ended: Vec<bool> = (0..measures.ranks).map(has_ended).collect();
        if !ended.contains(&true) {
            return;
        }
        for size in Size::ALL {
            for index in 0..kept.sizes[size as usize].grown {
                let number = measures.cells.number(self.me, size, index);
                let Some(line) = self.line(number) else { continue };
                let holder = line.owner.rank().and_then(|rank| ended.get(rank as usize));
                if holder == Some(&true) && line.is_whole() {
                    line.owner.give_back();
                    kept.counts.taken_back += 1;
                }
            }
        }
    }

    /// The number of cells of the own slice that have pages.
    #[cfg(test)]
    pub(super) fn grown(&self, size: Size) -> u32 {
        self.lock().sizes[size as usize].grown
    }

    /// Counts of what was done.
    pub(super) fn counts(&self) -> CellCounts {
        self.lock().counts
    }

    /// Gives back what is kept: the process leaves, and its cells are of use to others.
    pub(super) fn leave(&self) {
        let mut kept = self.lock();
        let held: Vec<u32> = kept.sizes.iter_mut().flat_map(|of_size| of_size.hot.drain(..)).collect();
        held.into_iter().for_each(|number| self.give_back(number));
    }

    /// A finding for a user.
    pub(super) fn finding(&self) -> String {
        let (cells, kept) = (self.control.measures().cells, self.lock());
        if self.bytes_max == 0 {
            return "no cells: VERBENA_SHM_CELLS is 0, or memory is short".into();
        }
        let grown = Size::ALL.map(|size| kept.sizes[size as usize].grown as usize * size.bytes());
        format!(
            "cells for messages of {} to {} bytes: {} bytes for each rank at most, {} in use; small ones: {}; large ones: {}",
            self.bytes_min,
            self.bytes_max,
            cells.bytes(),
            grown.iter().sum::<usize>(),
            kept.sizes[0].costs,
            kept.sizes[1].costs,
        )
    }

    #[inline]
    fn line(&self, number: u32) -> Option<&CellLine> {
        self.control.cell_line(number)
    }

    #[inline]
    fn memory(&self, number: u32) -> Option<Region> {
        self.control.cell_memory(number)
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process that leaves keeps no cell of others.
impl Drop for Cells {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Tells the others which process this rank is, by which they see that it has ended.
pub(super) fn introduce(control: &Control, me: u32) {
    let namespace = node::namespace("pid") as u32;
    control.words(me).introduce(std::process::id(), namespace);
}

/// Returns whether the process of this rank is known to have ended. Of a process in another pid
/// namespace nothing is known.
fn has_ended(control: &Control, rank: u32) -> bool {
    process_of(control, rank).is_some_and(|process| process.has_ended())
}

/// Returns whether the process of this rank is known to live.
pub(super) fn lives(control: &Control, rank: u32) -> bool {
    process_of(control, rank).is_some_and(|process| !process.has_ended())
}

/// The process of this rank, if the system tells of it here.
fn process_of(control: &Control, rank: u32) -> Option<WatchedProcess> {
    let (pid, namespace) = control.words(rank).process();
    if pid == 0 || namespace == 0 || namespace != node::namespace("pid") as u32 {
        return None;
    }
    WatchedProcess::new(pid).ok()
}
