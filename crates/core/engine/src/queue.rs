//! A matching queue that owns its entries: messages that arrived before their receive.

use crate::matching::{Entry, Links, MatchKey, Matcher, NONE};

/// The links of a message.
const LINKS: usize = 5;

struct Node<T> {
    key: MatchKey,
    links: Links<LINKS>,
    value: T,
}

impl<T> Entry<LINKS> for Node<T> {
    #[inline(always)]
    fn key(&self) -> MatchKey {
        self.key
    }

    #[inline(always)]
    fn links(&self) -> &Links<LINKS> {
        &self.links
    }

    #[inline(always)]
    fn links_mut(&mut self) -> &mut Links<LINKS> {
        &mut self.links
    }
}

/// A queue of messages, or of patterns (`PATTERNS`).
pub(crate) struct Queue<T, const PATTERNS: bool> {
    nodes: Vec<Node<T>>,
    /// The first vacant place; each names the next one as its successor in the order.
    free: u32,
    matcher: Matcher<PATTERNS, LINKS>,
    len: usize,
}

impl<T: Default, const PATTERNS: bool> Queue<T, PATTERNS> {
    pub(crate) fn new() -> Self {
        Queue { nodes: Vec::new(), free: NONE, matcher: Matcher::new(), len: 0 }
    }

    /// Returns whether there are no entries.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.matcher.is_empty()
    }

    /// The number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Like [`Matcher::steps`].
    pub(crate) fn steps(&self) -> u64 {
        self.matcher.steps()
    }

    /// The entry's value.
    #[inline]
    pub(crate) fn get(&self, node: u32) -> &T {
        &self.nodes[node as usize].value
    }

    /// The entry's key.
    #[inline]
    pub(crate) fn key(&self, node: u32) -> MatchKey {
        self.nodes[node as usize].key
    }

    /// Appends an entry and returns its place, which [`Queue::remove`] takes.
    pub(crate) fn push(&mut self, key: MatchKey, value: T) -> u32 {
        let node = self.free;
        let node = match self.nodes.get_mut(node as usize) {
            Some(vacant) => {
                self.free = vacant.links.next();
                (vacant.key, vacant.value) = (key, value);
                node
            }
            None => {
                self.nodes.push(Node { key, links: Links::NONE, value });
                (self.nodes.len() - 1) as u32
            }
        };
        self.len += 1;
        self.matcher.append(&mut self.nodes, node);
        node
    }

    /// The earliest entry that matches.
    #[inline]
    pub(crate) fn find(&mut self, asked: &MatchKey) -> Option<u32> {
        self.matcher.find(&mut self.nodes, asked)
    }

    /// The earliest entry with exactly this key whose value fulfils `wanted`.
    pub(crate) fn find_exact(&mut self, key: &MatchKey, wanted: impl Fn(&T) -> bool) -> Option<u32> {
        self.matcher.find_exact(&self.nodes, key, |node| wanted(&node.value))
    }

    /// Takes the entry out.
    pub(crate) fn remove(&mut self, node: u32) -> T {
        self.matcher.remove(&mut self.nodes, node);
        self.len -= 1;
        let vacant = &mut self.nodes[node as usize];
        vacant.links.order().next = std::mem::replace(&mut self.free, node);
        std::mem::take(&mut vacant.value)
    }

    /// Every value in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MatchKey, &T)> {
        let mut node = self.matcher.first();
        std::iter::from_fn(move || {
            let entry = self.nodes.get(node as usize)?;
            node = entry.links.next();
            Some((entry.key, &entry.value))
        })
    }
}
