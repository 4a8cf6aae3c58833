//! The sending queue pairs, which take turns so that the device works on several datagrams at once
//! (paper 4, section 4 and figure 2), and the timer for local completion (4.2): one that completes
//! nothing is passed over.

use crate::device::queue::SendQueue;
use std::collections::VecDeque;

#[derive(Debug)]
struct Queue {
    account: SendQueue,
    /// The buffers that the device may still read, with the mark after which it has.
    reading: VecDeque<(u32, u32)>,
    /// The time since when a completion is awaited.
    since_ns: u64,
    /// True if it has completed nothing for too long.
    stuck: bool,
    /// True if it takes no work any more.
    dead: bool,
}

/// The sending queue pairs of a process.
#[derive(Debug)]
pub(super) struct Queues {
    list: Vec<Queue>,
    turn: usize,
    local_ns_max: u64,
    /// The datagrams that went through the first one.
    by_first: u64,
}

impl Queues {
    /// Makes `count` queue pairs of `places` places each; one in `every` posts is signalled, and a
    /// completion may take `local_ns_max`.
    pub(super) fn new(count: usize, places: u32, every: u32, local_ns_max: u64) -> Queues {
        let queue = || Queue {
            account: SendQueue::new(places, every),
            reading: VecDeque::new(),
            since_ns: 0,
            stuck: false,
            dead: false,
        };
        let list = std::iter::repeat_with(queue).take(count).collect();
        Queues { list, turn: 0, local_ns_max, by_first: 0 }
    }

    /// Chooses the queue pair whose turn it is, of those that have room.
    pub(super) fn choose(&mut self) -> Option<usize> {
        for _ in 0..self.list.len() {
            let at = self.turn;
            self.turn = if at + 1 == self.list.len() { 0 } else { at + 1 };
            let queue = &self.list[at];
            if !queue.dead && !queue.stuck && queue.account.has_room(1) {
                return Some(at);
            }
        }
        None
    }

    /// Returns whether all that work together have room for `pieces`.
    pub(super) fn has_room(&self, pieces: usize) -> bool {
        let free = |queue: &Queue| match queue.dead || queue.stuck {
            true => 0,
            false => queue.account.free() as usize,
        };
        self.list.iter().map(free).sum::<usize>() >= pieces
    }

    /// Returns the free places of this one.
    pub(super) fn free(&self, at: usize) -> usize {
        self.list[at].account.free() as usize
    }

    /// Returns whether the last of `posts` posts must be signalled.
    pub(super) fn is_due(&self, at: usize, posts: usize) -> bool {
        self.list[at].account.is_due_by(posts as u32)
    }

    /// Notes that a datagram was posted; `buffer` is what the device reads later, if it does.
    pub(super) fn posted(&mut self, at: usize, signalled: bool, buffer: Option<u32>, now_ns: u64) {
        self.by_first += u64::from(at == 0);
        let queue = &mut self.list[at];
        if signalled && !queue.account.is_awaited() {
            queue.since_ns = now_ns;
        }
        queue.account.posted(signalled);
        if let Some(buffer) = buffer {
            queue.reading.push_back((queue.account.mark(), buffer));
        }
    }

    /// Notes that the oldest signalled post is done; what the device has read goes to `done`.
    pub(super) fn completed(&mut self, at: usize, now_ns: u64, done: &mut Vec<u32>) {
        let queue = &mut self.list[at];
        queue.account.completed();
        queue.stuck = false;
        queue.since_ns = now_ns;
        while let Some((mark, buffer)) = queue.reading.front().copied()
            && queue.account.is_done(mark)
        {
            queue.reading.pop_front();
            done.push(buffer);
        }
    }

    /// Notes that it takes no work any more.
    pub(super) fn dies(&mut self, at: usize) {
        self.list[at].dead = true;
    }

    /// Looks for those that complete nothing.
    pub(super) fn look(&mut self, now_ns: u64) {
        for queue in &mut self.list {
            let waited_ns = now_ns.saturating_sub(queue.since_ns);
            queue.stuck = queue.account.is_awaited() && waited_ns > self.local_ns_max;
        }
    }

    /// Returns whether none is of use.
    pub(super) fn all_fail(&self) -> bool {
        self.list.iter().all(|queue| queue.dead || queue.stuck)
    }

    /// Returns whether a completion is awaited.
    pub(super) fn is_awaited(&self) -> bool {
        self.list.iter().any(|queue| queue.account.is_awaited())
    }

    /// Returns how many datagrams went through the first one: their share tells by how many pairs
    /// the work is shared.
    pub(super) fn by_first(&self) -> u64 {
        self.by_first
    }

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> usize {
        let of = |queue: &Queue| size_of::<Queue>() + queue.reading.capacity() * 8;
        self.list.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_take_turns_and_a_stuck_one_is_passed_over_until_it_completes() {
        let mut queues = Queues::new(3, 4, 1, 100);
        let mut order = Vec::new();
        for now_ns in 0..6 {
            let at = queues.choose().expect("room");
            queues.posted(at, true, Some(at as u32), now_ns);
            order.push(at);
        }
        assert_eq!((order, queues.by_first()), (vec![0, 1, 2, 0, 1, 2], 2));
        let mut done = Vec::new();
        for _ in 0..2 {
            queues.completed(0, 50, &mut done);
            queues.completed(2, 50, &mut done);
        }
        queues.look(102);
        assert_eq!(done, [0, 2, 0, 2]);
        assert_eq!([queues.choose(), queues.choose(), queues.choose()], [Some(0), Some(2), Some(0)]);
        assert!(!queues.all_fail() && queues.is_awaited());
        queues.completed(1, 103, &mut done);
        assert_eq!([queues.choose(), queues.choose()], [Some(1), Some(2)]);
    }

    #[test]
    fn all_fail_when_each_is_dead_or_stuck() {
        let mut queues = Queues::new(2, 4, 1, 100);
        queues.dies(0);
        queues.posted(1, true, None, 7);
        queues.look(107);
        assert!(!queues.all_fail());
        queues.look(108);
        assert!(queues.all_fail() && queues.choose().is_none() && !queues.has_room(1));
    }
}
