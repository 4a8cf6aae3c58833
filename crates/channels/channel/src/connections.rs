//! Connections: what a channel holds for a peer before packets go, and may give back.

use crate::Peer;

/// The connection that a channel holds for a peer ([`Connections::connection`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// None: a packet would make one.
    None,
    /// One is being made.
    Making,
    /// One over which packets go.
    Up,
}

/// The connections of a channel that needs one for each peer.
pub trait Connections {
    /// Tells that this channel will be needed for the peer, beside another or in place of a lost
    /// one. It may see to a connection now, and should wait no longer for it than for a peer that
    /// is known to live.
    fn meet(&mut self, peer: Peer);

    /// Tells as [`meet`](Connections::meet) does, of a peer that a channel has just lost: the
    /// connection is made whatever limit there is ([`limit`](Connections::limit)), at both ends.
    fn need(&mut self, peer: Peer);

    /// The connection with the peer.
    fn connection(&self, peer: Peer) -> Connection;

    /// The number of connections with all peers, up or being made.
    fn count(&self) -> usize;

    /// Limits the connections that peers get when they ask: each has another way to this process.
    fn limit(&mut self, most: usize);

    /// Gives the connection with the peer back, if there is one. Both sides know that all that went
    /// over it either way has been taken, and that the other side gives it back as well. Packets
    /// make a new one.
    fn leave(&mut self, peer: Peer);

    /// The name shared by the rails of this channel. Long messages may be striped over channels of
    /// one name. They give keys of memory
    /// ([`RemoteMemory::expose`](crate::RemoteMemory::expose)) only while they are connected.
    fn rail_of(&self) -> &'static str;
}
