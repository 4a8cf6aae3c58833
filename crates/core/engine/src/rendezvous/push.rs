//! A message that its sender writes whole into the receiver's memory (paper 2, 6 and figure 12),
//! over one rail or several.

use super::stripe::Task;
use super::{Piece, TransferNote, stripe::Stripe};
use crate::Engine;
use crate::control::{Control, DONE, FAILED, Memory};
use crate::slab::Id;
use crate::state::EngineState;
use verbena_channel::packet::Kind;
use verbena_channel::{Peer, Transfer};

impl EngineState {
    /// Returns what this side is to write; `None` if it never can have said that it can. If the
    /// channel has lost the peer meanwhile, the writes fail. Only further rails on which this side
    /// is connected count.
    pub(super) fn push_of(
        &mut self,
        peer: Peer,
        id: Id,
        span: Piece,
        memory: &Memory,
        others: &[Memory],
    ) -> Option<Stripe> {
        let route = self.peers.look(peer)?.route?;
        self.requests.get(id)?.buffer.region()?;
        let channel = self.memory_channel(peer, memory.channel)?;
        let on_rail = |other: &Memory| Some((self.channel_named(peer, other.channel)?, other.key));
        let others = others.iter().filter_map(on_rail).filter(|(channel, _)| self.is_shown_on(id, *channel));
        let rails: Vec<_> = [(channel, memory.key)].into_iter().chain(others).collect();
        match &rails[..] {
            [(channel, key)] => Some(Stripe::alone(span, *channel, *key, self.piece_bytes(&route))),
            rails => self.stripe_over(peer, span, rails),
        }
    }

    /// Notes that a piece was written, or could not be. When the last one has ended, the receiver
    /// learns what it has.
    pub(super) fn pushed(&mut self, peer: Peer, note: TransferNote, in_place: bool) {
        if in_place {
            self.tally[note.channel].put_bytes += note.piece.len;
        }
        let Some((place, outgoing)) = self.outgoing_of(peer, note.request) else { return };
        let Some(push) = &mut outgoing.push else { return };
        push.ended(note.channel, note.piece, in_place);
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
    /// Writes one piece, or starts several where they run in the background; returns whether it
    /// did.
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

    /// Starts the next write; `None` if there is nothing to write now. A failure counts as done:
    /// what is left goes another way.
    fn push_next(&mut self, peer: Peer, id: Id) -> Option<Transfer> {
        let region = self.state.requests.get(id)?.buffer.region()?;
        let (_, outgoing) = self.state.outgoing_of(peer, id)?;
        let Task { channel, key, piece } = outgoing.push.as_mut()?.take()?;
        outgoing.writes += 1;
        let note = TransferNote { request: id, piece, put: true, channel };
        let token = self.state.transfers.insert(note);
        let from = region.part(piece.offset as usize, piece.len as usize);
        // The receiver exposed the whole message, so places in it are places there.
        let outcome = self.channels[channel]
            .remote_memory()
            .and_then(|memory| memory.put(peer, &key, piece.offset, from, token.number()).ok());
        if outcome == Some(Transfer::Pending) {
            return Some(Transfer::Pending);
        }
        self.state.transfers.remove(token);
        self.state.outgoing_of(peer, id)?.1.writes -= 1;
        self.state.pushed(peer, note, outcome.is_some());
        Some(Transfer::Done)
    }
}
