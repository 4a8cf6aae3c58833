//! Matching queues (MPI-5.0, 3.5): posted receives, and messages that arrived before their receive.
//!
//! One structure serves both. A queue of *patterns* (receives, which may hold wildcards) is asked
//! with a message; a queue of *messages* is asked with a pattern; the answer is always the earliest
//! entry that matches. A short queue is scanned. A deep one is indexed: every pattern lies in one
//! chain, that of its own key, and a message asks the four chains that could match it; every
//! message lies in the four chains whose patterns match it, and a pattern asks just its own. The
//! index is made when a scan goes far for the first time, so that a deep queue that is used in
//! order never pays for it. Either way a look-up takes a bounded number of steps.
//!
//! The entries lie in a table of their owner ([`crate::queue::Queue`] for messages,
//! [`crate::requests::Requests`] for receives), so that the owner's other data of an entry lie
//! beside its links.

use crate::{ANY_SOURCE, ANY_TAG, ReceiveRequest};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A scan that compared this many entries makes the index instead of going on.
const SCAN_MAX: usize = 12;
/// An indexed queue no longer than this drops its index.
const UNINDEX_MAX: usize = 3;
/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// The fields that are compared: context, source and tag; in a pattern the latter two may be
/// wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MatchKey {
    pub context: u64,
    pub source: i32,
    pub tag: i32,
}

impl ReceiveRequest {
    /// The fields that the receive matches.
    #[inline(always)]
    pub(crate) fn key(&self) -> MatchKey {
        MatchKey { context: self.context, source: self.source, tag: self.tag }
    }
}

impl MatchKey {
    /// Returns whether this pattern matches that message.
    #[inline]
    pub(crate) fn accepts(&self, message: &MatchKey) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == ANY_SOURCE)
            && (self.tag == message.tag || self.tag == ANY_TAG)
    }

    /// Returns the class of this pattern, of four: bit 0 any source, bit 1 any tag.
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

/// The neighbours of an entry in a chain. `previous` of the first entry means nothing; `next` of
/// the last one is [`NONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub previous: u32,
    pub next: u32,
}

impl Link {
    /// The link of an entry in no chain.
    pub(crate) const NONE: Link = Link { previous: NONE, next: NONE };
}

/// The place of an entry in a [`Matcher`]: `N` links. The last one chains all entries in order of
/// arrival; those before it belong to the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links<const N: usize> {
    links: [Link; N],
    /// Tells the order of indexed entries.
    serial: u64,
}

impl<const N: usize> Links<N> {
    /// The links of an entry that is nowhere.
    pub(crate) const NONE: Links<N> = Links { links: [Link::NONE; N], serial: 0 };

    /// The link in order of arrival.
    #[inline(always)]
    pub(crate) fn order(&mut self) -> &mut Link {
        &mut self.links[N - 1]
    }

    /// The entry behind this one in order of arrival.
    #[inline(always)]
    pub(crate) fn next(&self) -> u32 {
        self.links[N - 1].next
    }
}

/// An entry in its owner's table.
pub(crate) trait Entry<const N: usize> {
    /// Returns the compared fields. Only asked of entries that were appended and not removed.
    fn key(&self) -> MatchKey;
    /// Returns the links.
    fn links(&self) -> &Links<N>;
    /// Returns the links, to be changed.
    fn links_mut(&mut self) -> &mut Links<N>;
}

/// The first and the last entry of a chain; the latter means nothing if there is no first.
#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    const EMPTY: Chain = Chain { first: NONE, last: NONE };
}

type Index = HashMap<MatchKey, Chain, BuildHasherDefault<Mix>>;

/// The order of the patterns (`PATTERNS`, with 2 links) or messages (5 links) in `entries`, which
/// every method is given.
pub(crate) struct Matcher<const PATTERNS: bool, const N: usize> {
    order: Chain,
    index: Index,
    indexed: bool,
    /// Number of indexed entries.
    len: usize,
    /// Number of indexed patterns of each class, so that classes without any are not asked.
    classes: [usize; 4],
    serial: u64,
    steps: u64,
}

