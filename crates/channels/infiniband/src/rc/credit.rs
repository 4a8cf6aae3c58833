//! Credits for the receive buffers of one pair (paper 1, 3.1 and 4.4).
//!
//! Each side may send as many packets as the other has buffers for it: posted to this queue pair,
//! or its share of the shared pool, which may hold fewer than all shares together
//! (`shared_pool.rs`). Credits for buffers that were posted anew ride on every packet; if none goes
//! that way and enough are owed ([`worth`]), a packet of its own carries them.
//!
//! The last credit may only be used by a packet that brings credits itself. So if both sides have
//! used theirs up, the one that heard last has at least one and can hand back what it owes: neither
//! waits for ever.

/// The fewest credits with which the rules below hold: explicit packets neither fail to come nor
/// answer each other.
pub(super) const CREDITS_MIN: u16 = 4;

/// The credits left to the other side to send on with, while a packet brings it more.
const LEFT: u32 = 8;

/// Returns how many of `total` credits must be owed to be worth a packet of their own: three
/// quarters, since usually an answer that carries them comes first; but half if the rest were too
/// few to send on with.
pub(super) fn worth(total: u32) -> u32 {
    (total - (total / 4).max(LEFT.min(total / 2))).max(2)
}

/// The credits of one pair, as one side sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Credits {
    /// The number of packets that may still be sent.
    pub have: u16,
    /// The number of buffers posted anew that the other side does not know of.
    pub owed: u16,
    /// The number of packets that may be sent before any credit comes back.
    total: u16,
    /// The number of packets that the other side may send before it hears of any.
    given: u16,
    /// The number of owed credits that is worth a packet of its own.
    pub worth: u16,
}

impl Credits {
    /// Begins where the other side has posted `theirs` buffers for us, and we `ours` for it.
    pub(super) fn new(theirs: u16, ours: u16) -> Credits {
        Credits { have: theirs, owed: 0, total: theirs, given: ours, worth: worth(ours.into()) as u16 }
    }

    /// Returns whether a packet may be sent, which will carry what is owed.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        self.have > 1 || (self.have == 1 && self.owed > 0)
    }

    /// Returns how many packets may be under way at most.
    #[inline]
    pub(super) fn total(&self) -> u32 {
        self.total.into()
    }

    /// Returns how many packets were sent for which no credit has come back.
    pub(super) fn out(&self) -> u16 {
        self.total.saturating_sub(self.have)
    }

    /// Takes in that the other side posted `credits` buffers anew. Returns `false`, and does
    /// nothing, if they are more than it took.
    #[inline]
    #[must_use]
    pub(super) fn earn(&mut self, credits: u16) -> bool {
        let earned = self.have.checked_add(credits).filter(|have| *have <= self.total);
        self.have = earned.unwrap_or(self.have);
        earned.is_some()
    }

    /// Notes a buffer posted anew, which the other side must hear of. Returns `false`, and does
    /// nothing, if that has sent more than it was given credits for.
    #[inline]
    #[must_use]
    pub(super) fn owe(&mut self) -> bool {
        let is_owed = self.owed < self.given;
        self.owed += u16::from(is_owed);
        is_owed
    }

    /// Takes one credit for a packet; returns what the packet must carry.
    #[inline]
    pub(super) fn spend(&mut self) -> u16 {
        self.have -= 1;
        self.hand_back()
    }

    /// Undoes [`Credits::spend`]: the packet was not sent.
    #[inline]
    pub(super) fn unspend(&mut self, carried: u16) {
        self.have += 1;
        self.owed += carried;
    }

    /// Returns what any packet must carry; none is owed then.
    #[inline]
    pub(super) fn hand_back(&mut self) -> u16 {
        std::mem::take(&mut self.owed)
    }

    /// Returns whether so much is owed that it is worth a packet of its own.
    #[inline]
    pub(super) fn is_worth_telling(&self) -> bool {
        self.owed >= self.worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides send as long as they may, with every packet received at once or late: the side
    /// that waits is told.
    #[test]
    fn nobody_waits_for_ever() {
        for total in CREDITS_MIN..20 {
            let mut sides = [Credits::new(total, total); 2];
            let mut data = [0; 2];
            for _ in 0..100 {
                // Each sends all that it may before it hears anything of the other.
                let packets = sides.each_mut().map(|side| {
                    std::iter::from_fn(|| side.may_send().then(|| side.spend())).collect::<Vec<u16>>()
                });
                for (me, packets) in packets.into_iter().enumerate() {
                    data[me] += packets.len();
                    assert!(packets.iter().all(|_| sides[1 - me].owe()));
                    assert!(sides[1 - me].earn(packets.into_iter().sum::<u16>()));
                }
                for me in 0..2 {
                    if sides[me].is_worth_telling() && sides[me].may_send() {
                        let carried = sides[me].spend();
                        assert!(sides[1 - me].earn(carried) && sides[1 - me].owe());
                    }
                    assert!(sides[me].have <= total);
                }
            }
            assert!(data[0] > 100 && data[1] > 100, "{total} credits: {data:?} packets");
        }
    }

    /// A packet that only brings credits must not call for another one.
    #[test]
    fn explicit_credits_are_not_answered() {
        let mut credits = Credits::new(CREDITS_MIN, CREDITS_MIN);
        assert!(credits.owe());
        assert!(!credits.is_worth_telling());
    }

    #[test]
    fn nobody_gives_or_takes_more_than_there_is() {
        let mut credits = Credits::new(9, 2);
        assert!(!credits.earn(1) && credits.earn(0));
        assert!((0..3).all(|_| credits.spend() == 0));
        assert!(!credits.earn(4) && !credits.earn(u16::MAX) && credits.earn(3) && credits.have == 9);
        assert!(credits.owe() && credits.owe() && !credits.owe() && credits.owed == 2);
    }
}
