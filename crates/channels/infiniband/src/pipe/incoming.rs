//! The receiver's end of a pipe of chunks (paper 2, 4.3 to 5).
//!
//! Get is: look at the flags of the next chunk, copy, clear its head. At a special packet the
//! memory that it offers is read by RDMA straight to where the bytes are wanted, get has moved
//! nothing, and what lies behind it waits; then the sender is told. The tail pointer goes with
//! every chunk the other way, and alone only when half of the chunks were taken since it went last.

use super::layout::{CHUNK_HEAD_BYTES, Head, Kind, Layout, OFFER_BYTES, Offer};
use super::line::Line;
use super::outgoing::ChunksOut;
use super::pull::Pull;
use crate::cache::Cache;
use crate::rc::adapter::Adapter;
use crate::rc::pinned::Pinned;
use crate::rc::ring::flags::FLAG_BYTES;
use std::sync::atomic::{Ordering, fence};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The receiver's end.
#[derive(Debug)]
pub(super) struct ChunksIn {
    layout: Layout,
    /// Chunks ever taken.
    taken: u64,
    /// The tail pointer that was written alone, or went with a chunk.
    told: u64,
    /// The bytes of the next chunk's body that were got.
    at: usize,
    /// The memory that is read, if the next chunk is a special packet.
    pull: Option<Pull>,
    /// True if the sender is to be told that its memory was read.
    owes_done: bool,
}

/// A chunk that came.
struct Chunk {
    head: Head,
    body: Region,
    /// The sender's own tail pointer.
    tail: u64,
}

impl ChunksIn {
    pub(super) fn new(layout: Layout) -> ChunksIn {
        ChunksIn { layout, taken: 0, told: 0, at: 0, pull: None, owes_done: false }
    }

    /// Returns the tail pointer: the chunks that were taken. Who asks tells the sender.
    pub(super) fn tail(&self) -> u64 {
        self.taken
    }

    /// Returns whether the sender has not been told yet that its memory was read.
    pub(super) fn owes_done(&self) -> bool {
        self.owes_done
    }

