//! What is known of each peer: a pointer and its card for those that never spoke, the rest for the others.

use super::adapter::{Address, Endpoint, Limits, QueuePair};
use super::connect::Asking;
use super::credit::Credits;
use super::order::Sequence;
use super::queue::SendQueue;
use super::settings::Settings;
use crate::{Fault, Peer};

/// How far a connection is.
#[derive(Debug)]
pub enum Stage {
    /// The other side has not said yet that it is ready.
    Asking(Asking),
    /// Both sides are ready.
    Up,
    /// It broke, or was never made.
    Broken(Box<Fault>),
}

/// A connection, or one to be.
#[derive(Debug)]
pub struct Connection {
    /// The queue pair on this side; none any more once it is broken.
    pub pair: Option<QueuePair>,
    /// How far it is.
    pub stage: Stage,
    /// Our end, as the peer needs it.
    pub mine: Endpoint,
    /// The peer's end, once it is known.
    pub theirs: Option<Endpoint>,
    /// The queue pair's send queue.
    pub queue: SendQueue,
    /// The order of packets.
    pub sequence: Sequence,
    /// Credits of the send/receive path.
    pub receives: Credits,
    /// Receive buffers posted for the peer.
    pub posted: u16,
    /// Whether the peer stands in the list of those with something to do.
    pub listed: bool,
}

impl Connection {
    /// A connection with this queue pair and end of ours, before the first packet.
    pub fn new(
        pair: Option<QueuePair>,
        mine: Endpoint,
        stage: Stage,
        posted: u16,
        limits: &Limits,
        settings: &Settings,
    ) -> Connection {
        Connection {
            pair,
            stage,
            mine,
            theirs: None,
            queue: SendQueue::new(limits.work_max, settings.signal_every),
            sequence: Sequence::new(),
            receives: Credits::default(),
            posted,
            listed: false,
        }
    }

    /// Whether packets can be sent.
    #[inline]
    pub fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up)
    }
}

/// All peers.
pub struct Peers {
    cards: Vec<Option<Address>>,
    connections: Vec<Option<Box<Connection>>>,
}

impl Peers {
    /// The peers with these cards, none of which has spoken.
    pub fn new(cards: Vec<Option<Address>>) -> Peers {
        let connections = std::iter::repeat_with(|| None).take(cards.len()).collect();
        Peers { cards, connections }
    }

    /// Bytes of state for a peer that never spoke.
    pub const fn silent_bytes() -> usize {
        size_of::<Option<Address>>() + size_of::<Option<Box<Connection>>>()
    }

    /// Bytes of state for all peers.
    pub fn bytes(&self) -> usize {
        self.cards.len() * Peers::silent_bytes() + self.iter().count() * size_of::<Connection>()
    }

    /// Where the peer's datagrams go; `None` if it has no device, or the job no such process.
    pub fn address(&self, peer: Peer) -> Option<&Address> {
        self.cards.get(peer as usize)?.as_ref()
    }

    /// The connection with the peer, if there is one or is to be one.
    #[inline]
    pub fn get(&mut self, peer: Peer) -> Option<&mut Connection> {
        self.connections.get_mut(peer as usize)?.as_deref_mut()
    }

    /// As [`Peers::get`], to look only.
    pub fn look(&self, peer: Peer) -> Option<&Connection> {
        self.connections.get(peer as usize)?.as_deref()
    }

    /// Notes a connection to be.
    pub fn add(&mut self, peer: Peer, connection: Connection) {
        self.connections[peer as usize] = Some(Box::new(connection));
    }

    /// All with whom there is a connection, or is to be one, or was one.
    pub fn iter(&self) -> impl Iterator<Item = (Peer, &Connection)> {
        (0..).zip(&self.connections).filter_map(|(peer, connection)| Some((peer, connection.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit, below which the engine's own pointer for the peer must stay too.
    #[test]
    fn a_silent_peer_costs_little() {
        assert!(Peers::silent_bytes() + size_of::<Option<Box<u8>>>() <= 64, "{}", Peers::silent_bytes());
    }
}
