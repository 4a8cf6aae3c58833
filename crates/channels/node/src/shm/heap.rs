//! The heap of a node: shared memory for windows, which every rank has mapped as a whole.
//!
//! The heap is sparse memory of its own, made and handed over with the segment and like that
//! without a name. Each rank owns a slice of its address space and allocates from there alone, so
//! that no state of the allocator is shared ([`extents`]). A slice is as large as the machine's
//! memory, or as limits allow ([`slices`]).
//!
//! The mapping is closed: nothing can be touched outside of blocks, neither by a wild pointer nor
//! by a call that takes whatever is mapped (`mlockall`, a core dump). A block is opened in its
//! owner when it is made and in others when they first ask for it ([`opened`]), and closed in its
//! owner when it is given back. The pages beside a block that the program uses stay closed. The
//! pages are reserved before they are used and given back to the machine, but for a few single
//! pages ([`spares`]): programs make small windows again and again.

mod extents;
mod faults;
mod opened;
mod slices;
mod spares;

use super::cells;
use super::control::Control;
use super::segment::Segment;
use extents::Extents;
use opened::Opened;
use slices::{Bounds, SLICE_BYTES_MIN, page_bytes};
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verbena_channel::Peer;
use verbena_channel::heap::{Block, Heap, Lender, Ticket};
use verbena_fault::{Fault, size};
use verbena_machine::headroom::{self, Headroom};
use verbena_memory::Region;

/// From this size on it is compared with what is free before pages are taken. That costs some ten
/// microseconds, and shorter blocks fail as any memory of a program does.
const CHECKED_BYTES_MIN: u64 = 1 << 20;

/// The bytes that are reserved at a time, and are no longer announced to the others then.
const PIECE_BYTES: usize = 16 << 20;

/// The most blocks of all ranks between closed pages. Each is a range of its own to the kernel,
/// which keeps some 65,000 apart (`vm.max_map_count`).
pub(super) const GUARDED_MAX: usize = 8192;

/// Makes the heap for `ranks` ranks of this node; the descriptor is for the others. Else says why
/// there is none.
pub(super) fn create(ranks: u32) -> Result<(Segment, OwnedFd), String> {
    if !verbena_settings::WINDOW_HEAP.get() {
        return Err("VERBENA_WINDOW_HEAP is 0".into());
    }
    if ranks < 2 {
        return Err("no other rank is on this node".into());
    }
    let bounds = Bounds::here();
    let mut slice = bounds.slice_bytes(ranks).ok_or_else(|| format!("limits forbid it ({bounds})"))?;
    loop {
        match Segment::create_closed(c"verbena-heap", (slice * u64::from(ranks)) as usize) {
            Ok(made) => return Ok(made),
            // Some processors, and Valgrind, have less address space. Other ranks may have less
            // of it free than this one.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) && slice >= 4 * SLICE_BYTES_MIN => {
                slice = slice / 4 / SLICE_BYTES_MIN * SLICE_BYTES_MIN;
            }
            Err(error) => return Err(format!("memory for it cannot be made: {error} ({bounds})")),
        }
    }
}

/// Maps the heap that another process made, or says why not.
pub(super) fn adopt(memory: OwnedFd) -> Result<Segment, String> {
    let bounds = Bounds::here();
    let mapped = Segment::adopt_closed(memory);
    let heap = mapped.map_err(|error| format!("it cannot be mapped: {error} ({bounds})"))?;
    // The process that made it may have had other limits.
    match bounds.addresses {
        Some(limit) if heap.len() as u64 > limit / 4 => {
            Err(format!("its {} bytes take too much of this process's addresses ({bounds})", heap.len()))
        }
        _ => Ok(heap),
    }
}

/// The heap as one process sees it.
#[derive(Debug)]
pub(super) struct NodeHeap {
    slice: Arc<Slice>,
}

impl NodeHeap {
    /// The heap in `memory`, for rank `me` of the node whose ranks are these processes of the job.
    pub(super) fn new(
        memory: Segment,
        control: &Arc<Control>,
        me: u32,
        peers: &[Peer],
        fence_always: bool,
    ) -> NodeHeap {
        let page = page_bytes();
        let bytes = memory.len() as u64 / peers.len() as u64 / page * page;
        let state = State { extents: Extents::new(bytes * u64::from(me), bytes), ..State::default() };
        let slice = Slice {
            memory,
            control: control.clone(),
            me,
            peers: peers.to_vec(),
            fence_always,
            bytes,
            page,
            owner: std::process::id(),
            state: Mutex::new(state),
        };
        NodeHeap { slice: Arc::new(slice) }
    }

