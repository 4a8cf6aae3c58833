//! Leaving. The last acknowledgement may be lost, and its receiver would ask for it for ever. So a
//! process that leaves says so to each peer that it spoke with, until that answers or some tries
//! are over. A peer that is told lets go of all that was meant for it, since nobody hears it any
//! more.
//!
//! The word lies in the peer's receive buffers even while that computes, so it is lost only if all
//! tries are.

use super::UdChannel;
use super::adapter::Datagrams;
use super::frame::Kind;
use crate::reliable::NEVER;
use verbena_channel::Peer;

/// Tries before a process leaves without an answer.
const TRIES_MAX: u32 = 12;
/// The shortest and the longest time between two tries, in nanoseconds.
const WAIT_NS: (u64, u64) = (1_000_000, 10_000_000);

/// The progress of the farewell with one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// Nobody leaves.
    No,
    /// This process leaves: the number of tries made, and the time of the next.
    Saying(u32, u64),
    /// The farewell was answered, or need not be said any more.
    Said,
    /// The peer has left.
    Gone,
}

impl Farewell {
    /// Returns when it is to be said next.
    pub(super) fn due_ns(&self) -> u64 {
        match self {
            Farewell::Saying(_, at_ns) => *at_ns,
            _ => NEVER,
        }
    }
}

impl<A: Datagrams> UdChannel<A> {
    /// Says farewell to all; returns whether that is over.
    pub(super) fn say_farewell(&mut self) -> bool {
        let now_ns = self.adapter.now_ns();
        let mut all = true;
        for (peer, partner) in self.peers.iter_mut().filter(|(_, partner)| partner.broken.is_none()) {
            if partner.farewell == Farewell::No {
                partner.farewell = Farewell::Saying(0, now_ns);
                partner.timer_ns = now_ns;
                self.timers.add(now_ns, peer);
            }
            all &= !matches!(partner.farewell, Farewell::Saying(..));
        }
        all
    }

    /// Says it once more if it is time, or is through with it.
    pub(super) fn farewell_due(&mut self, peer: Peer, now_ns: u64) {
        let rules = self.settings.rules;
        let Some(partner) = self.peers.get(peer) else { return };
        let Farewell::Saying(tries, at_ns) = partner.farewell else { return };
        if at_ns > now_ns {
            return;
        }
        if tries >= TRIES_MAX {
            partner.farewell = Farewell::Said;
            return;
        }
        let wait_ns = partner.link.outgoing.wait_ns(&rules).clamp(WAIT_NS.0, WAIT_NS.1);
        partner.farewell = Farewell::Saying(tries + 1, now_ns + wait_ns);
        self.say(peer, Kind::Bye, false, now_ns);
    }

    /// Takes in that the peer leaves, or answers.
    pub(super) fn bye(&mut self, peer: Peer, answer: bool, now_ns: u64) {
        let Some(partner) = self.peers.get(peer) else { return };
        if answer {
            if matches!(partner.farewell, Farewell::Saying(..)) {
                partner.farewell = Farewell::Said;
            }
            return;
        }
        partner.farewell = Farewell::Gone;
        partner.link.incoming.told();
        let left = partner.link.outgoing.give_up();
        left.iter().for_each(|piece| self.buffers.release(piece.buffer));
        self.say(peer, Kind::Bye, true, now_ns);
    }
}
