//! Registrations of the program's memory, kept for when it is used again (paper 1, 3.3; paper 2,
//! 5).
//!
//! Registering costs more than sending some ten KiB, and programs use the same buffers again and
//! again. So a registration is kept after its operation, until something asks for the room: more
//! bytes or more registrations than the settings allow, the limit of locked memory, or memory that
//! the program has given back.
//!
//! A kept registration is reused only where the kernel tells of memory that was given back
//! ([`watch`]), and only when it has nothing left to tell. Otherwise memory is registered for each
//! operation.
//!
//! A key that a peer was told stays good as long as its registration is kept. So memory is never
//! shown to a peer by a registration with other rights than the peer shall have ([`Purpose`]):
//! memory that is both sent from and received in has two registrations. Work of this process, which
//! tells nobody a key, may use either. If it must register the memory itself, it takes the rights
//! that showing that memory would give, so that memory with one use is registered once.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `span` | whole pages |
//! | `index` | finds the entry that holds some pages |
//! | [`watch`] | hears of memory that the program gives back, and why that is safe |
//! | `reader` | the thread that reads what the kernel tells |
//! | `changes` | its log |
//! | `uffd` | userfaultfd |
//! | `maps` | the sort of memory that pages are |
//! | `armed` | which pages are watched |

mod armed;
mod changes;
mod index;
mod maps;
mod reader;
mod span;
mod uffd;
pub mod watch;

use super::device::Registration;
use index::Index;
pub use span::Span;
use std::collections::BTreeMap;
use verbena_channel::{Access, Registrations};
use verbena_fault::Fault;
use verbena_memory::Region;
use watch::Watch;

/// An adapter that registers memory.
pub trait Registrar {
    /// Lets the device access the region, and lets peers who know the key access it as `access`
    /// says.
    ///
    /// # Errors
    /// Locked-memory limits, unmapped memory.
    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault>;
    /// Ends a registration. The memory may be unmapped already.
    fn deregister(&mut self, registration: Registration);
}

/// The limits of what the cache keeps.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most bytes that the cache registers. Memory in use counts, but is never refused.
    pub bytes_max: u64,
    /// The most registrations.
    pub entries_max: usize,
}

/// The purpose of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A peer is told the key, and shall have exactly these rights.
    Shown(Access),
    /// Work of this process, on memory that would be shown with these rights.
    Work(Access),
}

impl Purpose {
    /// Returns the rights of a registration made for this purpose.
    fn access(self) -> Access {
        match self {
            Purpose::Shown(access) | Purpose::Work(access) => access,
        }
    }

    /// Returns whether a registration with these rights serves the purpose.
    fn is_served_by(self, access: Access) -> bool {
        access == self.access() || matches!(self, Purpose::Work(_))
    }
}

/// The use of a registration by one operation; [`Cache::end`] takes it back.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Lease {
    entry: u32,
    /// True if the memory was registered for this operation.
    is_first: bool,
    /// The key by which local work names the memory.
    pub local_key: u32,
    /// The key by which a peer names it.
    pub remote_key: u32,
}

/// A registration.
#[derive(Debug)]
struct Entry {
    span: Span,
    /// The rights of peers that know its key.
    access: Access,
    registration: Registration,
    /// The number of operations that use it.
    uses: u32,
    /// The operation for which it was made is under way. All pages hold bytes of its buffer, so
    /// they are mapped.
    has_first: bool,
    /// The kernel tells of changes of these pages, so the entry is kept when nobody uses it.
    is_watched: bool,
    /// Nobody new may use it.
    is_stale: bool,
    /// The entry's place among the idle ones.
    idle_since: u64,
}

/// The cache of one adapter.
pub struct Cache {
    bounds: Bounds,
    watch: Option<Box<dyn Watch>>,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// The entries that may be used, by their rights ([`Access::index`]).
    index: [Index; Access::ALL.len()],
    /// The entries that are kept but not in use, oldest first.
    idle: BTreeMap<u64, u32>,
    clock: u64,
    counts: Registrations,
}

impl Cache {
    /// Makes an empty cache. Without a watch nothing is kept beyond its operation.
    pub fn new(bounds: Bounds, watch: Option<Box<dyn Watch>>) -> Cache {
        Cache {
            bounds,
            watch,
            entries: Vec::new(),
            free: Vec::new(),
            index: Default::default(),
            idle: BTreeMap::new(),
            clock: 0,
            counts: Registrations::default(),
        }
    }