    /// Bytes of a rank's slice.
    pub(super) fn slice_bytes(&self) -> u64 {
        self.slice.bytes
    }

    /// The finding for people: the bytes of a rank's slice, and what is free where that is less.
    pub(super) fn finding(&self, free: Headroom) -> String {
        finding(self.slice_bytes(), free)
    }

    fn claim_room(&self, bytes: usize, alignment: usize, is_guarded: bool) -> Result<Block, Fault> {
        let ticket = self.slice.claim(bytes as u64, alignment as u64, is_guarded)?;
        let region = self.slice.region(ticket).expect("a block lies in the heap");
        Ok(Block::new(region, ticket, self.slice.clone()))
    }

    fn allocate_room(&self, bytes: usize, alignment: usize, is_guarded: bool) -> Result<Block, Fault> {
        if let Some((region, ticket)) = self.slice.reuse(bytes as u64, alignment as u64, is_guarded) {
            return Ok(Block::new(region, ticket, self.slice.clone()));
        }
        let block = self.claim_room(bytes, alignment, is_guarded)?;
        block.touch(0, bytes)?;
        self.slice.note_allocated(block.ticket());
        Ok(block)
    }

    /// The address of the heap in this process.
    #[cfg(test)]
    pub(super) fn base(&self) -> u64 {
        self.slice.base()
    }

    /// The number of the descriptor, if it is kept.
    #[cfg(test)]
    pub(super) fn kept_descriptor(&self) -> Option<libc::c_int> {
        self.slice.memory.kept_descriptor()
    }
}

impl Heap for NodeHeap {
    fn unites(&self, peer: Peer) -> bool {
        self.slice.peers.binary_search(&peer).is_ok()
    }

    fn claim(&self, bytes: usize, alignment: usize) -> Result<Block, Fault> {
        self.claim_room(bytes, alignment, false)
    }

    fn claim_guarded(&self, bytes: usize, alignment: usize) -> Result<Block, Fault> {
        self.claim_room(bytes, alignment, true)
    }

    fn allocate_aligned(&self, bytes: usize, alignment: usize) -> Result<Block, Fault> {
        self.allocate_room(bytes, alignment, false)
    }

    fn allocate_guarded(&self, bytes: usize, alignment: usize) -> Result<Block, Fault> {
        self.allocate_room(bytes, alignment, true)
    }

    fn at(&self, ticket: Ticket) -> Option<Region> {
        self.slice.open(ticket)
    }

    fn touch(&self, ticket: Ticket) -> Result<Region, Fault> {
        self.slice.touch(ticket)
    }

    fn find(&self, address: u64, bytes: usize) -> Option<Ticket> {
        self.slice.find(address, bytes as u64)
    }

    fn covers(&self, address: u64) -> bool {
        self.slice.offset_of(address).is_some()
    }

    fn lives(&self, peer: Peer) -> bool {
        let rank = self.slice.peers.binary_search(&peer);
        rank.is_ok_and(|rank| cells::lives(&self.slice.control, rank as u32))
    }

    fn wake(&self, peer: Peer) {
        if let Ok(rank) = self.slice.peers.binary_search(&peer) {
            self.slice.control.words(rank as u32).bell.notify(self.slice.fence_always);
        }
    }
}

/// This process's slice, and the mapping of all.
#[derive(Debug)]
struct Slice {
    memory: Segment,
    control: Arc<Control>,
    me: u32,
    /// The ranks of the node as processes of the job.
    peers: Vec<Peer>,
    /// True if the kernel refused `membarrier`: then this process fences before it wakes others.
    fence_always: bool,
    /// Bytes of each slice.
    bytes: u64,
    /// Bytes of a page.
    page: u64,
    /// The system's number of this process.
    owner: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    extents: Extents,
    /// The blocks by their first byte.
    blocks: BTreeMap<u64, Taken>,
    /// Pages for the next short blocks, by their first byte, and whether the pages beside them are
    /// closed: zero, and open here.
    spares: Vec<(u64, bool)>,
    /// The number of blocks, and of such pages, between closed pages.
    guarded: usize,
    /// The pages of other ranks that are open here.
    opened: Opened,
    /// Bytes that the kernel would not take back, and its reason: they are not used again.
    lost: Option<(u64, String)>,
}

