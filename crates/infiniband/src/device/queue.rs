//! How much work is under way on one queue pair.
//!
//! Most RDMA writes are unsignalled (paper 1, 4.3): the device says nothing when they are done. But the places that
//! they take in the send queue are free only when a later signalled piece of work has completed. So every so many
//! pieces, and in any case before the queue is full, one is signalled. Work on a queue pair completes in order.

use std::collections::VecDeque;

/// The account of one queue pair's send queue.
#[derive(Debug)]
pub struct SendQueue {
    /// Places.
    places: u32,
    /// One in so many is signalled.
    every: u32,
    /// Pieces posted ever, wrapping.
    posted: u32,
    /// Of these, so many are known to be done.
    done: u32,
    /// How many had been posted with each signalled piece that is under way, oldest first.
    signalled: VecDeque<u32>,
    /// `posted` at the last signalled piece.
    signalled_at: u32,
}

impl SendQueue {
    /// A queue of so many places, in which one in `every` pieces is signalled.
    pub fn new(places: u32, every: u32) -> SendQueue {
        let every = every.clamp(1, (places / 2).max(1));
        SendQueue { places, every, posted: 0, done: 0, signalled: VecDeque::new(), signalled_at: 0 }
    }

    /// Whether so many more pieces have room.
    #[inline]
    pub fn has_room(&self, pieces: u32) -> bool {
        self.posted.wrapping_sub(self.done) + pieces <= self.places
    }

    /// Pieces that have room.
    #[inline]
    pub fn free(&self) -> u32 {
        self.places.saturating_sub(self.posted.wrapping_sub(self.done))
    }

    /// Whether more than half of the places are taken, as far as completions were looked at.
    #[inline]
    pub fn is_filling(&self) -> bool {
        2 * self.posted.wrapping_sub(self.done) > self.places
    }

    /// Whether a completion is to come.
    pub fn is_awaited(&self) -> bool {
        !self.signalled.is_empty()
    }

    /// Whether the next piece must be signalled.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due_by(1)
    }

    /// Whether the last of so many more pieces must be signalled, if none before is.
    #[inline]
    pub fn is_due_by(&self, pieces: u32) -> bool {
        self.posted.wrapping_sub(self.signalled_at) + pieces >= self.every
    }

    /// A piece was posted.
    #[inline]
    pub fn posted(&mut self, signalled: bool) {
        self.posted = self.posted.wrapping_add(1);
        if signalled {
            self.signalled_at = self.posted;
            self.signalled.push_back(self.posted);
        }
    }

    /// A signalled piece has completed, the oldest one, and all before it.
    #[inline]
    pub fn completed(&mut self) {
        if let Some(upto) = self.signalled.pop_front() {
            self.done = upto;
        }
    }

    /// The number of the last piece posted, to ask [`SendQueue::is_done`] with.
    pub fn mark(&self) -> u32 {
        self.posted
    }

    /// Pieces known to be done, wrapping.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Whether the piece with this number, and all before it, are done.
    pub fn is_done(&self, mark: u32) -> bool {
        self.done.wrapping_sub(mark) as i32 >= 0
    }

    /// Whether everything posted is done.
    pub fn is_idle(&self) -> bool {
        self.posted == self.done
    }

    /// Whether work is under way of which nothing will be heard unless something signalled follows.
    pub fn is_unheard(&self) -> bool {
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
