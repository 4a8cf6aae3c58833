//! The schedule of a collective: the actions of one rank, as a list of steps. (The representation
//! follows T. Hoefler, A. Lumsdaine, W. Rehm: Implementation and performance analysis of
//! non-blocking collective operations for MPI, SC 2007.)

use super::board::SharedBoard;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_memory::scratch::Scratch;
use verbena_memory::{Buffer, Region};

/// A step. Steps are begun in order. Sends and receives go on while later steps are begun, until a
/// step waits for them.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends `buffer`; the receiver matches `source`.
    Send {
        /// The process that it goes to.
        peer: Peer,
        /// The source that the receiver matches.
        source: i32,
        /// The bytes.
        buffer: Buffer,
    },
    /// Receives into `buffer` from `source`.
    Receive {
        /// The process that it comes from: if it is given up, the receive fails.
        peer: Peer,
        /// The source that the sender states.
        source: i32,
        /// The place of the bytes.
        buffer: Buffer,
    },
    /// Copies packed bytes within the process.
    Copy {
        /// The bytes.
        from: Buffer,
        /// The place where they go.
        to: Buffer,
    },
    /// Computes `out = left op right`, elementwise. `out` may be `left` or `right`; if it is
    /// `left`, `right` may be overwritten too.
    Combine {
        /// Origins of the left operands.
        left: Region,
        /// Origins of the right operands.
        right: Region,
        /// Origins of the results.
        out: Region,
        /// Number of elements.
        count: usize,
    },
    /// Waits for the send or receive with this index.
    Await(u32),
    /// Waits for all sends and receives before it.
    Fence,
    /// Counts one more post of this member on the board: what was copied or combined before is
    /// ready.
    Post,
    /// Waits until a member of the board has made this post.
    Expect {
        /// The rank of the member.
        rank: usize,
        /// The number of the post.
        posts: u64,
    },
    /// Waits until the other members of the board have read what stands in its slots.
    Vacate,
}

/// The index of a step.
pub type StepId = u32;

/// A list of steps and the temporary memory that they use.
#[derive(Default)]
pub struct Schedule {
    steps: Vec<Step>,
    scratch: Scratch,
    /// Set if a send or receive was added after the last fence.
    open: bool,
    /// The board that posts and expectations mean.
    board: Option<SharedBoard>,
    /// The sorts of the blocks that are sent and received, if they may differ from each other: one
    /// for each block, or one for all.
    sorts: [Vec<u16>; 2],
    /// The sorts of the elements of the first steps; 0 for any.
    by_step: Vec<u16>,
    /// The bytes of which all ranks give as many, if that was told.
    common_bytes: Option<usize>,
}

impl Schedule {
    /// The steps.
    #[inline]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Makes the schedule empty. No operation on its memory may be under way.
    #[inline]
    pub fn clear(&mut self) {
        self.steps.clear();
        self.scratch.clear();
        self.open = false;
        self.board = None;
        self.by_step.clear();
        self.common_bytes = None;
        self.sorts.iter_mut().for_each(Vec::clear);
    }

    /// Says which sorts ([`crate::datatype::sort`]) the blocks have that are sent, and those that
    /// are received: one for each block, or one for all.
    pub fn tell_elements(&mut self, sent: Vec<u16>, received: Vec<u16>) {
        self.sorts = [sent, received];
    }

    /// Says that `step` sends or receives block `i`.
    pub fn tell_block(&mut self, step: StepId, i: usize) {
        let place = usize::from(matches!(self.steps[step as usize], Step::Receive { .. }));
        let sorts = &self.sorts[place];
        if let Some(&sort) = sorts.get(i).or(sorts.first()) {
            self.by_step.resize(step as usize, 0);
            self.by_step.push(sort);
        }
    }

    /// The sort of the elements of a step; 0 if it was not told.
    #[inline]
    pub(super) fn sort(&self, step: usize) -> u16 {
        self.by_step.get(step).copied().unwrap_or(0)
    }

