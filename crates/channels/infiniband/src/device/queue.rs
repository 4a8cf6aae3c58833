//! The account of the work under way on one queue pair.
//!
//! Most RDMA writes are unsignalled (paper 1, 4.3): the device says nothing when they are done. But
//! the places that they take in the send queue are free only when a later signalled piece of work
//! has completed. So one in every `n` pieces is signalled, and one in any case before the queue is
//! full. Work on a queue pair completes in order.

use std::collections::VecDeque;

/// The account of one queue pair's send queue.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// The number of places.
    places: u32,
    /// One in this many pieces is signalled.
    every: u32,
    /// The number of pieces ever posted, wrapping.
    posted: u32,
    /// The number of these known to be done.
    done: u32,
    /// The value of `posted` with each signalled piece that is under way, oldest first.
    signalled: VecDeque<u32>,
    /// `posted` at the last signalled piece.
    signalled_at: u32,
}

impl SendQueue {
    /// Makes a queue with `places` places, in which one in `every` pieces is signalled.
    pub(crate) fn new(places: u32, every: u32) -> SendQueue {
        let every = every.clamp(1, (places / 2).max(1));
        SendQueue { places, every, posted: 0, done: 0, signalled: VecDeque::new(), signalled_at: 0 }
    }

    /// Returns whether there is room for `pieces` more.
    #[inline]
    pub(crate) fn has_room(&self, pieces: u32) -> bool {
        self.posted.wrapping_sub(self.done) + pieces <= self.places
    }

    /// Returns how many pieces have room.
    #[inline]
    pub(crate) fn free(&self) -> u32 {
        self.places.saturating_sub(self.posted.wrapping_sub(self.done))
    }

    /// Returns whether more than half of the places are taken, by the completions seen so far.
    #[inline]
    pub(crate) fn is_filling(&self) -> bool {
        2 * self.posted.wrapping_sub(self.done) > self.places
    }

    /// Returns whether a completion is to come.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.signalled.is_empty()
    }

    /// Returns whether the next piece must be signalled.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due_by(1)
    }

    /// Returns whether the last of `pieces` more must be signalled, if none before is.
    #[inline]
    pub(crate) fn is_due_by(&self, pieces: u32) -> bool {
        self.posted.wrapping_sub(self.signalled_at) + pieces >= self.every
    }

    /// Notes that a piece was posted.
    #[inline]
    pub(crate) fn posted(&mut self, signalled: bool) {
        self.posted = self.posted.wrapping_add(1);
        if signalled {
            self.signalled_at = self.posted;
            self.signalled.push_back(self.posted);
        }
    }

    /// Notes that the oldest signalled piece has completed, and all before it.
    #[inline]
    pub(crate) fn completed(&mut self) {
        if let Some(upto) = self.signalled.pop_front() {
            self.done = upto;
        }
    }

    /// Returns the number of the last piece posted, for [`SendQueue::is_done`].
    pub(crate) fn mark(&self) -> u32 {
        self.posted
    }

    /// Returns how many pieces are known to be done, wrapping.
    pub(crate) fn done(&self) -> u32 {
        self.done
    }

    /// Returns whether the piece with this number, and all before it, are done.
    pub(crate) fn is_done(&self, mark: u32) -> bool {
        self.done.wrapping_sub(mark) as i32 >= 0
    }

    /// Returns whether everything posted is done.
    pub(crate) fn is_idle(&self) -> bool {
        self.posted == self.done
    }

    /// Returns whether work is under way that will not be heard of unless something signalled
    /// follows.
    pub(crate) fn is_unheard(&self) -> bool {
        self.posted != self.signalled_at && !self.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_never_fills_without_a_completion_to_come() {
        for (places, every) in [(1, 1), (2, 64), (7, 3), (128, 32), (16, 1000)] {
            let mut queue = SendQueue::new(places, every);
            for _ in 0..1000 {
                let mut under_way = 0;
                while queue.has_room(1) {
                    under_way += 1;
                    let due = queue.is_due();
                    queue.posted(due);
                }
                assert!(under_way <= places && !queue.signalled.is_empty(), "{places} places");
                queue.completed();
            }
        }
    }

    #[test]
    fn a_completion_stands_for_all_before_it() {
        let mut queue = SendQueue::new(10, 10);
        (0..4).for_each(|_| queue.posted(false));
        let early = queue.mark();
        queue.posted(true);
        queue.posted(false);
        assert!(!queue.is_done(early) && queue.is_unheard());
        queue.completed();
        assert!(queue.is_done(early) && !queue.is_idle());
    }
}
