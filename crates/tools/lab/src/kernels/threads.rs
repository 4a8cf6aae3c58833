//! Ranks that are threads of this process: a kernel's arithmetic without MPI, for tests and for
//! scripts of its messages.

use super::comm::Comm;
use anyhow::{Result, ensure};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// A letter that is not taken within this time never will be.
const TAKEN_WITHIN: Duration = Duration::from_secs(60);

/// Letters that wait, by sender and receiver.
type Letters = HashMap<(usize, usize), VecDeque<Vec<u64>>>;

#[derive(Default)]
struct Room {
    letters: Letters,
    /// Ranks that have ended.
    left: HashSet<usize>,
}

#[derive(Default)]
struct Post {
    room: Mutex<Room>,
    came: Condvar,
}

struct Threads<'a> {
    rank: usize,
    size: usize,
    post: &'a Post,
}

/// Runs a function on each of this many ranks.
pub(super) fn run<T: Send>(ranks: usize, what: impl Fn(&dyn Comm) -> T + Sync) -> Vec<T> {
    let (post, what) = (Post::default(), &what);
    std::thread::scope(|scope| {
        let of = |rank| {
            let comm = Threads { rank, size: ranks, post: &post };
            scope.spawn(move || {
                let result = what(&comm);
                comm.leave();
                result
            })
        };
        let all: Vec<_> = (0..ranks).map(of).collect();
        all.into_iter().map(|thread| thread.join().expect("a rank")).collect()
    })
}

impl Threads<'_> {
    fn put(&self, to: usize, words: Vec<u64>) {
        let mut room = self.post.room.lock().expect("post");
        room.letters.entry((self.rank, to)).or_default().push_back(words);
        self.post.came.notify_all();
    }

    /// The next letter; none comes any more from a rank that has ended, which found out that
    /// something is wrong.
    fn get(&self, from: usize) -> Result<Vec<u64>> {
        let mut room = self.post.room.lock().expect("post");
        loop {
            if let Some(words) = room.letters.entry((from, self.rank)).or_default().pop_front() {
                self.post.came.notify_all();
                return Ok(words);
            }
            ensure!(!room.left.contains(&from), "rank {from} has ended");
            room = self.post.came.wait(room).expect("post");
        }
    }

    /// Waits until all letters to a rank are taken, as a library may that has no room for them.
    fn wait_until_taken(&self, to: usize) -> Result<()> {
        let mut room = self.post.room.lock().expect("post");
        while room.letters.get(&(self.rank, to)).is_some_and(|letters| !letters.is_empty()) {
            ensure!(!room.left.contains(&to), "rank {to} has ended");
            let (next, waited) = self.post.came.wait_timeout(room, TAKEN_WITHIN).expect("post");
            ensure!(!waited.timed_out(), "rank {to} does not receive what rank {} sends", self.rank);
            room = next;
        }
        Ok(())
    }

    fn leave(&self) {
        self.post.room.lock().expect("post").left.insert(self.rank);
        self.post.came.notify_all();
    }
}

