//! The owner of a cell: one word that only the owner writes.
//!
//! | word | owner | who may change it, into what |
//! | --- | --- | --- |
//! | 0 | nobody: the cell is free | its home takes it |
//! | rank + 1 | that rank | it hands the cell on, or frees it; the home frees it for a process that has ended |
//!
//! So there is never a race for a cell, and no word is compared and exchanged. Taking and handing
//! over are ordered by the acquire of what came before (the free word, or the ring's flag) and the
//! release of what comes after: the next owner sees all that the last one did with the bytes.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// The word; loom has another one.
pub(super) trait Word {
    fn load(&self) -> u32;
    fn store(&self, word: u32);
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        AtomicU32::load(self, Acquire)
    }

    #[inline]
    fn store(&self, word: u32) {
        AtomicU32::store(self, word, Release);
    }
}

/// The changes of the word.
pub(super) trait Owner: Word {
    /// Returns whether the cell is free. Its home may then take it.
    #[inline]
    fn is_free(&self) -> bool {
        self.load() == 0
    }

    /// The home, rank `me`, takes a free cell.
    #[inline]
    fn take(&self, me: u32) {
        self.store(me + 1);
    }

    /// The owner hands the cell to rank `to`.
    #[inline]
    fn hand_over(&self, to: u32) {
        self.store(to + 1);
    }

    /// The owner frees the cell, or the home for an owner that has ended.
    #[inline]
    fn give_back(&self) {
        self.store(0);
    }

    /// Returns whether rank `rank` is the owner.
    #[inline]
    fn is_of(&self, rank: u32) -> bool {
        self.load() == rank + 1
    }

    /// The owner's rank.
    fn rank(&self) -> Option<u32> {
        self.load().checked_sub(1)
    }
}

impl<W: Word> Owner for W {}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32 as LoomWord, AtomicU64 as LoomLong};

    impl Word for LoomWord {
        fn load(&self) -> u32 {
            LoomWord::load(self, Acquire)
        }

        fn store(&self, word: u32) {
            LoomWord::store(self, word, Release);
        }
    }

    /// A cell of two chunks of one word each, and the flags of two rings.
    struct Model {
        owner: LoomWord,
        ready: LoomLong,
        chunks: [UnsafeCell<u64>; 2],
        /// The ring to the receiver: 0, or how much was there when the note was written.
        note: LoomLong,
        /// The ring back.
        answer: LoomLong,
    }

    // SAFETY: the test is about just this: loom reports it if two threads use a chunk at once.
    unsafe impl Sync for Model {}
    // SAFETY: as above.
    unsafe impl Send for Model {}

    impl Model {
        fn new() -> Arc<Model> {
            Arc::new(Model {
                owner: LoomWord::new(0),
                ready: LoomLong::new(0),
                chunks: [UnsafeCell::new(0), UnsafeCell::new(0)],
                note: LoomLong::new(0),
                answer: LoomLong::new(0),
            })
        }

        fn write(&self, chunk: usize, value: u64) {
            // SAFETY: checked by loom.
            self.chunks[chunk].with_mut(|word| unsafe { *word = value });
        }

        fn read(&self, chunk: usize) -> u64 {
            // SAFETY: checked by loom.
            self.chunks[chunk].with(|word| unsafe { *word })
        }

        /// Sends a message of two chunks as rank 0, the home.
        fn send_in_chunks(&self, value: u64) {
            self.write(0, value);
            self.ready.store(1, Relaxed);
            self.owner.hand_over(1);
            self.note.store(1, Release);
            self.write(1, value + 1);
            self.ready.store(2, Release);
        }
    }

    /// Waits until the word is at least so much.
    fn wait(word: &LoomLong, least: u64) {
        while word.load(Acquire) < least {
            loom::thread::yield_now();
        }
    }

    #[test]
    fn a_receiver_reads_behind_the_sender_and_answers_in_the_same_cell() {
        loom::model(|| {
            let cell = Model::new();
            let theirs = cell.clone();
            let receiver = loom::thread::spawn(move || {
                wait(&theirs.note, 1);
                assert!(theirs.owner.is_of(1));
                let first = theirs.read(0);
                wait(&theirs.ready, 2);
                assert_eq!((first, theirs.read(1)), (7, 8));
                // It answers in the cell.
                theirs.write(0, 9);
                theirs.owner.hand_over(0);
                theirs.answer.store(1, Release);
            });
            cell.owner.take(0);
            cell.send_in_chunks(7);
            wait(&cell.answer, 1);
            assert!(cell.owner.is_of(0));
            assert_eq!(cell.read(0), 9);
            receiver.join().unwrap();
        });
    }

    #[test]
    fn a_cell_that_was_given_back_is_taken_once_and_read_by_nobody() {
        loom::model(|| {
            let cell = Model::new();
            let theirs = cell.clone();
            let receiver = loom::thread::spawn(move || {
                wait(&theirs.note, 1);
                wait(&theirs.ready, 2);
                assert_eq!((theirs.read(0), theirs.read(1)), (7, 8));
                theirs.owner.give_back();
            });
            cell.owner.take(0);
            cell.send_in_chunks(7);
            while !cell.owner.is_free() {
                loom::thread::yield_now();
            }
            cell.owner.take(0);
            cell.write(0, 1);
            cell.write(1, 1);
            receiver.join().unwrap();
            assert_eq!(cell.owner.rank(), Some(0));
        });
    }
}