    pub(super) fn get<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        out: &mut ChunksOut,
        into: Region,
    ) -> Result<usize, Fault> {
        self.say_done(line, out)?;
        let mut got = 0;
        while got < into.len() {
            let rest = into.part(got, into.len() - got);
            let Some(bytes) = self.get_some(line, out, rest)? else { break };
            got += bytes;
        }
        if self.taken - self.told > self.layout.chunks() / 2 && out.tell_tail(line, self.taken)? {
            self.told = self.taken;
        }
        Ok(got)
    }

    /// Gets what one chunk has; `None` if there is nothing now.
    fn get_some<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        out: &mut ChunksOut,
        into: Region,
    ) -> Result<Option<usize>, Fault> {
        if self.pull.is_some() {
            return self.get_by_read(line, out, into);
        }
        let found = self.look(line.inbox).map_err(|why| nonsense(line, why))?;
        found.map_or(Ok(None), |chunk| self.take(line, out, &chunk, into))
    }

    /// Looks for the next chunk.
    ///
    /// # Errors
    /// What lies there cannot be one.
    fn look(&self, inbox: &Pinned) -> Result<Option<Chunk>, &'static str> {
        let at = self.layout.chunk_at(self.taken);
        let word = u64::from_le(inbox.word(at).load(Ordering::Acquire));
        // The kind is the last byte of the word: without it the rest may be torn.
        if word >> 56 == 0 {
            return Ok(None);
        }
        let Some(head) = Head::of_word(word, self.layout.body_bytes_max()) else {
            return Err("a chunk of no known kind or length");
        };
        if load_flag(inbox, at + head.written_bytes() - FLAG_BYTES) != head.flag {
            return Ok(None);
        }
        // What lies between the flags is read after both.
        fence(Ordering::Acquire);
        let tail = u64::from_le(inbox.word(at + 8).load(Ordering::Relaxed));
        let body = inbox.region().part(at + CHUNK_HEAD_BYTES, head.bytes);
        Ok(Some(Chunk { head, body, tail }))
    }

    /// Takes what it can of a chunk; `None` if the rest must wait.
    fn take<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        out: &mut ChunksOut,
        chunk: &Chunk,
        into: Region,
    ) -> Result<Option<usize>, Fault> {
        out.hear_tail(chunk.tail).ok_or_else(|| nonsense(line, "more chunks were taken than were sent"))?;
        match chunk.head.kind {
            Kind::Data => Ok(Some(self.copy(line, chunk, into))),
            Kind::Done => {
                out.done(line).ok_or_else(|| nonsense(line, "memory was read that was not offered"))?;
                self.pass(line.inbox);
                Ok(Some(0))
            }
            Kind::Offer => {
                let mut body = [0; OFFER_BYTES];
                chunk.body.read(0, &mut body);
                let offer = Offer::parse(&body).ok_or_else(|| nonsense(line, "an offer of no memory"))?;
                self.pull = Some(Pull::new(offer));
                self.get_by_read(line, out, into)
            }
        }
    }

    fn copy<A: Adapter>(&mut self, line: &mut Line<'_, A>, chunk: &Chunk, into: Region) -> usize {
        let bytes = into.len().min(chunk.body.len() - self.at);
        into.put(0, chunk.body.part(self.at, bytes));
        line.copied(bytes);
        self.at += bytes;
        if self.at == chunk.body.len() {
            self.pass(line.inbox);
        }
        bytes
    }

    /// Reads on at a special packet; `None` while the device does.
    fn get_by_read<A: Adapter>(
        &mut self,
        line: &mut Line<'_, A>,
        out: &mut ChunksOut,
        into: Region,
    ) -> Result<Option<usize>, Fault> {
        let Some(pull) = &mut self.pull else { return Ok(None) };
        let bytes = pull.get(line, into)?;
        if pull.is_over() {
            (self.pull, self.owes_done) = (None, true);
            self.pass(line.inbox);
            self.say_done(line, out)?;
        }
        Ok((bytes > 0).then_some(bytes))
    }

    /// Passes on to the next chunk: the head of this one is cleared, so that it can be seen to
    /// change.
    fn pass(&mut self, inbox: &Pinned) {
        inbox.word(self.layout.chunk_at(self.taken)).store(0, Ordering::Relaxed);
        self.taken += 1;
        self.at = 0;
    }

    /// Tells the sender that its memory was read, if it must be told and there is room.
    fn say_done<A: Adapter>(&mut self, line: &mut Line<'_, A>, out: &mut ChunksOut) -> Result<(), Fault> {
        if self.owes_done && out.put_done(line, self.taken)? {
            (self.owes_done, self.told) = (false, self.taken);
        }
        Ok(())
    }

    /// Notes that the tail pointer went with a chunk.
    pub(super) fn told(&mut self) {
        self.told = self.taken;
    }

    /// Takes in that a piece of memory was read.
    pub(super) fn read_done(&mut self) {
        if let Some(pull) = &mut self.pull {
            pull.piece_done();
        }
    }

    /// Lets go of the memory that is read into: the queue pair is closed.
    pub(super) fn let_go<A: Adapter>(&mut self, cache: &mut Cache, adapter: &mut A) {
        if let Some(pull) = self.pull.take() {
            pull.let_go(cache, adapter);
        }
    }
}

/// Loads the flag at this offset, as a half of its aligned word.
fn load_flag(inbox: &Pinned, offset: usize) -> u32 {
    let word = u64::from_le(inbox.word(offset & !7).load(Ordering::Acquire));
    if offset.is_multiple_of(8) { word as u32 } else { (word >> 32) as u32 }
}

/// Describes what a peer may not send: nothing that follows can be trusted.
fn nonsense<A: Adapter>(line: &Line<'_, A>, why: &str) -> Fault {
    Fault::new(
        format!("rank {} sent through its pipe what makes no sense: {why}", line.peer),
        line.adapter.place(),
        "memory of either process was overwritten, or a defect of Verbena",
        "check the program for writes out of bounds; if there are none, please report it",
    )
}
