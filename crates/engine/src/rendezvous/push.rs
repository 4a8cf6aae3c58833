//! A message that its sender writes whole into the receiver's memory (paper 2, 6 and figure 12).

use super::parts::Cut;
use super::{Piece, TRANSFERS_MAX, TransferNote};
use crate::Engine;
use crate::core::Core;
use crate::slab::Id;
use crate::wire::{Control, DONE, FAILED};
use verbena_channel::packet::Kind;
use verbena_channel::{Key, Peer, Transfer};

/// What is to be written, and how far that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Push {
    /// The channel that the receiver's key is for.
    channel: usize,
    key: Key,
    /// Where the span to be written begins in the message, and its pieces.
    offset: u64,
    cut: Cut,
    /// The next piece; those before it are written or under way.
    next: u32,
    /// What could not be written.
    failed: Option<Piece>,
}

impl Push {
    /// This span, in pieces of at most so many bytes.
    pub fn new(channel: usize, key: Key, span: Piece, piece_bytes_max: u64) -> Push {
        let cut = Cut::for_one(span.len, piece_bytes_max);
        Push { channel, key, offset: span.offset, cut, next: 0, failed: None }
    }

    /// Whether there is a piece to be written. After a failure there is none: another would fail as well.
    pub fn is_open(&self) -> bool {
        self.failed.is_none() && self.next < self.cut.count()
    }

    fn take(&mut self) -> Option<Piece> {
        let piece = self.cut.part(self.next).filter(|_| self.is_open())?;
        self.next += 1;
        Some(self.in_message(piece))
    }

    fn fail(&mut self, piece: Piece) {
        self.failed = Some(self.failed.map_or(piece, |failed| failed.union(piece)));
    }

    /// What is not in place, once nothing is under way.
    fn missing(&self) -> Option<Piece> {
        let rest = self.cut.between(self.next, 0).map(|piece| self.in_message(piece));
        self.failed.into_iter().chain(rest).reduce(Piece::union)
    }

    fn in_message(&self, piece: Piece) -> Piece {
        Piece { offset: self.offset + piece.offset, ..piece }
    }

    fn span(&self) -> Piece {
        Piece { offset: self.offset, len: self.cut.bytes }
    }
}

impl Core {
    /// A piece was written, or could not be. When the last one has ended, the receiver learns what it has.
    pub(super) fn pushed(&mut self, peer: Peer, note: TransferNote, in_place: bool) {
        if in_place {
            self.tally[note.channel].put_bytes += note.piece.len;
        }
        let Some((place, outgoing)) = self.outgoing_of(peer, note.request) else { return };
        let Some(push) = &mut outgoing.push else { return };
        if !in_place {
            push.fail(note.piece);
        }
        if push.is_open() || outgoing.writes > 0 {
            return;
        }
        let (missing, span, receiver) = (push.missing(), push.span(), outgoing.receiver);
        outgoing.push = None;
        let piece = missing.unwrap_or(span);
        let flags = if missing.is_none() { DONE } else { FAILED };
        self.post(
            peer,
            Control::new(Kind::Copied, receiver).length(piece.offset).flags(flags).word(piece.len),
        );
        if missing.is_none() {
            self.end_sent(note.request, place);
        }
    }
}

impl Engine {
    /// Writes one piece, or starts several where they run in the background; returns whether it did.
    pub(super) fn push_whole(&mut self, peer: Peer, id: Id) -> bool {
        let mut wrote = false;
        while let Some(transfer) = self.push_next(peer, id) {
            wrote = true;
            if transfer == Transfer::Done {
                break;
            }
        }
        wrote
    }

    /// `None` if there is nothing to write now. A failure counts as done: what is left goes another way.
    fn push_next(&mut self, peer: Peer, id: Id) -> Option<Transfer> {
        let region = self.core.requests.get(id)?.buffer.region()?;
        let (_, outgoing) = self.core.outgoing_of(peer, id).filter(|(_, o)| o.writes < TRANSFERS_MAX)?;
        let push = outgoing.push.as_mut()?;
        let (channel, key, piece) = (push.channel, push.key, push.take()?);
        outgoing.writes += 1;
        let note = TransferNote { request: id, piece, put: true, channel };
        let token = self.core.transfers.insert(note);
        let from = region.part(piece.offset as usize, piece.len as usize);
        // The receiver exposed the whole message, so places in it are places there.
        let outcome = self.channels[channel].put(peer, &key, piece.offset, from, token.number());
        if matches!(outcome, Ok(Transfer::Pending)) {
            return Some(Transfer::Pending);
        }
        self.core.transfers.remove(token);
        self.core.outgoing_of(peer, id)?.1.writes -= 1;
        self.core.pushed(peer, note, outcome.is_ok());
        Some(Transfer::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push() -> Push {
        Push::new(0, Key::default(), Piece { offset: 100, len: 25 }, 10)
    }

    #[test]
    fn every_piece_is_taken_once() {
        let mut push = push();
        let pieces: Vec<(u64, u64)> = std::iter::from_fn(|| push.take()).map(|p| (p.offset, p.len)).collect();
        assert_eq!(pieces, [(100, 10), (110, 10), (120, 5)]);
        assert_eq!((push.is_open(), push.missing()), (false, None));
    }

    #[test]
    fn after_a_failure_all_that_is_not_in_place_is_missing() {
        let mut push = push();
        let (first, second) = (push.take().unwrap(), push.take().unwrap());
        push.fail(second);
        assert_eq!((push.is_open(), push.take()), (false, None));
        assert_eq!(push.missing(), Some(Piece { offset: 110, len: 15 }));
        push.fail(first);
        assert_eq!(push.missing(), Some(push.span()));
    }
}
