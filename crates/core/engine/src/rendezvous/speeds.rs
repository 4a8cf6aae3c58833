//! The speeds of the rails to one peer, as their messages have shown, and what each has to do.
//!
//! Speeds are learnt without a clock. While all rails have something to do, what each has moved
//! tells the ratio of their speeds; so the account is made up when one of them has nothing more to
//! do, or when they have moved much. The rails' other messages and peers are in it, as they should
//! be.
//!
//! All messages to and from the peer share this, and none is moved by another thread: the lock is
//! never waited for.

use std::sync::{Mutex, MutexGuard};

/// The sum of all shares.
const WHOLE: u64 = 1 << 16;
/// The least share of a rail.
const SHARE_MIN: u64 = WHOLE / 64;
/// The weight of one account in a share: one in this many.
const ACCOUNT_WEIGHT: u64 = 4;
/// After this many bytes an account is made up even if no rail was without work.
const ACCOUNT_BYTES_MAX: u64 = 16 << 20;
/// One in this many messages gives a piece to a slow rail too, so that its recovery is noticed.
const TRIAL_EVERY: u32 = 64;

/// The work of one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// The share of this rail in what all rails move in the same time, out of `WHOLE`. Never 0.
    pub share: u64,
    /// Bytes that it has to move, of all messages.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Rail {
    channel: usize,
    load: Load,
    /// The last piece that it was given, in bytes.
    piece: u64,
    /// Bytes moved since the last account.
    moved: u64,
}

/// The rails to one peer.
#[derive(Debug, Default)]
pub(crate) struct Speeds(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    rails: Vec<Rail>,
    /// True after a rail ran out of work: until another piece is given out, what the others still
    /// move tells nothing.
    is_closed: bool,
    messages: u32,
}

impl Speeds {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A message begins, over these channels. Returns whether a slow one gets a piece as well.
    pub(crate) fn begin(&self, channels: impl Iterator<Item = usize>) -> bool {
        let mut book = self.book();
        for channel in channels {
            book.add(channel);
        }
        book.messages = book.messages.wrapping_add(1);
        book.messages.is_multiple_of(TRIAL_EVERY)
    }

    /// The load of this rail, one of those named by [`Speeds::begin`].
    pub(crate) fn load(&self, channel: usize) -> Load {
        self.book().rail(channel).load
    }

    /// Notes that the rail was given a piece.
    pub(crate) fn took(&self, channel: usize, bytes: u64) {
        let mut book = self.book();
        book.is_closed = false;
        let rail = book.rail(channel);
        (rail.piece, rail.load.bytes) = (bytes, rail.load.bytes + bytes);
    }

    /// A piece has ended, and its message has more for the rails, or not.
    pub(crate) fn ended(&self, channel: usize, bytes: u64, in_place: bool, has_more: bool) {
        let mut book = self.book();
        let is_closed = book.is_closed;
        let rail = book.rail(channel);
        rail.load.bytes -= bytes;
        rail.moved += bytes * u64::from(!is_closed);
        let is_idle = rail.load.bytes == 0 && !has_more;
        if !in_place {
            // A failed transfer says nothing of speeds.
            book.rails.iter_mut().for_each(|rail| rail.moved = 0);
        } else if is_idle && !is_closed {
            book.learn();
            book.is_closed = true;
        } else if book.rails.iter().map(|rail| rail.moved).sum::<u64>() > ACCOUNT_BYTES_MAX {
            book.learn();
        }
    }
}

impl Book {
    /// A new rail counts as one like the others.
    fn add(&mut self, channel: usize) {
        if self.rails.iter().all(|rail| rail.channel != channel) {
            let all: u64 = self.rails.iter().map(|rail| rail.load.share).sum();
            let share = all.checked_div(self.rails.len() as u64).unwrap_or(WHOLE / 2);
            self.rails.push(Rail { channel, load: Load { share, bytes: 0 }, piece: 0, moved: 0 });
        }
    }

    fn rail(&mut self, channel: usize) -> &mut Rail {
        self.rails.iter_mut().find(|rail| rail.channel == channel).expect("a rail of a message")
    }

    /// Makes up the account: the rails that had work share again what they had together. A rail is
    /// about half way through the piece that it has.
    fn learn(&mut self) {
        let half = |rail: &Rail| rail.moved + rail.piece.min(rail.load.bytes) / 2;
        let worked = |rail: &&mut Rail| half(rail) > 0;
        let (mut moved, mut together, mut count) = (0, 0, 0);
        for rail in self.rails.iter_mut().filter(worked) {
            (moved, together, count) = (moved + half(rail), together + rail.load.share, count + 1);
        }
        for rail in self.rails.iter_mut().filter(worked).filter(|_| count > 1) {
            let seen = (u128::from(together) * u128::from(half(rail)) / u128::from(moved)) as u64;
            let share = (rail.load.share * (ACCOUNT_WEIGHT - 1) + seen) / ACCOUNT_WEIGHT;
            rail.load.share = share.max(SHARE_MIN);
        }
        self.rails.iter_mut().for_each(|rail| rail.moved = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(speeds: &Speeds) -> [u64; 2] {
        [0, 1].map(|channel| speeds.load(channel).share)
    }

    #[test]
    fn rails_are_alike_until_more_is_known() {
        let speeds = Speeds::default();
        assert!(!speeds.begin([0, 1].into_iter()));
        assert_eq!(shares(&speeds), [WHOLE / 2; 2]);
    }

    #[test]
    fn who_moves_more_in_the_same_time_has_the_greater_share() {
        let speeds = Speeds::default();
        speeds.begin([0, 1].into_iter());
        for _ in 0..40 {
            speeds.took(1, 1000);
            (0..5).for_each(|_| speeds.took(0, 1000));
            (0..4).for_each(|_| speeds.ended(0, 1000, true, true));
            speeds.ended(1, 1000, true, true);
            speeds.ended(0, 1000, true, false);
        }
        let [quick, slow] = shares(&speeds);
        assert!((4 * slow..6 * slow).contains(&quick), "{quick} and {slow}");
        // One that had nothing to do keeps its share.
        speeds.took(0, 1000);
        speeds.ended(0, 1000, true, false);
        assert_eq!(shares(&speeds), [quick, slow]);
    }

    #[test]
    fn what_failed_teaches_nothing() {
        let speeds = Speeds::default();
        speeds.begin([0, 1].into_iter());
        speeds.took(0, 1000);
        speeds.took(1, 9000);
        speeds.ended(1, 9000, false, true);
        assert_eq!((shares(&speeds), speeds.load(1).bytes), ([WHOLE / 2; 2], 0));
    }
}
