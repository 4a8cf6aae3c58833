//! Matching queues (MPI-5.0, 3.5): posted receives, and messages that arrived before their receive.
//!
//! One structure serves both. A queue of *patterns* (receives, which may hold wildcards) is asked with a
//! message; a queue of *messages* is asked with a pattern; the answer is always the earliest entry that
//! matches. A short queue is scanned. A deep one is indexed: every pattern lies in one chain, that of its own
//! key, and a message asks the four chains that could match it; every message lies in the four chains whose
//! patterns match it, and a pattern asks just its own. The index is made when a scan goes far for the first
//! time, so that a deep queue that is used in order never pays for it. Either way a look-up takes a
//! bounded number of steps.

use crate::{ANY_SOURCE, ANY_TAG};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A scan that compared so many entries makes the index instead of going on.
const SCAN_MAX: usize = 12;
/// An indexed queue no longer than this drops its index.
const UNINDEX_MAX: usize = 3;
const NONE: u32 = u32::MAX;
/// The link that chains all entries in order of arrival; links 0 to 3 belong to the index.
const ORDER: usize = 4;

/// What is compared: context, source and tag; in a pattern the latter two may be wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MatchKey {
    pub context: u64,
    pub source: i32,
    pub tag: i32,
}

impl MatchKey {
    /// Whether this pattern matches that message.
    #[inline]
    pub fn accepts(&self, message: &MatchKey) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == ANY_SOURCE)
            && (self.tag == message.tag || self.tag == ANY_TAG)
    }

    /// Which of the four classes of patterns this is: bit 0 any source, bit 1 any tag.
    #[inline]
    fn class(&self) -> usize {
        (self.source == ANY_SOURCE) as usize | ((self.tag == ANY_TAG) as usize) << 1
    }

    /// The pattern of this class that matches this message.
    #[inline]
    fn masked(&self, class: usize) -> MatchKey {
        MatchKey {
            context: self.context,
            source: if class & 1 == 0 { self.source } else { ANY_SOURCE },
            tag: if class & 2 == 0 { self.tag } else { ANY_TAG },
        }
    }
}

/// Mixes 16 bytes by multiplying; keys come from the program itself, so no defence is needed.
#[derive(Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(*b as u64));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    fn write_i32(&mut self, word: i32) {
        self.write_u64(word as u32 as u64);
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word as u64);
    }
}

#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    const EMPTY: Chain = Chain { first: NONE, last: NONE };
}

struct Node<T> {
    key: MatchKey,
    serial: u64,
    links: [Link; 5],
    value: T,
}

type Index = HashMap<MatchKey, Chain, BuildHasherDefault<Mix>>;

/// A queue of patterns (`PATTERNS`) or of messages.
pub(crate) struct Queue<T, const PATTERNS: bool> {
    nodes: Vec<Node<T>>,
    /// The first vacant place; each names the next one as its successor in the order.
    free: u32,
    order: Chain,
    index: Index,
    indexed: bool,
    /// Number of indexed patterns of each class, so that classes without any are not asked.
    classes: [usize; 4],
    len: usize,
    serial: u64,
    steps: u64,
}

