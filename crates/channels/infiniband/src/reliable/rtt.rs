//! Round trips between a pair, and how long to wait for an acknowledgement (RFC 6298, with the
//! receiver's own delay told by it, as in RFC 9002, 5.3).

use super::Rules;

/// The result of the samples so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    smoothed_ns: u64,
    variation_ns: u64,
    least_ns: u64,
}

/// The largest power of two by which waits without result multiply the next.
const DOUBLINGS_MAX: u32 = 16;

impl Rtt {
    /// Takes in a measured round trip; never of a fragment that was sent more than once, since
    /// nobody knows which transmission was answered (Karn).
    pub fn sample(&mut self, ns: u64) {
        let ns = ns.max(1);
        if self.smoothed_ns == 0 {
            *self = Rtt { smoothed_ns: ns, variation_ns: ns / 2, least_ns: ns };
            return;
        }
        let off_ns = self.smoothed_ns.abs_diff(ns);
        self.variation_ns = (3 * self.variation_ns + off_ns) / 4;
        self.smoothed_ns = (7 * self.smoothed_ns + ns) / 8;
        self.least_ns = self.least_ns.min(ns);
    }

    /// Returns the shortest round trip so far; 0 if none was measured.
    pub fn least_ns(&self) -> u64 {
        self.least_ns
    }

    /// Returns the smoothed round trip; 0 if none was measured.
    pub fn smoothed_ns(&self) -> u64 {
        self.smoothed_ns
    }

    /// Returns how long an acknowledgement waits for something to ride on. An answer to a message
    /// comes within about a round trip where both sides do the same work, so it waits for that, but
    /// never so long that the other side, which measures about the same, could think it lost.
    pub fn ack_delay_ns(&self, rules: &Rules) -> u64 {
        rules.ack_delay_ns.max(self.smoothed_ns.min(rules.resend_ns_min / 2))
    }

    /// Returns how long to wait for an acknowledgement after `in_vain` waits without result, with
    /// `under_way` fragments under way. Each of them may take as long as the shortest round trip to
    /// be carried, before the last one is: a round trip that was measured with one says nothing of
    /// a burst.
    pub fn wait_ns(&self, rules: &Rules, in_vain: u32, under_way: u32) -> u64 {
        let burst_ns = u64::from(under_way) * self.least_ns;
        let once_ns = match self.smoothed_ns {
            0 => rules.resend_ns_first,
            smoothed_ns => (smoothed_ns + 4 * self.variation_ns + self.ack_delay_ns(rules))
                .clamp(rules.resend_ns_min, rules.resend_ns_max),
        };
        ((once_ns << in_vain.min(DOUBLINGS_MAX)) + burst_ns).min(rules.resend_ns_max)
    }
}
