//! Long messages over several rails: the rails, their keys, and where each side's memory is shown
//! or pinned on them.
//!
//! The sender names every rail on which it is connected, in the announcement; the receiver uses
//! those on which it is connected too. The other rails are asked to connect, and carry later
//! messages. Both sides have the whole message registered on each rail: the one whose memory is
//! shown must, and the other would register every piece alone otherwise.

use super::Piece;
use super::stripe::Stripe;
use crate::Engine;
use crate::control::{MEMORY_BYTES, Memory, name_hash};
use crate::peer::Route;
use crate::slab::Id;
use crate::state::EngineState;
use verbena_channel::{Access, Key, Peer};
use verbena_memory::Region;

/// Own memory on a rail, and the other side's.
pub(crate) struct Joined {
    pub channel: usize,
    pub mine: Key,
    pub theirs: Key,
}

impl Engine {
    /// Shows memory on all rails to this peer but the first, if the message is worth it and this
    /// side is connected there: as many rails as fit a packet behind the payload.
    pub(crate) fn show_on_rails(
        &mut self,
        peer: Peer,
        route: &Route,
        region: Region,
        before: usize,
    ) -> Vec<(usize, Key)> {
        if route.rails.is_empty() || region.len() < self.state.settings.rails_bytes_min {
            return Vec::new();
        }
        let most = route.packet_bytes_max.saturating_sub(before) / MEMORY_BYTES;
        let mut shown = Vec::new();
        for channel in route.rails.iter().take(most) {
            let key = self.show_on_rail(peer, channel, region, Access::READ);
            shown.extend(key.map(|key| (channel, key)));
        }
        shown
    }

    /// Shows memory to this peer on a rail; one that is not connected is told to.
    fn show_on_rail(&mut self, peer: Peer, channel: usize, region: Region, access: Access) -> Option<Key> {
        let key = self.expose(channel, peer, region, access);
        if let (None, Some(connections)) = (key, self.channels[channel].connections()) {
            connections.meet(peer);
        }
        key
    }

    /// Has this side's memory registered on the rails on which the sender has shown its own. The
    /// others are told to connect.
    pub(super) fn join_rails(
        &mut self,
        peer: Peer,
        route: &Route,
        region: Region,
        offered: &[Memory],
    ) -> Vec<Joined> {
        let mut joined = Vec::new();
        if region.len() < self.state.settings.rails_bytes_min {
            return joined;
        }
        for memory in offered {
            let channel = self
                .state
                .channel_named(peer, memory.channel)
                .filter(|channel| route.rails.contains(*channel));
            let Some(channel) = channel else { continue };
            let mine = self.show_on_rail(peer, channel, region, Access::WRITE);
            joined.extend(mine.map(|mine| Joined { channel, mine, theirs: memory.key }));
        }
        joined
    }

    /// Lets the message be read over several rails; `None` if there are none.
    pub(super) fn read_by_rails(
        &mut self,
        id: Id,
        peer: Peer,
        route: &Route,
        region: Region,
        offered: &[Memory],
    ) -> Option<()> {
        let others = self.join_rails(peer, route, region, offered);
        let first = self.state.incoming_of(peer, id)?.1.memory()?;
        let channel = self.state.memory_channel(peer, first.channel)?;
        if others.is_empty() {
            return None;
        }
        // No peer is told this key. It has the rights of all memory that messages are received in,
        // so that one registration is enough.
        let pinned = self.expose(channel, peer, region, Access::WRITE).map(|key| (channel, key));
        let rails: Vec<(usize, Key)> = [(channel, first.key)]
            .into_iter()
            .chain(others.iter().map(|rail| (rail.channel, rail.theirs)))
            .collect();
        let mine = pinned.into_iter().chain(others.iter().map(|rail| (rail.channel, rail.mine))).collect();
        let stripe = self.state.stripe_over(peer, Piece { offset: 0, len: region.len() as u64 }, &rails)?;
        self.state.incoming_of(peer, id)?.1.stripe_by(stripe, mine);
        self.state.counts.striped += 1;
        Some(())
    }
}

impl EngineState {
    /// A span of a message with this peer, over several rails.
    pub(super) fn stripe_over(&mut self, peer: Peer, span: Piece, rails: &[(usize, Key)]) -> Option<Stripe> {
        let speeds = self.peers.get(peer)?.speeds.get_or_insert_default().clone();
        Some(Stripe::over(span, rails, speeds, self.settings.rails_piece_bytes_min as u64))
    }

    /// Memory on these channels as the peer needs it.
    pub(crate) fn named(&self, memory: &[(usize, Key)]) -> impl Iterator<Item = Memory> {
        memory
            .iter()
            .map(|(channel, key)| Memory { channel: name_hash(self.tally[*channel].name), key: *key })
    }
}