    /// Says of how many bytes all ranks must give as many.
    #[inline]
    pub fn tell_bytes(&mut self, bytes: usize) {
        self.common_bytes = Some(bytes);
    }

    /// The number that was told by [`Schedule::tell_bytes`].
    #[inline]
    pub fn common_bytes(&self) -> Option<usize> {
        self.common_bytes
    }

    /// Lets steps use this board.
    #[inline]
    pub fn lend(&mut self, board: &SharedBoard) {
        self.board = Some(board.clone());
    }

    /// The board, if one was lent.
    #[inline]
    pub fn board(&self) -> Option<&SharedBoard> {
        self.board.as_ref()
    }

    /// Says on the board that what was copied or combined before is ready.
    #[inline]
    pub fn post(&mut self) {
        self.push(Step::Post);
    }

    /// Waits until `rank` has made the post of this number.
    #[inline]
    pub fn expect(&mut self, rank: usize, posts: u64) {
        self.push(Step::Expect { rank, posts });
    }

    /// Waits until nobody reads what stands in the board's slots.
    #[inline]
    pub fn vacate(&mut self) {
        self.push(Step::Vacate);
    }

    /// Gives up temporary memory that may still be written to.
    pub fn leak_scratch(&mut self) {
        self.scratch.leak();
    }

    /// Adds a send.
    #[inline]
    pub fn send(&mut self, peer: Peer, source: i32, buffer: Buffer) -> StepId {
        self.open = true;
        self.push(Step::Send { peer, source, buffer })
    }

    /// Adds a receive.
    #[inline]
    pub fn receive(&mut self, peer: Peer, source: i32, buffer: Buffer) -> StepId {
        self.open = true;
        self.push(Step::Receive { peer, source, buffer })
    }

    /// Adds a copy, unless there is nothing to copy.
    #[inline]
    pub fn copy(&mut self, from: Buffer, to: Buffer) {
        if !from.is_empty() {
            self.push(Step::Copy { from, to });
        }
    }

    /// Adds `out = left op right` for `count` elements, see [`Step::Combine`].
    #[inline]
    pub fn combine(&mut self, left: Elements<'_>, right: Elements<'_>, out: Elements<'_>, count: usize) {
        if count > 0 {
            let [left, right, out] = [left, right, out].map(|e| e.origins(count));
            self.push(Step::Combine { left, right, out, count });
        }
    }

    /// Waits for one send or receive.
    #[inline]
    pub fn wait_for(&mut self, step: StepId) {
        self.push(Step::Await(step));
    }

    /// Waits for all that was begun.
    #[inline]
    pub fn fence(&mut self) {
        if self.open {
            self.open = false;
            self.push(Step::Fence);
        }
    }

    /// Temporary memory for packed bytes.
    #[inline]
    pub fn temporary(&mut self, bytes: usize) -> Region {
        self.scratch.take(bytes)
    }

    /// Temporary elements.
    #[inline]
    pub fn temporary_elements<'e>(&mut self, layout: &'e Arc<Layout>, count: usize) -> Elements<'e> {
        Elements::in_scratch(&mut self.scratch, layout, count)
    }

    /// Makes a post.
    #[inline]
    pub(super) fn make_post(&self) {
        self.board.as_ref().expect("a schedule with posts has a board").lock().post();
    }

    /// Returns whether `rank` has made this post.
    #[inline]
    pub(super) fn has_posted(&self, rank: usize, post: u64) -> bool {
        self.board.as_ref().is_some_and(|board| board.lock().has_posted(rank, post))
    }

    /// Returns whether nobody reads what stands in the board's slots.
    #[inline]
    pub(super) fn is_vacant(&self) -> bool {
        self.board.as_ref().is_some_and(|board| board.lock().all_is_read())
    }

    #[inline]
    fn push(&mut self, step: Step) -> StepId {
        self.steps.push(step);
        self.steps.len() as StepId - 1
    }
}