    /// Returns counts of what the cache did so far, and holds now.
    pub fn counts(&self) -> Registrations {
        self.counts
    }

    /// Returns the limits of what the cache keeps.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns whether registrations are kept.
    pub fn keeps(&self) -> bool {
        self.watch.is_some()
    }

    /// Returns a registration that holds the region and serves the purpose, for an operation that
    /// begins now.
    ///
    /// # Errors
    /// The reason why registering failed even after all that is not in use was given up: mostly the
    /// limit of locked memory.
    pub fn lease(
        &mut self,
        registrar: &mut impl Registrar,
        region: Region,
        purpose: Purpose,
    ) -> Result<Lease, Fault> {
        let span = Span::of(region);
        let trusted = self.watch.as_ref().is_some_and(|watch| watch.is_settled());
        self.tidy(registrar);
        if let Some(lease) = self.find(&span, trusted, purpose) {
            self.counts.hits += 1;
            return Ok(lease);
        }
        self.counts.misses += 1;
        let may_keep = trusted && span.bytes() <= self.bounds.bytes_max;
        if may_keep {
            self.make_room(registrar, span.bytes());
        }
        let is_watched = may_keep && self.watch.as_ref().is_some_and(|watch| watch.arm(span));
        let access = purpose.access();
        let outcome = self.register(registrar, span, access);
        if outcome.is_err() {
            self.counts.refused += 1;
            self.disarm(is_watched, span);
        }
        let registration = outcome?;
        let entry = Entry {
            span,
            access,
            registration,
            uses: 1,
            has_first: true,
            is_watched,
            is_stale: false,
            idle_since: 0,
        };
        Ok(self.insert(registrar, entry))
    }

    /// Ends an operation: no work on the memory is under way, and no peer will touch it.
    pub fn end(&mut self, registrar: &mut impl Registrar, lease: Lease) {
        let entry = self.entries[lease.entry as usize].as_mut().expect("leased");
        entry.uses -= 1;
        entry.has_first &= !lease.is_first;
        if !entry.is_watched && !entry.has_first && !entry.is_stale {
            entry.is_stale = true;
            self.index[entry.access.index()].remove(&entry.span, lease.entry);
        }
        if entry.uses > 0 {
            return;
        }
        match entry.is_stale {
            true => self.drop_entry(registrar, lease.entry),
            false => {
                self.clock += 1;
                entry.idle_since = self.clock;
                self.idle.insert(self.clock, lease.entry);
            }
        }
    }

    /// Gives up registrations of memory that the program has given back. Costs little when there
    /// are none.
    pub fn tidy(&mut self, registrar: &mut impl Registrar) {
        let Some(watch) = &mut self.watch else { return };
        let gone: Vec<u32> = match watch.changes() {
            Ok(spans) => {
                let overlapping = |index: &Index| -> Vec<u32> {
                    spans.iter().flat_map(|span| index.overlapping(span)).collect()
                };
                self.index.iter().flat_map(overlapping).collect()
            }
            Err(_) => self.index.iter().flat_map(Index::all).collect(),
        };
        for entry in gone {
            if self.entries[entry as usize].as_ref().is_some_and(|entry| !entry.is_stale) {
                self.counts.invalidated += 1;
                self.retire(registrar, entry);
            }
        }
    }

    /// Gives up everything that is not in use.
    pub fn clear(&mut self, registrar: &mut impl Registrar) {
        while self.evict(registrar).is_some() {}
    }

    /// Finds an entry that holds the span and serves the purpose, preferably one with the purpose's
    /// own rights. If the kernel may have more to tell of an entry, it is good only as long as the
    /// operation for which it was made holds its memory.
    fn find(&mut self, span: &Span, trusted: bool, purpose: Purpose) -> Option<Lease> {
        let others = Access::ALL.into_iter().filter(|access| purpose.is_served_by(*access));
        let is_good = |at: &u32| {
            let entry = self.entries[*at as usize].as_ref();
            entry.is_some_and(|entry| entry.has_first || (trusted && entry.is_watched))
        };
        let at = std::iter::once(purpose.access())
            .chain(others)
            .filter_map(|access| self.index[access.index()].holding(span))
            .find(is_good)?;
        let entry = self.entries[at as usize].as_mut()?;
        if entry.uses == 0 {
            self.idle.remove(&entry.idle_since);
        }
        entry.uses += 1;
        Some(lease(at, entry, false))
    }

