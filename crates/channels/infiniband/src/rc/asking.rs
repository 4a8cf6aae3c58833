//! The wait for a peer that was asked for a connection: when to ask again, and when to give up.

/// Time until the first hello is resent, in nanoseconds.
const RESEND_NS_MIN: u64 = 2_000_000;
/// The longest time between two hellos.
const RESEND_NS_MAX: u64 = 250_000_000;

/// The state while the other side has not said that it is ready.
#[derive(Debug)]
pub(super) struct Asking {
    since_ns: u64,
    /// The time to wait for the other side.
    limit_ns: u64,
    /// The time of the next hello.
    at_ns: u64,
    interval_ns: u64,
}

impl Asking {
    /// Begins to ask now; the first hello is due at once.
    pub(super) fn new(now_ns: u64, limit_ns: u64) -> Asking {
        Asking { since_ns: now_ns, limit_ns, at_ns: now_ns, interval_ns: RESEND_NS_MIN }
    }

    /// Sets how long to wait for the other side, from the first hello on.
    pub(super) fn limit(&mut self, limit_ns: u64) {
        self.limit_ns = limit_ns;
    }

    /// Returns what is due now.
    pub(super) fn due(&mut self, now_ns: u64) -> Due {
        if now_ns.saturating_sub(self.since_ns) > self.limit_ns {
            return Due::GiveUp { limit_ns: self.limit_ns };
        }
        if now_ns < self.at_ns {
            return Due::Nothing;
        }
        self.at_ns = now_ns + self.interval_ns;
        self.interval_ns = (self.interval_ns * 2).min(RESEND_NS_MAX);
        Due::Hello
    }
}

/// The step that is due with a peer that was asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// None yet.
    Nothing,
    /// The next hello.
    Hello,
    /// To give it up: it was silent for this long.
    GiveUp {
        /// The time that it had, in nanoseconds.
        limit_ns: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_come_less_and_less_often_until_the_limit() {
        let mut asking = Asking::new(0, 2_000_000_000);
        let (mut hellos, mut now_ns) = (Vec::new(), 0);
        loop {
            match asking.due(now_ns) {
                Due::Nothing => {}
                Due::Hello => hellos.push(now_ns / 1_000_000),
                Due::GiveUp { limit_ns } => break assert_eq!(limit_ns, 2_000_000_000),
            }
            now_ns += 1_000_000;
        }
        assert_eq!(now_ns, 2_001_000_000);
        assert_eq!(hellos[..8], [0, 2, 6, 14, 30, 62, 126, 254]);
        assert!(hellos.windows(2).skip(8).all(|pair| pair[1] - pair[0] == 250));
    }
}
