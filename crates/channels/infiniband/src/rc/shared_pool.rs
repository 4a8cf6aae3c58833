//! The shared receive pool: how many buffers lie in the one queue that serves all connections
//! (paper 4, 2.1 and 4.1: with a shared receive queue a process posts fewer buffers than its
//! connections need together).
//!
//! The pool does not grow with connections. With the first ones it takes as many buffers as they
//! have credits, up to its size ([`Settings::pool_receives`](super::Settings)); further connections
//! add none. From there on only use makes it grow: when the device says that fewer than a quarter
//! of the buffers are left, half as many more are posted. It never has more than peers could fill
//! by their credits, nor more than the queue holds.
//!
//! So a credit is a right to send, but where the pool is short it promises no buffer. Credits bound
//! what one peer can have under way and keep packets in order; it is the device that holds senders
//! back while the pool is empty: it answers that it is not ready (RNR NAK), and the sender's device
//! tries again after a time, with all that follows on that queue pair waiting behind. Buffers come
//! back as soon as this process polls: a packet is delivered at once, or, if it came before its
//! turn, it stays in its buffer and another takes that one's place in the queue. So nobody waits
//! for a buffer that waits for him.
//!
//! A process computes for as long as it likes, hence the tries have no end by default
//! (`RC_RECEIVER_RETRIES` 7). That hangs nobody on a process that is gone: a device whose queue
//! pair is destroyed, or whose node is down, says nothing at all, and the sender's acknowledgement
//! timer (`RC_ACK_TIMEOUT`, `RC_RETRIES`) ends the work as for any other. A process that lives and
//! never calls MPI again is given up as one that never answers a first hello
//! (`RC_CONNECT_SECONDS_MAX`), by the questions of `keepalive.rs`.

use super::RcChannel;
use super::adapter::Adapter;
use super::id::Id;
use crate::device::Refused;
use verbena_fault::Fault;

/// The device tells when fewer buffers are left than the pool's size divided by this.
const LOW_SHARE: u32 = 4;

/// The account of the shared queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SharedPool {
    /// The buffers that lie in the queue.
    pub posted: u32,
    /// The buffers that shall lie there.
    wanted: u32,
    /// The packets that peers may send by the credits that they began with, all together.
    promised: u32,
    /// The device will tell when the queue runs low.
    is_watched: bool,
    /// The number of times that the pool grew since the device had told.
    pub top_ups: u64,
}

impl SharedPool {
    /// Notes that a peer has `credits` more, in a pool of `size` buffers.
    fn promise(&mut self, credits: u16, size: u32) {
        self.promised += u32::from(credits);
        self.wanted = self.wanted.max(self.promised.min(size));
    }

    /// Notes that a peer with these credits sends no more.
    pub(super) fn end_promise(&mut self, credits: u16) {
        self.promised -= u32::from(credits);
    }

    /// Returns whether peers may send more than there are buffers, in a queue for `most`.
    fn is_short(&self, most: u32) -> bool {
        self.wanted < self.promised.min(most)
    }

    /// Grows by half, in a queue for `most`.
    fn top_up(&mut self, most: u32) {
        self.is_watched = false;
        if self.is_short(most) {
            self.wanted = (self.wanted + self.wanted.div_ceil(2)).min(self.promised).min(most);
            self.top_ups += 1;
        }
    }

    /// Returns whether buffers are lacking.
    #[inline]
    pub(super) fn lacks(&self) -> bool {
        self.posted < self.wanted
    }

    /// Returns whether so many packets at once may have emptied the queue so far that the device
    /// has told of it.
    #[inline]
    pub(super) fn may_be_low(&self, packets: u32) -> bool {
        self.is_watched && packets > self.wanted / 2
    }
}

impl<A: Adapter> RcChannel<A> {
    /// Makes sure that the pool is large enough for a peer with `credits` more, up to its size.
    ///
    /// # Errors
    /// If memory cannot be registered, or the device is broken.
    pub(super) fn widen_pool(&mut self, credits: u16) -> Result<(), Fault> {
        let size = self.settings.pool_receives.min(self.limits.receives_max);
        self.pool.promise(credits, size);
        let filled = self.fill_pool();
        if filled.is_err() {
            self.pool.end_promise(credits);
        }
        self.watch_pool();
        filled
    }