fn words(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn fill(values: &mut [f64], words: &[u64]) {
    assert_eq!(values.len(), words.len(), "a message of another length");
    values.iter_mut().zip(words).for_each(|(value, word)| *value = f64::from_bits(*word));
}

impl Comm for Threads<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, values: &[f64], to: usize) -> Result<()> {
        self.put(to, words(values));
        self.wait_until_taken(to)
    }

    fn recv(&self, values: &mut [f64], from: usize) -> Result<()> {
        fill(values, &self.get(from)?);
        Ok(())
    }

    fn exchange(&self, sends: &[(usize, &[f64])], receives: &mut [(usize, &mut [f64])]) -> Result<()> {
        sends.iter().for_each(|(to, values)| self.put(*to, words(values)));
        for (from, values) in receives {
            fill(values, &self.get(*from)?);
        }
        Ok(())
    }

    fn alltoall(&self, own: &[f64], to: &mut [f64]) -> Result<()> {
        let each = own.len() / self.size;
        own.chunks(each).enumerate().for_each(|(rank, block)| self.put(rank, words(block)));
        for (rank, block) in to.chunks_mut(each).enumerate() {
            fill(block, &self.get(rank)?);
        }
        Ok(())
    }

    fn counts(&self, own: &[u64], to: &mut [u64]) -> Result<()> {
        own.iter().enumerate().for_each(|(rank, count)| self.put(rank, vec![*count]));
        for (rank, count) in to.iter_mut().enumerate() {
            *count = self.get(rank)?[0];
        }
        Ok(())
    }

    fn keys(&self, own: &[u32], own_counts: &[usize], to: &mut [u32], to_counts: &[usize]) -> Result<()> {
        let mut at = 0;
        for (rank, count) in own_counts.iter().enumerate() {
            self.put(rank, own[at..at + count].iter().map(|key| u64::from(*key)).collect());
            at += count;
        }
        let mut at = 0;
        for (rank, count) in to_counts.iter().enumerate() {
            let words = self.get(rank)?;
            assert_eq!(words.len(), *count);
            to[at..at + count].iter_mut().zip(&words).for_each(|(key, word)| *key = *word as u32);
            at += count;
        }
        Ok(())
    }

    fn sum(&self, values: &mut [f64]) -> Result<()> {
        (0..self.size).for_each(|rank| self.put(rank, words(values)));
        let all = (0..self.size).map(|rank| self.get(rank)).collect::<Result<Vec<_>>>()?;
        for (at, value) in values.iter_mut().enumerate() {
            *value = all.iter().map(|words| f64::from_bits(words[at])).sum();
        }
        Ok(())
    }
}

/// A rank that changes what it sends.
#[cfg(test)]
pub(super) mod garbled {
    use super::*;

    struct Garbled<'a>(&'a dyn Comm);

    /// Runs a function as [`run`] does, but rank 1 changes the values of each message between two
    /// ranks, and of each block, that it sends. Counts and sums are honest: a wrong count would
    /// only make the sender wait for ever.
    pub(crate) fn run_garbled<T: Send>(ranks: usize, what: impl Fn(&dyn Comm) -> T + Sync) -> Vec<T> {
        run(ranks, |comm| if comm.rank() == 1 { what(&Garbled(comm)) } else { what(comm) })
    }

    fn other(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| f64::from_bits(value.to_bits() ^ 1 << 61)).collect()
    }

    impl Comm for Garbled<'_> {
        fn rank(&self) -> usize {
            self.0.rank()
        }

        fn size(&self) -> usize {
            self.0.size()
        }

        fn send(&self, values: &[f64], to: usize) -> Result<()> {
            self.0.send(&other(values), to)
        }

        fn recv(&self, values: &mut [f64], from: usize) -> Result<()> {
            self.0.recv(values, from)
        }

        fn exchange(&self, sends: &[(usize, &[f64])], receives: &mut [(usize, &mut [f64])]) -> Result<()> {
            let sends: Vec<_> = sends.iter().map(|(to, values)| (*to, other(values))).collect();
            let sends: Vec<_> = sends.iter().map(|(to, values)| (*to, &**values)).collect();
            self.0.exchange(&sends, receives)
        }

        fn alltoall(&self, own: &[f64], to: &mut [f64]) -> Result<()> {
            self.0.alltoall(&other(own), to)
        }

        fn counts(&self, own: &[u64], to: &mut [u64]) -> Result<()> {
            self.0.counts(own, to)
        }

        fn keys(&self, own: &[u32], own_counts: &[usize], to: &mut [u32], to_counts: &[usize]) -> Result<()> {
            let mut own = own.to_vec();
            own.iter_mut().take(1).for_each(|key| *key ^= 1);
            self.0.keys(&own, own_counts, to, to_counts)
        }

        fn sum(&self, values: &mut [f64]) -> Result<()> {
            self.0.sum(values)
        }
    }
}
