//! An index that finds the entry that holds some pages.
//!
//! No span in the index lies within another. So spans in the order of their beginnings are in the
//! order of their ends as well, and one look decides: if any span holds the pages asked for, the
//! last one that begins before them does.

use super::span::Span;
use std::collections::BTreeMap;

/// Spans, each with the number of its entry.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_start: BTreeMap<u64, (u64, u32)>,
}

impl Index {
    /// Finds the entry whose span holds all of `span`.
    pub(super) fn holding(&self, span: &Span) -> Option<u32> {
        let (_, &(end, entry)) = self.by_start.range(..=span.start).next_back()?;
        (span.end <= end).then_some(entry)
    }

    /// Finds the entries whose spans share a page with `span`.
    pub(super) fn overlapping(&self, span: &Span) -> Vec<u32> {
        let before = self.by_start.range(..span.end).rev();
        before.take_while(|(_, (end, _))| *end > span.start).map(|(_, (_, entry))| *entry).collect()
    }

    /// Adds a span that lies within none of the index. Spans that lie within it leave the index,
    /// and are returned.
    pub(super) fn insert(&mut self, span: Span, entry: u32) -> Vec<u32> {
        debug_assert!(self.holding(&span).is_none());
        let within = self.by_start.range(span.start..span.end).take_while(|(_, (end, _))| *end <= span.end);
        let within: Vec<(u64, u32)> = within.map(|(start, (_, entry))| (*start, *entry)).collect();
        within.iter().for_each(|(start, _)| _ = self.by_start.remove(start));
        self.by_start.insert(span.start, (span.end, entry));
        within.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Removes the entry, if it is there with this span.
    pub(super) fn remove(&mut self, span: &Span, entry: u32) {
        if self.by_start.get(&span.start) == Some(&(span.end, entry)) {
            self.by_start.remove(&span.start);
        }
    }

    /// Returns every entry.
    pub(super) fn all(&self) -> Vec<u32> {
        self.by_start.values().map(|(_, entry)| *entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    #[test]
    fn a_larger_span_replaces_those_within_it() {
        let mut index = Index::default();
        for (entry, (start, end)) in [(1, (10, 20)), (2, (15, 30)), (3, (40, 50))] {
            assert!(index.insert(span(start, end), entry).is_empty());
        }
        assert_eq!((index.holding(&span(16, 30)), index.holding(&span(10, 21))), (Some(2), None));
        assert_eq!(index.overlapping(&span(18, 41)), [3, 2, 1]);
        assert_eq!(index.insert(span(10, 35), 4), [1, 2]);
        index.remove(&span(10, 20), 1);
        assert_eq!((index.holding(&span(10, 21)), index.all()), (Some(4), vec![4, 3]));
    }

    /// Compares with a plain list, on a small field so that everything touches.
    #[test]
    fn it_finds_what_a_plain_search_finds() {
        let (mut index, mut list) = (Index::default(), Vec::<(Span, u32)>::new());
        let mut word = 1u64;
        let mut below = |bound: u64| {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (word >> 33) % bound
        };
        for entry in 0..20_000 {
            let start = below(60);
            let wanted = span(start, start + 1 + below(12));
            assert_eq!(index.holding(&wanted).is_some(), list.iter().any(|(s, _)| s.contains(&wanted)));
            let mut touched = index.overlapping(&wanted);
            touched.sort_unstable();
            let of_list = list.iter().filter(|(s, _)| s.overlaps(&wanted)).map(|(_, entry)| *entry);
            assert_eq!(touched, of_list.collect::<Vec<_>>());
            if below(3) == 0 && !list.is_empty() {
                let (gone, entry) = list.remove(below(list.len() as u64) as usize);
                index.remove(&gone, entry);
            } else if index.holding(&wanted).is_none() {
                index.insert(wanted, entry);
                list.retain(|(s, _)| !wanted.contains(s));
                list.push((wanted, entry));
            }
        }
    }
}
