//! The counts that were agreed on, and how new ones compare.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::Path;

const HEAD: &str = "# Instructions a call, as `cargo xtask instructions --update` counted them on the release build: see\n\
                    # xtask/src/instructions.rs. CI fails if one grows by more than the tolerance.\n";

/// The growth that a count may have where the file does not say otherwise.
const TOLERANCE_PERCENT: f64 = 3.0;

/// The instructions by which a call on the MPICH face may exceed the same on the standard face.
/// Half a one stands for what differs from run to run.
const FACE_INSTRUCTIONS_MAX: f64 = 20.5;
/// The beginning of a section's name on the MPICH face.
pub(super) const MPICH: &str = "mpich.";

/// Counts by section.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counts {
    /// The growth that a count may have, in percent.
    pub tolerance_percent: f64,
    /// Instructions a call (or a pair of calls), by the name of the section in `calls.c`.
    pub instructions: BTreeMap<String, f64>,
}

/// The comparison of a count with the one agreed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// No count was agreed on.
    New,
    /// The count is within the tolerance.
    Kept,
    /// The count is lower than the one given by more than the tolerance.
    Fell(f64),
    /// The count is higher by more than the tolerance.
    Grew(f64),
}

impl Verdict {
    /// Returns whether the guard fails on it. A section that is not in the file is not guarded,
    /// which is a failure too.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Verdict::Grew(_) | Verdict::New)
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::New => write!(f, "not in the file"),
            Verdict::Kept => Ok(()),
            Verdict::Fell(from) => write!(f, "fell from {from:.1}"),
            Verdict::Grew(from) => write!(f, "GREW from {from:.1}"),
        }
    }
}

impl Counts {
    /// Creates counts with the usual tolerance.
    pub(super) fn new(instructions: BTreeMap<String, f64>) -> Counts {
        Counts { tolerance_percent: TOLERANCE_PERCENT, instructions }
    }

    /// Returns the lower of both counts of each section.
    pub(super) fn least(mut self, other: &Counts) -> Counts {
        for (name, count) in &mut self.instructions {
            *count = other.instructions.get(name).map_or(*count, |other| count.min(*other));
        }
        self
    }

    /// Compares `now` with the count agreed on for `name`.
    pub(super) fn judge(&self, name: &str, now: f64) -> Verdict {
        let Some(&then) = self.instructions.get(name) else { return Verdict::New };
        let margin = then * self.tolerance_percent / 100.0;
        if now > then + margin {
            Verdict::Grew(then)
        } else if now < then - margin {
            Verdict::Fell(then)
        } else {
            Verdict::Kept
        }
    }

    /// Returns the sections in which the MPICH face takes too many instructions more than the
    /// standard one, each with that number; a section without its twin counts as the whole.
    pub(super) fn far_faces(&self) -> Vec<(&str, f64)> {
        let twins =
            self.instructions.iter().filter_map(|(name, count)| Some((name.strip_prefix(MPICH)?, count)));
        let more = twins.map(|(name, count)| (name, count - self.instructions.get(name).unwrap_or(&0.0)));
        more.filter(|(_, more)| *more > FACE_INSTRUCTIONS_MAX).collect()
    }
}

/// Reads the file.
///
/// # Errors
/// It is missing or malformed.
pub(super) fn read(file: &Path) -> Result<Counts> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    toml::from_str(&text).with_context(|| format!("in {}", file.display()))
}

/// Writes the file.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(file: &Path, counts: &Counts) -> Result<()> {
    let text = format!("{HEAD}{}", toml::to_string(counts)?);
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_tolerance_is_found() {
        let agreed = Counts::new([("send".to_owned(), 100.0)].into());
        assert_eq!(agreed.judge("send", 102.9), Verdict::Kept);
        assert_eq!(agreed.judge("send", 103.1), Verdict::Grew(100.0));
        assert_eq!(agreed.judge("send", 96.0), Verdict::Fell(100.0));
        assert!(agreed.judge("receive", 1.0).is_failure() && !agreed.judge("send", 1.0).is_failure());
    }

    #[test]
    fn the_least_of_two_runs_counts() {
        let run =
            |send, receive| Counts::new([("send".to_owned(), send), ("receive".to_owned(), receive)].into());
        let least = run(150.0, 160.0).least(&run(115.0, 190.0));
        assert_eq!(least.instructions, run(115.0, 160.0).instructions);
    }

    #[test]
    fn a_face_that_is_far_from_the_other_is_found() {
        let counts = [("a", 100.0), ("mpich.a", 120.2), ("b", 100.0), ("mpich.b", 121.0), ("mpich.c", 30.0)];
        let counted = Counts::new(counts.map(|(name, count)| (name.to_owned(), count)).into());
        assert_eq!(counted.far_faces(), [("b", 21.0), ("c", 30.0)]);
    }
}