/// A block that is held.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Bytes as asked for.
    bytes: u64,
    /// True if this process has touched all pages.
    is_touched: bool,
    /// True if the pages beside it are closed and belong to it.
    is_guarded: bool,
}

impl Slice {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn base(&self) -> u64 {
        self.memory.at(0, 0).map_or(0, |base| base.as_ptr() as u64)
    }

    /// The offset of an address in the heap.
    fn offset_of(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.base()).filter(|&offset| offset < self.memory.len() as u64)
    }

    /// The whole pages that a block of `bytes` bytes takes, at least one.
    fn room(&self, bytes: u64) -> Option<u64> {
        bytes.max(1).checked_next_multiple_of(self.page)
    }

    /// The whole pages that hold some of this memory.
    fn pages(&self, ticket: Ticket) -> Option<Range<usize>> {
        let end = ticket.offset.checked_add(ticket.bytes)?.checked_next_multiple_of(self.page)?;
        let first = ticket.offset / self.page * self.page;
        (end <= self.memory.len() as u64).then_some(first as usize..end as usize)
    }

    fn region(&self, ticket: Ticket) -> Option<Region> {
        let at = self.memory.at(usize::try_from(ticket.offset).ok()?, usize::try_from(ticket.bytes).ok()?)?;
        // SAFETY: within the mapping, which lives as long as this does, and blocks hold this. The
        // users of a block agree on who writes when, and touch it first.
        Some(unsafe { Region::new(at.as_ptr(), ticket.bytes as usize) })
    }

    fn claim(&self, bytes: u64, alignment: u64, is_guarded: bool) -> Result<Ticket, Fault> {
        let alignment = alignment.max(self.page);
        let room = self.room(bytes).ok_or_else(|| self.no_room(bytes))?;
        let is_guarded = is_guarded && self.state().guarded < GUARDED_MAX / self.peers.len();
        let guard = self.guard_bytes(is_guarded);
        let whole = room.checked_add(2 * guard).ok_or_else(|| self.no_room(bytes))?;
        let take = || self.state().extents.take(whole, alignment, self.base() + guard);
        let taken = take().or_else(|| {
            self.give_back_spares();
            take()
        });
        let offset = taken.ok_or_else(|| self.no_room(bytes))? + guard;
        if let Err(error) = self.memory.open(offset as usize, room as usize, true) {
            let closed = self.memory.close(offset as usize, room as usize);
            self.take_back(offset - guard, whole, closed);
            return Err(self.no_range(bytes, &error));
        }
        let mut state = self.state();
        state.guarded += usize::from(is_guarded);
        state.blocks.insert(offset, Taken { bytes, is_touched: false, is_guarded });
        Ok(Ticket { offset, bytes })
    }

    /// Bytes on either side of a block that stay closed.
    fn guard_bytes(&self, is_guarded: bool) -> u64 {
        if is_guarded { self.page } else { 0 }
    }

    /// Makes an extent free again if the kernel took its pages.
    fn take_back(&self, offset: u64, room: u64, outcome: std::io::Result<()>) {
        let mut state = self.state();
        match outcome {
            Ok(()) => state.extents.give(offset, room),
            Err(error) => {
                let before = state.lost.as_ref().map_or(0, |lost| lost.0);
                state.lost = Some((before + room, error.to_string()));
            }
        }
    }

    /// Gives the pages of a block back to the machine, and makes them free again with the closed
    /// ones beside them.
    fn release(&self, offset: u64, room: u64, is_guarded: bool) {
        let (at, len, guard) = (offset as usize, room as usize, self.guard_bytes(is_guarded));
        let emptied = self.memory.release(at, len);
        self.state().guarded -= usize::from(is_guarded);
        self.take_back(offset - guard, room + 2 * guard, emptied.and(self.memory.close(at, len)));
    }

    /// The memory of a ticket, opened in this process.
    fn open(&self, ticket: Ticket) -> Option<Region> {
        let pages = self.pages(ticket)?;
        let range = pages.start as u64..pages.end as u64;
        if !self.is_open(&range) {
            self.memory.open(pages.start, pages.len(), false).ok()?;
            self.note_open(range);
        }
        self.region(ticket)
    }

    /// Returns whether these pages, those of a block of this rank or of others, are open already.
    fn is_open(&self, range: &Range<u64>) -> bool {
        let state = self.state();
        let block = state.blocks.range(..=range.start).next_back();
        let own = block.and_then(|(&at, taken)| Some(at + self.room(taken.bytes)?));
        own.is_some_and(|end| range.end <= end) || state.opened.has(range)
    }

    /// Notes that pages are open, if they lie in no block of this rank, which are closed again.
    fn note_open(&self, range: Range<u64>) {
        let own = self.bytes * u64::from(self.me)..self.bytes * (u64::from(self.me) + 1);
        if range.end <= own.start || range.start >= own.end {
            self.state().opened.add(range);
        }
    }

    fn find(&self, address: u64, bytes: u64) -> Option<Ticket> {
        let offset = self.offset_of(address)?;
        let (first, len) =
            self.state().blocks.range(..=offset).next_back().map(|(&at, taken)| (at, taken.bytes))?;
        Ticket { offset: first, bytes: len }.part(offset - first, bytes)
    }

    fn reserve(&self, ticket: Ticket) -> Result<Region, Fault> {
        let (region, pages) =
            self.open(ticket).zip(self.pages(ticket)).ok_or_else(|| self.outside(ticket))?;
        let bytes = pages.len() as u64;
        let mut announced = Announced::new(self.control.reserving(), bytes);
        if bytes >= CHECKED_BYTES_MIN {
            self.compare_with_free(ticket.bytes, bytes)?;
        }
        for at in pages.clone().step_by(PIECE_BYTES) {
            let piece = PIECE_BYTES.min(pages.end - at);
            self.memory.reserve(at, piece).map_err(|error| self.no_pages(ticket.bytes, &error))?;
            announced.pass(piece as u64);
        }
        Ok(region)
    }

    /// Refuses to take pages where they are not free: at a control group's limit the kernel would
    /// end a process instead.
    fn compare_with_free(&self, asked: u64, bytes: u64) -> Result<(), Fault> {
        let (free, wanted) = (headroom::bytes(), self.control.reserving().load(SeqCst));
        if wanted <= free { Ok(()) } else { Err(self.no_memory(asked, free, wanted.saturating_sub(bytes))) }
    }
}

