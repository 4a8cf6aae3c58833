//! Streams: the packets of one long message, one after the other.

use crate::Peer;

/// A channel that treats the packets of a stream ([`Kind::Data`](crate::packet::Kind::Data)) apart.
pub trait Streams {
    /// Only puts packets to `peer` in place from now on. They move when
    /// [`release`](Streams::release) is called or there is no room for more: so copying and
    /// transferring take turns (paper 2, 4.2).
    fn hold(&mut self, peer: Peer);

    /// Ends [`hold`](Streams::hold), and transfers what was put in place.
    fn release(&mut self, peer: Peer);

    /// The longest payload now of a packet of a stream to `peer`, if longer than
    /// [`Reach::packet_bytes_max`](crate::Reach::packet_bytes_max) allows for any packet.
    fn stream_bytes_max(&mut self, peer: Peer) -> Option<usize>;

    /// Returns whether a packet of a stream to `peer` that was [`Full`](crate::SendError::Full) is
    /// begun nevertheless: only one longer than
    /// [`Reach::packet_bytes_max`](crate::Reach::packet_bytes_max). Then its payload stays in
    /// use, and no other packet is taken, until the same packet was given again and taken
    /// (paper 2, 3.2 and 5: `put` returns fewer bytes than it was given).
    fn is_begun(&self, _peer: Peer) -> bool {
        false
    }
}
