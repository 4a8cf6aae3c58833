//! Groups with missing fragments: their bytes so far.

use super::SPAN;

/// The most fragments of a group: a bit of a word for each.
pub const FRAGMENTS_MAX: u32 = 64;

/// A group that something has arrived of.
#[derive(Debug)]
struct Partial {
    /// The number of its first fragment.
    first: u32,
    /// The fragments that have come, a bit for each.
    have: u64,
    /// The number of fragments in the group.
    count: u32,
    /// The group's bytes; the length is known with the last fragment.
    bytes: Vec<u8>,
    /// True once the last fragment has come.
    measured: bool,
}

/// The place where a fragment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The number of its group's first fragment.
    pub first: u32,
    /// The fragment's place in the group, from 0.
    pub index: u32,
    /// The number of fragments in the group.
    pub count: u32,
    /// The bytes of every fragment but the last.
    pub fragment_bytes: usize,
}

/// The incomplete groups of a peer; there are no more than fragments may be under way.
#[derive(Debug, Default)]
pub struct Assembly {
    partials: Vec<Partial>,
}

impl Assembly {
    /// Puts a fragment that was not here before into its place; returns the whole group, if that
    /// was the last one. Returns `None` also for a fragment that does not fit its group, or begins
    /// one more than there can be: only a garbled one does that.
    pub fn put(&mut self, spot: Spot, body: &[u8]) -> Option<Vec<u8>> {
        let is_last = spot.index + 1 == spot.count;
        let fits = spot.index < spot.count
            && spot.count <= FRAGMENTS_MAX
            && if is_last { body.len() <= spot.fragment_bytes } else { body.len() == spot.fragment_bytes };
        if !fits {
            return None;
        }
        let at = self.find(spot)?;
        let partial = &mut self.partials[at];
        let offset = spot.index as usize * spot.fragment_bytes;
        let end = offset + body.len();
        if is_last {
            partial.measured = true;
            partial.bytes.truncate(end);
        }
        if partial.bytes.len() < end {
            // Of a short group only what is there is held, since many may be in pieces at once.
            let room = if spot.count > 2 { spot.count as usize * spot.fragment_bytes } else { end };
            partial.bytes.reserve_exact(room - partial.bytes.len());
            // Only where one is missing zeros are written first.
            partial.bytes.resize(offset.max(partial.bytes.len()), 0);
        }
        let (there, rest) = body.split_at(body.len().min(partial.bytes.len() - offset));
        partial.bytes[offset..offset + there.len()].copy_from_slice(there);
        partial.bytes.extend_from_slice(rest);
        partial.have |= 1 << spot.index;
        let whole = partial.have.count_ones() == partial.count && partial.measured;
        whole.then(|| self.partials.remove(at).bytes)
    }

    /// Finds the place of the group in the list, made if it is new; `None` if it has another
    /// length, or there are as many groups as fragments may be under way.
    fn find(&mut self, spot: Spot) -> Option<usize> {
        let known = self.partials.iter().position(|partial| partial.first == spot.first);
        if known.is_none() && self.partials.len() < SPAN as usize {
            let (first, count, bytes) = (spot.first, spot.count, Vec::new());
            self.partials.push(Partial { first, have: 0, count, bytes, measured: false });
            return Some(self.partials.len() - 1);
        }
        known.filter(|at| self.partials[*at].count == spot.count)
    }

    /// Drops the oldest groups above `most`: without reliability their missing fragments never
    /// come.
    pub fn keep_newest(&mut self, most: usize) {
        let surplus = self.partials.len().saturating_sub(most);
        self.partials.drain(..surplus);
    }

    /// Returns the number of groups that are not whole.
    pub fn len(&self) -> usize {
        self.partials.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.partials.is_empty()
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> usize {
        self.partials.iter().map(|partial| partial.bytes.capacity()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPOT: Spot = Spot { first: 7, index: 0, count: 3, fragment_bytes: 4 };

    #[test]
    fn a_group_is_whole_in_any_order() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.put(Spot { index: 2, ..SPOT }, b"i"), None);
        assert_eq!(assembly.put(SPOT, b"abcd"), None);
        assert_eq!(assembly.put(Spot { index: 1, ..SPOT }, b"efgh").as_deref(), Some(&b"abcdefghi"[..]));
        assert!(assembly.is_empty());
    }

    #[test]
    fn what_fits_no_group_is_left_out() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.put(SPOT, b"abcd"), None);
        let odd = [
            (Spot { index: 3, ..SPOT }, &b"efgh"[..]),
            (Spot { index: 1, ..SPOT }, b"efghi"),
            (Spot { index: 1, ..SPOT }, b"efg"),
            (Spot { index: 2, ..SPOT }, b"ijklm"),
            (Spot { index: 1, count: 2, ..SPOT }, b"efgh"),
            (Spot { index: 1, count: FRAGMENTS_MAX + 1, ..SPOT }, b"efgh"),
        ];
        for (spot, body) in odd {
            assert_eq!(assembly.put(spot, body), None, "{spot:?}");
        }
        assert_eq!((assembly.len(), assembly.bytes()), (1, 12));
        assert_eq!(assembly.put(Spot { index: 1, ..SPOT }, b"efgh"), None);
        assert_eq!(assembly.put(Spot { index: 2, ..SPOT }, b"i").as_deref(), Some(&b"abcdefghi"[..]));
    }

    /// Each group begins, and none is ever whole: no honest sender does that.
    #[test]
    fn there_are_no_more_groups_than_fragments_under_way() {
        let mut assembly = Assembly::default();
        for first in (0..1000).map(|group| group * FRAGMENTS_MAX) {
            assert_eq!(assembly.put(Spot { first, ..SPOT }, b"abcd"), None);
        }
        assert_eq!(assembly.len(), SPAN as usize);
    }
}