fn finding(slice_bytes: u64, free: Headroom) -> String {
    let most = format!("heap for windows: {} for each rank at most", size(slice_bytes));
    match free {
        Headroom { bytes, .. } if bytes >= slice_bytes => most,
        Headroom { bytes, limit: Some(limit) } => {
            format!(
                "{most}, of the memory that is free: the control group (container) allows {} for all processes, {} \
                 are free now",
                size(limit),
                size(bytes)
            )
        }
        Headroom { bytes, limit: None } => {
            format!("{most}, of the memory that is free: {} now", size(bytes))
        }
    }
}

impl Lender for Slice {
    fn touch(&self, ticket: Ticket) -> Result<Region, Fault> {
        self.reserve(ticket)
    }

    fn give_back(&self, ticket: Ticket) {
        // A child after `fork` has the memory of its parent, and frees none of it.
        if std::process::id() != self.owner {
            return;
        }
        let Some(taken) = self.state().blocks.remove(&ticket.offset) else { return };
        let room = self.room(taken.bytes).expect("it was taken");
        let is_spare = taken.is_touched && room == self.page;
        if !(is_spare && self.spare(ticket.offset, taken.is_guarded)) {
            self.release(ticket.offset, room, taken.is_guarded);
        }
    }
}

/// Bytes that this process is about to take, as the other ranks of the node see them: all may
/// allocate at the same time, and what is free is free for one of them only.
struct Announced<'a> {
    word: &'a AtomicU64,
    bytes: u64,
}

impl Announced<'_> {
    fn new(word: &AtomicU64, bytes: u64) -> Announced<'_> {
        word.fetch_add(bytes, SeqCst);
        Announced { word, bytes }
    }

    /// Says that some of the bytes have been taken.
    fn pass(&mut self, bytes: u64) {
        self.word.fetch_sub(bytes, SeqCst);
        self.bytes -= bytes;
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.word.fetch_sub(self.bytes, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_told_where_it_is_less_than_the_slice() {
        let said = |bytes, limit| finding(1000, Headroom { bytes, limit });
        assert_eq!(said(2000, Some(3000)), "heap for windows: 1000 bytes for each rank at most");
        assert!(said(400, None).ends_with(" at most, of the memory that is free: 400 bytes now"));
        let within =
            ": the control group (container) allows 500 bytes for all processes, 400 bytes are free now";
        assert!(said(400, Some(500)).ends_with(within));
    }
}
