//! The signs of life of a peer, and what its silence asks for.

use crate::device::queue::SendQueue;

/// The last signs of life of a connected peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pulse {
    /// The packets taken, and work known to be done, at the last look.
    packets: u32,
    done: u32,
    /// The time when one of them had changed.
    since_ns: u64,
    /// A question of ours is under way.
    pub asked: bool,
    /// True if nothing was under way before it, so that only devices are asked.
    pub alone: bool,
}

/// The next step with a peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Nothing.
    Rest,
    /// Ask it for a sign of life.
    Ask,
    /// Give it up: not even the device has said anything for this long, in nanoseconds.
    GiveUp(u64),
}

impl Pulse {
    /// Looks at the counts of packets and of work done. An answer may take `limit_ns`.
    pub(crate) fn look(
        &mut self,
        (packets, done): (u32, u32),
        now_ns: u64,
        interval_ns: u64,
        limit_ns: u64,
    ) -> Care {
        if (packets, done) != (self.packets, self.done) || self.since_ns == 0 {
            *self = Pulse { packets, done, since_ns: now_ns.max(1), ..Pulse::default() };
            return Care::Rest;
        }
        let silent_ns = now_ns.saturating_sub(self.since_ns);
        match self.asked {
            false if silent_ns >= interval_ns => Care::Ask,
            true if silent_ns >= interval_ns.saturating_add(limit_ns) => Care::GiveUp(silent_ns),
            _ => Care::Rest,
        }
    }

    /// Returns whether a question has room in the send queue. A full queue asks by itself, since
    /// the last of its work is signalled.
    pub(crate) fn may_post(&mut self, queue: &SendQueue) -> bool {
        let has_room = queue.has_room(1);
        self.asked |= !has_room;
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_NS: u64 = 1000;
    const LIMIT_NS: u64 = 5000;

    fn look(pulse: &mut Pulse, signs: (u32, u32), now_ns: u64) -> Care {
        pulse.look(signs, now_ns, INTERVAL_NS, LIMIT_NS)
    }

    #[test]
    fn only_silence_is_asked_about_and_only_long_silence_given_up() {
        let mut pulse = Pulse::default();
        for (signs, now_ns) in [((0, 0), 10), ((1, 0), 2000), ((1, 3), 2900), ((1, 3), 3899)] {
            assert_eq!(look(&mut pulse, signs, now_ns), Care::Rest, "{now_ns}");
        }
        assert_eq!(look(&mut pulse, (1, 3), 3900), Care::Ask);
        pulse.asked = true;
        assert_eq!(look(&mut pulse, (1, 3), 8899), Care::Rest);
        assert_eq!(look(&mut pulse, (1, 3), 8900), Care::GiveUp(6000));
        // The answer came: all over again.
        assert_eq!(look(&mut pulse, (1, 4), 8901), Care::Rest);
        assert_eq!(look(&mut pulse, (1, 4), 9901), Care::Ask);
    }

    #[test]
    fn a_full_queue_asks_by_itself() {
        let (mut pulse, mut queue) = (Pulse::default(), SendQueue::new(2, 1));
        queue.posted(true);
        assert!(pulse.may_post(&queue) && !pulse.asked);
        queue.posted(true);
        assert!(!pulse.may_post(&queue) && pulse.asked);
    }
}
