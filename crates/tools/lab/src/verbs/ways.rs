//! The ways of sending a message, and how its receiver notices each.

use super::memory::Memory;
use super::memory::{LANDING, OUT, POINTER_BYTES, POINTER_LANDING, POINTER_OUT, Part, mark};
use super::pair::{Pair, Work};
use super::waiting::until;
use anyhow::{Result, ensure};

/// The work posted between two pieces that ask for a completion.
const SIGNAL_EVERY: u64 = 16;
/// The distance of the parts that are gathered: they lie in pages of their own.
const GATHER_STRIDE: usize = 128 << 10;
const POINTER: Part = Part { offset: POINTER_OUT, bytes: POINTER_BYTES };

/// A way of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// An RDMA write into memory that the receiver polls.
    Write,
    /// An RDMA write with an immediate value, which the receiver finds at its completion queue.
    WriteImmediate,
    /// A send, found at the completion queue.
    Send,
    /// A send into a buffer of a shared receive queue.
    SendShared,
    /// An RDMA write of the data, then one of a pointer that the receiver polls.
    TwoWrites,
    /// An RDMA write gathered from so many parts.
    Gather(usize),
}

impl Way {
    /// The ways, in the order of the tables.
    pub(super) const ALL: [Way; 7] = [
        Way::Write,
        Way::WriteImmediate,
        Way::Send,
        Way::SendShared,
        Way::TwoWrites,
        Way::Gather(2),
        Way::Gather(4),
    ];

    /// Returns the name in tables.
    pub(super) fn name(self) -> String {
        match self {
            Way::Write => "write".into(),
            Way::WriteImmediate => "write with immediate".into(),
            Way::Send => "send".into(),
            Way::SendShared => "send, shared queue".into(),
            Way::TwoWrites => "two writes".into(),
            Way::Gather(parts) => format!("write gathered from {parts}"),
        }
    }

    /// Returns whether a message uses up a receive buffer.
    pub(super) fn receives(self) -> bool {
        matches!(self, Way::WriteImmediate | Way::Send | Way::SendShared)
    }

    /// Returns whether so many bytes can be sent this way.
    pub(super) fn takes(self, bytes: usize) -> bool {
        match self {
            Way::Gather(parts) => bytes >= parts && bytes.is_multiple_of(parts),
            _ => bytes > 0,
        }
    }

    /// Returns the parts from which the message is taken.
    pub(super) fn parts(self, bytes: usize) -> Vec<Part> {
        let count = if let Way::Gather(parts) = self { parts } else { 1 };
        let part = |at| Part { offset: OUT + at * GATHER_STRIDE, bytes: bytes / count };
        (0..count).map(part).collect()
    }
}

/// One end of messages of one way and length.
pub(super) struct End<'a> {
    pub pair: &'a Pair,
    pub memory: &'a Memory,
    pub way: Way,
    pub bytes: usize,
    pub parts: &'a [Part],
}

impl End<'_> {
    /// Sends the message of a round.
    ///
    /// # Errors
    /// The device refuses it.
    #[inline]
    pub(super) fn send(&self, round: u64) -> Result<()> {
        let last = self.parts.last().expect("a part at least");
        self.memory.set(last.offset + last.bytes - 1, mark(round));
        let signalled = round.is_multiple_of(SIGNAL_EVERY);
        let to = LANDING;
        match self.way {
            Way::Send | Way::SendShared => self.pair.post(Work::Send, self.parts, signalled),
            Way::WriteImmediate => {
                self.pair.post(Work::WriteImmediate { to, value: round as u32 }, self.parts, signalled)
            }
            Way::Write | Way::Gather(_) => {
                self.pair.post(Work::Write { to }, self.parts, signalled)?;
                self.reclaim(signalled)
            }
            Way::TwoWrites => {
                self.memory.set_pointer(round);
                self.pair.post(Work::Write { to }, self.parts, false)?;
                self.pair.post(Work::Write { to: POINTER_LANDING }, &[POINTER], signalled)?;
                self.reclaim(signalled)
            }
        }
    }

    /// Takes the completions of earlier work where no receive looks at the queue.
    #[inline]
    fn reclaim(&self, signalled: bool) -> Result<()> {
        if signalled { self.pair.drain() } else { Ok(()) }
    }

    /// Receives the message of a round.
    ///
    /// # Errors
    /// It does not come, or is another.
    #[inline]
    pub(super) fn receive(&self, round: u64) -> Result<()> {
        let is_last = || self.memory.landed(self.bytes - 1) == mark(round);
        match self.way {
            Way::Write | Way::Gather(_) => until("a write", || Ok(is_last().then_some(()))),
            Way::TwoWrites => {
                until("a pointer", || Ok((self.memory.pointer_landed() == round).then_some(())))?;
                ensure!(is_last(), "the pointer of round {round} came before its data");
                Ok(())
            }
            Way::WriteImmediate | Way::Send | Way::SendShared => self.take_received(round),
        }
    }

    /// Takes the completion of a receive, and posts its buffer again.
    fn take_received(&self, round: u64) -> Result<()> {
        let ended = until("a receive", || Ok(self.pair.take()?.filter(|ended| ended.received)))?;
        match self.way {
            Way::WriteImmediate => ensure!(
                ended.immediate == Some(round as u32),
                "the immediate value of round {round} came as {:?}",
                ended.immediate
            ),
            _ => ensure!(ended.bytes == self.bytes, "{} bytes came, not {}", ended.bytes, self.bytes),
        }
        ensure!(
            self.memory.landed(self.bytes - 1) == mark(round),
            "the completion of round {round} came before its data"
        );
        self.pair.post_receive(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_the_whole_message_and_do_not_overlap() {
        for way in Way::ALL {
            for bytes in [8, 64, 16 << 10, 64 << 10].into_iter().filter(|&bytes| way.takes(bytes)) {
                let parts = way.parts(bytes);
                assert_eq!(parts.iter().map(|part| part.bytes).sum::<usize>(), bytes);
                assert!(parts.windows(2).all(|two| two[0].offset + two[0].bytes <= two[1].offset));
                assert!(parts.iter().all(|part| part.offset + part.bytes <= LANDING));
            }
        }
    }

    #[test]
    fn what_cannot_be_divided_is_not_gathered() {
        assert!(!Way::Gather(4).takes(2) && !Way::Gather(4).takes(10) && Way::Gather(2).takes(2));
    }
}
