//! The watch over a job: do its ranks get any further? No I/O.

use std::collections::BTreeMap;
use std::time::Duration;

/// The time between two looks at the ranks' signs of life, at most, and at least.
const PULSE_EVERY_MAX: Duration = Duration::from_secs(1);
const PULSE_EVERY_MIN: Duration = Duration::from_millis(20);
/// With more hosts than this, they are asked less often.
const FEW_HOSTS: usize = 16;
const PULSE_EVERY_MANY: Duration = Duration::from_secs(5);
/// A job that waits for a rank that computes is told of only after so many times the limit: it may
/// only be slow.
const PATIENCE_WITH_SLOW: u32 = 10;

/// The reports made since something moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    Nothing,
    /// A look found only that the job may be slow, and nothing was said.
    MaybeSlow,
    All,
}

/// The signs of life of a job, by host.
#[derive(Debug)]
pub struct Stillness {
    /// The time without progress after which the user is told; `None`: never.
    limit: Option<Duration>,
    hosts: BTreeMap<u32, (u64, u32)>,
    since: Duration,
    next_pulse: Duration,
    reported: Reported,
}

impl Stillness {
    /// A job that has just begun.
    pub fn new(limit: Option<Duration>) -> Stillness {
        Stillness {
            limit,
            hosts: BTreeMap::new(),
            since: Duration::ZERO,
            next_pulse: Duration::ZERO,
            reported: Reported::Nothing,
        }
    }

    /// Returns whether it is time to ask the hosts for signs of life, and plans the next time.
    pub fn is_pulse_due(&mut self, now: Duration) -> bool {
        let Some(limit) = self.limit.filter(|_| now >= self.next_pulse) else { return false };
        let most = if self.hosts.len() > FEW_HOSTS { PULSE_EVERY_MANY } else { PULSE_EVERY_MAX };
        self.next_pulse = now + (limit / 20).clamp(PULSE_EVERY_MIN, most);
        true
    }

    /// The time of the next question.
    pub fn deadline(&self) -> Option<Duration> {
        self.limit.map(|_| self.next_pulse)
    }

    /// Takes the signs of life of the host whose first rank is `host`: a number that changes
    /// whenever one of its ranks gets further, and how many of them wait.
    pub fn handle_pulse(&mut self, host: u32, digest: u64, waiting: u32, now: Duration) {
        if self.hosts.insert(host, (digest, waiting)) != Some((digest, waiting)) {
            self.since = now;
            self.reported = Reported::Nothing;
        }
    }

    /// The time for which nothing has moved, if some rank waits; `starting`: some wait in
    /// `MPI_Init`.
    pub fn still(&self, now: Duration, starting: bool) -> Option<Duration> {
        let waits = starting || self.hosts.values().any(|(_, waiting)| *waiting > 0);
        waits.then(|| now.saturating_sub(self.since))
    }

    /// Returns whether the user was told since something moved.
    pub fn has_reported(&self) -> bool {
        self.reported == Reported::All
    }

    /// Returns whether the user is to be told, as far as time tells.
    pub fn is_due(&self, now: Duration, starting: bool) -> bool {
        let (Some(limit), Some(still)) = (self.limit, self.still(now, starting)) else { return false };
        match self.reported {
            Reported::Nothing => still >= limit,
            Reported::MaybeSlow => still >= limit * PATIENCE_WITH_SLOW,
            Reported::All => false,
        }
    }

    /// Notes the result of a look: returns whether the user is told. `is_certain`: the job will
    /// never go on by itself.
    pub fn judge(&mut self, now: Duration, starting: bool, is_certain: bool) -> bool {
        let still = self.still(now, starting).unwrap_or_default();
        let is_late = self.limit.is_some_and(|limit| still >= limit * PATIENCE_WITH_SLOW);
        let tells = is_certain || is_late;
        self.reported = if tells { Reported::All } else { Reported::MaybeSlow };
        tells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    /// A job of two hosts, one of whose ranks waits.
    fn still() -> Stillness {
        let mut stillness = Stillness::new(Some(seconds(60)));
        stillness.handle_pulse(0, 1, 1, seconds(1));
        stillness.handle_pulse(4, 1, 0, seconds(2));
        stillness
    }

    #[test]
    fn a_job_in_which_nothing_moves_is_told_of_once() {
        let mut stillness = still();
        assert!(!stillness.is_due(seconds(61), false));
        assert!(stillness.is_due(seconds(62), false));
        assert!(stillness.judge(seconds(62), false, true));
        assert!(!stillness.is_due(seconds(5000), false));
    }

    #[test]
    fn any_sign_of_life_begins_anew() {
        let mut stillness = still();
        stillness.judge(seconds(62), false, true);
        stillness.handle_pulse(4, 2, 0, seconds(63));
        assert!(!stillness.is_due(seconds(122), false));
        assert!(stillness.is_due(seconds(123), false));
    }

    #[test]
    fn a_job_that_may_be_slow_has_more_time() {
        let mut stillness = still();
        assert!(!stillness.judge(seconds(62), false, false));
        assert!(!stillness.is_due(seconds(601), false));
        assert!(stillness.is_due(seconds(602), false));
        assert!(stillness.judge(seconds(602), false, false));
        assert!(!stillness.is_due(seconds(5000), false));
    }

    #[test]
    fn a_job_in_which_nobody_waits_is_never_due() {
        let mut stillness = Stillness::new(Some(seconds(60)));
        stillness.handle_pulse(0, 1, 0, seconds(1));
        assert!(!stillness.is_due(seconds(5000), false));
        assert!(stillness.is_due(seconds(5000), true));
        assert_eq!(stillness.still(seconds(2), false), None);
    }

    #[test]
    fn without_a_limit_nobody_is_asked() {
        let mut stillness = Stillness::new(None);
        assert!(!stillness.is_pulse_due(seconds(5)) && stillness.deadline().is_none());
        assert!(!stillness.is_due(seconds(5000), true));
    }

    #[test]
    fn signs_of_life_are_asked_for_in_good_time() {
        let mut stillness = Stillness::new(Some(seconds(1)));
        assert!(stillness.is_pulse_due(seconds(0)));
        assert!(!stillness.is_pulse_due(Duration::from_millis(49)));
        assert!(stillness.is_pulse_due(Duration::from_millis(50)));
        let mut slow = Stillness::new(Some(seconds(1000)));
        assert!(slow.is_pulse_due(seconds(0)));
        assert_eq!(slow.deadline(), Some(seconds(1)));
    }
}
