//! Changes of this process's address space, from the thread that reads them to the caches that must
//! know.
//!
//! There is one writer and any number of readers, but no lock and no allocation: the writer must
//! get on whatever the threads of the program are doing (see [`super::watch`]). A reader that falls
//! too far behind is told that it missed something.

use super::span::Span;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// The number of changes kept.
const KEPT: usize = 256;

/// The last changes.
#[derive(Debug)]
pub(super) struct Changes {
    /// The number of changes ever whose writing has begun.
    begun: AtomicU64,
    /// The number of changes ever written.
    count: AtomicU64,
    spans: [[AtomicU64; 2]; KEPT],
    /// The writer may have taken changes from the kernel that are not written here yet.
    is_reading: AtomicBool,
}

/// A reader that missed some changes: anything may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed;

impl Changes {
    /// Makes an empty log.
    pub(super) const fn new() -> Changes {
        Changes {
            begun: AtomicU64::new(0),
            count: AtomicU64::new(0),
            spans: [const { [const { AtomicU64::new(0) }; 2] }; KEPT],
            is_reading: AtomicBool::new(false),
        }
    }

    /// Notes that the writer is about to take changes from the kernel.
    pub(super) fn begin(&self) {
        self.is_reading.store(true, Ordering::SeqCst);
    }

    /// Notes that the writer has written down all that it took.
    pub(super) fn end(&self) {
        self.is_reading.store(false, Ordering::SeqCst);
    }

    /// Returns whether the writer holds nothing back just now.
    pub(super) fn is_settled(&self) -> bool {
        !self.is_reading.load(Ordering::SeqCst)
    }

    /// Writes a change down. Only the writer calls this.
    pub(super) fn push(&self, span: Span) {
        let count = self.count.load(Ordering::Relaxed);
        let place = &self.spans[count as usize % KEPT];
        self.begun.store(count + 1, Ordering::Relaxed);
        // A reader that sees a word of this change sees that it has begun, and so that the one in
        // its place is gone.
        fence(Ordering::Release);
        place[0].store(span.start, Ordering::Relaxed);
        place[1].store(span.end, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
    }

    /// Returns how many changes there ever were: a reader begins with this number.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns the changes after the first `seen`, which becomes the number of all.
    ///
    /// # Errors
    /// Some are not kept any more.
    pub(super) fn since(&self, seen: &mut u64) -> Result<Vec<Span>, Missed> {
        let count = self.count();
        let first = std::mem::replace(seen, count);
        if count - first > KEPT as u64 {
            return Err(Missed);
        }
        let spans = (first..count).map(|at| {
            let [start, end] = &self.spans[at as usize % KEPT];
            Span { start: start.load(Ordering::Relaxed), end: end.load(Ordering::Relaxed) }
        });
        let spans = spans.collect();
        fence(Ordering::Acquire);
        let overwritten = self.begun.load(Ordering::Relaxed) - first > KEPT as u64;
        if overwritten { Err(Missed) } else { Ok(spans) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64) -> Span {
        Span { start, end: start + 1 }
    }

    #[test]
    fn every_change_is_seen_once() {
        let changes = Changes::new();
        let mut seen = changes.count();
        (0..3).for_each(|i| changes.push(span(i)));
        assert_eq!(changes.since(&mut seen), Ok(vec![span(0), span(1), span(2)]));
        assert_eq!(changes.since(&mut seen), Ok(vec![]));
    }

    #[test]
    fn who_falls_behind_is_told() {
        let changes = Changes::new();
        let mut seen = changes.count();
        (0..KEPT as u64 + 1).for_each(|i| changes.push(span(i)));
        assert_eq!(changes.since(&mut seen), Err(Missed));
        changes.push(span(7));
        assert_eq!(changes.since(&mut seen), Ok(vec![span(7)]));
    }

    /// The writer laps the reader again and again, and now and then waits for it. What the reader
    /// gets is in order and whole, or it is told.
    #[test]
    fn what_is_read_while_it_is_written_is_whole() {
        let (changes, heard) = (Changes::new(), AtomicU64::new(0));
        let last = 100_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..last {
                    changes.push(span(i));
                    while (i / 1000) % 2 == 0 && heard.load(Ordering::Relaxed) + 100 < i {
                        std::thread::yield_now();
                    }
                }
            });
            let (mut seen, mut got) = (0, 0);
            while seen < last {
                let first = seen;
                if let Ok(spans) = changes.since(&mut seen) {
                    let expected: Vec<Span> = (first..seen).map(span).collect();
                    assert_eq!(spans, expected);
                    got += spans.len();
                }
                heard.store(seen, Ordering::Relaxed);
                std::thread::yield_now();
            }
            assert!(got > 1000);
        });
    }
}
