//! The outcome of a row: what may be said of a ratio, given its claim and its noise.

use super::inventory::Claimed;
use verbena_lab::table::format_value;

/// The outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The value is as claimed, wherever in its noise the truth lies.
    Kept,
    /// The value is not as claimed, wherever in its noise the truth lies.
    Missed,
    /// The noise reaches from one side of the claim to the other, or nothing proves that the two
    /// sides differ in anything but their names.
    CannotTell,
    /// Both sides moved the same packets, so that a ratio of their times says nothing.
    Identical,
    /// A value without a claim.
    Shown,
    /// The value was not measured in this run, or by too few jobs.
    Unmeasured,
    /// The value cannot be measured here.
    Nothing,
}

impl Outcome {
    /// All of them, in the order of the report.
    pub(super) const ALL: [Outcome; 7] = [
        Outcome::Kept,
        Outcome::Missed,
        Outcome::CannotTell,
        Outcome::Identical,
        Outcome::Shown,
        Outcome::Unmeasured,
        Outcome::Nothing,
    ];

    /// Returns the name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Kept => "as claimed",
            Outcome::Missed => "not as claimed",
            Outcome::CannotTell => "cannot tell",
            Outcome::Identical => "identical traffic",
            Outcome::Shown => "shown",
            Outcome::Unmeasured => "not measured",
            Outcome::Nothing => "cannot be shown here",
        }
    }
}

/// The distance that a ratio may have from the value it is said to be near to.
const NEAR: f64 = 0.1;

impl Claimed {
    /// The least and the largest ratio that are as claimed.
    fn range(self) -> (f64, f64) {
        match self {
            Claimed::About(value) => (value * (1.0 - NEAR), value * (1.0 + NEAR)),
            Claimed::AtLeast(value) => (value, f64::INFINITY),
            Claimed::AtMost(value) => (f64::NEG_INFINITY, value),
            Claimed::Above(value) => (value.next_up(), f64::INFINITY),
            Claimed::Below(value) => (f64::NEG_INFINITY, value.next_down()),
            Claimed::Within(least, most) => (least, most),
        }
    }
}

/// Judges a ratio that may be off by a factor of `noise`: 1 where nothing is measured.
pub(super) fn judge(claimed: Option<Claimed>, ratio: Option<f64>, noise: f64) -> Outcome {
    let (Some(claimed), Some(ratio)) = (claimed, ratio) else { return Outcome::Shown };
    let (least, most) = claimed.range();
    let (low, high) = (ratio / noise, ratio * noise);
    if low >= least && high <= most {
        Outcome::Kept
    } else if high < least || low > most {
        Outcome::Missed
    } else {
        Outcome::CannotTell
    }
}

impl std::fmt::Display for Claimed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Claimed::About(value) => write!(f, "about {}", format_value(*value)),
            Claimed::AtLeast(value) => write!(f, "at least {}", format_value(*value)),
            Claimed::AtMost(value) => write!(f, "at most {}", format_value(*value)),
            Claimed::Above(value) => write!(f, "above {}", format_value(*value)),
            Claimed::Below(value) => write!(f, "below {}", format_value(*value)),
            Claimed::Within(least, most) => {
                write!(f, "{} to {}", format_value(*least), format_value(*most))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Claimed; 3] = [Claimed::About(1.0), Claimed::AtLeast(2.0), Claimed::AtMost(0.76)];

    fn of(claimed: Claimed, ratio: f64, noise: f64) -> Outcome {
        judge(Some(claimed), Some(ratio), noise)
    }

    #[test]
    fn without_noise_a_claim_holds_within_its_bound_only() {
        let [about, least, most] = ALL;
        assert_eq!([of(about, 1.05, 1.0), of(about, 1.2, 1.0)], [Outcome::Kept, Outcome::Missed]);
        assert_eq!([of(most, 0.7, 1.0), of(most, 0.8, 1.0)], [Outcome::Kept, Outcome::Missed]);
        assert_eq!([of(least, 2.1, 1.0), of(least, 1.9, 1.0)], [Outcome::Kept, Outcome::Missed]);
    }

    #[test]
    fn noise_wider_than_the_distance_to_the_bound_cannot_tell() {
        let [about, least, most] = ALL;
        assert_eq!(of(most, 0.70, 1.05), Outcome::Kept);
        assert_eq!(of(most, 0.70, 1.2), Outcome::CannotTell);
        assert_eq!(of(most, 0.90, 1.3), Outcome::CannotTell);
        assert_eq!(of(most, 1.20, 1.3), Outcome::Missed);
        assert_eq!(of(least, 2.2, 1.2), Outcome::CannotTell);
        assert_eq!(of(about, 1.0, 1.05), Outcome::Kept);
        assert_eq!(of(about, 1.0, 1.5), Outcome::CannotTell);
        assert_eq!(of(about, 2.0, 1.5), Outcome::Missed);
    }

    #[test]
    fn what_is_faster_is_not_as_fast() {
        assert_eq!(of(Claimed::AtMost(1.0), 1.0, 1.0), Outcome::Kept);
        assert_eq!(of(Claimed::Below(1.0), 1.0, 1.0), Outcome::Missed);
        assert_eq!(of(Claimed::Below(1.0), 0.99, 1.0), Outcome::Kept);
        assert_eq!(
            [of(Claimed::Above(1.0), 1.0, 1.0), of(Claimed::Above(1.0), 1.01, 1.0)],
            [Outcome::Missed, Outcome::Kept]
        );
        assert_eq!(of(Claimed::Below(1.0), 1.0, 1.01), Outcome::CannotTell);
    }

    #[test]
    fn a_claim_of_two_sides_fails_on_either() {
        let less_than_one_percent = Claimed::Within(0.99, 1.0);
        let outcome = |ratio| of(less_than_one_percent, ratio, 1.0);
        assert_eq!(
            [outcome(0.995), outcome(0.98), outcome(1.01)],
            [Outcome::Kept, Outcome::Missed, Outcome::Missed]
        );
        assert_eq!(of(less_than_one_percent, 0.995, 1.02), Outcome::CannotTell);
    }

    #[test]
    fn nothing_is_rounded_in_favour_of_a_claim() {
        assert_eq!(of(Claimed::AtLeast(0.93), 0.928, 1.0), Outcome::Missed);
        assert_eq!(of(Claimed::AtMost(0.76), 0.762, 1.0), Outcome::Missed);
    }

    #[test]
    fn without_a_claim_a_value_is_shown() {
        assert_eq!(judge(None, Some(1.0), 1.0), Outcome::Shown);
    }
}
