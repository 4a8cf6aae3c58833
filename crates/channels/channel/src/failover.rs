//! Failover: what a channel does for packets that another channel may have to carry again.

use crate::Peer;
use crate::packet::Header;
use verbena_fault::Fault;

/// The packets of a channel that can lose a peer which another channel still reaches.
pub trait Failover {
    /// Tells that another channel reaches `peer` too, and keeps packets to it, from now on, until
    /// they are known to be taken, so that [`undelivered`](Failover::undelivered) can hand them
    /// back. `false` if this channel, as it is set, cannot do that.
    fn keep_sent(&mut self, peer: Peer) -> bool;

    /// Tells that no other channel reaches `peer` any more, after
    /// [`keep_sent`](Failover::keep_sent) was asked for: it is given up only as late as a peer that
    /// never had another way.
    fn is_only_way(&mut self, peer: Peer) {
        let _ = peer;
    }

    /// Hands back the packets that a lost peer may not have taken since
    /// [`keep_sent`](Failover::keep_sent) was asked for, each once, and forgets them. Some that
    /// were taken do no harm.
    fn undelivered(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)>;

    /// Tells that the peer has given this channel up. If it still works on this side, it counts as
    /// broken: it delivers what has arrived, ends its transfers, and is used no more.
    fn abandon(&mut self, peer: Peer, fault: &Fault);

    /// Like [`abandon`](Failover::abandon), for a peer that is gone: it does nothing any more, and
    /// sends nothing.
    fn gone(&mut self, peer: Peer, fault: &Fault) {
        self.abandon(peer, fault);
    }
}