impl<const PATTERNS: bool, const N: usize> Matcher<PATTERNS, N> {
    /// Makes an empty order.
    pub(crate) fn new() -> Self {
        Matcher {
            order: Chain::EMPTY,
            index: Index::default(),
            indexed: false,
            len: 0,
            classes: [0; 4],
            serial: 0,
            steps: 0,
        }
    }

    /// Returns whether there are no entries.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.order.first == NONE
    }

    /// Returns whether the entries are indexed, so that [`Matcher::append_linked`] and
    /// [`Matcher::remove_first_in_order`] must not be used.
    #[inline(always)]
    pub(crate) fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// The earliest entry; [`NONE`] if there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> u32 {
        self.order.first
    }

    /// Entries compared and chains asked since the beginning: the cost of matching.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Appends an entry.
    #[inline]
    pub(crate) fn append<E: Entry<N>>(&mut self, entries: &mut [E], entry: u32) {
        *entries[entry as usize].links_mut().order() = self.link_at_end();
        self.append_linked(entries, entry);
        if self.indexed {
            self.index_entry(entries, entry);
        }
    }

    /// The link, in order of arrival, of an entry that is appended now.
    #[inline(always)]
    pub(crate) fn link_at_end(&self) -> Link {
        Link { previous: self.order.last, next: NONE }
    }

    /// Like `append`, while nothing is indexed, for an entry that has its link already.
    #[inline(always)]
    pub(crate) fn append_linked<E: Entry<N>>(&mut self, entries: &mut [E], entry: u32) {
        match self.order.first {
            NONE => self.order.first = entry,
            _ => entries[self.order.last as usize].links_mut().order().next = entry,
        }
        self.order.last = entry;
    }

    /// The earliest entry that matches.
    #[inline(always)]
    pub(crate) fn find<E: Entry<N>>(&mut self, entries: &mut [E], asked: &MatchKey) -> Option<u32> {
        let first = self.order.first;
        let entry = entries.get(first as usize)?;
        self.steps += 1;
        if matches::<PATTERNS>(&entry.key(), asked) {
            return Some(first);
        }
        self.find_behind(entries, first, asked)
    }

    #[inline(never)]
    fn find_behind<E: Entry<N>>(&mut self, entries: &mut [E], first: u32, asked: &MatchKey) -> Option<u32> {
        if self.indexed { self.find_indexed(entries, asked) } else { self.scan(entries, first, asked) }
    }

    /// Finds the earliest entry with exactly this key for which `wanted` is true.
    pub(crate) fn find_exact<E: Entry<N>>(
        &mut self,
        entries: &[E],
        key: &MatchKey,
        wanted: impl Fn(&E) -> bool,
    ) -> Option<u32> {
        let (mut at, link) = match self.indexed {
            true => (self.index.get(key)?.first, if PATTERNS { 0 } else { key.class() }),
            false => (self.order.first, N - 1),
        };
        while at != NONE {
            self.steps += 1;
            let entry = &entries[at as usize];
            if entry.key() == *key && wanted(entry) {
                return Some(at);
            }
            at = entry.links().links[link].next;
        }
        None
    }

    /// Takes the entry out.
    #[inline]
    pub(crate) fn remove<E: Entry<N>>(&mut self, entries: &mut [E], entry: u32) {
        self.order = unlink(entries, self.order, N - 1, entry);
        if self.indexed {
            self.unindex(entries, entry);
        }
    }

    /// Takes the first entry out, which is followed by `next`, while nothing is indexed.
    #[inline(always)]
    pub(crate) fn remove_first_in_order(&mut self, next: u32) {
        self.order.first = next;
    }

    fn scan<E: Entry<N>>(&mut self, entries: &mut [E], first: u32, asked: &MatchKey) -> Option<u32> {
        let mut at = entries[first as usize].links().next();
        for _ in 0..SCAN_MAX {
            let entry = entries.get(at as usize)?;
            self.steps += 1;
            if matches::<PATTERNS>(&entry.key(), asked) {
                return Some(at);
            }
            at = entry.links().next();
        }
        if at == NONE {
            return None;
        }
        self.build_index(entries);
        self.find_indexed(entries, asked)
    }

    fn find_indexed<E: Entry<N>>(&mut self, entries: &[E], asked: &MatchKey) -> Option<u32> {
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
                let serial = entries[chain.first as usize].links().serial;
                if best.is_none_or(|(earliest, _)| serial < earliest) {
                    best = Some((serial, chain.first));
                }
            }
        }
        best.map(|(_, entry)| entry)
    }

    #[cold]
    fn build_index<E: Entry<N>>(&mut self, entries: &mut [E]) {
        self.indexed = true;
        let mut at = self.order.first;
        while at != NONE {
            self.index_entry(entries, at);
            at = entries[at as usize].links().next();
        }
    }

    #[cold]
    fn drop_index(&mut self) {
        self.indexed = false;
        self.len = 0;
        self.index.clear();
        self.classes = [0; 4];
    }

    #[inline(never)]
    fn index_entry<E: Entry<N>>(&mut self, entries: &mut [E], entry: u32) {
        self.len += 1;
        self.serial += 1;
        entries[entry as usize].links_mut().serial = self.serial;
        let key = entries[entry as usize].key();
        if PATTERNS {
            self.classes[key.class()] += 1;
            return self.append_indexed(entries, key, 0, entry);
        }
        for class in 0..4 {
            self.append_indexed(entries, key.masked(class), class, entry);
        }
    }

    #[inline(never)]
    fn unindex<E: Entry<N>>(&mut self, entries: &mut [E], entry: u32) {
        self.unindex_entry(entries, entry);
        self.len -= 1;
        if self.len <= UNINDEX_MAX {
            self.drop_index();
        }
    }

    fn unindex_entry<E: Entry<N>>(&mut self, entries: &mut [E], entry: u32) {
        let key = entries[entry as usize].key();
        if PATTERNS {
            self.classes[key.class()] -= 1;
            return self.unlink_indexed(entries, key, 0, entry);
        }
        for class in 0..4 {
            self.unlink_indexed(entries, key.masked(class), class, entry);
        }
    }

    fn append_indexed<E: Entry<N>>(&mut self, entries: &mut [E], key: MatchKey, link: usize, entry: u32) {
        self.steps += 1;
        let chain = self.index.get(&key).copied().unwrap_or(Chain::EMPTY);
        self.index.insert(key, append(entries, chain, link, entry));
    }

    fn unlink_indexed<E: Entry<N>>(&mut self, entries: &mut [E], key: MatchKey, link: usize, entry: u32) {
        self.steps += 1;
        let chain = self.index.get(&key).copied().expect("an indexed entry");
        let chain = unlink(entries, chain, link, entry);
        if chain.first == NONE {
            self.index.remove(&key);
        } else {
            self.index.insert(key, chain);
        }
    }
}

#[inline(always)]
fn matches<const PATTERNS: bool>(key: &MatchKey, asked: &MatchKey) -> bool {
    if PATTERNS { key.accepts(asked) } else { asked.accepts(key) }
}

fn append<const N: usize, E: Entry<N>>(entries: &mut [E], chain: Chain, link: usize, entry: u32) -> Chain {
    entries[entry as usize].links_mut().links[link] = Link { previous: chain.last, next: NONE };
    if chain.first == NONE {
        return Chain { first: entry, last: entry };
    }
    entries[chain.last as usize].links_mut().links[link].next = entry;
    Chain { first: chain.first, last: entry }
}

#[inline]
fn unlink<const N: usize, E: Entry<N>>(
    entries: &mut [E],
    mut chain: Chain,
    link: usize,
    entry: u32,
) -> Chain {
    let Link { previous, next } = entries[entry as usize].links().links[link];
    match chain.first == entry {
        true => chain.first = next,
        false => entries[previous as usize].links_mut().links[link].next = next,
    }
    match next {
        NONE => chain.last = previous,
        _ => entries[next as usize].links_mut().links[link].previous = previous,
    }
    chain
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