impl<T: Default, const PATTERNS: bool> Queue<T, PATTERNS> {
    pub fn new() -> Self {
        Queue {
            nodes: Vec::new(),
            free: NONE,
            order: Chain::EMPTY,
            index: Index::default(),
            indexed: false,
            classes: [0; 4],
            len: 0,
            serial: 0,
            steps: 0,
        }
    }

    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.order.first == NONE
    }

    /// Whether an entry can be added without more memory or a change to the index.
    #[inline(always)]
    pub fn has_free(&self) -> bool {
        self.nodes.get(self.free as usize).is_some() && !self.indexed
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        Some(self.order.first).filter(|first| *first != NONE)
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Entries compared and chains asked since the beginning: the cost of matching.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The entry's value.
    #[inline]
    pub fn get(&self, node: u32) -> &T {
        &self.nodes[node as usize].value
    }

    /// The entry's key.
    #[inline]
    pub fn key(&self, node: u32) -> MatchKey {
        self.nodes[node as usize].key
    }

    /// Appends an entry and returns its place, which [`Queue::remove`] takes.
    #[inline(always)]
    pub fn push(&mut self, key: MatchKey, value: T) -> u32 {
        let node = self.place(key, value);
        match self.nodes.get_mut(self.order.last as usize) {
            Some(last) => last.links[ORDER].next = node,
            None => self.order.first = node,
        }
        self.order.last = node;
        self.len += 1;
        if self.indexed {
            self.index_entry(node);
        }
        node
    }

    /// The earliest entry that matches.
    #[inline(always)]
    pub fn find(&mut self, asked: &MatchKey) -> Option<u32> {
        let first = self.order.first;
        if first == NONE {
            return None;
        }
        self.steps += 1;
        if self.matches(first, asked) {
            return Some(first);
        }
        self.find_behind(first, asked)
    }

    #[inline(never)]
    fn find_behind(&mut self, first: u32, asked: &MatchKey) -> Option<u32> {
        if self.indexed { self.find_indexed(asked) } else { self.scan(first, asked) }
    }

    /// The earliest entry with exactly this key whose value fulfils `wanted`.
    pub fn find_exact(&mut self, key: &MatchKey, wanted: impl Fn(&T) -> bool) -> Option<u32> {
        let (mut node, link) = match self.indexed {
            true => (self.index.get(key)?.first, if PATTERNS { 0 } else { key.class() }),
            false => (self.order.first, ORDER),
        };
        while node != NONE {
            self.steps += 1;
            let entry = &self.nodes[node as usize];
            if entry.key == *key && wanted(&entry.value) {
                return Some(node);
            }
            node = entry.links[link].next;
        }
        None
    }

    /// Takes the entry out.
    #[inline(always)]
    pub fn remove(&mut self, node: u32) -> T {
        self.order = self.unlink(self.order, ORDER, node);
        self.len -= 1;
        if self.indexed {
            self.unindex(node);
        }
        let entry = &mut self.nodes[node as usize];
        entry.links[ORDER].next = std::mem::replace(&mut self.free, node);
        std::mem::take(&mut entry.value)
    }

    /// As `remove`, for the first entry.
    #[inline(always)]
    pub fn remove_first(&mut self, node: u32) -> T {
        debug_assert_eq!(node, self.order.first);
        if self.indexed {
            return self.remove(node);
        }
        let entry = &mut self.nodes[node as usize];
        let next = entry.links[ORDER].next;
        entry.links[ORDER].next = std::mem::replace(&mut self.free, node);
        let value = std::mem::take(&mut entry.value);
        self.order.first = next;
        match self.nodes.get_mut(next as usize) {
            Some(next) => next.links[ORDER].previous = NONE,
            None => self.order.last = NONE,
        }
        self.len -= 1;
        value
    }

    /// Every value in order.
    pub fn iter(&self) -> impl Iterator<Item = (MatchKey, &T)> {
        let mut node = self.order.first;
        std::iter::from_fn(move || {
            let entry = self.nodes.get(node as usize)?;
            node = entry.links[ORDER].next;
            Some((entry.key, &entry.value))
        })
    }

    #[inline]
    fn matches(&self, node: u32, asked: &MatchKey) -> bool {
        let key = &self.nodes[node as usize].key;
        if PATTERNS { key.accepts(asked) } else { asked.accepts(key) }
    }

    #[inline(always)]
    fn place(&mut self, key: MatchKey, value: T) -> u32 {
        self.serial += 1;
        let node = self.free;
        let Some(entry) = self.nodes.get_mut(node as usize) else { return self.grow(key, value) };
        self.free = entry.links[ORDER].next;
        entry.key = key;
        entry.serial = self.serial;
        entry.value = value;
        // The other links are written when the entry is indexed.
        entry.links[ORDER] = Link { previous: self.order.last, next: NONE };
        node
    }

    #[cold]
    fn grow(&mut self, key: MatchKey, value: T) -> u32 {
        let mut links = [Link { previous: NONE, next: NONE }; 5];
        links[ORDER].previous = self.order.last;
        self.nodes.push(Node { key, serial: self.serial, links, value });
        (self.nodes.len() - 1) as u32
    }

    fn scan(&mut self, first: u32, asked: &MatchKey) -> Option<u32> {
        let mut node = self.nodes[first as usize].links[ORDER].next;
        for _ in 0..SCAN_MAX {
            if node == NONE {
                return None;
            }
            self.steps += 1;
            if self.matches(node, asked) {
                return Some(node);
            }
            node = self.nodes[node as usize].links[ORDER].next;
        }
        if node == NONE {
            return None;
        }
        self.build_index();
        self.find_indexed(asked)
    }

    fn find_indexed(&mut self, asked: &MatchKey) -> Option<u32> {
        if !PATTERNS {
            self.steps += 1;
            return self.index.get(asked).map(|chain| chain.first);
        }
        let mut best = None;
        for class in 0..4 {
            if self.classes[class] == 0 {
                continue;
            }
            self.steps += 1;
            if let Some(chain) = self.index.get(&asked.masked(class)) {
                let serial = self.nodes[chain.first as usize].serial;
                if best.is_none_or(|(earliest, _)| serial < earliest) {
                    best = Some((serial, chain.first));
                }
            }
        }
        best.map(|(_, node)| node)
    }

    #[cold]
    fn build_index(&mut self) {
        self.indexed = true;
        let mut node = self.order.first;
        while node != NONE {
            self.index_entry(node);
            node = self.nodes[node as usize].links[ORDER].next;
        }
    }

    #[cold]
    fn drop_index(&mut self) {
        self.indexed = false;
        self.index.clear();
        self.classes = [0; 4];
    }

    #[inline(never)]
    fn index_entry(&mut self, node: u32) {
        let key = self.nodes[node as usize].key;
        if PATTERNS {
            self.classes[key.class()] += 1;
            return self.append_indexed(key, 0, node);
        }
        for class in 0..4 {
            self.append_indexed(key.masked(class), class, node);
        }
    }

    #[inline(never)]
    fn unindex(&mut self, node: u32) {
        self.unindex_entry(node);
        if self.len <= UNINDEX_MAX {
            self.drop_index();
        }
    }

    fn unindex_entry(&mut self, node: u32) {
        let key = self.nodes[node as usize].key;
        if PATTERNS {
            self.classes[key.class()] -= 1;
            return self.unlink_indexed(key, 0, node);
        }
        for class in 0..4 {
            self.unlink_indexed(key.masked(class), class, node);
        }
    }

    fn append_indexed(&mut self, key: MatchKey, link: usize, node: u32) {
        self.steps += 1;
        let chain = self.index.get(&key).copied().unwrap_or(Chain::EMPTY);
        let chain = self.append(chain, link, node);
        self.index.insert(key, chain);
    }

    fn unlink_indexed(&mut self, key: MatchKey, link: usize, node: u32) {
        self.steps += 1;
        let chain = self.index.get(&key).copied().expect("an indexed entry");
        let chain = self.unlink(chain, link, node);
        if chain.first == NONE {
            self.index.remove(&key);
        } else {
            self.index.insert(key, chain);
        }
    }

    #[inline]
    fn append(&mut self, chain: Chain, link: usize, node: u32) -> Chain {
        self.nodes[node as usize].links[link] = Link { previous: chain.last, next: NONE };
        if chain.last == NONE {
            return Chain { first: node, last: node };
        }
        self.nodes[chain.last as usize].links[link].next = node;
        Chain { first: chain.first, last: node }
    }

    #[inline]
    fn unlink(&mut self, mut chain: Chain, link: usize, node: u32) -> Chain {
        let Link { previous, next } = self.nodes[node as usize].links[link];
        match previous {
            NONE => chain.first = next,
            _ => self.nodes[previous as usize].links[link].next = next,
        }
        match next {
            NONE => chain.last = previous,
            _ => self.nodes[next as usize].links[link].previous = previous,
        }
        chain
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
