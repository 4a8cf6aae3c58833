//! A simulated rank and what it has under way.

use crate::exposed::Memory;
use crate::sample::Sample;
use std::ops::Range;
use verbena_mpi::window::service::{Moment, Operation, Service};
use verbena_sim::Memory as Buffer;

/// The bytes that operations under way touch at a target, and how.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    pub(crate) bytes: Range<usize>,
    pub(crate) accumulates: bool,
    /// The number of the operation.
    pub(crate) operation: u64,
}

/// The condition that holds once an operation is over.
pub(crate) enum Check {
    /// The origin's memory is its own again.
    Out(Buffer),
    /// These bytes have come.
    Fetched { into: Buffer, expected: Vec<u8> },
    /// The number has come that the counter had before one was added to it.
    Counted(Buffer),
    /// The word was replaced by `new` if it was `compared`.
    Swapped { into: Buffer, compared: u64, new: u64 },
    /// The operation has failed.
    Failed,
}

/// An operation that the rank looks after.
pub(crate) struct Pending {
    pub(crate) number: u64,
    pub(crate) operation: Operation,
    pub(crate) check: Check,
}

/// The event that a rank waits for.
pub(crate) enum Wait {
    Nothing,
    Flush(Moment),
    FlushLocal(Moment),
    Lock(Operation),
    /// The block under the lock.
    Look(Operation, Buffer),
    /// The block and the end of the lock.
    Glance(Operation, Buffer, Operation),
    /// The rank keeps the lock for some rounds; the value of the words that it guards.
    Hold(u64, u64),
    Unlock(Operation),
}

/// The dealings of an origin with a target.
#[derive(Default)]
pub(crate) struct Relation {
    pub(crate) touched: Vec<Touched>,
    pub(crate) pending: Vec<Pending>,
    /// True if the next flush must tell an error.
    pub(crate) is_in_trouble: bool,
    /// True if an operation failed that nobody asks about.
    pub(crate) is_unheard: bool,
    /// The last value seen of the word that is swapped.
    pub(crate) swapped: u64,
}

/// A rank.
pub(crate) struct Rank {
    pub(crate) service: Service,
    pub(crate) window: Memory,
    pub(crate) relations: Vec<Relation>,
    pub(crate) wait: Wait,
    /// The target of what it waits for, and whether it holds or wants the lock alone.
    pub(crate) target: usize,
    pub(crate) is_exclusive: bool,
    /// Things that it still does.
    pub(crate) left: u32,
    /// Requests sent, and operations begun.
    pub(crate) requests: u32,
    pub(crate) operations: u64,
}

impl Rank {
    /// Returns whether an access to these elements would meet another.
    pub(crate) fn conflicts(&self, target: usize, sample: &Sample, accumulates: bool) -> bool {
        let (low, high) = sample.span();
        self.relations[target].touched.iter().any(|touched| {
            touched.bytes.start < high && low < touched.bytes.end && !(accumulates && touched.accumulates)
        })
    }

    /// Notes an access to these elements by the next operation.
    pub(crate) fn touch(&mut self, target: usize, sample: &Sample, accumulates: bool) {
        let (low, high) = sample.span();
        let touched = Touched { bytes: low..high, accumulates, operation: self.operations };
        self.relations[target].touched.push(touched);
    }

    /// Keeps an operation until it is over.
    pub(crate) fn keep(&mut self, target: usize, operation: Operation, check: Check) {
        let pending = Pending { number: self.operations, operation, check };
        self.relations[target].pending.push(pending);
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !matches!(self.wait, Wait::Nothing)
    }
}
