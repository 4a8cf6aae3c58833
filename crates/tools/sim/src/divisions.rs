//! Divisions of messages: which parts the receiver and the sender have taken.

use crate::Rank;
use std::collections::HashMap;
use verbena_channel::{Division, End, PARTS_MAX};

#[derive(Debug)]
struct Open {
    receiver: Rank,
    sender: Rank,
    parts: u32,
    first: u32,
    last: u32,
}

/// The open divisions.
#[derive(Debug, Default)]
pub(crate) struct Divisions {
    open: HashMap<u64, Open>,
    opened: u64,
}

impl Divisions {
    /// Opens a division for the receiver, which has the first part.
    pub(crate) fn open(&mut self, receiver: Rank, sender: Rank, parts: u32) -> Division {
        assert!((2..=PARTS_MAX).contains(&parts));
        self.opened += 1;
        self.open.insert(self.opened, Open { receiver, sender, parts, first: 1, last: 0 });
        Division(self.opened)
    }

    /// The next part for `me`; an error if the division is not its own, or not from this end.
    pub(crate) fn take(
        &mut self,
        me: Rank,
        peer: Rank,
        division: Division,
        from: End,
    ) -> Result<Option<u32>, String> {
        let Some(open) = self.open.get_mut(&division.0) else { return Ok(None) };
        let expected =
            if from == End::Front { (open.receiver, open.sender) } else { (open.sender, open.receiver) };
        if (me, peer) != expected {
            return Err(format!("rank {me} takes parts of a message that is not its own"));
        }
        if open.first + open.last == open.parts {
            return Ok(None);
        }
        let taken = if from == End::Front { &mut open.first } else { &mut open.last };
        *taken += 1;
        Ok(Some(if from == End::Front { open.first - 1 } else { open.parts - open.last }))
    }

    /// Ends a division for the receiver; returns how many parts the sender took, and how many
    /// nobody took. An error if it is not its own.
    pub(crate) fn end(&mut self, me: Rank, division: Division) -> Result<(u32, u32), String> {
        match self.open.remove(&division.0) {
            Some(open) if open.receiver == me => Ok((open.last, open.parts - open.first - open.last)),
            _ => Err(format!("rank {me} ends a division that it does not have")),
        }
    }

    /// Divisions that were not ended, of receivers for which `counts` holds.
    pub(crate) fn count(&self, counts: impl Fn(Rank) -> bool) -> usize {
        self.open.values().filter(|open| counts(open.receiver)).count()
    }
}
