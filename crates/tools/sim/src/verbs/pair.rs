//! A queue pair: the work posted on it, the part that is under way, and whether it is in error.

use crate::Rank;
use std::collections::VecDeque;
use verbena_infiniband::device::Failed;
use verbena_infiniband::rc::adapter as rc;
use verbena_infiniband::rc::adapter::Operation;
use verbena_memory::Region;

/// A receive buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub id: u64,
    pub into: Region,
    pub local_key: u32,
}

/// A piece of work that has not ended.
#[derive(Debug)]
pub(super) struct Work {
    /// The number of the work on the queue pair.
    pub serial: u64,
    pub id: u64,
    pub operation: Operation,
    pub local: Region,
    pub local_key: u32,
    /// The bytes, if they were copied when posted.
    pub inline: Option<Vec<u8>>,
    pub signalled: bool,
    /// Pieces still to land (offset and length), the next one last.
    pub pieces: Vec<(usize, usize)>,
    /// Time between two pieces.
    pub piece_ns: u64,
    /// The peer's device has carried it out (a read: has begun to answer).
    pub executed: bool,
    /// True if it has reached the peer once.
    pub begun: bool,
    /// True if it reached the peer before its turn and waits.
    pub stalled: bool,
    /// The number of times the peer did not answer.
    pub tries: u32,
    /// The number of times the peer had no receive buffer.
    pub unready: u32,
    /// The number of times a port at either end had gone down by chance when it was last tried.
    pub blinks: u32,
    /// The outcome, kept until all before it have ended too.
    pub outcome: Option<Result<(), Failed>>,
}

impl Work {
    /// Exchanges what two pieces of work write.
    pub(super) fn exchange(&mut self, other: &mut Work) {
        std::mem::swap(&mut self.operation, &mut other.operation);
        std::mem::swap(&mut self.local, &mut other.local);
        std::mem::swap(&mut self.inline, &mut other.inline);
        std::mem::swap(&mut self.pieces, &mut other.pieces);
        std::mem::swap(&mut self.piece_ns, &mut other.piece_ns);
    }
}

/// A queue pair's state, with the distinctions that this model makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Made, not connected.
    Fresh,
    /// Connected to that queue pair of that rank.
    Ready(Rank, u32),
    /// The error state.
    Error,
}

/// A queue pair.
#[derive(Debug)]
pub(super) struct Pair {
    pub state: State,
    /// Receives from the shared queue.
    pub shared: bool,
    pub receives: VecDeque<Receive>,
    pub work: VecDeque<Work>,
    /// The number of posted work, and whether it is a read, until a completion at or behind it is
    /// polled.
    pub unretired: VecDeque<(u64, bool)>,
    pub posted: u64,
    /// The device may start the next work of this pair.
    pub out_free_ns: u64,
    /// The time at which the last byte of the last work lands.
    pub last_ns: u64,
    /// The last packet that went into the peer's ring, for
    /// [`super::faults::Canary::NumbersIgnored`].
    pub last_in_ring: Option<rc::Remote>,
}

impl Pair {
    pub(super) fn new(shared: bool) -> Pair {
        Pair {
            state: State::Fresh,
            shared,
            receives: VecDeque::new(),
            work: VecDeque::new(),
            unretired: VecDeque::new(),
            posted: 0,
            out_free_ns: 0,
            last_ns: 0,
            last_in_ring: None,
        }
    }

    /// Places in the queue that are taken: by reads, or by anything else.
    pub(super) fn taken(&self, reads: bool) -> u32 {
        self.unretired.iter().filter(|(_, read)| *read == reads).count() as u32
    }

    /// A completion of that work was polled: it and all before it no longer take a place.
    pub(super) fn retire(&mut self, serial: u64) {
        while self.unretired.front().is_some_and(|(first, _)| *first <= serial) {
            self.unretired.pop_front();
        }
    }

    /// The work of that number.
    pub(super) fn find(&mut self, serial: u64) -> Option<&mut Work> {
        let first = self.work.front()?.serial;
        self.work.get_mut(serial.checked_sub(first)? as usize)
    }

    /// The first work that the peer has not carried out.
    pub(super) fn next_to_execute(&mut self) -> Option<&mut Work> {
        self.work.iter_mut().find(|work| !work.executed)
    }
}

impl Work {
    /// Makes the work of that number on its queue pair, as posted.
    pub(super) fn new(
        serial: u64,
        work: &rc::Work,
        local: Region,
        inline: Option<Vec<u8>>,
        signalled: bool,
    ) -> Work {
        Work {
            serial,
            id: work.id,
            operation: work.operation,
            local,
            local_key: work.local_key,
            inline,
            signalled,
            pieces: Vec::new(),
            piece_ns: 0,
            executed: false,
            begun: false,
            stalled: false,
            tries: 0,
            unready: 0,
            blinks: 0,
            outcome: None,
        }
    }
}