    /// Posts buffers until the pool has its size. If the device takes no more, that is its size.
    ///
    /// # Errors
    /// As [`RcChannel::widen_pool`].
    fn fill_pool(&mut self) -> Result<(), Fault> {
        while self.pool.lacks() {
            let buffer = self.receives.take_or_grow(&mut self.adapter)?;
            match self.post_shared(buffer) {
                Ok(()) => {}
                Err(Refused::Full) => {
                    self.receives.give_back(buffer);
                    self.pool.wanted = self.pool.posted;
                }
                Err(Refused::Broken(fault)) => {
                    self.receives.give_back(buffer);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// Posts what the pool lacks. What cannot be had now is posted when the next buffer comes back.
    #[cold]
    pub(super) fn refill_pool(&mut self) {
        if let Err(fault) = self.fill_pool() {
            self.pool_trouble.get_or_insert(fault);
        }
    }

    /// Posts a buffer to the shared queue.
    #[inline]
    pub(super) fn post_shared(&mut self, buffer: u32) -> Result<(), Refused> {
        let place = self.receives.get(buffer);
        self.adapter.post_receive(None, Id::Receive(buffer).word(), place.region, place.local_key)?;
        self.pool.posted += 1;
        Ok(())
    }

    /// Takes in that the device has told of few buffers: the pool grows, if peers can fill it.
    #[cold]
    pub(super) fn pool_is_low(&mut self) {
        self.pool.top_up(self.limits.receives_max);
        self.refill_pool();
        self.watch_pool();
    }

    /// Asks the device to tell when the pool runs low, if it could grow then.
    fn watch_pool(&mut self) {
        let pool = &mut self.pool;
        if !pool.is_watched && pool.is_short(self.limits.receives_max) {
            pool.is_watched = self.adapter.tell_below((pool.wanted / LOW_SHARE).max(1));
        }
    }

    /// Makes room for a last word of every peer, before this process looks no more: nobody shall
    /// wait for a buffer of a process that is through.
    #[cold]
    pub(super) fn make_room_for_farewells(&mut self) {
        if self.settings.shared_receives && !self.wanted_back.is_empty() {
            let peers = self.peers.connected() as u32;
            self.pool.wanted = self.pool.wanted.max(peers.min(self.limits.receives_max));
            self.refill_pool();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 100;

    fn with_peers(count: u32, credits: u16) -> SharedPool {
        let mut pool = SharedPool::default();
        (0..count).for_each(|_| pool.promise(credits, SIZE));
        pool
    }

    #[test]
    fn connections_add_buffers_only_up_to_the_size() {
        let wanted = [1, 3, 4, 10, 1000].map(|count| with_peers(count, 32).wanted);
        assert_eq!(wanted, [32, 96, 100, 100, 100]);
        assert!(!with_peers(3, 32).is_short(4096) && with_peers(4, 32).is_short(4096));
    }

    #[test]
    fn use_makes_it_grow_but_never_beyond_what_can_come() {
        let mut pool = with_peers(10, 32);
        let sizes: Vec<u32> = (0..5)
            .map(|_| {
                pool.top_up(4096);
                pool.wanted
            })
            .collect();
        assert_eq!(sizes, [150, 225, 320, 320, 320]);
        assert_eq!((pool.top_ups, pool.is_short(4096)), (3, false));
        let mut small = with_peers(10, 32);
        (0..5).for_each(|_| small.top_up(160));
        assert_eq!(small.wanted, 160);
    }

    #[test]
    fn a_connection_in_place_of_another_adds_nothing() {
        let mut pool = with_peers(2, 32);
        for _ in 0..10 {
            pool.end_promise(32);
            pool.promise(32, SIZE);
        }
        assert_eq!((pool.wanted, pool.promised), (64, 64));
    }
}
