//! The count of messages that came over the channel which a glance shows, for the polling
//! scheduler.
//!
//! A direct receive takes such a message without a call (`direct_receive.rs`) and notes it nowhere
//! but in its peer's count of packets. So these counts are compared with those of before, when the
//! turn of a dearer channel has come: what a receive took at the front of its ring then counts like
//! any other message, and the short path does no more for it.

use crate::peer::Peers;
use verbena_channel::Peer;

/// The peers whose counts are compared in one turn. With more of them it takes several turns until
/// the messages of all are noted.
const PEERS_MAX: usize = 16;

/// The peers that may send over the channel, and what was noted of them.
#[derive(Debug)]
pub(crate) struct Glanced {
    channel: usize,
    /// Each peer with its packets that were noted.
    peers: Vec<(Peer, u64)>,
    next: usize,
}

impl Glanced {
    /// Notes what comes over this channel, from these peers after so many packets of each.
    pub(crate) fn new(channel: usize, peers: impl Iterator<Item = (Peer, u64)>) -> Glanced {
        Glanced { channel, peers: peers.collect(), next: 0 }
    }

    /// The channel.
    pub(crate) fn channel(&self) -> usize {
        self.channel
    }

    /// Returns the packets that came over it and were not noted yet.
    pub(crate) fn catch_up(&mut self, peers: &Peers) -> u64 {
        let mut packets = 0;
        for _ in 0..self.peers.len().min(PEERS_MAX) {
            let (peer, noted) = &mut self.peers[self.next];
            if let Some(state) = peers.look(*peer) {
                let more = state.heard - *noted;
                *noted = state.heard;
                packets += if state.heard_over == self.channel { more } else { 0 };
            }
            self.next = if self.next + 1 == self.peers.len() { 0 } else { self.next + 1 };
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_of_the_channel_is_noted_once_whoever_sent_it() {
        let mut peers = Peers::new(64);
        let mut glanced = Glanced::new(1, (0..40).map(|peer| (peer, 0)));
        for peer in 0..64 {
            let state = peers.open(peer).expect("a peer");
            state.heard_over = if peer % 2 == 0 { 1 } else { 2 };
            (0..=peer).for_each(|_| state.hear(8));
        }
        // Three turns look at all forty.
        let turns: Vec<u64> = (0..3).map(|_| glanced.catch_up(&peers)).collect();
        assert_eq!(turns.iter().sum::<u64>(), (0..40).step_by(2).map(|peer| peer + 1).sum::<u64>());
        assert!(turns.iter().all(|packets| *packets > 0), "{turns:?}");
        assert_eq!((0..3).map(|_| glanced.catch_up(&peers)).sum::<u64>(), 0);
        peers.open(4).expect("a peer").hear(8);
        assert_eq!((0..3).map(|_| glanced.catch_up(&peers)).sum::<u64>(), 1);
    }
}
