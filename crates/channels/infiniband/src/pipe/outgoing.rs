//! The sender's end of a pipe of chunks (paper 2, 4.3 to 5).
//!
//! Put is: fill the next chunks of the own ring, each with the tail pointer for the other
//! direction, and write each into the same place of the peer's ring. [`Design::Piggyback`] first
//! fills all that there is room for, [`Design::Pipeline`] lets the device begin with the first. A
//! long buffer is not copied in [`Design::ZeroCopy`]: a special packet offers it, put has moved
//! nothing, and the pipe stands until the peer has read it and says so.

use super::bytes_out::pointer;
use super::layout::{CHUNK_HEAD_BYTES, Head, Kind, Layout, Offer};
use super::line::Line;
use super::settings::Design;
use super::sources::Sources;
use crate::cache::{Cache, Lease, Purpose};
use crate::rc::adapter::{Adapter, Remote};
use crate::rc::pinned::Pinned;
use crate::rc::ring::flags;
use std::sync::atomic::Ordering;
use verbena_channel::{Access, Payload};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The sender's end. All counts are of chunks ever.
#[derive(Debug)]
pub(super) struct ChunksOut {
    layout: Layout,
    to: Remote,
    /// Chunks that were filled.
    put: u64,
    /// Chunks of these whose write is posted.
    posted: u64,
    /// Chunks that the peer has taken, as far as is known.
    taken: u64,
    /// The bytes written for each chunk of the ring.
    bytes: Vec<usize>,
    /// The memory that was offered, if it is not all put yet.
    offered: Option<Offered>,
    /// The end of the last buffer that could not be registered.
    refused_end: Option<u64>,
}

/// Memory that the peer is to read.
#[derive(Debug)]
struct Offered {
    region: Region,
    /// The registration, until the peer has read it.
    lease: Option<Lease>,
}

impl ChunksOut {
    pub(super) fn new(layout: Layout, to: Remote) -> ChunksOut {
        let bytes = vec![0; layout.chunks() as usize];
        ChunksOut { layout, to, put: 0, posted: 0, taken: 0, bytes, offered: None, refused_end: None }
    }

    /// Returns the chunks that the peer has taken, as far as is known.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the chunks that were filled.
    pub(super) fn filled(&self) -> u64 {
        self.put
    }

    /// Returns whether all is posted, and the peer has read what was offered.
    pub(super) fn is_quiet(&self) -> bool {
        self.posted == self.put && self.offered.as_ref().is_none_or(|offered| offered.lease.is_none())
    }

    pub(super) fn put<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        tail: u64,
        from: &[Payload<'_>],
    ) -> Result<usize, Fault> {
        self.look_at_tail(line.inbox);
        let mut sources = Sources::new(from);
        if self.layout.design == Design::ZeroCopy {
            sources.spare_long(line.settings.zero_copy_bytes_min, self.refused_end);
        }
        let mut moved = 0;
        if let Some(bytes) = self.pass_offered(&mut sources) {
            moved += bytes;
        }
        while self.offered.is_none() && self.has_room() {
            let offered = sources.long();
            let bytes = match offered {
                Some(region) => {
                    if !self.offer(line, tail, region) {
                        sources.spare_long(line.settings.zero_copy_bytes_min, self.refused_end);
                    }
                    0
                }
                None => self.fill(line, tail, &mut sources),
            };
            moved += bytes;
            if self.layout.design >= Design::Pipeline {
                self.post(line)?;
            }
            if bytes == 0 && offered.is_none() {
                break;
            }
        }
        self.post(line)?;
        Ok(moved)
    }

    /// Returns the bytes of the offered memory, which the caller gave again, once it was read.
    fn pass_offered(&mut self, sources: &mut Sources<'_>) -> Option<usize> {
        let offered = self.offered.take_if(|offered| offered.lease.is_none())?;
        let again = sources.long();
        debug_assert_eq!(again, Some(offered.region), "the caller gives the same again");
        sources.pass();
        Some(offered.region.len())
    }

    /// Fills a chunk with what comes next; returns how many bytes that were.
    fn fill<A: Adapter>(&mut self, line: &mut Line<'_, A>, tail: u64, sources: &mut Sources<'_>) -> usize {
        let at = self.layout.chunk_at(self.put);
        let chunk = line.outbox.memory.region().part(at, self.layout.chunk_bytes);
        let bytes = sources.copy_to(chunk.part(CHUNK_HEAD_BYTES, self.layout.body_bytes_max()));
        if bytes == 0 {
            return 0;
        }
        // The flag's place lies behind the body.
        let flag = choose_flag(chunk, bytes);
        line.copied(bytes);
        self.close(line, Head { flag, kind: Kind::Data, bytes }, tail);
        bytes
    }