    fn make_room(&mut self, registrar: &mut impl Registrar, bytes: u64) {
        let (bounds, entries_max) = (self.bounds, self.bounds.entries_max as u64);
        while self.counts.bytes + bytes > bounds.bytes_max || self.counts.entries >= entries_max {
            if self.evict(registrar).is_none() {
                return;
            }
        }
    }

    /// Registers the span. If that is refused, tries again after giving up as many bytes, and once
    /// more after giving up all.
    fn register(
        &mut self,
        registrar: &mut impl Registrar,
        span: Span,
        access: Access,
    ) -> Result<Registration, Fault> {
        // SAFETY: the pages hold the region of an operation under way, and only that is touched.
        let region = unsafe { span.region() };
        let mut outcome = registrar.register(region, access);
        for bytes in [span.bytes(), u64::MAX] {
            if outcome.is_ok() || self.idle.is_empty() {
                break;
            }
            let mut freed = 0;
            while freed < bytes {
                let Some(evicted) = self.evict(registrar) else { break };
                freed += evicted;
            }
            outcome = registrar.register(region, access);
        }
        outcome
    }

    fn insert(&mut self, registrar: &mut impl Registrar, entry: Entry) -> Lease {
        self.counts.bytes += entry.span.bytes();
        self.counts.entries += 1;
        let at = self.free.pop().unwrap_or(self.entries.len() as u32);
        if at as usize == self.entries.len() {
            self.entries.push(None);
        }
        let lease = lease(at, self.entries[at as usize].insert(entry), true);
        self.add_to_index(registrar, at);
        lease
    }

    /// Adds an entry to the index; it replaces entries with its rights that lie within it. One that
    /// is not kept replaces none that are. One that lies within another, which could not be trusted
    /// just now, serves its own operation only.
    fn add_to_index(&mut self, registrar: &mut impl Registrar, at: u32) {
        let Some(Entry { span, access, is_watched, .. }) = self.entries[at as usize] else { return };
        let index = &mut self.index[access.index()];
        let is_kept =
            |other: &u32| self.entries[*other as usize].as_ref().is_some_and(|entry| entry.is_watched);
        let touched = index.overlapping(&span);
        let holding = index.holding(&span).is_some();
        if holding || (!is_watched && touched.iter().any(is_kept)) {
            self.entries[at as usize].as_mut().expect("just made").is_stale = true;
            return;
        }
        for within in index.insert(span, at) {
            self.retire(registrar, within);
        }
    }

    /// Retires the entry: nobody new may use it, and it goes when nobody does.
    fn retire(&mut self, registrar: &mut impl Registrar, at: u32) {
        let Some(entry) = self.entries[at as usize].as_mut() else { return };
        entry.is_stale = true;
        self.index[entry.access.index()].remove(&entry.span, at);
        if entry.uses == 0 {
            self.idle.remove(&entry.idle_since);
            self.drop_entry(registrar, at);
        }
    }

    /// Gives up the entry that was unused longest, and returns its bytes.
    fn evict(&mut self, registrar: &mut impl Registrar) -> Option<u64> {
        let (_, at) = self.idle.pop_first()?;
        let Entry { span, access, .. } = *self.entries[at as usize].as_ref()?;
        self.index[access.index()].remove(&span, at);
        self.counts.evicted += 1;
        self.drop_entry(registrar, at);
        Some(span.bytes())
    }

    fn drop_entry(&mut self, registrar: &mut impl Registrar, at: u32) {
        let Some(entry) = self.entries[at as usize].take() else { return };
        self.counts.bytes -= entry.span.bytes();
        self.counts.entries -= 1;
        self.free.push(at);
        registrar.deregister(entry.registration);
        self.disarm(entry.is_watched, entry.span);
    }

    fn disarm(&self, is_watched: bool, span: Span) {
        if let Some(watch) = self.watch.as_ref().filter(|_| is_watched) {
            watch.disarm(span);
        }
    }
}

/// The adapter ends its registrations itself when it goes. The watch must learn that nothing is
/// cached any more.
impl Drop for Cache {
    fn drop(&mut self) {
        for entry in self.entries.iter().flatten() {
            self.disarm(entry.is_watched, entry.span);
        }
    }
}

fn lease(at: u32, entry: &Entry, is_first: bool) -> Lease {
    let Registration { local_key, remote_key, .. } = entry.registration;
    Lease { entry: at, is_first, local_key, remote_key }
}

#[cfg(test)]
mod tests;
