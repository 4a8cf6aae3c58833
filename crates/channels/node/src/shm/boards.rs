//! Boards in the node's segment: who gets which, and when its memory is given back.
//!
//! A ticket is the number of a board and the number of its members. A board's pages are reserved
//! when it is made. Each member gives up its side when the communicator is freed; the last one
//! gives the pages back, which also makes them zero for the next board there. If a process is
//! killed the job ends, and the segment with it.

use super::control::{BOARD_HEAD_BYTES, Control, board_bytes};
use crate::board::mapped::{Backing, MappedBoard};
use crate::board::memory::Measures;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};
use verbena_channel::Peer;
use verbena_channel::board::{Board, Boards};
use verbena_waiting::bell::Bell;

/// The boards of a node as one process sees them.
#[derive(Debug)]
pub(super) struct NodeBoards {
    pub(super) control: Arc<Control>,
    /// The ranks of the node as processes of the job.
    pub(super) peers: Vec<Peer>,
    /// True if the kernel refused `membarrier`: then this process fences after each packet
    /// (`waiting`, `bell.rs`).
    pub(super) fence_always: bool,
}

impl NodeBoards {
    fn rank_on_node(&self, peer: Peer) -> Option<u32> {
        self.peers.binary_search(&peer).ok().map(|rank| rank as u32)
    }

    /// The bells of the other members.
    fn bells(&self, members: &[Peer], me: usize) -> Option<Vec<NonNull<Bell>>> {
        let others = members.iter().enumerate().filter(|&(rank, _)| rank != me);
        others
            .map(|(_, &peer)| Some(NonNull::from(&self.control.words(self.rank_on_node(peer)?).bell)))
            .collect()
    }
}

impl Boards for NodeBoards {
    fn unites(&self, members: &[Peer]) -> bool {
        members.len() >= 2 && members.iter().all(|&peer| self.rank_on_node(peer).is_some())
    }

    fn make(&self, members: usize) -> Option<u64> {
        if !verbena_settings::BOARDS.get() {
            return None;
        }
        let board = self.control.take_board()?;
        match self.control.segment().reserve(self.control.board_at(board), board_bytes(members)) {
            Ok(()) => Some((members as u64) << 32 | u64::from(board)),
            Err(_) => {
                self.control.give_board(board);
                None
            }
        }
    }

    fn open(&self, ticket: u64, members: &[Peer], me: usize) -> Option<Box<dyn Board>> {
        let board = ticket as u32;
        if ticket >> 32 != members.len() as u64 || board >= self.control.measures().boards {
            return None;
        }
        let at = self.control.board_at(board);
        let head = self.control.segment().at(at, board_bytes(members.len()))?;
        let backing = SegmentBacking {
            control: self.control.clone(),
            board,
            members: members.len() as u32,
            bells: self.bells(members, me)?,
            fence_always: self.fence_always,
        };
        // SAFETY: a whole number of pages into the segment, within it by `at`. The backing holds
        // the segment. The ticket is this communicator's, and each of its members opens its own
        // side once.
        let board =
            unsafe { MappedBoard::new(head.add(BOARD_HEAD_BYTES), Measures::of(members.len()), me, backing) };
        Some(Box::new(board))
    }
}

/// Keeps the segment mapped for a board, and gives its pages back when the last side goes.
#[derive(Debug)]
struct SegmentBacking {
    control: Arc<Control>,
    board: u32,
    members: u32,
    /// The bells of the other members, in the segment.
    bells: Vec<NonNull<Bell>>,
    fence_always: bool,
}

// SAFETY: the bells are made of atomics and stay mapped with the control area that is held beside
// them.
unsafe impl Send for SegmentBacking {}

impl Backing for SegmentBacking {
    #[inline]
    fn wake(&self) {
        for bell in &self.bells {
            // SAFETY: see above.
            unsafe { bell.as_ref() }.notify(self.fence_always);
        }
    }
}

impl Drop for SegmentBacking {
    fn drop(&mut self) {
        let at = self.control.board_at(self.board);
        let Some(head) = self.control.segment().at(at, BOARD_HEAD_BYTES) else { return };
        // SAFETY: the first word of the board's own page, within the segment.
        let left = unsafe { head.cast::<AtomicU32>().as_ref() };
        if left.fetch_add(1, AcqRel) + 1 < self.members {
            return;
        }
        // Where pages cannot be given back they are not zero either: then the board is not used
        // again.
        if self.control.segment().release(at, board_bytes(self.members as usize)).is_ok() {
            self.control.give_board(self.board);
        }
    }
}