    /// Offers memory by a special packet. `false` if it cannot be registered, and will be copied.
    fn offer<A: Adapter>(&mut self, line: &mut Line<'_, A>, tail: u64, region: Region) -> bool {
        let purpose = Purpose::Shown(Access::READ);
        let Ok(lease) = line.cache.lease(line.adapter, region, purpose) else {
            self.refused_end = Some(region.address() + region.len() as u64);
            return false;
        };
        let (address, bytes, key) = (region.address(), region.len() as u64, lease.remote_key);
        self.put_whole(line, tail, Kind::Offer, &Offer { address, bytes, key }.emit());
        self.offered = Some(Offered { region, lease: Some(lease) });
        true
    }

    /// Puts a chunk with this body; there must be room.
    fn put_whole<A: Adapter>(&mut self, line: &mut Line<'_, A>, tail: u64, kind: Kind, body: &[u8]) {
        let at = self.layout.chunk_at(self.put);
        let chunk = line.outbox.memory.region().part(at, self.layout.chunk_bytes);
        let flag = choose_flag(chunk, body.len());
        chunk.write(CHUNK_HEAD_BYTES, body);
        self.close(line, Head { flag, kind, bytes: body.len() }, tail);
    }

    /// Says that the offered memory was read; `false` if there is no room now.
    pub(super) fn put_done<A: Adapter>(&mut self, line: &mut Line<'_, A>, tail: u64) -> Result<bool, Fault> {
        self.look_at_tail(line.inbox);
        if !self.has_room() {
            return Ok(false);
        }
        self.put_whole(line, tail, Kind::Done, &[]);
        self.post(line)?;
        Ok(true)
    }

    /// Ends a chunk whose body is in place: flags, length, kind and tail pointer.
    fn close<A: Adapter>(&mut self, line: &mut Line<'_, A>, head: Head, tail: u64) {
        let at = self.layout.chunk_at(self.put);
        let chunk = line.outbox.memory.region().part(at, self.layout.chunk_bytes);
        chunk.write(0, &head.word().to_le_bytes());
        chunk.write(8, &tail.to_le_bytes());
        let end = head.written_bytes() - flags::FLAG_BYTES;
        chunk.write(end, &head.flag.to_le_bytes());
        let index = (self.put % self.layout.chunks()) as usize;
        self.bytes[index] = head.written_bytes();
        self.put += 1;
    }

    fn has_room(&self) -> bool {
        self.put - self.taken < self.layout.chunks()
    }

    /// Posts chunks that were filled, in order, while the send queue has room.
    pub(super) fn post<A: Adapter>(&mut self, line: &mut Line<'_, A>) -> Result<(), Fault> {
        while self.posted < self.put {
            let at = self.layout.chunk_at(self.posted);
            let bytes = self.bytes[(self.posted % self.layout.chunks()) as usize];
            let to = Remote { address: self.to.address + at as u64, ..self.to };
            if !line.write(at, bytes, to)? {
                break;
            }
            self.posted += 1;
        }
        Ok(())
    }

    /// Looks at the tail pointer that comes by a write of its own.
    fn look_at_tail(&mut self, inbox: &Pinned) {
        let word = inbox.word(self.layout.tail_at()).load(Ordering::Acquire);
        if let Some(taken) = pointer(u64::from_le(word), self.taken, self.posted - self.taken) {
            self.taken = taken;
        }
    }

    /// Takes in the tail pointer that came with a chunk, which may be older than one that came
    /// alone. `None` if it is beyond what was sent.
    #[must_use]
    pub(super) fn hear_tail(&mut self, tail: u64) -> Option<()> {
        let is_sent = tail <= self.posted;
        self.taken = if is_sent { self.taken.max(tail) } else { self.taken };
        is_sent.then_some(())
    }

    /// Takes in that the peer has read what was offered; `None` if nothing was.
    #[must_use]
    pub(super) fn done<A: Adapter>(&mut self, line: &mut Line<'_, A>) -> Option<()> {
        let lease = self.offered.as_mut()?.lease.take()?;
        line.cache.end(line.adapter, lease);
        Some(())
    }

    /// Writes the tail pointer of the other direction; returns whether there was room.
    pub(super) fn tell_tail<A: Adapter>(&self, line: &mut Line<'_, A>, tail: u64) -> Result<bool, Fault> {
        let address = self.to.address + self.layout.tail_at() as u64;
        line.write_word(tail, Remote { address, ..self.to })
    }

    /// Lets go of what was offered: the queue pair is closed.
    pub(super) fn let_go<A: Adapter>(&mut self, cache: &mut Cache, adapter: &mut A) {
        if let Some(lease) = self.offered.take().and_then(|offered| offered.lease) {
            cache.end(adapter, lease);
        }
    }
}

/// Chooses the flag of a chunk with so many bytes of body: not what lies at its tail's place. The
/// peer's ring has the same there, since nobody else writes, and only heads are cleared.
fn choose_flag(chunk: Region, body_bytes: usize) -> u32 {
    let mut old = [0; flags::FLAG_BYTES];
    chunk.read(flags::tail_offset(CHUNK_HEAD_BYTES + body_bytes), &mut old);
    flags::choose(u32::from_le_bytes(old), false)
}
