//! The pages that the kernel watches, and how many entries of caches want that.
//!
//! Entries overlap, so a page must be watched until the last of them is gone.

use super::span::Span;
use std::collections::BTreeMap;

/// The number of wishes from each address on at which that number changes.
#[derive(Debug, Default)]
pub(super) struct Armed {
    steps: BTreeMap<u64, u32>,
}

impl Armed {
    /// Adds an entry that wants these pages watched.
    pub(super) fn add(&mut self, span: Span) {
        self.split(span);
        self.steps.range_mut(span.start..span.end).for_each(|(_, count)| *count += 1);
        self.join(span);
    }

    /// Removes such an entry. Returns the pages that nobody wants watched now.
    pub(super) fn remove(&mut self, span: Span) -> Vec<Span> {
        self.split(span);
        let mut free = Vec::new();
        let starts: Vec<u64> = self.steps.range(span.start..=span.end).map(|(start, _)| *start).collect();
        for pair in starts.windows(2) {
            let count = self.steps.get_mut(&pair[0]).expect("listed just now");
            *count = count.saturating_sub(1);
            if *count == 0 {
                free.push(Span { start: pair[0], end: pair[1] });
            }
        }
        self.join(span);
        free
    }

    /// Makes a step at either end.
    fn split(&mut self, span: Span) {
        for at in [span.start, span.end] {
            let before = self.steps.range(..=at).next_back().map_or(0, |(_, count)| *count);
            self.steps.entry(at).or_insert(before);
        }
    }

    /// Forgets steps within and at the ends that change nothing.
    fn join(&mut self, span: Span) {
        let mut last = self.steps.range(..span.start).next_back().map_or(0, |(_, count)| *count);
        let steps: Vec<(u64, u32)> = self.steps.range(span.start..=span.end).map(|(s, c)| (*s, *c)).collect();
        for (start, count) in steps {
            if count == last {
                self.steps.remove(&start);
            }
            last = count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    #[test]
    fn a_page_is_free_when_the_last_entry_is_gone() {
        let mut armed = Armed::default();
        armed.add(span(10, 30));
        armed.add(span(20, 40));
        armed.add(span(22, 24));
        assert_eq!(armed.remove(span(10, 30)), [span(10, 20)]);
        assert_eq!(armed.remove(span(20, 40)), [span(20, 22), span(24, 40)]);
        assert_eq!(armed.remove(span(22, 24)), [span(22, 24)]);
        assert!(armed.steps.is_empty(), "{armed:?}");
    }

    #[test]
    fn neighbours_are_one() {
        let mut armed = Armed::default();
        (0..100).for_each(|i| armed.add(span(i * 10, i * 10 + 10)));
        assert_eq!(armed.steps.len(), 2);
    }
}
